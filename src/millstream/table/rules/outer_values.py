"""Subqueries whose columns from outside no condition of a join can bring.

They are computed for each value that these columns have.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatchmethod

from millstream.common.errors import PlanError
from millstream.table.expressions.tree import Expression, InputRef
from millstream.table.functions import bind
from millstream.table.logical.algebra import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    OuterRef,
    Project,
    Relation,
    SetOperation,
)
from millstream.table.logical.typing_rules import references
from millstream.table.rules.conditions import all_of, moved, replaced
from millstream.table.types.logical import RowField, RowType

__all__ = ["for_outer_values", "outside", "reads_outside", "too_deep"]


def for_outer_values(query: Relation, source: Relation) -> tuple[Relation, list[Expression]]:
    """A query with the values from outside behind its columns, and the conditions over both tables."""
    wanted = sorted({each.index for each in outside(query)})
    fields = source.row_type.fields
    columns = tuple(InputRef(fields[i].type, i, fields[i].name) for i in wanted)
    row = RowType(tuple(RowField(f"$o{i}", fields[i].type) for i in wanted))
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
        row = RowType((*fields[:keys], *added, *fields[keys:]))
        last = tuple(each.index for each in self._last(below))
        grouped = replace(relation, row_type=row, input=below, keys=(*relation.keys, *last))
        refs = references(row)
        behind = keys + len(added)
        order = (*refs[:keys], *refs[behind:], *refs[keys:behind])
        return Project(self._row(relation.row_type), grouped, order)

    @_beside.register
    def _(self, relation: Join) -> Relation:
        if relation.kind != "inner" or reads_outside(relation.right):
            raise too_deep()
        left, width = self.beside(relation.left), len(relation.left.row_type.fields)
        added = self.values.row_type.fields
        own = moved(relation.condition, lambda at: at if at < width else at + len(added))
        condition = self._known(own, relation.left)
        fields = relation.row_type.fields
        row = RowType((*fields[:width], *added, *fields[width:]))
        refs, behind = references(row), width + len(added)
        order = (*refs[:width], *refs[behind:], *refs[width:behind])
        joined = Join(row, left, relation.right, "inner", condition, relation.hints)
        return Project(self._row(relation.row_type), joined, order)

    def _row(self, row: RowType) -> RowType:
        return RowType((*row.fields, *self.values.row_type.fields))

    def _last(self, relation: Relation) -> tuple[InputRef, ...]:
        return references(relation.row_type)[-len(self.places) :]

    def _known(self, expression: Expression, below: Relation) -> Expression:
        """An expression with the values, which stand behind the columns of a table."""
        width = len(below.row_type.fields)

        def change(each: Expression) -> Expression | None:
            if not isinstance(each, OuterRef):
                return None
            return InputRef(each.type, width + self.places[each.index], each.name)

        return replaced(expression, change)


def outside(query: Relation) -> list[OuterRef]:
    """The columns of the query around a query that it reads."""
    found: list[OuterRef] = []
    for each in query.walk():
        expressions = [*getattr(each, "expressions", ()), getattr(each, "condition", None)]
        expressions += [c.expression for c in getattr(each, "calls", ())]
        for expression in expressions:
            if isinstance(expression, Expression):
                found += [part for part in expression.walk() if isinstance(part, OuterRef)]
    if any(each.level != 1 for each in found):
        raise too_deep()
    return found


def reads_outside(query: Relation) -> bool:
    """Whether a query reads columns of the query around it."""
    return bool(outside(query))


def too_deep() -> PlanError:
    """The error of a query that reads columns from outside where no join can bring them."""
    return PlanError(
        "SQL_NOT_SUPPORTED",
        "a subquery reads columns of the query around it in a way that does not run yet",
        hint="compare such columns in WHERE of the subquery, or write a join",
    )
