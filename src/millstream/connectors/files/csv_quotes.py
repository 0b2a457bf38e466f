"""Lines of CSV with quotes in places where the format has none, as Spark's parser reads them."""

from __future__ import annotations

QUOTE = '"'


def fields_of(line: str, separator: str) -> list[str]:
    """The fields of any line; an empty one is null.

    A field that begins with a quote ends with the quote that has a separator, or the end, behind it;
    white space between the two is dropped. If something else stands behind a quote, the quotes are
    part of the text, which ends at the next separator. A text that no quote ends goes to the end of
    the line.

    Examples
    --------
    >>> fields_of('a,"b,c" ,"d""e"', ",")
    ['a', 'b,c', 'd"e']
    >>> fields_of('"a" b,a"b","c', ",")
    ['"a" b', 'a"b"', 'c']
    """
    fields = []
    at = 0
    while at <= len(line):
        field, at = _field(line, at, separator)
        fields.append(field)
    return fields


def _field(line: str, start: int, separator: str) -> tuple[str, int]:
    """A field that begins somewhere, and where the next one does."""
    if not line.startswith(QUOTE, start):
        return _plain(line, start, start, separator)
    text, closing = _quoted(line, start + 1)
    after = closing + 1
    if closing != start + 1 + len(text) or not line.startswith(separator, after):
        # Spark's parser has a fast way for the simplest case. The other one loses these characters.
        text = text.replace("\0", "")
    if closing < 0:
        return text if start + 1 < len(line) else QUOTE, len(line) + 1
    while after < len(line) and line[after] <= " " and line[after] != separator:
        after += 1
    if after == len(line) or line[after] == separator:
        return text, after + 1
    rest, following = _plain(line, closing, after, separator)
    last = following > len(line)
    if last and after > closing + 1 and line[after] != QUOTE and line[after + 1 :][:1] == QUOTE:
        # Spark's parser has just read this quote when the line ends, and adds it once more.
        rest += QUOTE
    return QUOTE + text + rest, following


def _plain(line: str, start: int, look_from: int, separator: str) -> tuple[str, int]:
    """The text from one place up to the first separator behind another."""
    end = line.find(separator, look_from)
    end = len(line) if end < 0 else end
    return line[start:end], end + 1


def _quoted(line: str, start: int) -> tuple[str, int]:
    """The text behind an opening quote, and where the closing one is; -1 if there is none."""
    parts: list[str] = []
    while True:
        closing = line.find(QUOTE, start)
        if closing < 0:
            return "".join(parts) + line[start:], -1
        parts.append(line[start:closing])
        if not line.startswith(QUOTE, closing + 1):
            return "".join(parts), closing
        parts.append(QUOTE)
        start = closing + 2
