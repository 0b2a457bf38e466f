"""How times, sizes, tables and progress are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime

__all__ = ["ago", "duration", "escaped", "fields", "local_time", "progress_bar", "size", "table"]

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_STEPS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))
_NARROWEST = 8
_GAP = "  "
_BAR_WIDTH = 24
# Control characters, those that turn the direction of text, other ends of lines, and half characters.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def escaped(text: str, *, keep: str = "\n") -> str:
    """A text that a terminal only shows: characters that would steer the terminal are written out.

    Names, errors and paths come from files that others may have written.

    Examples
    --------
    >>> print(escaped("red: \\x1b[31m, a bell: \\a"))
    red: \\x1b[31m, a bell: \\x07
    """

    def written_out(match: re.Match[str]) -> str:
        character = match[0]
        if character in keep:
            return character
        code = ord(character)
        return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"

    return _UNSAFE.sub(written_out, text)


def size(count: float | None) -> str:
    """A number of bytes.

    Examples
    --------
    >>> size(512), size(1_536_000), size(None)
    ('512 B', '1.5 MB', '-')
    """
    if count is None:
        return "-"
    number = float(count)
    for unit in _UNITS:
        if number < 1000 or unit == _UNITS[-1]:
            break
        number /= 1000
    return f"{number:.0f} {unit}" if unit == "B" or number >= 100 else f"{number:.1f} {unit}"


def duration(ms: float) -> str:
    """A length of time in its largest unit.

    Examples
    --------
    >>> duration(200), duration(59_000), duration(200_000), duration(90_000_000)
    ('0 s', '59 s', '3 min', '1 d')
    """
    for step, unit in _STEPS:
        if ms >= step:
            return f"{int(ms // step)} {unit}"
    return "0 s"


def ago(ms: int, now_ms: int) -> str:
    """How long ago a moment was.

    Examples
    --------
    >>> ago(0, 180_000), ago(1_000, 1_200)
    ('3 min ago', 'now')
    """
    passed = now_ms - ms
    return f"{duration(passed)} ago" if passed >= 1000 else "now"


def local_time(ms: int | None) -> str:
    """A moment as local ISO time.

    Examples
    --------
    >>> local_time(None)
    '-'
    >>> len(local_time(0)) == len("1970-01-01T00:00:00+00:00")
    True
    """
    if ms is None:
        return "-"
    try:
        return datetime.fromtimestamp(ms / 1000).astimezone().isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        # The watermarks before the first record and after the last one are no moments.
        return str(ms)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """Aligned columns; if they do not fit, the widest ones are cut. Numbers stand to the right.

    Examples
    --------
    >>> print(table(["NAME", "ROWS"], [["words", "12"], ["a long name", "3"]]))
    NAME         ROWS
    words          12
    a long name     3
    >>> print(table(["NAME", "ROWS"], [["a long name", "3"]], width=15))
    NAME       ROWS
    a long n…     3
    """
    lines = [list(head), *([escaped(cell, keep="") for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    if width is not None:
        _narrow(widths, width - len(_GAP) * (len(head) - 1))
    right = [
        bool(rows) and all(_is_number(row[column]) for row in rows) for column in range(len(head))
    ]
    return "\n".join(
        _GAP.join(
            _cell(text, wide, to_right)
            for text, wide, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def _narrow(widths: list[int], room: int) -> None:
    while sum(widths) > room and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1


def _is_number(text: str) -> bool:
    return text == "-" or text.replace(",", "").lstrip("-").isdigit()


def _cell(text: str, width: int, to_right: bool) -> str:
    if len(text) > width:
        text = text[: width - 1] + "…"
    return text.rjust(width) if to_right else text.ljust(width)


def fields(pairs: Sequence[tuple[str, str]]) -> str:
    """Names with their values, a line each; further lines of a value are set in.

    Examples
    --------
    >>> print(fields([("name", "words"), ("epoch", "7")]))
    name   words
    epoch  7
    """
    width = max(len(name) for name, _ in pairs)
    further = "\n" + " " * width + _GAP
    return "\n".join(
        f"{name.ljust(width)}{_GAP}{escaped(value).replace(chr(10), further)}".rstrip()
        for name, value in pairs
    )


def progress_bar(title: str, done: int, total: int | None, unit: str, seconds: float) -> str:
    """A bar with the work done, the total, the rate, and the time left.

    Examples
    --------
    >>> progress_bar("savepoint", 500_000, 1_000_000, "bytes", 2.0)
    'savepoint [############------------]  50%  500 kB of 1.0 MB  250 kB/s  2 s left'
    >>> progress_bar("savepoint", 40, None, "rows", 2.0)
    'savepoint  40 rows  20 rows/s'
    """
    amount = size if unit == "bytes" else _counted(unit)
    rate = done / seconds if seconds > 0 else 0.0
    if not total:
        return f"{title}  {amount(done)}  {amount(rate)}/s"
    share = min(done / total, 1.0)
    filled = int(share * _BAR_WIDTH)
    bar = "#" * filled + "-" * (_BAR_WIDTH - filled)
    left = f"  {duration((total - done) / rate * 1000)} left" if rate and done < total else ""
    return (
        f"{title} [{bar}] {share:4.0%}  {amount(done)} of {amount(total)}  {amount(rate)}/s{left}"
    )


def _counted(unit: str) -> Callable[[float], str]:
    return lambda count: f"{count:,.0f} {unit}"
