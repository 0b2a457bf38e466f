"""ORDER BY in the kernel's form: by time in a stream, by anything where all rows are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.common.errors import PlanError
from millstream.kernel.tables.bags import SortColumn
from millstream.kernel.tables.materialize import MaterializeSpec
from millstream.kernel.tables.timed.sort import TemporalSortSpec
from millstream.table.logical.algebra import Relation, Sort, SortKey
from millstream.table.logical.typing_rules import time_kind
from millstream.table.physical.compiled import row_info

if TYPE_CHECKING:
    from millstream.table.physical.lowering import Lowering

__all__ = ["add_sort", "sort_columns_of"]


def add_sort(lowering: Lowering, relation: Sort) -> int:
    """Add an order of rows; in a stream its first column is a time, and ascending."""
    order = sort_columns_of(relation.keys)
    row = row_info(relation.row_type)
    (changes,) = lowering.changes(relation)
    if lowering.batch:
        return lowering.stateful(relation, "Sort", MaterializeSpec(row, order, changes))
    kind = _time_of(relation.input, relation.keys[0])
    if kind == "PROCTIME" or (lowering.sorts and (kind is None or changes)):
        # Rows come in this order, or no order is wanted.
        return lowering.node(relation.input)
    if kind is None or changes:
        raise _unsorted(relation, changes=changes)
    return lowering.stateful(relation, "Sort", TemporalSortSpec(row, order))


def sort_columns_of(keys: tuple[SortKey, ...]) -> tuple[SortColumn, ...]:
    """The columns of an order as the kernel takes them."""
    return tuple(SortColumn(key.index, key.descending, key.nulls_first) for key in keys)


def _time_of(source: Relation, key: SortKey) -> str | None:
    kind = time_kind(source.row_type.fields[key.index].type)
    return None if key.descending else kind


def _unsorted(relation: Sort, *, changes: bool) -> PlanError:
    name = relation.row_type.fields[relation.keys[0].index].name
    what = "rows that change" if changes else "a stream that may never end"
    return PlanError(
        "SORT_NEEDS_TIME",
        f"ORDER BY {name} sorts {what}: the first row would have to wait for the last one",
        hint="add LIMIT n; or order by the time column of the table, ascending; or run in batch mode: "
        "SET 'execution.runtime-mode' = 'batch'",
    )
