"""Functions of dates, times and timestamps."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa

from millstream.table.expressions import kinds
from millstream.table.expressions.context import Context
from millstream.table.expressions.java.dates import (
    DAY_NANOS,
    DateError,
    DatePatternError,
    Fields,
    format_pattern,
    local_nanos,
    parse_pattern,
    utc_nanos,
    zone_of,
)
from millstream.table.expressions.java.numbers import wrap
from millstream.table.expressions.kinds import LogicalType
from millstream.table.expressions.tree import Call, Expression, Literal, Symbol
from millstream.table.expressions.vectors import Vector, build, each_value
from millstream.table.functions.arithmetic import add_interval
from millstream.table.functions.cast_text import (
    parse_date,
    parse_time,
    parse_timestamp,
    timestamp_text,
)
from millstream.table.functions.registry import BindError, function, to_type, vectorised
from millstream.table.functions.time_columns import (
    LAST_SECOND,
    add_millis,
    extract_column,
    format_column,
    moment_column,
)
from millstream.table.functions.time_units import (
    UNIT_MONTHS,
    UNIT_NANOS,
    extract,
    months_between,
    to_local,
    truncated,
)

__all__: list[str] = []

TEMPORAL = "temporal"
DEFAULT = "yyyy-MM-dd HH:mm:ss"


_CLOCK = {"HOUR", "MINUTE", "SECOND", "MILLISECOND"}
_PARTS = {
    "TIME": _CLOCK,
    "INTERVAL_MILLIS": {"DAY", *_CLOCK},
    "INTERVAL_MONTHS": {"MILLENNIUM", "CENTURY", "YEAR", "QUARTER", "MONTH"},
}
"""The parts of types that have not all."""


def _check_unit(unit: str, kind: LogicalType) -> None:
    if unit not in _PARTS.get(kinds.root(kind), {unit}):
        raise BindError(f"unit {unit} can not be applied to {kind}")


def _extract_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if len(arguments) != 2 or not isinstance(arguments[0], Symbol):
        raise BindError("a unit and a time are needed")
    kind, unit = arguments[1].type, arguments[0].text
    if not (kinds.is_temporal(kind) or kinds.is_interval(kind)):
        raise BindError(f"{kind} is no time")
    _check_unit(unit, kind)
    return arguments, kinds.with_nullability(kinds.BIGINT, kind.nullable)


def _part_of_months(unit: str, months: int) -> int:
    """A part of an interval; a negative one has negative parts."""
    rest = months - truncated(months, 12) * 12
    if unit in ("MONTH", "QUARTER"):
        return rest if unit == "MONTH" else truncated(rest, 3) + 1
    return truncated(months, UNIT_MONTHS[unit])


def _part(unit: str, value: int, kind: LogicalType, context: Context) -> int:
    if kinds.root(kind) == "INTERVAL_MONTHS":
        return _part_of_months(unit, value)
    if kinds.root(kind) == "INTERVAL_MILLIS":
        sign, size = (-1 if value < 0 else 1), abs(value) * 1_000_000
        return sign * (size // DAY_NANOS if unit == "DAY" else extract(unit, size))
    if kinds.root(kind) == "DATE":
        return extract(unit, value * DAY_NANOS, value)
    return extract(unit, to_local(value, kind, context.zone))


@vectorised("EXTRACT", TEMPORAL, "EXTRACT(unit FROM time)", _extract_type)
def _extract(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """A part of a time, such as YEAR, DOY, WEEK or SECOND, as a BIGINT."""
    unit, time = vectors
    return _parts(unit.scalar, time, call.type, context)


def _parts(unit: str, time: Vector, kind: LogicalType, context: Context) -> pa.Array:
    quick = extract_column(unit, time, kind, context.zone)
    if quick is not None:
        return quick

    def row(value: int) -> int:
        return _part(unit, value, time.type, context)

    return build(each_value(row, [time], context.length), kind)


def _declare_part(name: str, unit: str, words: str) -> None:
    def infer(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
        if len(arguments) != 1 or not kinds.is_temporal(arguments[0].type):
            raise BindError("a time is needed")
        _check_unit(unit, arguments[0].type)
        return arguments, kinds.with_nullability(kinds.BIGINT, arguments[0].type.nullable)

    def run(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
        return _parts(unit, vectors[0], call.type, context)

    run.__doc__ = words
    vectorised(name, TEMPORAL, f"{name}(time)", infer)(run)


_declare_part("YEAR", "YEAR", "The year.")
_declare_part("QUARTER", "QUARTER", "The quarter of the year, from 1 to 4.")
_declare_part("MONTH", "MONTH", "The month, from 1 to 12.")
_declare_part("WEEK", "WEEK", "The ISO week of the year, from 1 to 53.")
_declare_part("DAYOFYEAR", "DOY", "The day of the year, from 1 to 366.")
_declare_part("DAYOFMONTH", "DAY", "The day of the month, from 1 to 31.")
_declare_part("DAYOFWEEK", "DOW", "The day of the week, from 1 (Sunday) to 7.")
_declare_part("HOUR", "HOUR", "The hour, from 0 to 23.")
_declare_part("MINUTE", "MINUTE", "The minute, from 0 to 59.")
_declare_part("SECOND", "SECOND", "The second, from 0 to 59.")


_TOO_SMALL = dict.fromkeys(("DATE", "TIME"), ("MILLISECOND", "MICROSECOND", "NANOSECOND"))


def _unit(symbol: Symbol) -> Symbol:
    """A unit of TIMESTAMPADD and TIMESTAMPDIFF, which have names such as SQL_TSI_DAY too."""
    return Symbol(symbol.type, symbol.text.removeprefix("SQL_TSI_"))


def _add_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if len(arguments) != 3 or not isinstance(arguments[0], Symbol):
        raise BindError("a unit, a number and a time are needed")
    unit, amount, time = _unit(arguments[0]), *arguments[1:]
    if not kinds.is_temporal(time.type) or kinds.root(amount.type) not in (
        *kinds.INTEGERS,
        "NULL",
    ):
        raise BindError(f"{amount.type} cannot be added to {time.type}")
    kind = time.type
    if unit.text in _TOO_SMALL.get(kinds.root(kind), ("MICROSECOND", "NANOSECOND")):
        raise BindError(f"{unit.text} cannot be added to {kind}")
    clock = isinstance(unit, Symbol) and unit.text in ("HOUR", "MINUTE", "SECOND")
    if kinds.root(kind) == "DATE" and clock:
        kind = kinds.timestamp(6)
        time = to_type(time, kind)
    elif kinds.root(kind) in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        precision = kinds.width(kind)
        kind = kinds.timestamp(precision, kinds.root(kind) == "TIMESTAMP_LTZ")
    nullable = amount.type.nullable or time.type.nullable
    return [unit, amount, time], kinds.with_nullability(kind, nullable)


@vectorised("TIMESTAMPADD", TEMPORAL, "TIMESTAMPADD(unit, integer, time)", _add_type)
def _timestamp_add(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """The time later, or with a negative number earlier, by so many units."""
    unit, amount, time = vectors
    months = UNIT_MONTHS.get(unit.scalar)

    def step(count: int) -> int:
        return count * months if months else count * UNIT_NANOS[unit.scalar] // 1_000_000

    if not months and amount.scalar is not None:
        quick = add_millis(time, step(amount.scalar), call.type)
        if quick is not None:
            return quick

    def row(count: int, value: int) -> int:
        return add_interval(value, step(count), time.type, bool(months), context)

    return build(each_value(row, [amount, time], context.length), call.type)


def _difference_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if len(arguments) != 3 or not isinstance(arguments[0], Symbol):
        raise BindError("a unit and two times are needed")
    times = [each.type for each in arguments[1:]]
    if not all(map(kinds.is_temporal, times)):
        raise BindError("times are needed")
    if len({kinds.root(kind) == "TIMESTAMP_LTZ" for kind in times}) > 1:
        raise BindError("TIMESTAMP_LTZ has a difference only with TIMESTAMP_LTZ")
    nullable = any(kind.nullable for kind in times)
    return [_unit(arguments[0]), *arguments[1:]], kinds.with_nullability(kinds.INT, nullable)


@vectorised("TIMESTAMPDIFF", TEMPORAL, "TIMESTAMPDIFF(unit, time1, time2)", _difference_type)
def _timestamp_diff(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """The whole units from the first time to the second; negative if it is earlier."""
    unit, first, second = vectors

    def row(start: int, end: int) -> int:
        begin = to_local(start, first.type, context.zone)
        stop = to_local(end, second.type, context.zone)
        if unit.scalar in UNIT_MONTHS:
            months, size = months_between(begin, stop), UNIT_MONTHS[unit.scalar]
            return abs(months) // size * (1 if months >= 0 else -1)
        span = stop - begin
        if unit.scalar == "MILLISECOND":
            return wrap(truncated(span, 1_000_000_000) * 1000, 32)  # whole seconds, as in Flink
        return wrap(truncated(span, UNIT_NANOS[unit.scalar]), 32)

    return build(each_value(row, [first, second], context.length), call.type)


def _between_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    first, second, unit = arguments
    if not (kinds.is_temporal(first.type) and kinds.is_temporal(second.type)):
        raise BindError("two times are needed")
    if kinds.root(first.type) != kinds.root(second.type):
        raise BindError("both times must be of one kind")
    kind = kinds.MONTHS if str(unit) == "MONTH" else kinds.MILLIS
    nullable = first.type.nullable or second.type.nullable
    return arguments, kinds.with_nullability(kind, nullable)


@vectorised("TIME DIFFERENCE", TEMPORAL, "(time1 - time2) unit [TO unit]", _between_type)
def _time_difference(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """The time from the second to the first, as an interval of months or of milliseconds."""
    first, second, unit = vectors

    def row(end: int, start: int) -> int:
        begin = to_local(start, second.type, context.zone)
        stop = to_local(end, first.type, context.zone)
        if unit.scalar == "MONTH":
            return months_between(begin, stop)
        return stop // 1_000_000 - begin // 1_000_000

    return build(each_value(row, [first, second], context.length), call.type)


@function(
    "DATE_FORMAT",
    TEMPORAL,
    "DATE_FORMAT(time, pattern)",
    "TIMESTAMP_OR_TEXT STRING",
    "STRING?",
    pass_call=True,
    pass_context=True,
    quick=lambda call, found, context: format_column(found[0], found[1], call.type, context.zone),
)
def _date_format(call: Call, context: Context, value: Any, pattern: str) -> str | None:
    """The time by a pattern of Java's DateTimeFormatter; a text is read as a timestamp first."""
    kind = call.arguments[0].type
    if isinstance(value, str):
        try:
            value, kind = parse_pattern(value, DEFAULT, simple=True).nanos(), kinds.timestamp(9)
        except DateError:
            return None
    return format_pattern(to_local(value, kind, context.zone), pattern)


@function(
    "CONVERT_TZ", TEMPORAL, "CONVERT_TZ(string, zone1, zone2)", "STRING STRING STRING", "STRING?"
)
def _convert_tz(text: str, source: str, target: str) -> str | None:
    """A timestamp in the first time zone as the clock of the second shows it."""
    try:
        local = parse_pattern(text, DEFAULT, simple=True).nanos()
    except DateError:
        return None
    moment = utc_nanos(local, _java_zone(source), later=True)
    return format_pattern(local_nanos(moment, _java_zone(target)), DEFAULT)


def _java_zone(name: str) -> Any:
    try:
        return zone_of(name)
    except DateError:
        return zone_of("UTC")  # as Java's TimeZone does


@function(
    "FROM_UNIXTIME",
    TEMPORAL,
    "FROM_UNIXTIME(seconds [, pattern])",
    "INTEGER STRING?",
    "STRING?",
    pass_context=True,
)
def _from_unixtime(context: Context, seconds: int, pattern: str = DEFAULT) -> str | None:
    """The moment so many seconds after 1970, in the session's time zone, by a pattern of Java's
    SimpleDateFormat.
    """
    local = local_nanos(wrap(seconds * 1000, 64) * 1_000_000, context.zone)
    try:
        return format_pattern(local, pattern, context.zone, simple=True)
    except DateError as error:
        raise ValueError(str(error)) from None


@function(
    "UNIX_TIMESTAMP",
    TEMPORAL,
    "UNIX_TIMESTAMP([string [, pattern]])",
    "STRING? STRING?",
    "BIGINT",
    pass_context=True,
)
def _unix_timestamp(context: Context, text: str | None = None, pattern: str = DEFAULT) -> int:
    """The seconds since 1970 now, or of a text in the session's time zone; the least BIGINT if it
    cannot be read.
    """
    if text is None:
        return context.now_nanos // 1_000_000_000
    try:
        found = parse_pattern(text, pattern, simple=True)
        return utc_nanos(found.nanos(), found.zone or context.zone, later=True) // 1_000_000_000
    except (DateError, ValueError):
        return -(2**63)


@function("TO_DATE", TEMPORAL, "TO_DATE(string [, pattern])", "STRING STRING?", "DATE?")
def _to_date(text: str, pattern: str | None = None) -> int | None:
    """The date of a text; NULL if it is none."""
    if pattern is None:
        return parse_date(text)
    try:
        return parse_pattern(text, pattern, simple=True).nanos() // DAY_NANOS
    except DatePatternError:
        raise
    except (DateError, ValueError):
        return None


def _parse(text: str, pattern: str | None) -> Fields | int | None:
    """Fields by a pattern, or nanoseconds of the default format; None if the text does not fit."""
    if pattern is None:
        return parse_timestamp(text, 3)
    try:
        return parse_pattern(text, pattern)
    except DatePatternError:
        return None
    except (DateError, ValueError):
        return _lenient(text)


def _lenient(text: str) -> int | None:
    """The second attempt after a pattern has failed: `2020-1-2 3:4:5` and `2020-1-2`."""
    return parse_timestamp(text.strip(), 9)


@function(
    "TO_TIMESTAMP", TEMPORAL, "TO_TIMESTAMP(string [, pattern])", "STRING STRING?", "TIMESTAMP(3)?"
)
def _to_timestamp(text: str, pattern: str | None = None) -> int | None:
    """The timestamp of a text; NULL if it is none."""
    found = _parse(text, pattern)
    return _millis(found.nanos() if isinstance(found, Fields) else found)


def _millis(nanos: int | None) -> int | None:
    return None if nanos is None else nanos // 1_000_000 * 1_000_000


def _ltz_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if not 1 <= len(arguments) <= 3:
        raise BindError("one to three arguments are needed")
    numbers = kinds.is_numeric(arguments[0].type) and len(arguments) <= 2
    fits = kinds.is_numeric if numbers else kinds.is_string
    if not all(fits(each.type) or kinds.root(each.type) == "NULL" for each in arguments):
        raise BindError("a number and its precision are needed, or texts")
    precision = 3
    second = arguments[1] if len(arguments) > 1 else None
    if isinstance(second, Literal) and isinstance(second.value, int):
        precision = max(3, second.value)
    elif isinstance(second, Literal) and isinstance(second.value, str):
        check_pattern(second.value)
        precision = max(3, second.value.count("S"))
    return arguments, kinds.timestamp(min(precision, 9), True)


def moment_of(number: float | Decimal, digits: int) -> int | None:
    """The nanoseconds of so many seconds (0 digits), milliseconds (3) and so on after 1970.

    NULL after the year 9999.
    """
    unit = 10 ** (9 - digits)
    nanos = int(number * unit) if isinstance(number, float) else int(number) * unit
    return nanos if nanos // 1_000_000_000 <= LAST_SECOND else None


@vectorised(
    "TO_TIMESTAMP_LTZ",
    TEMPORAL,
    "TO_TIMESTAMP_LTZ(number [, precision]), TO_TIMESTAMP_LTZ(string [, pattern [, zone]])",
    _ltz_type,
)
def _to_timestamp_ltz(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """The moment so many seconds (precision 0), milliseconds (3) and so on after 1970, or of a text
    in UTC or a zone.
    """
    digits = vectors[1] if len(vectors) == 2 else None
    if kinds.root(vectors[0].type) in kinds.INTEGERS and (digits is None or digits.constant):
        moments = moment_column(vectors[0], 3 if digits is None else digits.scalar, call.type)
        if moments is not None:
            return moments
    step = 10 ** (9 - kinds.width(call.type))

    def row(value: Any, second: Any = None, zone: str = "UTC") -> int | None:
        if not isinstance(value, str):
            nanos = moment_of(value, 3 if second is None else second)
            return None if nanos is None else nanos // step * step
        found = _parse(value, second)
        if found is None and second is None:
            raise ValueError(f"Text '{value}' could not be parsed")
        local = found.nanos() if isinstance(found, Fields) else found
        return None if local is None else utc_nanos(local // step * step, zone_of(zone))

    return build(each_value(row, vectors, context.length), call.type)


def check_pattern(pattern: str) -> None:
    """A pattern of a literal that Java refuses is an error before anything runs."""
    try:
        parse_pattern("", pattern)
    except DatePatternError as error:
        raise BindError(f"Invalid pattern for parsing TIMESTAMP_LTZ: {error}") from None
    except DateError:
        pass


@function(
    "OVERLAPS",
    TEMPORAL,
    "(time1, end1) OVERLAPS (time2, end2)",
    "TEMPORAL TIME_OR_INTERVAL TEMPORAL TIME_OR_INTERVAL",
    "BOOLEAN",
    strict=False,
    pass_call=True,
    pass_context=True,
)
def _overlaps(call: Call, context: Context, *times: int | None) -> bool | None:
    """TRUE if two spans have a moment in common; an end may be a time or an interval."""
    spans = [_span(call, at, times[at], times[at + 1], context) for at in (0, 2)]
    (start1, end1), (start2, end2) = spans
    reached = [
        None if end is None or start is None else end >= start
        for end, start in ((end1, start2), (end2, start1))
    ]
    if False in reached:
        return False
    return None if None in reached else True


def _span(
    call: Call, at: int, start: int | None, end: int | None, context: Context
) -> tuple[int | None, int | None]:
    """The earlier and the later end of a span; if one is not known, the first counts as the later."""
    kind, other = call.arguments[at].type, call.arguments[at + 1].type
    if kinds.is_interval(other) and end is not None:
        months = kinds.root(other) == "INTERVAL_MONTHS"
        end = None if start is None else add_interval(start, end, kind, months, context)
    if start is None or end is None or start > end:
        return end, start
    return start, end


def _now(name: str, gives: str, words: str, syntax: str) -> None:
    def run(context: Context) -> int:
        local = local_nanos(context.now_nanos, context.zone)
        if gives.startswith("DATE"):
            return local // DAY_NANOS
        if gives.startswith("TIME("):
            return local % DAY_NANOS // 1_000_000_000 * 1000
        return context.now_nanos if gives.startswith("TIMESTAMP_LTZ") else local

    run.__doc__ = words
    function(name, TEMPORAL, syntax, "", gives, pass_context=True, deterministic=False)(run)


_now("CURRENT_DATE", "DATE!", "The date in the session's time zone.", "CURRENT_DATE")
_now("CURRENT_TIME", "TIME(0)!", "The time in the session's time zone.", "CURRENT_TIME")
_now("LOCALTIME", "TIME(0)!", "The time in the session's time zone.", "LOCALTIME")
_now(
    "LOCALTIMESTAMP",
    "TIMESTAMP(3)!",
    "The date and time in the session's time zone.",
    "LOCALTIMESTAMP",
)
_now("CURRENT_TIMESTAMP", "TIMESTAMP_LTZ(3)!", "The moment.", "CURRENT_TIMESTAMP")
_now("NOW", "TIMESTAMP_LTZ(3)!", "The moment.", "NOW()")
_now(
    "CURRENT_ROW_TIMESTAMP",
    "TIMESTAMP_LTZ(3)!",
    "The moment at which the row is processed.",
    "CURRENT_ROW_TIMESTAMP()",
)


@function(
    "PROCTIME",
    TEMPORAL,
    "PROCTIME()",
    "",
    "TIMESTAMP_LTZ(3)!",
    pass_context=True,
    deterministic=False,
)
def _proctime(context: Context) -> int:
    """The moment at which the row is processed, as a time attribute."""
    given = context.processing_nanos
    return context.now_nanos if given is None else given


_ = (parse_time, timestamp_text)
