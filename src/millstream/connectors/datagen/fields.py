"""Generators of fields: the value of a field is a function of seed, field and number of the row."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.common.errors import PlanError, short_repr, user_code_error
from millstream.common.typeinfo import TypeInformation, Types, from_arrow, infer_type
from millstream.connectors.datagen.draws import Draws
from millstream.connectors.datagen.scalars import Countable, bad_field
from millstream.kernel.records.columns import Columns

__all__ = ["FieldGenerator"]

_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
LONGEST = 1_000_000
"""Characters of a random text, at most."""
DECIMALS = pa.decimal128(38, 18)
"""Decimal numbers of which no generator says how many digits they have."""


class FieldGenerator(ABC):
    """How the values of one field of a `DataGenSource` are made.

    Make one with `sequence`, `random`, `choice` or `expression`. The same seed gives the same values.

    Examples
    --------
    >>> FieldGenerator.random(Types.INT(), min=1, max=6)
    random INT from 1 to 6
    >>> FieldGenerator.choice({"view": 9, "buy": 1}, null_rate=0.1)
    one of 'view', 'buy', 10% None
    """

    type_info: TypeInformation
    null_rate: float = 0.0

    @staticmethod
    def sequence(
        start: Any = 0, end: Any = None, *, step: Any = 1, type_info: TypeInformation | None = None
    ) -> FieldGenerator:
        """Return a generator of values in order.

        Parameters
        ----------
        start, end
            The first and the last value: whole numbers, or dates, datetimes and decimals if the type
            is theirs. With an end, the source ends where the sequence does.
        step
            The distance of two values; a duration for points in time: ``"10 s"``.
        type_info
            The type; by default LONG. STRING gives the numbers as texts.
        """
        found = Countable(_countable(type_info or Types.LONG()), _digits(start, end, step))
        distance = found.step(step)
        if distance == 0:
            raise bad_field("a sequence with step 0 stays where it is", "use choice([value])")
        first, last = found.number(start), None if end is None else found.number(end)
        if last is not None and (last - first) // distance < 0:
            raise bad_field(
                f"a sequence does not come from {start!r} to {end!r} by steps of {step!r}",
                "give an end behind the start, or a negative step",
            )
        return SequenceField(found, first, last, distance)

    @staticmethod
    def random(
        type_info: TypeInformation,
        min: Any = None,
        max: Any = None,
        *,
        length: int = 100,
        variable_length: bool = False,
        scale: int = 2,
        null_rate: float = 0.0,
    ) -> FieldGenerator:
        """Return a generator of random values, all with the same probability.

        Parameters
        ----------
        type_info
            A type of numbers, BOOLEAN, STRING, PRIMITIVE_ARRAY(BYTE) for bytes, or a date or time.
        min, max
            The smallest and the largest value, both included. By default those of the type;
            for FLOAT and DOUBLE 0 and 1; dates, points in time and decimals need both.
        length
            Of a STRING, in hexadecimal digits, or of bytes.
        variable_length
            Lengths from 1 to ``length``.
        scale
            Digits of a BIG_DEC after the point.
        null_rate
            The part of the values that is None, from 0 to 1.
        """
        kind = type_info.kind
        made: FieldGenerator
        if kind == "BOOLEAN":
            made = ChoiceField(type_info, (False, True), (1.0, 1.0))
        elif kind == "STRING" or type_info == Types.PRIMITIVE_ARRAY(Types.BYTE()):
            made = TextField(type_info, _checked_length(length), variable_length)
        elif kind in ("FLOAT", "DOUBLE"):
            made = FloatField(type_info, *_float_bounds(min, max))
        else:
            found = Countable(_countable(type_info), scale if kind == "BIG_DEC" else 0)
            made = WholeField(found, *_bounds(found, min, max))
        return made.with_null_rate(null_rate)

    @staticmethod
    def choice(
        values: Sequence[Any] | Mapping[Any, float],
        weights: Sequence[float] | None = None,
        *,
        type_info: TypeInformation | None = None,
        null_rate: float = 0.0,
    ) -> FieldGenerator:
        """Return a generator that takes one of some values.

        Parameters
        ----------
        values
            The values; or the values with their weights.
        weights
            How often each comes, by comparison; by default all equally often.
        type_info
            The type; by default that of the first value.
        null_rate
            The part of the values that is None, from 0 to 1.
        """
        if isinstance(values, Mapping):
            weights, values = list(values.values()), list(values)
        if isinstance(values, str | bytes) or not values:
            raise bad_field(f"choice({values!r}) has no list of values", "give at least one value")
        found = type_info or infer_type(type(values[0]))
        if found is None:
            raise bad_field(
                f"the type of {short_repr(values[0])} is unknown", "declare it: type_info=Types..."
            )
        for value in values:
            if reason := found.check(value):
                raise bad_field(f"{short_repr(value)} is no {found}: {reason}", "declare type_info")
        _check_columnar(found)
        shares = _checked_weights(weights, len(values))
        return ChoiceField(found, tuple(values), shares).with_null_rate(null_rate)

    @staticmethod
    def expression(
        function: Callable[[Any], Any], type_info: TypeInformation, *, null_rate: float = 0.0
    ) -> FieldGenerator:
        """Return a generator that computes a value of the fields before it.

        Parameters
        ----------
        function
            Gets the row so far, and returns the value: ``lambda row: row.price * row.count``. It must
            return the same for the same row. It is called row by row, so it costs more than all others.
        type_info
            The type of what it returns.
        null_rate
            The part of the values that is None, from 0 to 1.
        """
        if not callable(function):
            raise bad_field(f"{short_repr(function)} is no function", "give a function of the row")
        _check_columnar(type_info)
        return ExpressionField(type_info, function).with_null_rate(null_rate)

    # -- what the source asks --------------------------------------------------------------------

    @property
    def count(self) -> int | None:
        """How many values there are; None: no end."""
        return None

    @abstractmethod
    def values(self, draws: Draws, before: Columns | None) -> pa.Array:
        """The values of some rows, given the fields before this one."""

    def column(self, draws: Draws, before: Columns | None) -> pa.Array:
        """The values of some rows, some of them None."""
        found = self.values(draws, before)
        if not self.null_rate:
            return found
        absent = pa.array(draws.units("null") < self.null_rate)
        return pc.if_else(absent, pa.scalar(None, found.type), found)

    def with_null_rate(self, null_rate: float) -> Self:
        """Return the generator with so many values that are None, from 0 to 1."""
        if not isinstance(null_rate, int | float) or not 0 <= null_rate <= 1:
            raise bad_field(f"the null rate {null_rate!r} is no part of 1", "give null_rate=0.1")
        return replace(self, null_rate=float(null_rate))  # type: ignore[type-var]

    def __repr__(self) -> str:
        return self.described() + (f", {self.null_rate:.0%} None" if self.null_rate else "")

    @abstractmethod
    def described(self) -> str:
        """A few words on the values."""


# -- the kinds -------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class SequenceField(FieldGenerator):
    """Values in order, by the number of the row."""

    countable: Countable
    first: int
    last: int | None
    step: int
    null_rate: float = 0.0

    @property
    def type_info(self) -> TypeInformation:  # type: ignore[override]
        return self.countable.type_info

    @property
    def count(self) -> int | None:
        return None if self.last is None else (self.last - self.first) // self.step + 1

    def values(self, draws: Draws, before: Columns | None) -> pa.Array:
        final = self.first + int(draws.numbers[-1]) * self.step
        least, most = self.countable.limits
        if not least <= final <= most:
            raise PlanError(
                "SEQUENCE_PASSED",
                f"the sequence of field {draws.field!r} has no {self.type_info} for row "
                f"{int(draws.numbers[-1])}",
                hint="give the sequence an end: the source ends there; or take a larger type",
            )
        return self.countable.column(self.first + draws.numbers * self.step)

    def described(self) -> str:
        return f"sequence of {self.type_info}"


@dataclass(frozen=True, repr=False)
class WholeField(FieldGenerator):
    """Random values of a type in which one can count."""

    countable: Countable
    first: int
    last: int
    null_rate: float = 0.0

    @property
    def type_info(self) -> TypeInformation:  # type: ignore[override]
        return self.countable.type_info

    def values(self, draws: Draws, before: Columns | None) -> pa.Array:
        return self.countable.column(draws.between(self.first, self.last))

    def described(self) -> str:
        first, last = self.countable.column(np.array([self.first, self.last])).to_pylist()
        return f"random {self.type_info} from {first} to {last}"


@dataclass(frozen=True, repr=False)
class FloatField(FieldGenerator):
    """Random numbers of single or double precision."""

    type_info: TypeInformation
    first: float
    last: float
    null_rate: float = 0.0

    def values(self, draws: Draws, before: Columns | None) -> pa.Array:
        units = draws.units()
        # The difference of the two may be too large for a float.
        found = self.first * (1 - units) + self.last * units
        return pa.array(found.astype(self.type_info.to_arrow().to_pandas_dtype()))

    def described(self) -> str:
        return f"random {self.type_info} from {self.first} to {self.last}"


@dataclass(frozen=True, repr=False)
class TextField(FieldGenerator):
    """Random hexadecimal digits, or bytes."""

    type_info: TypeInformation
    length: int
    variable: bool = False
    null_rate: float = 0.0

    def values(self, draws: Draws, before: Columns | None) -> pa.Array:
        table = self._table(draws)
        rows = len(draws.numbers)
        lengths = np.full(rows, self.length)
        if self.variable:
            lengths = draws.between(1, self.length, "length")
            table = table[np.arange(self.length) < lengths[:, None]]
        ends = np.zeros(rows + 1, np.int64)
        np.cumsum(lengths, out=ends[1:])
        data = pa.py_buffer(np.ascontiguousarray(table))
        offsets = pa.py_buffer(ends.astype(np.int32))
        return pa.Array.from_buffers(self.type_info.to_arrow(), rows, [None, offsets, data])

    def _table(self, draws: Draws) -> Any:
        if self.type_info.kind != "STRING":
            return draws.bytes(self.length)
        halves = draws.bytes(-(-self.length // 2))
        digits = np.stack([halves >> 4, halves & 15], axis=2).reshape(len(halves), -1)
        return _HEX[digits[:, : self.length]]

    def described(self) -> str:
        return f"random {self.type_info} of length {'1 to ' * self.variable}{self.length}"


@dataclass(frozen=True, repr=False)
class ChoiceField(FieldGenerator):
    """One of some values, by weight."""

    type_info: TypeInformation
    options: tuple[Any, ...]
    weights: tuple[float, ...]
    null_rate: float = 0.0

    def values(self, draws: Draws, before: Columns | None) -> pa.Array:
        shares = np.cumsum(self.weights)
        chosen = np.searchsorted(shares, draws.units() * shares[-1], side="right")
        # Rounding may bring the largest draw up to the sum of all weights.
        chosen = np.minimum(chosen, len(self.options) - 1)
        return _column(self.type_info, self.options).take(pa.array(chosen))

    def described(self) -> str:
        return f"one of {', '.join(map(short_repr, self.options))}"


@dataclass(frozen=True, repr=False)
class ExpressionField(FieldGenerator):
    """Computed from the fields before it."""

    type_info: TypeInformation
    function: Callable[[Any], Any]
    null_rate: float = 0.0

    def values(self, draws: Draws, before: Columns | None) -> pa.Array:
        if before is None:
            raise bad_field(
                f"the expression of field {draws.field!r} has no field before it",
                "put the fields that it reads before it",
            )
        rows = before.tolist()
        return _column(self.type_info, [self._made(draws.field, row) for row in rows])

    def _made(self, field: str, row: Any) -> Any:
        try:
            found = self.function(row)
        except Exception as error:
            raise user_code_error(
                error, f"field {field!r} of the generator", "source", row
            ) from error
        if reason := self.type_info.check(found):
            raise bad_field(
                f"the expression of field {field!r} gives {short_repr(found)} for {short_repr(row)}: "
                f"{reason}",
                "return a value of the declared type",
            )
        return found

    def described(self) -> str:
        return f"expression of {self.type_info}"


def _column(type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    if type_info.kind == "BIG_DEC":
        return pa.array(values, DECIMALS)
    (column,) = Types.TUPLE([type_info]).to_arrow_arrays([(value,) for value in values])
    return column


# -- checks ----------------------------------------------------------------------------------------


def _countable(type_info: TypeInformation) -> TypeInformation:
    if not isinstance(type_info, TypeInformation) or not Countable.has(type_info):
        raise bad_field(
            f"no values of {short_repr(type_info)} can be generated",
            "use a type of numbers, texts, bytes, dates or times, or choice(...) and expression(...)",
        )
    return type_info


def _check_columnar(type_info: TypeInformation) -> None:
    """Refuse types whose columns do not tell what they are: numbers of any size, pickled objects."""
    known = isinstance(type_info, TypeInformation)
    if not known or type_info not in (Types.BIG_DEC(), from_arrow(type_info.to_arrow())):
        raise bad_field(
            f"no values of {short_repr(type_info)} can be generated",
            "use LONG, DOUBLE, BIG_DEC, STRING, bytes, dates, times, or lists and rows of them",
        )


def _digits(*values: Any) -> int:
    """The most digits after the point that one of some values has."""
    exponents = [value.as_tuple().exponent for value in values if isinstance(value, Decimal)]
    return max([0, *(-exponent for exponent in exponents if isinstance(exponent, int))])


def _bounds(countable: Countable, least: Any, most: Any) -> tuple[int, int]:
    if (least is None or most is None) and countable.type_info.kind not in (
        "BYTE",
        "SHORT",
        "INT",
        "LONG",
        "SQL_TIME",
    ):
        raise bad_field(
            f"random values of {countable.type_info} need a smallest and a largest one",
            "give min= and max=",
        )
    first, last = countable.limits
    first = first if least is None else countable.number(least)
    last = last if most is None else countable.number(most)
    _check_order(first, last, least, most)
    return first, last


def _float_bounds(least: Any, most: Any) -> tuple[float, float]:
    first, last = 0.0 if least is None else least, 1.0 if most is None else most
    for bound in (first, last):
        if (
            isinstance(bound, bool)
            or not isinstance(bound, int | float)
            or not math.isfinite(bound)
        ):
            raise bad_field(f"{bound!r} is no bound of random numbers", "give finite numbers")
    _check_order(first, last, least, most)
    return float(first), float(last)


def _check_order(first: float, last: float, least: Any, most: Any) -> None:
    if first > last:
        raise bad_field(f"min={least!r} is larger than max={most!r}", "give min <= max")


def _checked_length(length: Any) -> int:
    if type(length) is not int or not 1 <= length <= LONGEST:
        raise bad_field(f"the length {length!r} is not possible", f"give 1 to {LONGEST:,}")
    return length


def _checked_weights(weights: Sequence[float] | None, count: int) -> tuple[float, ...]:
    found = [1.0] * count if weights is None else list(weights)
    if len(found) != count:
        raise bad_field(
            f"{count} values have {len(found)} weights", "give one weight for each value"
        )
    for weight in found:
        if not isinstance(weight, int | float) or not 0 <= weight < math.inf:
            raise bad_field(f"the weight {weight!r} is no number from 0", "give numbers from 0")
    if not sum(found):
        raise bad_field("all weights are 0", "give at least one value a weight above 0")
    return tuple(map(float, found))
