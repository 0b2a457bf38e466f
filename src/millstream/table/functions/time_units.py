"""Units of time: parts of times, their beginnings, additions and differences."""

from __future__ import annotations

from datetime import tzinfo

from millstream.table.expressions import kinds
from millstream.table.expressions.java.dates import (
    DAY_NANOS,
    civil,
    days_of,
    iso_week,
    local_nanos,
)
from millstream.table.expressions.kinds import LogicalType

__all__ = ["add_months", "extract", "months_between", "round_time", "to_local"]

UNIT_NANOS = {
    "WEEK": 7 * DAY_NANOS,
    "DAY": DAY_NANOS,
    "HOUR": 3_600_000_000_000,
    "MINUTE": 60_000_000_000,
    "SECOND": 1_000_000_000,
    "MILLISECOND": 1_000_000,
    "MICROSECOND": 1_000,
    "NANOSECOND": 1,
}
UNIT_MONTHS = {
    "MILLENNIUM": 12_000,
    "CENTURY": 1_200,
    "DECADE": 120,
    "YEAR": 12,
    "QUARTER": 3,
    "MONTH": 1,
}


def to_local(value: int, kind: LogicalType, zone: tzinfo) -> int:
    """The local time in nanoseconds of a DATE, TIME or timestamp."""
    if kinds.root(kind) == "DATE":
        return value * DAY_NANOS
    if kinds.root(kind) == "TIME":
        return value * 1_000_000
    return local_nanos(value, zone) if kinds.root(kind) == "TIMESTAMP_LTZ" else value


def add_months(days: int, months: int) -> int:
    """A date so many months later; the day is at most the last one of the month."""
    year, month, day = civil(days)
    whole = year * 12 + month - 1 + months
    year, month = whole // 12, whole % 12 + 1
    following = days_of(year + month // 12, month % 12 + 1, 1)
    return min(days_of(year, month, 1) + day - 1, following - 1)


def months_between(start: int, end: int) -> int:
    """Whole months from one local time to another."""
    (first, rest), (last, other) = divmod(start, DAY_NANOS), divmod(end, DAY_NANOS)
    months = _months_of_dates(first, last) if first <= last else -_months_of_dates(last, first)
    # Flink takes one away whenever the clock is earlier, on the same day too.
    earlier = other // 1_000_000 < rest // 1_000_000
    return months - (earlier and add_months(first, months) == last)


def _months_of_dates(first: int, last: int) -> int:
    """Whole months to a later date; the last day of a shorter month counts as the day itself."""
    (year1, month1, _), (year2, month2, _) = civil(first), civil(last)
    months = (year2 - year1) * 12 + month2 - month1
    return months if add_months(first, months) <= last else months - 1


def truncated(value: int, size: int) -> int:
    """A division as Java does it: towards zero."""
    return value // size if value >= 0 else -(-value // size)


def extract(unit: str, nanos: int, days: int | None = None) -> int:
    """A part of a local time, or of a date of so many days.

    As in Flink, times before 1970 are divided towards zero, and the days of a date are taken as
    milliseconds.
    """
    millis = nanos // 1_000_000 if days is None else days
    remainder = millis - truncated(millis, 60_000) * 60_000
    day_rest = millis - truncated(millis, 86_400_000) * 86_400_000
    clock = {
        "HOUR": truncated(day_rest, 3_600_000),
        "MINUTE": truncated(day_rest - truncated(day_rest, 3_600_000) * 3_600_000, 60_000),
        "SECOND": truncated(remainder, 1000),
        "MILLISECOND": remainder - truncated(remainder, 1000) * 1000,
        "MICROSECOND": (remainder - truncated(remainder, 1000) * 1000) * 1000
        + nanos % 1_000_000 // 1000,
        "NANOSECOND": (remainder - truncated(remainder, 1000) * 1000) * 1_000_000
        + nanos % 1_000_000,
        "EPOCH": truncated(nanos // 1_000_000, 1000),
    }
    if unit in clock:
        if days is not None and unit in ("MICROSECOND", "NANOSECOND"):
            raise ValueError(f"unit {unit} can not be applied to DATE")
        return clock[unit]
    return _date_part(unit, truncated(millis, 86_400_000) if days is None else days)


def _date_part(unit: str, days: int) -> int:
    year, month, day = civil(days)
    dates = {
        "YEAR": year,
        "QUARTER": (month + 2) // 3,
        "MONTH": month,
        "DAY": day,
        "DOY": days - days_of(year, 1, 1) + 1,
        "DOW": (days + 4) % 7 + 1,
        "ISODOW": (days + 3) % 7 + 1,
        "WEEK": iso_week(days)[1],
        "ISOYEAR": iso_week(days)[0],
        "DECADE": year // 10,
        "CENTURY": (year + 99) // 100 if year > 0 else -((99 - year) // 100),
        "MILLENNIUM": (year + 999) // 1000 if year > 0 else -((999 - year) // 1000),
    }
    if unit not in dates:
        raise ValueError(f"{unit} cannot be extracted")
    return dates[unit]


def round_time(value: int, kind: LogicalType, unit: str, up: bool, zone: tzinfo) -> int:
    """The beginning of the unit of a time, or, with `up`, the next one if it is not the time itself.

    As in Flink, weeks and longer units look at the date alone.
    """
    local = to_local(value, kind, zone)
    if unit in UNIT_MONTHS or unit == "WEEK":
        moved = _round_date(truncated(local, DAY_NANOS), unit, up) * DAY_NANOS
    elif kinds.root(kind) == "DATE":
        moved = local + (DAY_NANOS if up and unit == "DAY" else 0)
    else:
        step = UNIT_NANOS[unit]
        if step > 1_000_000:
            local = local // 1_000_000 * 1_000_000  # Flink looks at whole milliseconds
        start = local // step * step
        moved = start + (step if up and start < local else 0)
    if kinds.root(kind) == "DATE":
        return moved // DAY_NANOS
    if kinds.root(kind) == "TIME":
        if moved >= DAY_NANOS:
            raise ValueError("Hour out of range: [24]")
        return moved // 1_000_000
    # As in Flink, the result has the offset of the time itself, though the clock may change between.
    return moved - (to_local(value, kind, zone) - value)


def _round_date(days: int, unit: str, up: bool) -> int:
    if unit == "WEEK":
        start = days - (days + 4) % 7  # weeks begin on Sunday
        return start + (7 if up and start < days else 0)
    year, month, _ = civil(days)
    size = UNIT_MONTHS[unit]
    # Centuries and millennia begin with year 1.
    origin = 12 if unit in ("CENTURY", "MILLENNIUM") else 0
    first = (year * 12 + month - 1 - origin) // size * size + origin
    start = days_of(first // 12, first % 12 + 1, 1)
    if up and (start < days or unit == "DECADE"):
        first += size
        start = days_of(first // 12, first % 12 + 1, 1)
    return start
