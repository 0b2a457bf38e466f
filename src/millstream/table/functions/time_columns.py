"""Functions of times over whole columns of integers.

Each function gives what the code for one value gives, or None where that is not certain; then the
code for one value runs. Constants are left to it too: they are computed once anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, tzinfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.table.expressions import kinds
from millstream.table.expressions.java.dates import pattern_tokens
from millstream.table.expressions.kinds import LogicalType
from millstream.table.expressions.vectors import Vector

__all__ = [
    "LAST_SECOND",
    "add_millis",
    "extract_column",
    "format_column",
    "moment_column",
    "text_column",
]

Integers = npt.NDArray[np.int64]
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_DAY_MILLIS = 86_400_000
LAST_SECOND = 253_402_300_799
"""The last second of the year 9999."""
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # of the years 1 to 9999, which have four digits


def _integers(array: pa.Array, kind: pa.DataType) -> Integers:
    """The integers of a column; NULLs are 0 until `_with_nulls` puts them back."""
    found: Integers = array.cast(kind).fill_null(0).to_numpy().astype(np.int64)
    return found


def _with_nulls(values: Integers, array: pa.Array, kind: LogicalType) -> pa.Array:
    nulls = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return pa.array(values, mask=nulls).cast(kinds.arrow_type(kind))


def _local(time: Vector, zone: tzinfo) -> pa.Array | None:
    """The column of a timestamp whose clock needs no rules of a time zone."""
    root = kinds.root(time.type)
    plain = root == "TIMESTAMP" or (root == "TIMESTAMP_LTZ" and zone is UTC)
    return _column(time) if plain else None


def _column(time: Vector) -> pa.Array | None:
    column = time.column
    return column if not time.constant and isinstance(column, pa.Array) and len(column) else None


def _cut(values: Integers, size: int) -> Integers:
    """A division as Java does it: towards zero."""
    return (values - np.fmod(values, size)) // size


_CLOCK = {
    "HOUR": (_DAY_MILLIS, 3_600_000),
    "MINUTE": (3_600_000, 60_000),
    "SECOND": (60_000, 1_000),
    "MILLISECOND": (1_000, 1),
}
"""The milliseconds in which a part of the clock begins again, and those of one step of it."""


def extract_column(unit: str, time: Vector, kind: LogicalType, zone: tzinfo) -> pa.Array | None:
    """A part of all times, as `time_units.extract` gives it for one."""
    is_date = kinds.root(time.type) == "DATE"
    column = _column(time) if is_date else _local(time, zone)
    if column is None or (unit not in _CLOCK and unit not in _DATES):
        return None
    # The clock of a date takes its days as milliseconds, as in Flink.
    millis = _integers(column, pa.int32()) if is_date else _millis(column)
    if millis is None:
        return None
    if unit in _CLOCK:
        period, step = _CLOCK[unit]
        return _with_nulls(_cut(np.fmod(millis, period), step), column, kind)
    days = millis if is_date else _cut(millis, _DAY_MILLIS)
    return _with_nulls(_DATES[unit](days), column, kind)


def _millis(column: pa.Array) -> Integers | None:
    values, second = _integers(column, pa.int64()), _PER_SECOND[column.type.unit]
    if second >= 1_000:
        return values // (second // 1_000)
    if values.max() > 2**53 or values.min() < -(2**53):
        return None  # as milliseconds they may need more than 64 bits
    return values * 1_000


def _months(days: Integers) -> Integers:
    """Months since 1970, rounded down."""
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


def _month(days: Integers) -> Integers:
    return _months(days) % 12 + 1


def _year(days: Integers) -> Integers:
    return _months(days) // 12 + 1970


def _first_of_month(months: Integers) -> Integers:
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _day(days: Integers) -> Integers:
    return days - _first_of_month(_months(days)) + 1


def _day_of_year(days: Integers) -> Integers:
    return days - _first_of_month(_months(days) // 12 * 12) + 1


def _thursday(days: Integers) -> Integers:
    """The Thursday of the same week: it has the year of the ISO week."""
    return days - (days + 3) % 7 + 3


_DATES: dict[str, Callable[[Integers], Integers]] = {
    "YEAR": _year,
    "QUARTER": lambda days: (_month(days) + 2) // 3,
    "MONTH": _month,
    "DAY": _day,
    "DOY": _day_of_year,
    "DOW": lambda days: (days + 4) % 7 + 1,
    "ISODOW": lambda days: (days + 3) % 7 + 1,
    "WEEK": lambda days: (_day_of_year(_thursday(days)) - 1) // 7 + 1,
    "ISOYEAR": lambda days: _year(_thursday(days)),
    "DECADE": lambda days: _year(days) // 10,
}
"""Parts of dates by the days since 1970."""


def add_millis(time: Vector, millis: int | None, kind: LogicalType) -> pa.Array | None:
    """All timestamps later by so many milliseconds; the zone has no part in it."""
    column = _column(time)
    if column is None or millis is None or column.type != kinds.arrow_type(kind):
        return None
    if kinds.root(kind) not in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        return None
    step, rest = divmod(millis * _PER_SECOND[column.type.unit], 1_000)
    if rest:
        return None  # whole seconds cannot hold it
    try:
        moved = pc.add_checked(column.cast(pa.int64()), pa.scalar(step, pa.int64()))
    except (pa.ArrowInvalid, OverflowError):
        return None  # the code for one value has the message
    return moved.cast(column.type)


def moment_column(number: Vector, digits: int | None, kind: LogicalType) -> pa.Array | None:
    """The moments of whole numbers, as `times.moment_of` gives one, with at most the type's digits."""
    column, target = _column(number), kinds.arrow_type(kind)
    if column is None or digits is None or not 0 <= digits <= kinds.width(kind):
        return None
    values = _integers(column, pa.int64())
    unit, second = 10**digits, _PER_SECOND[target.unit]
    last = min(LAST_SECOND * unit, (2**63 - 1) * unit // second)
    if second < unit or values.max() > last or values.min() < -last:
        return None
    return _with_nulls(values * (second // unit), column, kind)


_FIELDS = {"yyyy", "MM", "dd", "HH", "mm", "ss", *("S" * count for count in range(1, 10))}


def format_column(
    time: Vector, pattern: Vector, kind: LogicalType, zone: tzinfo
) -> pa.Array | None:
    """All timestamps by one pattern of numbers with leading zeros, such as ``yyyy-MM-dd HH:mm``."""
    column = _local(time, zone)
    if column is None or not pattern.constant or not pattern.scalar or "'" in pattern.scalar:
        return None
    tokens = pattern_tokens(pattern.scalar)
    known = all(
        text in _FIELDS if what == "field" else text.isascii() and not set(text) & set("{}#[]")
        for what, text in tokens
    )
    return _written(column, [text for _, text in tokens], kind) if known else None


def text_column(time: Vector, target: LogicalType, zone: tzinfo) -> pa.Array | None:
    """All timestamps as texts, as `cast_text.timestamp_text` gives them for one."""
    column, precision = _local(time, zone), kinds.width(time.type)
    if column is None or kinds.root(target) != "VARCHAR":
        return None
    unit = _PER_SECOND[column.type.unit]
    hidden = unit // 10**precision  # units below the last digit; such digits are shown if there are
    if hidden > 1 and (_integers(column, pa.int64()) % hidden).any():
        return None
    parts = ["yyyy", "-", "MM", "-", "dd", " ", "HH", ":", "mm", ":", "ss"]
    parts += [".", "S" * precision] if precision else []
    if sum(map(len, parts)) > kinds.width(target):
        return None
    return _written(column, parts, target)


def _written(column: pa.Array, parts: list[str], kind: LogicalType) -> pa.Array | None:
    """Texts of one length: each part fills its columns of a table of characters."""
    second = _PER_SECOND[column.type.unit]
    values = _integers(column, pa.int64())
    days = values // (86_400 * second)
    width = sum(map(len, parts))
    if days.min() < _FIRST_DAY or days.max() > _LAST_DAY or width * len(days) >= 2**31:
        return None
    rest = values - days * (86_400 * second)
    characters, at = np.empty((len(days), width), np.uint8), 0
    for part in parts:
        place = characters[:, at : at + len(part)]
        if part in _FIELDS:
            _write_digits(place, _field(part, days, rest, second))
        else:
            place[:] = np.frombuffer(part.encode(), np.uint8)
        at += len(part)
    offsets = np.arange(len(days) + 1, dtype=np.int32) * np.int32(width)
    buffers = [_valid_bits(column), pa.py_buffer(offsets), pa.py_buffer(characters)]
    return pa.Array.from_buffers(pa.string(), len(days), buffers).cast(kinds.arrow_type(kind))


def _valid_bits(column: pa.Array) -> pa.Buffer | None:
    """The bits of the values that are not NULL, copied: those of a slice begin anywhere."""
    if not column.null_count:
        return None
    return pa.array(column.is_valid().to_numpy(zero_copy_only=False)).buffers()[1]


_OF_DAY = {"HH": (3_600, 24), "mm": (60, 60), "ss": (1, 60)}
"""The seconds of a field of the clock, and the number at which it begins again."""


def _field(part: str, days: Integers, rest: Integers, second: int) -> Integers:
    """A field of dates and of the units since midnight."""
    if part[0] == "S":
        fraction: Integers = rest % second * (1_000_000_000 // second) // 10 ** (9 - len(part))
        return fraction
    if part in ("HH", "mm", "ss"):
        size, period = _OF_DAY[part]
        clock: Integers = rest // (second * size) % period
        return clock
    dates = {"yyyy": _year, "MM": _month, "dd": _day}
    return dates[part](days)


def _write_digits(place: npt.NDArray[np.uint8], numbers: Integers) -> None:
    left = numbers.astype(np.int32)  # at most nine digits
    for at in reversed(range(place.shape[1])):
        tens = left // 10
        place[:, at] = left - tens * 10 + ord("0")
        left = tens
