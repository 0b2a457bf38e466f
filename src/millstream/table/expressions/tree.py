"""The typed expression tree. Nodes are frozen, and equal if they mean the same.

Values of literals are internal ones: days of a DATE, milliseconds of a TIME, nanoseconds of a TIMESTAMP
(since 1970-01-01 00:00:00, of TIMESTAMP_LTZ in UTC), months or milliseconds of an INTERVAL, `Decimal`,
`str`, `bytes`, tuples of an ARRAY or ROW, and tuples of pairs of a MAP.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millstream.table.expressions.kinds import LogicalType

__all__ = [
    "Call",
    "Case",
    "Cast",
    "Expression",
    "FieldAccess",
    "InputRef",
    "Literal",
    "OwnCall",
    "Symbol",
]


@dataclass(frozen=True)
class Expression:
    """A node with a type."""

    type: LogicalType

    def children(self) -> tuple[Expression, ...]:
        """The expressions directly below."""
        return ()

    def walk(self) -> Iterator[Expression]:
        """This expression and all below it."""
        yield self
        for child in self.children():
            yield from child.walk()


@dataclass(frozen=True)
class Literal(Expression):
    """A constant."""

    value: Any

    def __str__(self) -> str:
        return "NULL" if self.value is None else repr(self.value)


@dataclass(frozen=True)
class Symbol(Expression):
    """A word of the syntax, such as a unit of time or ``NULL ON NULL``. It has no value."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class InputRef(Expression):
    """A column of the input."""

    index: int
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Call(Expression):
    """A call of a function of the registry."""

    function: str
    arguments: tuple[Expression, ...]

    def children(self) -> tuple[Expression, ...]:
        return self.arguments

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True)
class OwnCall(Call):
    """A call of a function outside of the registry: it knows itself how it runs."""

    def run(self, arrays: Sequence[pa.Array], length: int) -> pa.Array:
        """The results for all rows, given the columns of the arguments."""
        raise NotImplementedError


@dataclass(frozen=True)
class Cast(Expression):
    """A conversion; with `lenient` (TRY_CAST) a value that cannot be converted becomes NULL."""

    operand: Expression
    lenient: bool = False

    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def __str__(self) -> str:
        return f"{'TRY_CAST' if self.lenient else 'CAST'}({self.operand} AS {self.type})"


@dataclass(frozen=True)
class Case(Expression):
    """The result of the first condition that is TRUE. Results of other rows are not computed."""

    conditions: tuple[Expression, ...]
    results: tuple[Expression, ...]
    otherwise: Expression

    def children(self) -> tuple[Expression, ...]:
        return (*self.conditions, *self.results, self.otherwise)

    def __str__(self) -> str:
        pairs = zip(self.conditions, self.results, strict=True)
        parts = [f"WHEN {condition} THEN {result}" for condition, result in pairs]
        return " ".join(["CASE", *parts, f"ELSE {self.otherwise}", "END"])


@dataclass(frozen=True)
class FieldAccess(Expression):
    """A field of a row."""

    operand: Expression
    index: int

    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def __str__(self) -> str:
        return f"{self.operand}.{self.index}"
