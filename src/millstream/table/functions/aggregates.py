"""Aggregates and functions of windows: signatures and result types. The operators of tables compute
them.
"""

from __future__ import annotations

from collections.abc import Callable

from millstream.table.expressions import kinds
from millstream.table.expressions.kinds import LogicalType
from millstream.table.expressions.tree import Expression, Literal
from millstream.table.functions.registry import BindError, Infer, declare, signature
from millstream.table.types.logical import MultisetType
from millstream.table.types.merging import average_type, sum_type

__all__: list[str] = []

AGGREGATE = "aggregate"
WINDOW = "window function"


def _of_first(rule: Callable[[LogicalType], LogicalType], family: str, most: int = 1) -> Infer:
    """One argument of a family, whose type gives that of the result; it is NULL for no rows."""
    takes = " ".join([family, *["ANY?"] * (most - 1)])
    return signature(takes, lambda types: kinds.with_nullability(rule(types[0]), True))


def _same(kind: LogicalType) -> LogicalType:
    return kind


def _of_other_row(types: list[LogicalType]) -> LogicalType:
    if len(types) == 3 and len(set(map(_sort_of, (types[0], types[2]))) - {"text", "NULL"}) > 1:
        raise BindError(f"a {types[2]} is no default of a {types[0]}")
    # As in Flink: with a default that is never NULL, neither is the result.
    return kinds.with_nullability(types[0], len(types) < 3 or types[2].nullable)


def _sort_of(kind: LogicalType) -> str:
    if kinds.is_string(kind):
        return "text"
    return "number" if kinds.is_numeric(kind) else kinds.root(kind)


def _variance(kind: LogicalType) -> LogicalType:
    return average_type(kind)


def _list_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if not 1 <= len(arguments) <= 2 or not all(kinds.is_string(each.type) for each in arguments):
        raise BindError("a text, and perhaps a separator, are needed")
    if not all(isinstance(each, Literal) for each in arguments[1:]):
        raise BindError("the separator has to be a literal")
    return arguments, kinds.with_nullability(arguments[0].type, True)


def _percentile_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if not 2 <= len(arguments) <= 3 or not kinds.is_numeric(arguments[0].type):
        raise BindError("a number and a percentage are needed")
    percentage = arguments[1].type
    several = kinds.root(percentage) == "ARRAY"
    if not kinds.is_numeric(percentage.children[0] if several else percentage):
        raise BindError("a number and a percentage are needed")
    return arguments, kinds.array_of(kinds.DOUBLE) if several else kinds.DOUBLE


_ENTRIES: list[tuple[str, str, str, Infer]] = [
    ("COUNT", "COUNT(*), COUNT([DISTINCT] value1 [, value2]*)", "The number of rows, or of rows whose values are not NULL.", signature("ANY*", "BIGINT!")),
    ("SUM", "SUM([DISTINCT] numeric)", "The sum; NULL if there are only NULLs. A DECIMAL gets 38 digits.", _of_first(sum_type, "NUMERIC")),
    ("SUM0", "SUM0(numeric)", "The sum; 0 if there are only NULLs.", signature("NUMERIC", lambda types: kinds.not_null(sum_type(types[0])))),
    ("AVG", "AVG([DISTINCT] numeric)", "The mean; that of integers is an integer, rounded towards zero.", _of_first(average_type, "NUMERIC")),
    ("MIN", "MIN(value)", "The least value.", _of_first(_same, "ANY")),
    ("MAX", "MAX(value)", "The greatest value.", _of_first(_same, "ANY")),
    ("STDDEV_POP", "STDDEV_POP(numeric)", "The standard deviation of all values.", _of_first(_variance, "NUMERIC")),
    ("STDDEV_SAMP", "STDDEV_SAMP(numeric)", "The standard deviation of a sample.", _of_first(_variance, "NUMERIC")),
    ("STDDEV", "STDDEV(numeric)", "The same as STDDEV_SAMP.", _of_first(_variance, "NUMERIC")),
    ("VAR_POP", "VAR_POP(numeric)", "The variance of all values.", _of_first(_variance, "NUMERIC")),
    ("VAR_SAMP", "VAR_SAMP(numeric)", "The variance of a sample.", _of_first(_variance, "NUMERIC")),
    ("VARIANCE", "VARIANCE(numeric)", "The same as VAR_SAMP.", _of_first(_variance, "NUMERIC")),
    ("FIRST_VALUE", "FIRST_VALUE(value)", "The first value that is not NULL.", _of_first(_same, "ANY", 2)),
    ("LAST_VALUE", "LAST_VALUE(value)", "The last value that is not NULL.", _of_first(_same, "ANY", 2)),
    ("LISTAGG", "LISTAGG(string [, separator])", "All texts in one, with a separator (by default a comma) between them.", _list_type),
    ("COLLECT", "COLLECT([DISTINCT] value)", "The multiset of all values that are not NULL.", signature("ANY", lambda types: kinds.not_null(MultisetType(types[0])))),
    ("ARRAY_AGG", "ARRAY_AGG([DISTINCT] value [{IGNORE | RESPECT} NULLS])", "The array of all values, NULLs too; without them with IGNORE NULLS.", _of_first(lambda kind: kinds.array_of(kind), "ANY")),
    ("PERCENTILE", "PERCENTILE(numeric, percentage [, frequency])", "The percentile, with interpolation; an array of percentages gives an array.", _percentile_type),
    ("JSON_OBJECTAGG", "JSON_OBJECTAGG([KEY] key VALUE value [{NULL | ABSENT} ON NULL])", "A JSON object of the keys and values of all rows; a key that is NULL or there twice is an error.", signature("ANY ANY ANY?", "VARCHAR(2000)!")),
    ("JSON_ARRAYAGG", "JSON_ARRAYAGG(value [{NULL | ABSENT} ON NULL])", "A JSON array of the values of all rows.", signature("ANY ANY?", "VARCHAR(2000)!")),
]  # fmt: skip
_WINDOW_ENTRIES: list[tuple[str, str, str, Infer]] = [
    ("ROW_NUMBER", "ROW_NUMBER()", "The number of the row in its partition, from 1.", signature("", "BIGINT!")),
    ("RANK", "RANK()", "The number of the row; equal rows have one number, and numbers are left out after them.", signature("", "BIGINT!")),
    ("DENSE_RANK", "DENSE_RANK()", "The number of the row; equal rows have one number, and none is left out.", signature("", "BIGINT!")),
    ("PERCENT_RANK", "PERCENT_RANK()", "The rank minus one, divided by the number of the other rows.", signature("", "DOUBLE!")),
    ("CUME_DIST", "CUME_DIST()", "The part of the rows that do not come behind this one.", signature("", "DOUBLE!")),
    ("NTILE", "NTILE(n)", "The number of the bucket, of n, that the row is in.", signature("INT", "BIGINT!")),
    ("LAG", "LAG(value [, offset [, default]])", "The value of a row before.", signature("ANY ANY? ANY?", _of_other_row)),
    ("LEAD", "LEAD(value [, offset [, default]])", "The value of a row behind.", signature("ANY ANY? ANY?", _of_other_row)),
]  # fmt: skip
_GROUPING_ENTRIES: list[tuple[str, str, str, Infer]] = [
    ("GROUP_ID", "GROUP_ID()", "0: a number that tells equal grouping sets apart, which are computed once.", signature("", "BIGINT!")),
    ("GROUPING", "GROUPING(key1 [, key2]*)", "A bit for each key: 1 if the row is not grouped by it.", signature("ANY ANY*", "BIGINT!")),
    ("GROUPING_ID", "GROUPING_ID(key1 [, key2]*)", "The same as GROUPING.", signature("ANY ANY*", "BIGINT!")),
]  # fmt: skip

for _category, _entries in (
    (AGGREGATE, _ENTRIES),
    (WINDOW, _WINDOW_ENTRIES),
    ("grouping", _GROUPING_ENTRIES),
):
    for _name, _syntax, _text, _infer in _entries:
        declare(_name, _category, _syntax, _text, _infer, None, aggregate=True)
