"""Arithmetic operators, also of times and intervals, and functions of numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any

import pyarrow as pa

from millstream.table.expressions import kinds
from millstream.table.expressions.context import Context
from millstream.table.expressions.java.dates import DAY_NANOS
from millstream.table.expressions.java.numbers import wrap
from millstream.table.expressions.java.random import JavaRandom
from millstream.table.expressions.kinds import LogicalType
from millstream.table.expressions.tree import Call, Expression, Symbol
from millstream.table.expressions.vectors import Vector, build, each_value
from millstream.table.functions.cast_text import EXACT, round_decimal
from millstream.table.functions.operators import arithmetic_type, calculate
from millstream.table.functions.registry import (
    BindError,
    function,
    result_type,
    signature,
    to_type,
    vectorised,
)
from millstream.table.functions.time_columns import add_millis
from millstream.table.functions.time_units import add_months, round_time, truncated

__all__ = ["add_interval"]

ARITHMETIC = "arithmetic"
_BITS = {
    "TINYINT": 8,
    "SMALLINT": 16,
    "INT": 32,
    "BIGINT": 64,
    "INTERVAL_MONTHS": 32,
    "INTERVAL_MILLIS": 64,
}


def _two(sign: str) -> Callable[[list[Expression]], tuple[list[Expression], LogicalType]]:
    def infer(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
        if len(arguments) != 2:
            raise BindError("two arguments are needed")
        left, right = arguments
        if kinds.is_interval(left.type) and kinds.is_temporal(right.type) and sign == "+":
            left, right = right, left
        temporal = _temporal_type(sign, left.type, right.type)
        if temporal is not None:
            return [left, right], temporal
        return [left, right], arithmetic_type(sign, left.type, right.type)

    return infer


def _temporal_type(sign: str, left: LogicalType, right: LogicalType) -> LogicalType | None:
    nullable = left.nullable or right.nullable
    if kinds.is_temporal(left) and kinds.is_interval(right) and sign in "+-":
        return kinds.with_nullability(left, nullable)
    if kinds.is_interval(left) and kinds.root(left) == kinds.root(right) and sign in "+-":
        return kinds.with_nullability(kinds.plain_interval(left), nullable)
    for interval, number in ((left, right), (right, left)):
        if kinds.is_interval(interval) and kinds.root(number) in kinds.INTEGERS and sign == "*":
            return kinds.with_nullability(kinds.plain_interval(interval), nullable)
    return None


def add_interval(value: int, amount: int, kind: LogicalType, months: bool, context: Context) -> int:
    """A time later by an interval; a TIME goes around midnight."""
    if kinds.root(kind) == "TIME":
        return value if months else (value + amount) % 86_400_000
    if kinds.root(kind) == "DATE":
        return add_months(value, amount) if months else value + truncated(amount, 86_400_000)
    if not months:
        return value + amount * 1_000_000
    # Flink adds months to a TIMESTAMP_LTZ in UTC too, whatever the session's zone.
    days, rest = divmod(value, DAY_NANOS)
    return add_months(days, amount) * DAY_NANOS + rest


def _run_two(sign: str, words: str, *names: str, syntax: str) -> None:
    def run(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
        left, right = vectors
        if kinds.is_temporal(left.type):
            months = kinds.root(right.type) == "INTERVAL_MONTHS"
            factor = 1 if sign == "+" else -1
            if not months and right.scalar is not None:
                quick = add_millis(left, factor * right.scalar, call.type)
                if quick is not None:
                    return quick

            def shift(value: int, amount: int) -> int:
                return add_interval(value, factor * amount, left.type, months, context)

            return build(each_value(shift, vectors, context.length), call.type)
        if kinds.is_interval(call.type) and sign == "*":

            def scale(a: Any, b: Any) -> int:
                return int(a * b)

            return build(each_value(scale, vectors, context.length), call.type)
        return calculate(sign, left, right, call.type, context.length)

    run.__doc__ = words
    vectorised(names or sign, ARITHMETIC, syntax, _two(sign))(run)


_run_two(
    "+",
    "The sum. Integers wrap around; a DECIMAL that does not fit is NULL. Times take intervals.",
    syntax="value1 + value2",
)
_run_two(
    "-",
    "The difference. Integers wrap around; a DECIMAL that does not fit is NULL. Times take intervals.",
    syntax="value1 - value2",
)
_run_two(
    "*",
    "The product. Integers wrap around; a DECIMAL that does not fit is NULL.",
    syntax="value1 * value2",
)
_run_two(
    "/",
    "The quotient. That of integers is an integer, rounded towards zero, and one by zero is an error.",
    syntax="numeric1 / numeric2",
)


def _modulo(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if len(arguments) != 2:
        raise BindError("two arguments are needed")
    left, right = (each.type for each in arguments)
    if not (left.is_("EXACT_NUMERIC") and right.is_("EXACT_NUMERIC")):
        raise BindError("exact numbers are needed")
    kind = arithmetic_type("%", left, right)
    if not kinds.as_decimal(left).scale and not kinds.as_decimal(right).scale:
        kind = kinds.with_nullability(right, left.nullable or right.nullable)
    return arguments, kind


@vectorised(["%", "MOD"], ARITHMETIC, "numeric1 % numeric2, MOD(numeric1, numeric2)", _modulo)
def _mod(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """The remainder of a division; it has the sign of the first number."""
    return calculate("%", vectors[0], vectors[1], call.type, context.length)


def _one(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if len(arguments) != 1 or not (
        kinds.is_numeric(arguments[0].type) or kinds.is_interval(arguments[0].type)
    ):
        raise BindError("one number is needed")
    return arguments, kinds.plain_interval(arguments[0].type)


def _same_type(name: str, syntax: str, words: str, code: Callable[[Any], Any]) -> None:
    def run(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
        bits = _BITS.get(kinds.root(call.type))

        def row(value: Any) -> Any:
            found = code(value)
            return wrap(found, bits) if bits else found

        return build(each_value(row, vectors, context.length), call.type)

    run.__doc__ = words
    vectorised(name, ARITHMETIC, syntax, _one)(run)


def _sign(value: Any) -> Any:
    if isinstance(value, float):
        return value if value == 0 or value != value else math.copysign(1.0, value)
    return (value > 0) - (value < 0)


def _negative(value: Any) -> Any:
    # Python's operators round decimals to 28 digits.
    return value.copy_negate() if isinstance(value, Decimal) and value else -value


def _size(value: Any) -> Any:
    return value.copy_abs() if isinstance(value, Decimal) else abs(value)


_same_type("NEGATE", "- numeric", "The number with the other sign.", _negative)
_same_type("PLUS", "+ numeric", "The number.", lambda value: value)
_same_type(
    "ABS",
    "ABS(numeric)",
    "The number without its sign. The least INT stays negative, as in Java.",
    _size,
)
_same_type("SIGN", "SIGN(numeric)", "-1, 0 or 1, by the sign.", _sign)


def _guarded(code: Callable[..., float]) -> Callable[..., float]:
    """Java's results where Python raises: NaN outside the domain, infinity on overflow."""

    def run(*values: float) -> float:
        try:
            return code(*values)
        except OverflowError:
            return math.inf if code is not math.sinh or values[0] > 0 else -math.inf
        except ValueError:
            return math.nan

    return run


def _log(value: float) -> float:
    return -math.inf if value == 0 else math.log(value)


def _log10(value: float) -> float:
    return -math.inf if value == 0 else math.log10(value)


def _power(base: float, exponent: float) -> float:
    if base == 0 and exponent < 0:
        return math.inf
    found = base**exponent
    return math.nan if isinstance(found, complex) else found


def _cosh(value: float) -> float:
    """As Java computes it: the last digit differs from that of C's library."""
    size = abs(value)
    if size < 0.5 * math.log(2):
        small = math.expm1(size)
        return 1 + small * small / (2 * (1 + small))
    if size < 22:
        large = math.exp(size)
        return 0.5 * large + 0.5 / large
    return math.cosh(value)


def _divide(a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a)
    return a / b


_DOUBLES: dict[str, tuple[str, str, Callable[..., float]]] = {
    "SQRT": ("numeric", "The square root; NaN of a negative number.", math.sqrt),
    "LN": ("numeric", "The natural logarithm; NaN of a negative number.", _log),
    "LOG10": ("numeric", "The logarithm to base 10.", _log10),
    "LOG2": ("numeric", "The logarithm to base 2.", lambda x: _log(x) / math.log(2)),
    "EXP": ("numeric", "e to the power of the number.", math.exp),
    "SIN": ("numeric", "The sine.", math.sin),
    "SINH": ("numeric", "The hyperbolic sine.", math.sinh),
    "COS": ("numeric", "The cosine.", math.cos),
    "COSH": ("numeric", "The hyperbolic cosine.", _cosh),
    "TAN": ("numeric", "The tangent.", math.tan),
    "TANH": ("numeric", "The hyperbolic tangent.", math.tanh),
    "COT": ("numeric", "The cotangent.", lambda x: _divide(1.0, math.tan(x))),
    "ASIN": ("numeric", "The arc sine; NaN outside -1 to 1.", math.asin),
    "ACOS": ("numeric", "The arc cosine; NaN outside -1 to 1.", math.acos),
    "ATAN": ("numeric", "The arc tangent.", math.atan),
    "ATAN2": ("numeric1, numeric2", "The angle of the point (numeric2, numeric1).", math.atan2),
    "DEGREES": ("numeric", "Radians as degrees.", lambda x: x * (180.0 / math.pi)),
    "RADIANS": ("numeric", "Degrees as radians.", lambda x: x * (math.pi / 180.0)),
    "POWER": ("numeric1, numeric2", "The first number to the power of the second.", _power),
}


def _declare_double(name: str, arguments: str, words: str, code: Callable[..., float]) -> None:
    guarded = _guarded(code)

    def run(*values: float) -> float:
        return guarded(*values)

    run.__doc__ = words
    takes = " ".join(["DOUBLE"] * len(arguments.split(",")))
    function(name, ARITHMETIC, f"{name}({arguments})", takes, "DOUBLE")(run)


for _name, (_arguments, _words, _code) in _DOUBLES.items():
    _declare_double(_name, _arguments, _words, _code)


@function("LOG", ARITHMETIC, "LOG([base,] numeric)", "DOUBLE DOUBLE?", "DOUBLE")
def _log_of(*values: float) -> float:
    """The natural logarithm, or the one to a base."""
    logarithm = _guarded(_log)
    if len(values) == 1:
        return logarithm(values[0])
    return _divide(logarithm(values[1]), logarithm(values[0]))


def _whole_type(kind: LogicalType) -> LogicalType:
    if kinds.root(kind) == "DECIMAL":
        return kinds.with_nullability(kinds.decimal(kinds.width(kind), 0), kind.nullable)
    return kind


def _rounding(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if len(arguments) == 2 and isinstance(arguments[1], Symbol):
        if not kinds.is_temporal(arguments[0].type):
            raise BindError(f"{arguments[0].type} has no {arguments[1]}")
        return arguments, arguments[0].type
    _one(arguments)
    return arguments, _whole_type(arguments[0].type)


def _declare_rounding(name: str, syntax: str, words: str, up: bool) -> None:
    mode = ROUND_CEILING if up else ROUND_FLOOR

    def run(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
        kind = vectors[0].type
        if len(vectors) == 2:
            unit = vectors[1].scalar

            def moved(value: int) -> int:
                return round_time(value, kind, unit, up, context.zone)

            return build(each_value(moved, vectors[:1], context.length), call.type)

        def row(value: Any) -> Any:
            if isinstance(value, Decimal):
                return value.to_integral_value(rounding=mode)
            if isinstance(value, float) and math.isfinite(value):
                return float(math.ceil(value) if up else math.floor(value))
            return value

        return build(each_value(row, vectors, context.length), call.type)

    run.__doc__ = words
    vectorised(name, ARITHMETIC, syntax, _rounding)(run)


_declare_rounding(
    "CEIL",
    "CEIL(numeric), CEIL(time TO unit)",
    "The next integer above, or the next beginning of a unit of time.",
    True,
)
_declare_rounding("CEILING", "CEILING(numeric)", "The same as CEIL.", True)
_declare_rounding(
    "FLOOR",
    "FLOOR(numeric), FLOOR(time TO unit)",
    "The next integer below, or the beginning of a unit of time.",
    False,
)


def _scaled(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    _one(arguments[:1])
    if len(arguments) > 2:
        raise BindError("one or two arguments are needed")
    if not all(kinds.root(each.type) in (*kinds.INTEGERS, "NULL") for each in arguments[1:]):
        raise BindError("the number of digits must be an integer")
    digits = [to_type(each, kinds.INT) for each in arguments[1:]]
    kind = arguments[0].type
    nullable = kind.nullable or any(each.type.nullable for each in digits)
    if kinds.root(kind) == "DECIMAL":
        places = getattr(digits[0], "value", None) if digits else 0
        kind = _round_type(kind, places)
    return [arguments[0], *digits], kinds.with_nullability(kind, nullable)


def _round_type(kind: LogicalType, places: Any) -> LogicalType:
    if not isinstance(places, int) or places >= kinds.scale(kind):
        return kind
    if places < 0:
        return kinds.decimal(min(38, 1 + kinds.width(kind) - kinds.scale(kind)), 0)
    return kinds.decimal(1 + kinds.width(kind) - kinds.scale(kind) + places, places)


def _declare_scaled(name: str, words: str, mode: str) -> None:
    def run(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
        bits = _BITS.get(kinds.root(call.type))

        def row(value: Any, places: int = 0) -> Any:
            if isinstance(value, float):
                if not math.isfinite(value):
                    return value
                return float(_to_places(Decimal(repr(value)), places, mode))
            found = _to_places(Decimal(value), places, mode)
            if bits:
                return wrap(int(found), bits)
            return round_decimal(found, kinds.width(call.type), kinds.scale(call.type))

        return build(each_value(row, vectors, context.length), call.type)

    run.__doc__ = words
    vectorised(name, ARITHMETIC, f"{name}(numeric [, integer])", _scaled)(run)


def _to_places(value: Decimal, places: int, mode: str) -> Decimal:
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int) and -exponent <= places:
        return value
    whole = value.scaleb(places, context=EXACT).to_integral_value(rounding=mode)
    return whole.scaleb(-places, context=EXACT)


_declare_scaled(
    "ROUND",
    "The number rounded to so many digits behind the point, halves away from zero.",
    ROUND_HALF_UP,
)
_declare_scaled("TRUNCATE", "The number cut to so many digits behind the point.", ROUND_DOWN)


@function("PI", ARITHMETIC, "PI()", "", "DOUBLE!")
def _pi() -> float:
    """The number pi."""
    return math.pi


@function("E", ARITHMETIC, "E()", "", "DOUBLE!")
def _e() -> float:
    """The number e."""
    return math.e


@function("BIN", ARITHMETIC, "BIN(integer)", "INTEGER", "STRING")
def _bin(value: int) -> str:
    """The integer in binary digits; negative ones as 64 bits."""
    return f"{value & 0xFFFFFFFFFFFFFFFF:b}"


@function("HEX", ARITHMETIC, "HEX(integer), HEX(string)", "TEXT_OR_INTEGER", "STRING")
def _hex(value: Any) -> str:
    """The integer, or the bytes of the text, in upper-case hexadecimal digits."""
    if isinstance(value, str):
        return value.encode().hex().upper()
    return f"{value & 0xFFFFFFFFFFFFFFFF:X}"


@function("UNHEX", ARITHMETIC, "UNHEX(string)", "STRING", "BYTES?")
def _unhex(text: str) -> bytes | None:
    """The bytes of hexadecimal digits; NULL if there are other characters."""
    if not re.fullmatch(r"[0-9A-Fa-f]*", text):
        return None
    # Flink gives a zero byte for the first one of an odd number of digits.
    return bytes(len(text) % 2) + bytes.fromhex(text[len(text) % 2 :])


def _generator(context: Context, call: Call, seed: int) -> JavaRandom:
    key = (id(call), seed)
    if key not in context.generators:
        context.generators[key] = JavaRandom(seed)
    found: JavaRandom = context.generators[key]
    return found


def _random(
    name: str,
    syntax: str,
    takes: str,
    gives: str,
    words: str,
    draw: Callable[[JavaRandom, list[Any]], Any],
    seeded: int,
) -> None:
    def run(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
        found: list[Any] = []
        for at in range(context.length):
            values = [vector.values[at] for vector in vectors]
            if any(value is None for value in values):
                found.append(None)
                continue
            seed = values[0] if len(values) == seeded else context.now_nanos
            found.append(draw(_generator(context, call, seed), values))
        return build(found, call.type)

    run.__doc__ = words
    vectorised(name, ARITHMETIC, syntax, signature(takes, gives), deterministic=False)(run)


_random(
    "RAND",
    "RAND([seed])",
    "INT?",
    "DOUBLE",
    "A random number from 0 to below 1; a seed gives Java's sequence.",
    lambda random, values: random.next_double(),
    1,
)
_random(
    "RAND_INTEGER",
    "RAND_INTEGER([seed,] bound)",
    "INT INT?",
    "INT",
    "A random integer from 0 to below the bound; a seed gives Java's sequence.",
    lambda random, values: random.next_int(values[-1]),
    2,
)


@vectorised("UUID", ARITHMETIC, "UUID()", signature("", "CHAR(36)!"), deterministic=False)
def _uuid(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """A random UUID of version 4."""
    from uuid import uuid4

    return build([str(uuid4()) for _ in range(context.length)], call.type)


_ = result_type
