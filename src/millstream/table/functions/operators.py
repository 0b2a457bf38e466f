"""Comparison, logic and arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.table.expressions import kinds
from millstream.table.expressions.context import Context
from millstream.table.expressions.java.numbers import wrap
from millstream.table.expressions.java.regex import like_pattern, similar_pattern
from millstream.table.expressions.kinds import LogicalType
from millstream.table.expressions.tree import Call, Expression, InputRef
from millstream.table.expressions.vectors import Vector, build, each_value
from millstream.table.functions import quick_texts
from millstream.table.functions.cast_text import EXACT, round_decimal
from millstream.table.functions.registry import BindError, function, signature, to_type, vectorised
from millstream.table.types.logical import DecimalType
from millstream.table.types.merging import (
    decimal_addition,
    decimal_division,
    decimal_modulo,
    decimal_multiplication,
)

__all__: list[str] = []

_COMPARE: dict[str, tuple[Callable[..., Any], Callable[[Any, Any], bool]]] = {
    "=": (pc.equal, lambda a, b: a == b),
    "<>": (pc.not_equal, lambda a, b: a != b),
    "<": (pc.less, lambda a, b: a < b),
    "<=": (pc.less_equal, lambda a, b: a <= b),
    ">": (pc.greater, lambda a, b: a > b),
    ">=": (pc.greater_equal, lambda a, b: a >= b),
}
_BITS = {
    "TINYINT": 8,
    "SMALLINT": 16,
    "INT": 32,
    "BIGINT": 64,
    "INTERVAL_MONTHS": 32,
    "INTERVAL_MILLIS": 64,
}


def comparable(arguments: list[Expression], equality: bool = False) -> list[Expression]:
    """Arguments of one type: numbers with texts as numbers, times with texts as times."""
    types = [each.type for each in arguments]
    if kinds.is_mixed_days(types):
        raise BindError("a DATE is not compared with a TIMESTAMP")
    if len({kinds.root(kind) == "TIME" for kind in types if kinds.is_temporal(kind)}) > 1:
        raise BindError("a TIME is not compared with other times")
    try:
        kind = kinds.common_type(types)
    except kinds.TypesError:
        others = [each for each in types if not kinds.is_string(each)]
        if equality and all(kinds.root(each) == "ARRAY" for each in types):
            return arguments  # nor are they
        if len(others) == len(types):
            raise
        other = kinds.common_type(others)
        if equality and (kinds.root(other) == "BOOLEAN" or kinds.is_interval(other)):
            return arguments  # they are never equal
        if other.children or kinds.is_binary(other):
            raise
        if kinds.root(other) in kinds.INTEGERS or kinds.root(other) == "DECIMAL":
            other = kinds.DOUBLE if kinds.root(other) == "DECIMAL" else other
        kind = other
    return [to_type(each, kind) for each in arguments]


def _equality(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    """As `_predicate`, but Flink compares no text with a number for equality."""
    types = [each.type for each in arguments]
    if any(map(kinds.is_string, types)) and any(map(kinds.is_numeric, types)):
        raise BindError(f"{' and '.join(map(str, types))} are not compared")
    return _predicate(arguments, equality=True)


def _predicate(
    arguments: list[Expression], equality: bool = False
) -> tuple[list[Expression], LogicalType]:
    if len(arguments) != 2:
        raise BindError("two arguments are compared")
    converted = comparable(arguments, equality)
    nullable = any(each.type.nullable for each in converted)
    return converted, kinds.with_nullability(kinds.BOOLEAN, nullable)


def _never_null(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    return _equality(arguments)[0], kinds.not_null(kinds.BOOLEAN)


def compare(sign: str, left: Vector, right: Vector, length: int) -> pa.Array:
    """TRUE, FALSE or NULL for each row."""
    quick, slow = _COMPARE[sign]
    if _never_equal(left.type, right.type):
        known = pc.and_(left.array.is_valid(), right.array.is_valid())
        return pc.if_else(known, pa.scalar(sign == "<>"), pa.scalar(None, pa.bool_()))
    if left.type.children:
        return build(each_value(slow, [left, right], length), kinds.BOOLEAN)
    if kinds.is_string(left.type):
        return quick(_unpadded(left), _unpadded(right))
    return quick(left.array, right.array)


def _never_equal(left: LogicalType, right: LogicalType) -> bool:
    if kinds.root(left) == kinds.root(right) == "ARRAY":
        return bool(kinds.arrow_type(left) != kinds.arrow_type(right))
    return kinds.is_string(left) != kinds.is_string(right)


def _unpadded(vector: Vector) -> pa.Array:
    return vector.array


def _declare_comparison(sign: str, words: str) -> None:
    def run(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
        if isinstance(call.arguments[0], InputRef) and call.arguments[0] == call.arguments[1]:
            # The planner of Flink knows the result, for NaN too.
            same = pa.scalar(sign in ("=", "<=", ">="))
            return pc.if_else(vectors[0].array.is_valid(), same, pa.scalar(None, pa.bool_()))
        return compare(sign, vectors[0], vectors[1], context.length)

    run.__doc__ = f"TRUE if the first value is {words} the second; NULL if one of them is NULL."
    infer = _equality if sign in ("=", "<>") else _predicate
    vectorised(sign, "comparison", f"value1 {sign} value2", infer)(run)


for _sign, _words in {
    "=": "equal to",
    "<>": "different from",
    "<": "less than",
    "<=": "less than or equal to",
    ">": "greater than",
    ">=": "greater than or equal to",
}.items():
    _declare_comparison(_sign, _words)


@vectorised("IS NOT DISTINCT FROM", "comparison", "value1 IS NOT DISTINCT FROM value2", _never_null)
def _same(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """TRUE if both values are equal or both are NULL."""
    equal = compare("=", vectors[0], vectors[1], context.length).fill_null(False)
    return pc.or_(equal, pc.and_(vectors[0].array.is_null(), vectors[1].array.is_null()))


@vectorised("IS DISTINCT FROM", "comparison", "value1 IS DISTINCT FROM value2", _never_null)
def _distinct(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """TRUE if the values differ; NULL differs from every value, not from NULL."""
    return pc.invert(_same(call, vectors, context))


@vectorised("IS NULL", "comparison", "value IS NULL", signature("ANY", "BOOLEAN!"))
def _is_null(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """TRUE if the value is NULL."""
    return vectors[0].array.is_null()


@vectorised("IS NOT NULL", "comparison", "value IS NOT NULL", signature("ANY", "BOOLEAN!"))
def _is_not_null(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """TRUE if the value is not NULL."""
    return vectors[0].array.is_valid()


def _listed(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    return _several(arguments, equality=all(kinds.root(e.type) == "ARRAY" for e in arguments))


def _several(
    arguments: list[Expression], equality: bool = False
) -> tuple[list[Expression], LogicalType]:
    if len(arguments) < 2:
        raise BindError("a value and a list are needed")
    converted = comparable(arguments, equality)
    nullable = any(each.type.nullable for each in converted)
    return converted, kinds.with_nullability(kinds.BOOLEAN, nullable)


def _between(vectors: list[Vector], length: int, symmetric: bool) -> pa.Array:
    value, low, high = vectors
    inside = pc.and_kleene(compare(">=", value, low, length), compare("<=", value, high, length))
    if not symmetric:
        return inside
    other = pc.and_kleene(compare(">=", value, high, length), compare("<=", value, low, length))
    return pc.or_kleene(inside, other)


def _declare_between(symmetric: bool) -> None:
    word = "BETWEEN SYMMETRIC" if symmetric else "BETWEEN"
    bounds = "the bounds may stand in any order" if symmetric else "the bounds belong to the range"

    def inside(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
        return _between(vectors, context.length, symmetric)

    def outside(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
        return pc.invert(_between(vectors, context.length, symmetric))

    inside.__doc__ = f"TRUE if a value is in a range; {bounds}."
    outside.__doc__ = f"TRUE if a value is outside a range; {bounds}."
    vectorised(word, "comparison", f"value1 {word} value2 AND value3", _several)(inside)
    vectorised(f"NOT {word}", "comparison", f"value1 NOT {word} value2 AND value3", _several)(
        outside
    )


_declare_between(False)
_declare_between(True)


@vectorised("IN", "comparison", "value1 IN (value2 [, value3]*)", _listed)
def _in(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """TRUE if the list has the value. If not, and the value or one of the list is NULL, NULL."""
    found = compare("=", vectors[0], vectors[1], context.length)
    for other in vectors[2:]:
        found = pc.or_kleene(found, compare("=", vectors[0], other, context.length))
    return found


@vectorised("NOT IN", "comparison", "value1 NOT IN (value2 [, value3]*)", _listed)
def _not_in(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """FALSE if the list has the value. If not, and the value or one of the list is NULL, NULL."""
    return pc.invert(_in(call, vectors, context))


def _like(text: str, pattern: str, escape: str | None = None) -> bool:
    """TRUE if the text fits the pattern: % stands for any text, _ for one character, the escape
    makes them plain.
    """
    return like_pattern(pattern, escape).fullmatch(text) is not None


def _not_like(text: str, pattern: str, escape: str | None = None) -> bool:
    """TRUE if the text does not fit the pattern of LIKE."""
    return not _like(text, pattern, escape)


def _similar(text: str, pattern: str, escape: str | None = None) -> bool:
    """TRUE if the text fits an SQL regular expression: LIKE's signs, and | * + ? {n} () []."""
    return similar_pattern(pattern, escape).fullmatch(text) is not None


def _not_similar(text: str, pattern: str, escape: str | None = None) -> bool:
    """TRUE if the text does not fit the SQL regular expression."""
    return not _similar(text, pattern, escape)


for _name, _code, _quick in (
    ("LIKE", _like, quick_texts.like),
    ("NOT LIKE", _not_like, quick_texts.not_like),
    ("SIMILAR TO", _similar, None),
    ("NOT SIMILAR TO", _not_similar, None),
):
    function(
        _name,
        "comparison",
        f"string1 {_name} string2 [ESCAPE char]",
        "STRING STRING STRING?",
        "BOOLEAN",
        quick=_quick,
    )(_code)


@vectorised("AND", "logical", "boolean1 AND boolean2", signature("BOOLEAN BOOLEAN*", "BOOLEAN"))
def _and(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """TRUE if both are; FALSE if one is FALSE, whatever the other; otherwise NULL."""
    found = vectors[0].array
    for other in vectors[1:]:
        found = pc.and_kleene(found, other.array)
    return found


@vectorised("OR", "logical", "boolean1 OR boolean2", signature("BOOLEAN BOOLEAN*", "BOOLEAN"))
def _or(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """TRUE if one is TRUE, whatever the other; FALSE if both are FALSE; otherwise NULL."""
    found = vectors[0].array
    for other in vectors[1:]:
        found = pc.or_kleene(found, other.array)
    return found


@vectorised("NOT", "logical", "NOT boolean", signature("BOOLEAN", "BOOLEAN"))
def _not(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """The opposite; NULL stays NULL."""
    return pc.invert(vectors[0].array)


def _declare_truth(name: str, wanted: bool, negated: bool) -> None:
    def run(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
        array = vectors[0].array if wanted else pc.invert(vectors[0].array)
        found = array.fill_null(False)
        return pc.invert(found) if negated else found

    word = str(wanted).upper()
    run.__doc__ = f"TRUE if the value is {'not ' if negated else ''}{word}; never NULL."
    vectorised(name, "logical", f"boolean {name}", signature("BOOLEAN", "BOOLEAN!"))(run)


_declare_truth("IS TRUE", True, False)
_declare_truth("IS NOT TRUE", True, True)
_declare_truth("IS FALSE", False, False)
_declare_truth("IS NOT FALSE", False, True)


@vectorised("IS UNKNOWN", "logical", "boolean IS UNKNOWN", signature("BOOLEAN", "BOOLEAN!"))
def _unknown(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """TRUE if the value is NULL."""
    return vectors[0].array.is_null()


@vectorised("IS NOT UNKNOWN", "logical", "boolean IS NOT UNKNOWN", signature("BOOLEAN", "BOOLEAN!"))
def _known(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """TRUE if the value is TRUE or FALSE."""
    return vectors[0].array.is_valid()


def arithmetic_type(sign: str, left: LogicalType, right: LogicalType) -> LogicalType:
    """The type of an arithmetic result, by Flink's rules for decimals."""
    nullable = left.nullable or right.nullable
    if not (kinds.is_numeric(left) and kinds.is_numeric(right)):
        raise BindError(f"cannot calculate {left} {sign} {right}")
    roots = {kinds.root(left), kinds.root(right)}
    if roots == {"FLOAT", "DOUBLE"}:
        return kinds.with_nullability(left, nullable)  # the first one counts
    kind = kinds.DOUBLE if roots == {"FLOAT", "DECIMAL"} else kinds.common_type([left, right])
    if kinds.root(kind) == "DECIMAL":
        a, b = kinds.as_decimal(left), kinds.as_decimal(right)
        kind = _decimal_type(sign, a, b)
    return kinds.with_nullability(kind, nullable)


def _decimal_type(sign: str, a: DecimalType, b: DecimalType) -> LogicalType:
    if sign in "+-":
        return decimal_addition(a, b)
    if sign == "*":
        return decimal_multiplication(a, b)
    return decimal_division(a, b) if sign == "/" else decimal_modulo(a, b)


def _calculate(sign: str) -> Callable[[Any, Any], Any]:
    def divide(a: Any, b: Any) -> Any:
        if isinstance(a, float):
            return _float_division(a, b)
        if b == 0:
            raise ZeroDivisionError("Division by zero" if isinstance(a, Decimal) else "/ by zero")
        if isinstance(a, Decimal):
            return EXACT.divide(a, b)
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)

    def remainder(a: Any, b: Any) -> Any:
        if isinstance(a, float):
            return math.fmod(a, b) if b != 0 and abs(a) != math.inf else math.nan
        if b == 0:
            raise ZeroDivisionError("/ by zero")
        if isinstance(a, Decimal):
            return EXACT.remainder(a, b)
        return abs(a) % abs(b) * (1 if a >= 0 else -1)

    return {
        "+": lambda a, b: a + b if not isinstance(a, Decimal) else EXACT.add(a, b),
        "-": lambda a, b: a - b if not isinstance(a, Decimal) else EXACT.subtract(a, b),
        "*": lambda a, b: a * b if not isinstance(a, Decimal) else EXACT.multiply(a, b),
        "/": divide,
        "%": remainder,
    }[sign]


def _float_division(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(a) / np.float64(b))


def _floats(vector: Vector, target: pa.DataType) -> pa.Array:
    if kinds.root(vector.type) == "DECIMAL":  # Arrow's conversion is not exact
        return pa.array([None if each is None else float(each) for each in vector.values], target)
    return vector.array.cast(target, safe=False)


def calculate(sign: str, left: Vector, right: Vector, kind: LogicalType, length: int) -> pa.Array:
    """An arithmetic operation of columns of numbers."""
    if kinds.root(kind) in _BITS and sign in "+-*":
        quick = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}[sign]
        target = kinds.arrow_type(kind)
        return quick(left.array.cast(target), right.array.cast(target))
    if kinds.root(kind) in ("FLOAT", "DOUBLE") and sign in "+-*/":
        target = kinds.arrow_type(kind)
        a, b = _floats(left, target), _floats(right, target)
        if sign != "/":
            return {"+": pc.add, "-": pc.subtract, "*": pc.multiply}[sign](a, b)
        with np.errstate(all="ignore"):
            quotient = a.to_numpy(zero_copy_only=False) / b.to_numpy(zero_copy_only=False)
        valid = pc.and_(a.is_valid(), b.is_valid())
        return pc.if_else(valid, pa.array(quotient, target), pa.scalar(None, target))
    quick_result = _of_columns(sign, left, right, kind)
    if quick_result is not None:
        return quick_result
    operation = _calculate(sign)

    def row(a: Any, b: Any) -> Any:
        if kinds.root(kind) == "DECIMAL":
            return round_decimal(
                operation(Decimal(a), Decimal(b)), kinds.width(kind), kinds.scale(kind)
            )
        if kinds.root(kind) in ("FLOAT", "DOUBLE"):
            return operation(float(a), float(b))
        return wrap(operation(int(a), int(b)), _BITS[kinds.root(kind)])

    return build(each_value(row, [left, right], length), kind)


def _of_columns(sign: str, left: Vector, right: Vector, kind: LogicalType) -> pa.Array | None:
    """The result where Arrow calculates exactly what rows give one by one; else None."""
    if not (left.type.is_("EXACT_NUMERIC") and right.type.is_("EXACT_NUMERIC")):
        return None
    if kinds.root(kind) == "DECIMAL":
        return _of_decimals(sign, left, right, kind) if sign in "+-*" else None
    return _of_divided(sign, left, right, kind) if sign in "/%" else None


def _of_decimals(sign: str, left: Vector, right: Vector, kind: LogicalType) -> pa.Array | None:
    a, b = kinds.as_decimal(left.type), kinds.as_decimal(right.type)
    scale = a.scale + b.scale if sign == "*" else max(a.scale, b.scale)
    whole = a.precision - a.scale + b.precision - b.scale
    if sign != "*":
        whole = max(a.precision - a.scale, b.precision - b.scale)
    # Arrow has one digit more, and refuses what may have more than 38.
    if whole + scale + 1 > 38 or kinds.scale(kind) != scale:
        return None
    calculated = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}[sign](
        left.array.cast(pa.decimal128(a.precision, a.scale)),
        right.array.cast(pa.decimal128(b.precision, b.scale)),
    )
    return calculated.cast(kinds.arrow_type(kind))


def _of_divided(sign: str, left: Vector, right: Vector, kind: LogicalType) -> pa.Array | None:
    """Quotients and remainders of integers; -1 as divisor may overflow, and 0 is an error of its row."""
    if "DECIMAL" in (kinds.root(left.type), kinds.root(right.type)):
        return None
    a, b = (each.array.cast(pa.int64()) for each in (left, right))
    if pc.any(pc.is_in(b, pa.array([0, -1], pa.int64()))).as_py():
        return None
    quotient = pc.divide(a, b)
    found = quotient if sign == "/" else pc.subtract(a, pc.multiply(quotient, b))
    return found.cast(kinds.arrow_type(kind))
