"""The text that an expression prints: Flink's, which has functions by the names of its Java API."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from millstream.table.types.data_types import DataType, logical_of

if TYPE_CHECKING:
    from millstream.table.fluent.expression_base import ExpressionBase

__all__ = ["Symbol", "TypeName", "summary"]

_NAMES = """
ABS abs|ACOS acos|ASCII ascii|ASIN asin|ATAN atan|ATAN2 atan2|AVG avg|BIN bin
CARDINALITY cardinality|CEIL ceil|CHAR_LENGTH charLength|CHR chr|COLLECT collect|CONCAT concat
CONCAT_WS concat_ws|CONVERT_TZ convertTz|COS cos|COSH cosh|COT cot|COUNT count
CURRENT_DATABASE currentDatabase|DATE_FORMAT dateFormat|DECODE decode|DEGREES degrees|E e
ELEMENT element|ENCODE encode|EXP exp|FIRST_VALUE first_value|FLOOR floor|FROM_BASE64 fromBase64
FROM_UNIXTIME fromUnixtime|HEX hex|INITCAP initCap|INSTR instr|LAG lag|LAST_VALUE last_value
LEAD lead|LEFT left|LISTAGG listAgg|LN ln|LOCATE locate|LOG log|LOG10 log10|LOG2 log2|LOWER lower
LPAD lpad|LTRIM ltrim|MAX max|MD5 md5|MIN min|PARSE_URL parseUrl|PI pi|POWER power|RADIANS radians
RAND rand|RAND_INTEGER randInteger|REGEXP regexp|REGEXP_EXTRACT regexpExtract
REGEXP_REPLACE regexpReplace|REPEAT repeat|REPLACE replace|REVERSE reverse|RIGHT right|ROUND round
RPAD rpad|RTRIM rtrim|SHA1 sha1|SHA2 sha2|SHA224 sha224|SHA256 sha256|SHA384 sha384|SHA512 sha512
SIGN sign|SIN sin|SINH sinh|SPLIT_INDEX splitIndex|SQRT sqrt|STDDEV_POP stddevPop
STDDEV_SAMP stddevSamp|STR_TO_MAP strToMap|SUBSTRING substring|SUM sum|SUM0 sum0|TAN tan|TANH tanh
TO_BASE64 toBase64|TO_DATE toDate
TO_TIMESTAMP toTimestamp|TRANSLATE TRANSLATE3|TRUNCATE truncate|UNIX_TIMESTAMP unixTimestamp|UPPER upper
UUID uuid|VAR_POP varPop|VAR_SAMP varSamp
"""
_FLINK_NAMES = dict(pair.split() for line in _NAMES.split("\n") for pair in line.split("|") if pair)
"""Functions that Flink calls otherwise than SQL does; all others have the name of SQL."""


class Symbol:
    """A word among the arguments of a function, such as a unit of time."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


class TypeName(Symbol):
    """A type among the arguments of a function."""

    def __init__(self, given: DataType | str) -> None:
        super().__init__(logical_of(given).as_summary())


def summary(value: Any) -> str:
    """The text of an expression or of an argument.

    Examples
    --------
    >>> from millstream.table.fluent.expression_functions import col, lit
    >>> summary((col("a") + 1).alias("b")), summary(lit("it's"))
    ("as(plus(a, 1), 'b')", "'it''s'")
    """
    kind = getattr(value, "_kind", None)
    if kind is None:
        return _literal(value)
    if value._shown is not None:
        name, *arguments = value._shown
        return _call(name, arguments)
    return _SUMMARIES[kind](value)


def _call(name: str, arguments: Any) -> str:
    return f"{name}({', '.join(map(summary, arguments))})"


def _function(value: ExpressionBase) -> str:
    named = value._data.entry.name if value._kind == "user" else value._name
    text = _call(_FLINK_NAMES.get(named, named), value._parts)
    return f"distinct({text})" if value._names else text


def _columns(value: ExpressionBase) -> str:
    if value._name == "ALL":
        return "*"
    return _call("withColumns" if value._name == "WITH" else "withoutColumns", value._parts)


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, float):
        return _java_double(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    return "null" if value is None else str(value)


def _java_double(value: float) -> str:
    """A number as Java prints a double: with an exponent from 1.0E7 on and below 0.001."""
    if not math.isfinite(value):
        return "NaN" if value != value else "-Infinity" if value < 0 else "Infinity"
    if value and not 1e-3 <= abs(value) < 1e7:
        digits, _, exponent = f"{value!r}".partition("e") if "e" in repr(value) else _scaled(value)
        return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"
    return repr(value)


def _scaled(value: float) -> tuple[str, str, str]:
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    text = "".join(map(str, digits))
    power = len(text) - 1 + int(exponent)
    return f"{'-' * sign}{text[0]}.{text[1:] or '0'}", "e", str(power)


_SUMMARIES: dict[str, Callable[[Any], str]] = {
    "column": lambda value: value._name,
    "literal": lambda value: _literal(value._parts[0]),
    "sql": lambda value: f"[{value._parts[0]}]",
    "interval": lambda value: _interval(*value._data),
    "call": _function,
    "user": _function,
    "alias": lambda value: _call("as", (*value._parts, *value._names)),
    "order": lambda value: _call(value._name.lower(), value._parts),
    "over": lambda value: _call("over", (*value._parts, value._data)),
    "window": lambda value: _call(value._name.lower(), value._parts),
    "flatten": lambda value: _call("flatten", value._parts),
    "columns": _columns,
    "range": lambda value: f"rangeTo({', '.join(map(str, value._data))})",
    "rows": lambda value: _bound(value, "ROW"),
    "bound": lambda value: _bound(value, "RANGE"),
    "table": lambda value: _call("in", (*value._parts, value._data)),
    "text": lambda value: "".join(
        part if isinstance(part, str) else summary(part) for part in value._parts
    ),
}


_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_MILLIS = {
    "WEEK": 604_800_000,
    "DAY": 86_400_000,
    "HOUR": 3_600_000,
    "MINUTE": 60_000,
    "SECOND": 1_000,
    "MILLISECOND": 1,
}


def _interval(number: int, unit: str) -> str:
    """An interval as Flink prints it: months, or milliseconds."""
    return str(number * (_MONTHS.get(unit) or _MILLIS[unit]))


def _bound(value: ExpressionBase, unit: str) -> str:
    size = value._parts[0]
    return f"{size}_{unit}" if isinstance(size, str) else str(size)
