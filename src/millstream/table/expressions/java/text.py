"""Texts in Java's units: those of UTF-16, of which a character beyond the basic plane has two."""

from __future__ import annotations

__all__ = ["of_utf16", "utf16"]


def utf16(text: str) -> str:
    """A text with one character for each unit of UTF-16.

    Examples
    --------
    >>> len(utf16("a\U0001f600")), of_utf16(utf16("a\U0001f600")[:2])
    (3, 'a?')
    """
    if text.isascii() or max(text, default="") <= "\uffff":
        return text
    data = text.encode("utf-16-be")
    return "".join(chr(data[at] << 8 | data[at + 1]) for at in range(0, len(data), 2))


def of_utf16(units: str) -> str:
    """The text of units; half a character is a question mark, as Java writes it in UTF-8."""
    data = units.encode("utf-16-be", errors="surrogatepass")
    text = data.decode("utf-16-be", errors="surrogatepass")
    return text.encode(errors="replace").decode()
