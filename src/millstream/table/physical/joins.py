"""Joins in the kernel's form: equal columns as keys, and a condition on the pairs that are left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from millstream.table.expressions.tree import Call, Expression, InputRef
from millstream.table.logical.algebra import Relation
from millstream.table.rules.conditions import all_of, columns_of, conjuncts, moved
from millstream.table.types.arrow import arrow_type
from millstream.table.types.logical import RowField, RowType

__all__ = ["Equality", "JoinParts", "Side", "join_parts"]

_EQUAL = {"=": False, "IS NOT DISTINCT FROM": True}


@dataclass(frozen=True)
class Equality:
    """Two expressions, one of each side, that have to be equal."""

    left: Expression
    right: Expression
    null_safe: bool


@dataclass(frozen=True)
class Side:
    """A side of a join with its key: the columns of the table, and behind them what was computed."""

    columns: tuple[Expression, ...]
    key: tuple[int, ...]
    row_type: RowType

    @property
    def is_plain(self) -> bool:
        """Whether the key consists of columns of the table."""
        return all(isinstance(each, InputRef) for each in self.columns)


@dataclass(frozen=True)
class JoinParts:
    """A condition taken apart. ``rest``: over the columns of both tables; None if nothing is left."""

    equalities: tuple[Equality, ...]
    rest: Expression | None

    def side(self, relation: Relation, number: int) -> Side:
        """The columns and the key of one side."""
        fields = relation.row_type.fields
        columns: list[Expression] = [InputRef(f.type, i, f.name) for i, f in enumerate(fields)]
        row = list(fields)
        key: list[int] = []
        for each in self.equalities:
            wanted = each.right if number else each.left
            if isinstance(wanted, InputRef):
                key.append(wanted.index)
                continue
            key.append(len(columns))
            row.append(RowField(f"$k{len(columns)}", wanted.type))
            columns.append(wanted)
        return Side(tuple(columns), tuple(key), RowType(fields=tuple(row)))

    @property
    def null_safe(self) -> tuple[bool, ...]:
        """Of each part of the key, whether NULL equals NULL."""
        return tuple(each.null_safe for each in self.equalities)


def join_parts(
    condition: Expression, width: int, wanted: Callable[[Equality], bool] = lambda _: True
) -> JoinParts:
    """Take a condition over two tables apart. ``width``: the columns of the left one.

    Equalities that are not ``wanted`` stay in the condition.
    """
    equalities: list[Equality] = []
    rest: list[Expression] = []
    for part in conjuncts(condition):
        found = _equality(part, width)
        if found is None or not wanted(found):
            rest.append(part)
        else:
            equalities.append(found)
    return JoinParts(tuple(equalities), all_of(rest) if rest else None)


def _equality(part: Expression, width: int) -> Equality | None:
    if not isinstance(part, Call) or part.function not in _EQUAL:
        return None
    one, other = part.arguments
    sides = [_side(one, width), _side(other, width)]
    if sides == [1, 0]:
        one, other = other, one
    elif sides != [0, 1]:
        return None
    if arrow_type(one.type) != arrow_type(other.type):
        return None
    return Equality(one, moved(other, lambda i: i - width), _EQUAL[part.function])


def _side(expression: Expression, width: int) -> int | None:
    columns = columns_of(expression)
    if not columns:
        return None
    if max(columns) < width:
        return 0
    return 1 if min(columns) >= width else None
