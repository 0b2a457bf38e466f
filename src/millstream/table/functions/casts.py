"""CAST and TRY_CAST between all pairs of types that Flink converts."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_DOWN, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.table.expressions import kinds
from millstream.table.expressions.context import Context, EvaluationError
from millstream.table.expressions.java.dates import DAY_NANOS, local_nanos, utc_nanos
from millstream.table.expressions.java.numbers import to_integer, wrap
from millstream.table.expressions.kinds import LogicalType
from millstream.table.expressions.tree import Cast, Expression
from millstream.table.expressions.vectors import Vector, build, each_value
from millstream.table.functions import cast_text as texts
from millstream.table.functions.cast_text import CastError
from millstream.table.functions.time_columns import text_column
from millstream.table.functions.time_units import truncated

__all__ = ["bind_cast", "cast_value", "cast_vector"]

_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
# The characters of the longest text: a VARCHAR of so many cuts none.
_LONGEST_TEXT = {"TINYINT": 4, "SMALLINT": 6, "INT": 11, "BIGINT": 20, "BOOLEAN": 5}
_TEXTUAL = ("CHAR", "VARCHAR")
_BINARY = ("BINARY", "VARBINARY")
_TIMES = ("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ")


def bind_cast(operand: Expression, kind: LogicalType, *, lenient: bool = False) -> Cast:
    """A cast; a pair of types that Flink does not convert is an error."""
    if not _allowed(operand.type, kind):
        from millstream.table.functions.registry import BindError

        raise BindError(f"Cast function cannot convert value of type {operand.type} to type {kind}")
    return Cast(kinds.with_nullability(kind, lenient or operand.type.nullable), operand, lenient)


def _allowed(source: LogicalType, target: LogicalType) -> bool:
    a, b = kinds.root(source), kinds.root(target)
    if a == "NULL" or b in _TEXTUAL or (a == b and not source.children):
        return True
    if a in _TEXTUAL:
        return not target.children and not kinds.is_interval(target)
    if source.children or target.children:
        same = a == b and len(source.children) == len(target.children)
        return same and all(map(_allowed, source.children, target.children))
    if kinds.is_numeric(source) or a == "BOOLEAN":
        intervals = kinds.is_interval(target) and a in kinds.INTEGERS
        return kinds.is_numeric(target) or b == "BOOLEAN" or intervals
    if a in _BINARY:
        return b in _BINARY
    if kinds.is_interval(source):
        return b in kinds.INTEGERS
    if a in _TIMES and b in _TIMES:
        return {a, b} != {"DATE", "TIME"}
    return False


def cast_vector(operand: Vector, cast: Cast, context: Context) -> Vector:
    """Convert a column or a constant."""
    source, target = operand.type, cast.type
    length = operand.length
    if not operand.constant and (quick := _quick(operand, target, context)) is not None:
        return quick

    def convert(value: Any) -> Any:
        try:
            return cast_value(value, source, target, context)
        except CastError as error:
            if cast.lenient:
                return None
            raise EvaluationError(f"{cast}: {error}") from None

    if operand.constant:
        scalar = None if operand.scalar is None else convert(operand.scalar)
        return Vector(target, length, constant=True, scalar=scalar)
    return Vector(target, length, build(each_value(convert, [operand], length), target))


def _quick(operand: Vector, target: LogicalType, context: Context) -> Vector | None:
    """Conversions of whole columns with the same results."""
    a, b = kinds.root(operand.type), kinds.root(target)
    if a == b and (
        a not in ("CHAR", "VARCHAR", "DECIMAL", "BINARY", "VARBINARY") and not target.children
    ):
        if a in ("TIMESTAMP", "TIMESTAMP_LTZ") and kinds.width(operand.type) > kinds.width(target):
            return None
        return Vector(target, operand.length, operand.array.cast(kinds.arrow_type(target)))
    if a in ("CHAR", "VARCHAR") and b == "VARCHAR" and kinds.width(target) == kinds.MAX_LENGTH:
        return Vector(target, operand.length, operand.array)
    if b == "VARCHAR" and kinds.width(target) >= _LONGEST_TEXT.get(a, kinds.MAX_LENGTH + 1):
        return Vector(target, operand.length, _text(operand.array))
    wider = a in kinds.INTEGERS and b in kinds.INTEGERS and _BITS[a] <= _BITS[b]
    if wider or (a in kinds.INTEGERS and b == "DOUBLE") or (a, b) == ("FLOAT", "DOUBLE"):
        return Vector(
            target, operand.length, pc.cast(operand.array, kinds.arrow_type(target), safe=False)
        )
    if a in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        text = text_column(operand, target, context.zone)
        return None if text is None else Vector(target, operand.length, text)
    return None


def _text(array: pa.Array) -> pa.Array:
    """The texts of whole numbers or of BOOLEAN, which Arrow would write in lower case."""
    if pa.types.is_boolean(array.type):
        return pc.if_else(array, "TRUE", "FALSE")
    return array.cast(pa.string())


def cast_value(value: Any, source: LogicalType, target: LogicalType, context: Context) -> Any:
    """Convert one internal value; a value that cannot be converted is a `CastError`."""
    if value is None or kinds.root(source) == "NULL":
        return None
    if kinds.root(target) in _TEXTUAL:
        return texts.fit_text(texts.text_of(value, source, context.zone), target)
    if kinds.root(source) in _TEXTUAL:
        return _from_text(value, target, context)
    if source.children:
        return _nested(value, source, target, context)
    if kinds.root(source) in _BINARY:
        return _bytes(value, target)
    if kinds.root(source) in _TIMES:
        return _times(value, source, target, context)
    return _number(value, source, target)


def _from_text(text: str, target: LogicalType, context: Context) -> Any:
    root = kinds.root(target)
    if root == "BOOLEAN":
        return texts.to_boolean(text)
    if root in _BITS:
        return texts.to_whole(text, _BITS[root])
    if root == "DECIMAL":
        return texts.to_decimal(text, kinds.width(target), kinds.scale(target))
    if root in ("FLOAT", "DOUBLE"):
        number = texts.to_double(text)
        return _float(number) if root == "FLOAT" else number
    if root in _BINARY:
        return _bytes(text.encode(), target)
    found: int | None = None
    if root == "DATE":
        found = texts.parse_date(text)
    elif root == "TIME":
        found = texts.parse_time(text)
    elif root in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        found = texts.parse_timestamp(text, kinds.width(target))
        if found is not None and root == "TIMESTAMP_LTZ":
            found = utc_nanos(found, context.zone)
    if found is None:
        raise CastError(f"'{text}' is no {kinds.root(target)}")
    return found


def _float(number: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(number))


def _bytes(value: bytes, target: LogicalType) -> bytes:
    cut = value[: kinds.width(target)]
    return cut.ljust(kinds.width(target), b"\0") if kinds.root(target) == "BINARY" else cut


def _number(value: Any, source: LogicalType, target: LogicalType) -> Any:
    root = kinds.root(target)
    if root == "BOOLEAN":
        return value != 0
    if root == "DECIMAL":
        if isinstance(value, float):
            if value != value or abs(value) == float("inf"):
                raise CastError(f"{value} is no DECIMAL")
            value = repr(value) if kinds.root(source) == "DOUBLE" else repr(float(value))
        return texts.round_decimal(Decimal(value), kinds.width(target), kinds.scale(target))
    if root in ("FLOAT", "DOUBLE"):
        return _float(float(value)) if root == "FLOAT" else float(value)
    bits = _BITS.get(root, 32 if root == "INTERVAL_MONTHS" else 64)
    if isinstance(value, float):
        return to_integer(value, bits)
    if isinstance(value, Decimal):
        value = int(value.to_integral_value(rounding=ROUND_DOWN))
        value = wrap(value, 64)
    return wrap(int(value), bits)


def _times(value: int, source: LogicalType, target: LogicalType, context: Context) -> Any:
    """Through the local time in nanoseconds."""
    local = {"DATE": lambda: value * DAY_NANOS, "TIME": lambda: value * 1_000_000}.get(
        kinds.root(source), lambda: value
    )()
    if kinds.root(source) == kinds.root(target) == "TIMESTAMP_LTZ":
        step = 10 ** (9 - kinds.width(target))
        return value // step * step
    if kinds.root(target) == "TIMESTAMP_LTZ":
        step = 10 ** (9 - kinds.width(target))
        return utc_nanos(local, context.zone) // step * step
    zoned = kinds.root(source) == "TIMESTAMP_LTZ"
    if zoned:
        local = local_nanos(local, context.zone)
    if kinds.root(target) == "DATE":
        return local // DAY_NANOS if zoned else truncated(local // 1_000_000, 86_400_000)
    if kinds.root(target) == "TIME":
        millis = local % DAY_NANOS if zoned else local
        return _time_of_day(millis // 1_000_000, kinds.width(target))
    return _cut(local, kinds.width(target))


def _cut(nanos: int, precision: int) -> int:
    """A time with so many digits of the second; as in Flink, whole milliseconds are cut towards zero."""
    step: int = 10 ** (9 - precision)
    if precision >= 3:
        return nanos // step * step
    return truncated(nanos // 1_000_000, step // 1_000_000) * step


def _time_of_day(millis: int, precision: int) -> int:
    """The clock of a time; before 1970 Flink counts back from midnight, and takes fractions only."""
    step: int = 10 ** max(0, 3 - precision)
    rest = truncated(millis - truncated(millis, 86_400_000) * 86_400_000, step) * step
    return rest % 86_400_000


def _nested(value: Any, source: LogicalType, target: LogicalType, context: Context) -> Any:
    def convert(at: int) -> Callable[[Any], Any]:
        return lambda item: cast_value(item, source.children[at], target.children[at], context)

    if kinds.root(source) == "ARRAY":
        return tuple(map(convert(0), value))
    if kinds.root(source) in ("MAP", "MULTISET"):
        second = convert(1) if kinds.root(source) == "MAP" else (lambda item: item)
        return tuple((convert(0)(key), second(item)) for key, item in value)
    return tuple(convert(at)(item) for at, item in enumerate(value))
