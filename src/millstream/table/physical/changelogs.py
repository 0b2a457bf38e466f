"""TO_CHANGELOG and FROM_CHANGELOG as operators.

Between operators a row has a weight, and no kind. So where a table is only filtered and projected on
the way from its source, kinds go the whole way as a column; behind other operators an update is the row
of a key that goes and the next one that comes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.common.errors import MillstreamError, PlanError
from millstream.kernel.records.order import Ints
from millstream.kernel.steps.columns import ChangesStep, ProjectStep, RowFilterStep
from millstream.kernel.tables.changelog import ChangelogSpec
from millstream.kernel.tables.functions import Column, ColumnFunction
from millstream.kernel.tables.kinds import KIND, with_kind
from millstream.plan.tables import add_columns
from millstream.table.expressions.kinds import STRING
from millstream.table.expressions.tree import Expression, InputRef, Literal
from millstream.table.logical.algebra import (
    Aggregate,
    Correlate,
    Distinct,
    Filter,
    FromChangelog,
    Project,
    Relation,
    Scan,
    SetOperation,
    ToChangelog,
)
from millstream.table.logical.typing_rules import references
from millstream.table.physical.compiled import row_info
from millstream.table.physical.traits import Traits
from millstream.table.rules.conditions import moved
from millstream.table.rules.nodes import Changes
from millstream.table.types.logical import RowField, RowType

if TYPE_CHECKING:
    from millstream.table.physical.lowering import Lowering

__all__ = ["add_changes", "add_from_changelog", "add_to_changelog"]

_TAKEN_BACK = ("UPDATE_BEFORE", "DELETE")


# -- to changelogs ---------------------------------------------------------------------------------


def add_to_changelog(lowering: Lowering, relation: ToChangelog) -> int:
    """Add the changes of a table as rows with a code."""
    with lowering.every_update_below():
        node = lowering.node(_with_kinds(relation.input, lowering.traits))
    width = len(relation.input.row_type.fields)
    before = with_kind(row_info(relation.input.row_type))
    codes = _Coded(width, relation.codes)
    if len(relation.codes) < 4:
        step = RowFilterStep(codes.is_known, before, "kinds that have codes")
        node = add_columns(lowering.graph, "Kinds", node, step).id
    functions: tuple[ColumnFunction, ...] = (codes, *map(Column, range(width)))
    output = row_info(relation.row_type)
    project = ProjectStep(functions, output, (None, *range(width)), "codes of changes")
    return add_columns(lowering.graph, "To Changelog", node, project).id


def add_changes(lowering: Lowering, relation: Changes) -> int:
    """Add the changes of a table as rows with their kinds, found by the key of the table."""
    source = relation.input
    keys = sorted((sorted(key) for key in lowering.traits.of(source).keys), key=len)
    row = row_info(source.row_type)
    if isinstance(source, Aggregate) and lowering.every_update:
        # A group of one set may look like a group of another, but what one record changes is in turn.
        spec = ChangelogSpec(row, tuple(range(len(source.keys))), "cause")
    elif keys:
        spec = ChangelogSpec(row, tuple(keys[0]), "key")
    else:
        # Without a key nobody can say which row has taken the place of which.
        spec = ChangelogSpec(row, tuple(range(len(row.field_types))), "none")
    return lowering.stateful(relation, "Changes", spec)


@dataclass(frozen=True)
class _Coded:
    """The codes of kinds; a kind without a code is missing."""

    place: int
    codes: tuple[tuple[str, str], ...]

    def __call__(self, batch: pa.RecordBatch) -> pa.Array:
        return pa.array([code for _, code in self.codes]).take(self._places(batch))

    def is_known(self, batch: pa.RecordBatch) -> pa.Array:
        """Whether kinds have a code."""
        return self._places(batch).is_valid()

    def _places(self, batch: pa.RecordBatch) -> pa.Array:
        kinds = pa.array([kind for kind, _ in self.codes])
        return pc.index_in(batch.column(self.place), kinds)


def _kind_row(row: RowType) -> RowType:
    return replace(row, fields=(*row.fields, RowField(KIND, STRING)))


def _with_kinds(relation: Relation, traits: Traits) -> Relation:
    """A table whose rows are the changes of a table, with their kinds behind their columns."""
    if traits.of(relation).updating:
        return _kept(relation, traits)
    insert = Literal(STRING, "INSERT")
    columns: tuple[Expression, ...] = (*references(relation.row_type), insert)
    return Project(_kind_row(relation.row_type), relation, columns)


@singledispatch
def _kept(relation: Relation, traits: Traits) -> Relation:
    return Changes(_kind_row(relation.row_type), relation)


@_kept.register
def _(relation: Scan, traits: Traits) -> Relation:
    row = _kind_row(relation.row_type)
    if not traits.has_versions(relation):
        return Changes(row, relation)
    return replace(relation, row_type=row, kinds=True)


@_kept.register
def _(relation: FromChangelog, traits: Traits) -> Relation:
    return replace(relation, row_type=_kind_row(relation.row_type), kinds=True)


@_kept.register
def _(relation: Distinct, traits: Traits) -> Relation:
    keys = tuple(range(len(relation.row_type.fields)))
    groups = Aggregate(relation.row_type, relation.input, keys, ())
    return Changes(_kind_row(relation.row_type), groups)


@_kept.register
def _(relation: Correlate, traits: Traits) -> Relation:
    below = _with_kinds(relation.input, traits)
    width = len(relation.input.row_type.fields)
    made = relation.row_type.fields[width:]
    row = replace(below.row_type, fields=(*below.row_type.fields, *made))
    refs = references(row)
    condition = relation.condition
    if condition is not None:
        condition = moved(condition, lambda place: place + (place >= width))
    found = replace(relation, row_type=row, input=below, condition=condition)
    columns = (*refs[:width], *refs[width + 1 :], refs[width])
    return Project(_kind_row(relation.row_type), found, columns)


@_kept.register
def _(relation: Project, traits: Traits) -> Relation:
    below = _with_kinds(relation.input, traits)
    kind = InputRef(STRING, len(below.row_type.fields) - 1, KIND)
    return Project(_kind_row(relation.row_type), below, (*relation.expressions, kind))


@_kept.register
def _(relation: Filter, traits: Traits) -> Relation:
    below = _with_kinds(relation.input, traits)
    return Filter(below.row_type, below, relation.condition)


@_kept.register
def _(relation: SetOperation, traits: Traits) -> Relation:
    row = _kind_row(relation.row_type)
    if relation.kind != "UNION" or not relation.all:
        return Changes(row, relation)
    left, right = (_with_kinds(each, traits) for each in relation.inputs())
    return replace(relation, row_type=row, left=left, right=right)


# -- from changelogs -------------------------------------------------------------------------------


def add_from_changelog(lowering: Lowering, relation: FromChangelog) -> int:
    """Add the table that rows with codes of changes make."""
    below = lowering.traits.of(relation.input)
    if below.updating:
        by = type(below.updated_by).__name__
        raise PlanError(
            "CHANGING_LOG",
            f"FROM_CHANGELOG reads rows that stay, and {by} below it changes rows that it has given",
            hint="give it the rows of a log; TO_CHANGELOG makes them of a table that changes",
        )
    width = len(relation.input.row_type.fields)
    columns = tuple(place for place in range(width) if place != relation.op)
    kinds = _Kinds(relation.op, relation.codes)
    output = row_info(relation.row_type)
    node = lowering.node(relation.input)
    if relation.kinds:
        functions: tuple[ColumnFunction, ...] = (*map(Column, columns), kinds)
        step = ProjectStep(functions, output, (*columns, None), "kinds of codes")
        return add_columns(lowering.graph, "From Changelog", node, step).id
    changes = ChangesStep(kinds.weights, columns, output, "rows by codes of changes")
    return add_columns(lowering.graph, "From Changelog", node, changes).id


@dataclass(frozen=True)
class _Kinds:
    """The kinds that codes mean; another code is an error."""

    place: int
    codes: tuple[tuple[str, str], ...]

    def __call__(self, batch: pa.RecordBatch) -> pa.Array:
        return pa.array([kind for _, kind in self.codes]).take(self._places(batch))

    def weights(self, batch: pa.RecordBatch) -> Ints:
        """The weights of rows: -1 if they are taken back."""
        own = np.array([-1 if kind in _TAKEN_BACK else 1 for _, kind in self.codes])
        found: Ints = own[self._places(batch).to_numpy()]
        return found

    def _places(self, batch: pa.RecordBatch) -> pa.Array:
        known = pa.array([code for code, _ in self.codes])
        places = pc.index_in(batch.column(self.place), known)
        if places.null_count:
            wrong = batch.column(self.place).filter(places.is_null())[0].as_py()
            shown = "NULL" if wrong is None else repr(wrong)
            raise MillstreamError(
                "CHANGE_CODE",
                f"FROM_CHANGELOG gets a row with the code {shown}, and knows "
                f"{', '.join(known.to_pylist())}",
                hint="map the code in op_mapping, or filter such rows before",
            )
        return places
