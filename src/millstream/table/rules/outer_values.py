"""Subqueries whose columns from outside no condition of a join can bring.

They are computed for each value that these columns have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import singledispatchmethod
from typing import Any

from millstream.common.errors import PlanError
from millstream.table.expressions import kinds
from millstream.table.expressions.tree import Expression, InputRef
from millstream.table.functions import bind
from millstream.table.logical.algebra import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    LateralJoin,
    Limit,
    OuterRef,
    Project,
    Relation,
    SetOperation,
    Sort,
    Subquery,
)
from millstream.table.logical.typing_rules import references, row_of
from millstream.table.rules.conditions import all_of, conjuncts, moved, replaced
from millstream.table.rules.nodes import Rank
from millstream.table.types.logical import LogicalType, RowField, RowType

__all__ = [
    "for_outer_values",
    "lowered",
    "outer_columns",
    "reads_outside",
    "too_deep",
]


def for_outer_values(query: Relation, source: Relation) -> tuple[Relation, list[Expression]]:
    """A query with the values from outside behind its columns, and the conditions over both tables."""
    wanted = sorted({each.index for each, level in outer_columns(query) if level == 1})
    if not wanted:
        return one_level_less(query), []
    fields = source.row_type.fields
    columns = tuple(InputRef(fields[i].type, i, fields[i].name) for i in wanted)
    row = row_of(tuple(RowField(f"$o{i}", fields[i].type) for i in wanted))
    made = _OuterValues(Distinct(row, Project(row, source, columns)), wanted).beside(query)
    first = len(fields) + len(query.row_type.fields)
    pairs = [
        [column, InputRef(column.type, first + at, f"$o{column.index}")]
        for at, column in enumerate(columns)
    ]
    return made, [bind("IS NOT DISTINCT FROM", pair) for pair in pairs]


class _OuterValues:
    """A table of values of outer columns, and tables with these values behind their columns."""

    def __init__(self, values: Relation, wanted: list[int]) -> None:
        self.values = values
        self.places = {index: at for at, index in enumerate(wanted)}

    def beside(self, relation: Relation) -> Relation:
        """Each row of a table with the values that it belongs to: all, if it reads none of them."""
        if reads_outside(relation):
            return self._beside(relation)
        row = self._row(relation.row_type)
        return Join(row, relation, self.values, "inner", all_of([]))

    @singledispatchmethod
    def _beside(self, relation: Relation) -> Relation:
        raise too_deep()

    @_beside.register
    def _(self, relation: Filter) -> Relation:
        below = self.beside(relation.input)
        return Filter(below.row_type, below, self._known(relation.condition, relation.input))

    @_beside.register
    def _(self, relation: Project) -> Relation:
        below = self.beside(relation.input)
        own = tuple(self._known(each, relation.input) for each in relation.expressions)
        return Project(self._row(relation.row_type), below, (*own, *self._last(below)))

    @_beside.register
    def _(self, relation: Distinct) -> Relation:
        below = self.beside(relation.input)
        return Distinct(below.row_type, below)

    @_beside.register
    def _(self, relation: Sort) -> Relation:
        return self.beside(relation.input)

    @_beside.register
    def _(self, relation: Limit) -> Relation:
        """The first rows of each value."""
        if relation.fetch is None:
            raise too_deep()
        source = relation.input
        below = self.beside(source)
        order = source.keys if isinstance(source, Sort) else ()
        row = row_of((*below.row_type.fields, RowField("$rank", kinds.not_null(kinds.BIGINT))))
        partition = tuple(each.index for each in self._last(below))
        first, last = relation.offset + 1, relation.offset + relation.fetch
        ranked = Rank(row, below, partition, order, "ROW_NUMBER", first, last)
        return Project(below.row_type, ranked, references(row)[:-1])

    @_beside.register
    def _(self, relation: SetOperation) -> Relation:
        left, right = self.beside(relation.left), self.beside(relation.right)
        return replace(relation, row_type=self._row(relation.row_type), left=left, right=right)

    @_beside.register
    def _(self, relation: Aggregate) -> Relation:
        if relation.sets is not None:
            raise too_deep()
        below = self.beside(relation.input)
        keys, fields = len(relation.keys), relation.row_type.fields
        added = self.values.row_type.fields
        row = row_of((*fields[:keys], *added, *fields[keys:]))
        last = tuple(each.index for each in self._last(below))
        grouped = replace(relation, row_type=row, input=below, keys=(*relation.keys, *last))
        refs = references(row)
        behind = keys + len(added)
        order = (*refs[:keys], *refs[behind:], *refs[keys:behind])
        return Project(self._row(relation.row_type), grouped, order)

    @_beside.register
    def _(self, relation: Join) -> Relation:
        """Both sides have the values if both need them: then only rows of the same values meet."""
        width, count = len(relation.left.row_type.fields), len(self.places)
        both = relation.kind in ("right", "full") or reads_outside(relation.right)
        left = self.beside(relation.left)
        right = self.beside(relation.right) if both else relation.right
        own = moved(relation.condition, lambda at: at if at < width else at + count)
        conditions = conjuncts(self._known(own, relation.left))
        one = self._last(left)
        behind = width + count + len(relation.right.row_type.fields)
        other = tuple(replace(each, index=behind + at) for at, each in enumerate(one))
        if both:
            conditions += [
                bind("IS NOT DISTINCT FROM", [a, b]) for a, b in zip(one, other, strict=True)
            ]
        if relation.kind in ("semi", "anti"):
            return replace(
                relation,
                row_type=left.row_type,
                left=left,
                right=right,
                condition=all_of(conditions),
            )
        return self._of_pairs(relation, left, right, conditions, (one, other))

    def _of_pairs(
        self,
        relation: Join,
        left: Relation,
        right: Relation,
        conditions: list[Expression],
        values: tuple[tuple[InputRef, ...], tuple[InputRef, ...]],
    ) -> Relation:
        width, count = len(relation.left.row_type.fields), len(self.places)
        fields = relation.row_type.fields
        added = self.values.row_type.fields
        last = right.row_type.fields[len(fields) - width :]
        row = row_of(
            (
                *fields[:width],
                *(_maybe_null(f, relation.kind in ("right", "full")) for f in added),
                *fields[width:],
                *(_maybe_null(f, relation.kind in ("left", "full")) for f in last),
            )
        )
        refs = references(row)
        one, other = (
            tuple(refs[each.index] for each in side if each.index < len(refs)) for side in values
        )
        known: tuple[Expression, ...] = {"right": other}.get(relation.kind, one)
        if relation.kind == "full":
            known = tuple(bind("COALESCE", list(pair)) for pair in zip(one, other, strict=True))
        joined = replace(
            relation, row_type=row, left=left, right=right, condition=all_of(conditions)
        )
        own = (*refs[:width], *refs[width + count :][: len(fields) - width])
        return Project(self._row(relation.row_type), joined, (*own, *known))

    def _row(self, row: RowType) -> RowType:
        return row_of((*row.fields, *self.values.row_type.fields))

    def _last(self, relation: Relation) -> tuple[InputRef, ...]:
        return references(relation.row_type)[-len(self.places) :]

    def _known(self, expression: Expression, below: Relation) -> Expression:
        """An expression with the values, which stand behind the columns of a table."""
        width = len(below.row_type.fields)

        def change(each: Expression) -> Expression | None:
            if not isinstance(each, OuterRef):
                return None
            found = lowered(each)
            if isinstance(found, InputRef):
                return replace(found, index=width + self.places[each.index])
            return found

        return replaced(expression, change)


def _maybe_null(field: RowField, missing: bool) -> RowField:
    """The column of a side of a join whose rows can be missing."""
    return replace(field, type=field.type.with_nullability(True)) if missing else field


def outer_columns(value: Any, depth: int = 0) -> Iterator[tuple[OuterRef, int]]:
    """The columns that a query reads of those around it, with the levels that these are away."""
    if isinstance(value, OuterRef):
        if value.level > depth:
            yield value, value.level - depth
        return
    for each, inside in _parts(value):
        yield from outer_columns(each, depth + inside)


def _parts(value: Any) -> Iterator[tuple[Any, int]]:
    """The parts of a node, with the levels that they are inside of it."""
    if isinstance(value, tuple):
        yield from ((each, 0) for each in value)
    elif is_dataclass(value) and not isinstance(value, LogicalType):
        for each in fields(value):
            yield getattr(value, each.name), _is_query(value, each.name)


def _is_query(node: Any, name: str) -> bool:
    """Whether a part of a node is a query that reads columns of the node."""
    return (isinstance(node, Subquery) and name == "query") or (
        isinstance(node, LateralJoin) and name == "right"
    )


def one_level_less(value: Any, depth: int = 0) -> Any:
    """A query that takes the place of the one around it: what that one read from outside, it reads."""
    if isinstance(value, OuterRef):
        return replace(value, level=value.level - 1) if value.level > depth else value
    parts = [one_level_less(each, depth + inside) for each, inside in _parts(value)]
    if all(new is old for new, (old, _) in zip(parts, _parts(value), strict=True)):
        return value
    if isinstance(value, tuple):
        return tuple(parts)
    return replace(
        value, **{each.name: new for each, new in zip(fields(value), parts, strict=True)}
    )


def lowered(ref: OuterRef) -> Expression:
    """A column from outside, said in the next query around: its own, or one from outside of it."""
    if ref.level == 1:
        return InputRef(ref.type, ref.index, ref.name)
    return replace(ref, level=ref.level - 1)


def reads_outside(query: Relation) -> bool:
    """Whether a query reads columns of the queries around it."""
    return any(True for _ in outer_columns(query))


def too_deep() -> PlanError:
    """The error of a query that reads columns from outside where no join can bring them."""
    return PlanError(
        "SQL_NOT_SUPPORTED",
        "a subquery reads columns of the query around it in a way that does not run yet",
        hint="compare such columns in WHERE of the subquery, or write a join",
    )
