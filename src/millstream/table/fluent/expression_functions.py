"""The functions of `millstream.table.expressions`, with PyFlink's names."""

from __future__ import annotations

from typing import Any

from millstream.common.errors import PlanError
from millstream.table.expression import Expression, JsonOnNull, TimePointUnit
from millstream.table.fluent.expression_base import given, quoted
from millstream.table.fluent.expression_summary import Symbol
from millstream.table.types.data_types import DataType

__all__ = [
    "CURRENT_RANGE",
    "CURRENT_ROW",
    "UNBOUNDED_RANGE",
    "UNBOUNDED_ROW",
    "and_",
    "array",
    "atan2",
    "call",
    "call_sql",
    "coalesce",
    "col",
    "concat",
    "concat_ws",
    "convert_tz",
    "current_database",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_watermark",
    "date_format",
    "descriptor",
    "e",
    "from_unixtime",
    "if_then_else",
    "json",
    "json_array",
    "json_array_agg",
    "json_object",
    "json_object_agg",
    "json_string",
    "lag",
    "lead",
    "lit",
    "local_time",
    "local_timestamp",
    "log",
    "map_",
    "map_from_arrays",
    "negative",
    "not_",
    "null_of",
    "object_of",
    "or_",
    "pi",
    "rand",
    "rand_integer",
    "range_",
    "row",
    "row_interval",
    "source_watermark",
    "temporal_overlaps",
    "timestamp_diff",
    "to_date",
    "to_timestamp",
    "to_timestamp_ltz",
    "unix_timestamp",
    "uuid",
    "with_all_columns",
    "with_columns",
    "without_columns",
]


def _call(name: str, *arguments: Any) -> Expression:
    return Expression("call", arguments, name=name)


def _text(shown: tuple[Any, ...], *parts: Any) -> Expression:
    return Expression("text", parts, shown=shown)


def _value(value: Any) -> Expression:
    return value if isinstance(value, Expression) else lit(value)


def _listed(values: tuple[Any, ...]) -> list[Any]:
    parts: list[Any] = []
    for value in values:
        parts += [", ", _value(value)] if parts else [_value(value)]
    return parts


def col(name: str) -> Expression:
    """A column of the table that takes the expression.

    Examples
    --------
    >>> col("price") * 2
    times(price, 2)
    """
    return Expression("column", name=name)


def lit(v: Any, data_type: DataType | None = None) -> Expression:
    """A constant, perhaps of another type than that of its Python value."""
    return v if isinstance(v, Expression) else Expression("literal", (v,), data=data_type)


def range_(start: str | int, end: str | int) -> Expression:
    """The columns from one to another, for `with_columns`; places count from 1."""
    return Expression("range", data=(start, end))


def and_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression:
    """TRUE if all are."""
    return _chained("AND", predicate0, predicate1, *predicates)


def or_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression:
    """TRUE if one is."""
    return _chained("OR", predicate0, predicate1, *predicates)


def _chained(word: str, *several: Any) -> Expression:
    parts: list[Any] = []
    for each in several:
        parts += [f" {word} ", _value(each)] if parts else [_value(each)]
    return _text((word.lower(), *several), "(", *parts, ")")


def not_(expression: Expression) -> Expression:
    """The opposite; NULL stays NULL."""
    return _text(("not", expression), "(NOT ", expression, ")")


def current_database() -> Expression:
    """The current database."""
    return _call("CURRENT_DATABASE")


def current_date() -> Expression:
    """The day at which a row is computed."""
    return _text(("currentDate",), "CURRENT_DATE")


def current_time() -> Expression:
    """The time of the day at which a row is computed."""
    return _text(("currentTime",), "CURRENT_TIME")


def current_timestamp() -> Expression:
    """The instant at which a row is computed."""
    return _text(("currentTimestamp",), "CURRENT_TIMESTAMP")


def current_watermark(rowtimeAttribute: Any) -> Expression:
    """The watermark at the operator; NULL if there is none yet."""
    return _call("CURRENT_WATERMARK", rowtimeAttribute)


def local_time() -> Expression:
    """The time of the day in the time zone of the session."""
    return _text(("localTime",), "LOCALTIME")


def local_timestamp() -> Expression:
    """The time in the time zone of the session."""
    return _text(("localTimestamp",), "LOCALTIMESTAMP")


def to_date(date_str: Any, format: Any = None) -> Expression:
    """A text as a date."""
    return _call("TO_DATE", date_str, *given(format))


def to_timestamp(timestamp_str: Any, format: Any = None) -> Expression:
    """A text as a timestamp."""
    return _call("TO_TIMESTAMP", timestamp_str, *given(format))


def to_timestamp_ltz(*args: Any) -> Expression:
    """A number of seconds or milliseconds, or a text, as an instant."""
    return _call("TO_TIMESTAMP_LTZ", *args)


def temporal_overlaps(
    left_time_point: Any, left_temporal: Any, right_time_point: Any, right_temporal: Any
) -> Expression:
    """Whether two spans of time have a moment in common."""
    first = ("(", _value(left_time_point), ", ", _value(left_temporal), ")")
    second = ("(", _value(right_time_point), ", ", _value(right_temporal), ")")
    points = (left_time_point, left_temporal, right_time_point, right_temporal)
    return _text(("temporalOverlaps", *points), "(", *first, " OVERLAPS ", *second, ")")


def date_format(timestamp: Any, format: Any) -> Expression:
    """A time as a text."""
    return _call("DATE_FORMAT", timestamp, format)


def timestamp_diff(
    time_point_unit: TimePointUnit, time_point1: Any, time_point2: Any
) -> Expression:
    """The whole units from one time to another."""
    first, second = _value(time_point1), _value(time_point2)
    unit = time_point_unit.value
    shown = ("timestampDiff", Symbol(unit), first, second)
    return _text(shown, f"TIMESTAMPDIFF({unit}, ", first, ", ", second, ")")


def convert_tz(date_str: Any, tz_from: Any, tz_to: Any) -> Expression:
    """The text of a time in another time zone."""
    return _call("CONVERT_TZ", date_str, tz_from, tz_to)


def from_unixtime(unixtime: Any, format: Any = None) -> Expression:
    """Seconds since 1970 as a text."""
    return _call("FROM_UNIXTIME", unixtime, *given(format))


def unix_timestamp(date_str: Any = None, format: Any = None) -> Expression:
    """Seconds since 1970, of a text or of now."""
    return _call("UNIX_TIMESTAMP", *given(date_str, format))


def array(head: Any, *tail: Any) -> Expression:
    """An array of values."""
    return _text(("array", head, *tail), "ARRAY[", *_listed((head, *tail)), "]")


def row(head: Any, *tail: Any) -> Expression:
    """A row of values."""
    return _text(("row", head, *tail), "ROW(", *_listed((head, *tail)), ")")


def map_(key: Any, value: Any, *tail: Any) -> Expression:
    """A map of keys and values."""
    pairs = (key, value, *tail)
    return _text(("map", *pairs), "MAP[", *_listed(pairs), "]")


def map_from_arrays(key: Any, value: Any) -> Expression:
    """A map of an array of keys and one of values."""
    return _call("MAP_FROM_ARRAYS", key, value)


def descriptor(*column_names: str) -> Expression:
    """Names of columns as an argument of a table function."""
    names = ", ".join(map(quoted, column_names))
    return _text(("DESCRIPTOR", *map(Symbol, column_names)), f"DESCRIPTOR({names})")


def object_of(class_name: str, *args: Any) -> Expression:
    """Refused: there are no classes of Java."""
    message = f"there is no class {class_name} to make an object of"
    raise PlanError("NO_SUCH_FUNCTION", message, hint="use row(...)")


def row_interval(rows: int) -> Expression:
    """A number of rows, for OVER windows."""
    return Expression("rows", (rows,))


UNBOUNDED_ROW = Expression("rows", ("UNBOUNDED",))
CURRENT_ROW = Expression("rows", ("CURRENT",))
UNBOUNDED_RANGE = Expression("bound", ("UNBOUNDED",))
CURRENT_RANGE = Expression("bound", ("CURRENT",))


def pi() -> Expression:
    """The number pi."""
    return _call("PI")


def e() -> Expression:
    """The number e."""
    return _call("E")


def rand(seed: Any = None) -> Expression:
    """A random number from 0 to 1."""
    return _call("RAND", *given(seed))


def rand_integer(bound: Any, seed: Any = None) -> Expression:
    """A random integer below a bound."""
    return _call("RAND_INTEGER", *given(seed), bound)


def atan2(y: Any, x: Any) -> Expression:
    """The angle of a point."""
    return _call("ATAN2", y, x)


def negative(v: Any) -> Expression:
    """The number with the other sign."""
    return _text(("minusPrefix", v), "(-", _value(v), ")")


def concat(first: Any, *others: Any) -> Expression:
    """Texts one behind the other."""
    return _call("CONCAT", first, *others)


def concat_ws(separator: Any, first: Any, *others: Any) -> Expression:
    """Texts with a separator between them."""
    return _call("CONCAT_WS", separator, first, *others)


def uuid() -> Expression:
    """A random UUID."""
    return _call("UUID")


def null_of(data_type: DataType) -> Expression:
    """NULL of a type."""
    return lit(None, data_type)


def log(v: Any, base: Any = None) -> Expression:
    """The logarithm, by default the natural one."""
    return _value(v).log(base)


def source_watermark() -> Expression:
    """In a schema: the source makes the watermarks."""
    return _call("SOURCE_WATERMARK")


def if_then_else(condition: Any, if_true: Any, if_false: Any) -> Expression:
    """One of two values by a condition.

    Examples
    --------
    >>> if_then_else(col("n") > 9, "many", "few")
    ifThenElse(greaterThan(n, 9), 'many', 'few')
    """
    return _value(condition).then(if_true, if_false)


def coalesce(*args: Any) -> Expression:
    """The first value that is not NULL."""
    return _call("COALESCE", *args)


def with_all_columns() -> Expression:
    """All columns, in `select`."""
    return Expression("columns", name="ALL")


def with_columns(head: Any, *tails: Any) -> Expression:
    """Some columns, in `select`: names, places from 1, and `range_`."""
    return Expression("columns", (head, *tails), name="WITH")


def without_columns(head: Any, *tails: Any) -> Expression:
    """All columns but some, in `select`."""
    return Expression("columns", (head, *tails), name="WITHOUT")


def json(value: Any) -> Expression:
    """A text that is JSON already, inside of `json_object` and `json_array`."""
    return _call("JSON", value)


def json_string(value: Any) -> Expression:
    """A value as JSON."""
    return _call("JSON_STRING", value)


def json_object(on_null: JsonOnNull = JsonOnNull.NULL, *args: Any) -> Expression:
    """A JSON object of keys and values in turn."""
    parts: list[Any] = []
    for at in range(0, len(args), 2):
        pair = ["KEY ", _value(args[at]), " VALUE ", _value(args[at + 1])]
        parts += [", ", *pair] if parts else pair
    shown = ("JSON_OBJECT", Symbol(on_null.value), *args)
    return _text(shown, "JSON_OBJECT(", *parts, f" {on_null.value} ON NULL)")


def json_object_agg(on_null: JsonOnNull, key_expr: Any, value_expr: Any) -> Expression:
    """A JSON object of the keys and values of all rows."""
    pair = ("KEY ", _value(key_expr), " VALUE ", _value(value_expr))
    shown = (f"JSON_OBJECTAGG_{on_null.value}_ON_NULL", key_expr, value_expr)
    return _text(shown, "JSON_OBJECTAGG(", *pair, f" {on_null.value} ON NULL)")


def json_array(on_null: JsonOnNull = JsonOnNull.ABSENT, *args: Any) -> Expression:
    """A JSON array of values."""
    shown = ("JSON_ARRAY", Symbol(on_null.value), *args)
    ending = f" {on_null.value} ON NULL)" if args else ")"
    return _text(shown, "JSON_ARRAY(", *_listed(args), ending)


def json_array_agg(on_null: JsonOnNull, item_expr: Any) -> Expression:
    """A JSON array of the values of all rows."""
    shown = (f"JSON_ARRAYAGG_{on_null.value}_ON_NULL", item_expr)
    return _text(shown, "JSON_ARRAYAGG(", _value(item_expr), f" {on_null.value} ON NULL)")


def lag(expr: Any, offset: Any = 1, default: Any = None) -> Expression:
    """The value of a row before, over an OVER window."""
    return _call("LAG", expr, *given(offset, default))


def lead(expr: Any, offset: Any = 1, default: Any = None) -> Expression:
    """The value of a row behind, over an OVER window."""
    return _call("LEAD", expr, *given(offset, default))


def call(f: Any, *args: Any) -> Expression:
    """A call of a function by its name, or of a user function.

    Examples
    --------
    >>> call("UPPER", col("name"))
    upper(name)
    """
    if not isinstance(f, str):
        found: Expression = f(*args)
        return found
    name = f if f.replace("_", "").isalnum() else quoted(f)
    return _call(name, *args)


def call_sql(sql_expression: str) -> Expression:
    """An expression of SQL over the columns of the table."""
    return Expression("sql", (sql_expression,))
