"""Windows: where their columns are in a table, and the aggregates of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.kernel.tables.timed.assign import WindowStep
from millstream.kernel.tables.timed.sessions import SessionSpec
from millstream.kernel.tables.timed.window_aggregate import WindowAggregateSpec
from millstream.plan.tables import add_columns, add_table
from millstream.table.expressions.tree import InputRef
from millstream.table.logical.algebra import (
    Aggregate,
    Filter,
    Join,
    Over,
    Project,
    Relation,
    Sort,
    WindowTable,
)
from millstream.table.logical.typing_rules import time_kind
from millstream.table.physical.aggregates import arguments_of, group_of
from millstream.table.physical.compiled import row_info
from millstream.table.physical.meaning import uid_of
from millstream.table.rules.nodes import Rank
from millstream.table.types.arrow import arrow_type
from millstream.table.types.logical import LocalZonedTimestampType

if TYPE_CHECKING:
    from millstream.table.physical.lowering import Lowering

__all__ = [
    "WindowColumns",
    "add_window_aggregate",
    "add_window_table",
    "window_columns",
    "window_of",
]


@dataclass(frozen=True)
class WindowColumns:
    """The places of window_start, window_end and window_time in a table; None if it is not there."""

    start: int | None
    end: int | None
    time: int | None
    table: WindowTable

    def at(self, places: dict[int, int]) -> WindowColumns:
        """The same columns at other places."""
        return WindowColumns(
            _moved(self.start, places),
            _moved(self.end, places),
            _moved(self.time, places),
            self.table,
        )


def _moved(place: int | None, places: dict[int, int]) -> int | None:
    return None if place is None else places.get(place)


def window_columns(relation: Relation) -> WindowColumns | None:
    """Where a table has the windows of a window table below it; None if there is none."""
    if isinstance(relation, WindowTable):
        width = len(relation.input.row_type.fields)
        return WindowColumns(width, width + 1, width + 2, relation)
    if isinstance(relation, Filter | Sort | Over | Rank):
        return window_columns(relation.input)
    if isinstance(relation, Join):
        return window_columns(relation.left)
    if not isinstance(relation, Project | Aggregate):
        return None
    found = window_columns(relation.input)
    if found is None:
        return None
    if isinstance(relation, Aggregate):
        return found.at({key: at for at, key in enumerate(relation.keys)})
    copies = [(e.index, at) for at, e in enumerate(relation.expressions) if isinstance(e, InputRef)]
    return found.at(dict(reversed(copies)))


def window_of(relation: Aggregate) -> WindowColumns | None:
    """The windows that an aggregate groups by: their start and end are among its keys."""
    found = window_columns(relation.input)
    if found is None or relation.sets is not None:
        return None
    return found if {found.start, found.end} <= set(relation.keys) else None


def add_window_table(lowering: Lowering, relation: WindowTable) -> int:
    """Add the windows of each row."""
    row = row_info(relation.input.row_type)
    kind = relation.input.row_type.fields[relation.time].type
    zone = lowering.zone if isinstance(kind, LocalZonedTimestampType) else None
    if relation.kind == "SESSION":
        spec = SessionSpec(
            row,
            relation.partition,
            relation.time,
            relation.size,
            lowering.changes(relation)[0],
            time_kind(kind) == "PROCTIME",
            zone,
        )
        node = lowering.stateful(relation, "Sessions", spec)
        return lowering.named(node, spec.output, relation)
    sizes = relation.size, relation.step, relation.offset
    step = WindowStep(row, relation.kind, relation.time, *sizes, zone)
    node = add_columns(lowering.graph, "Windows", lowering.node(relation.input), step).id
    return lowering.named(node, step.output, relation)


def add_window_aggregate(lowering: Lowering, relation: Aggregate, windows: WindowColumns) -> int:
    """Add an aggregate whose groups end with their windows."""
    assert windows.start is not None and windows.end is not None
    special = {windows.start: 0, windows.end: 1, windows.time: 2}
    keys = group_of(relation)
    others = tuple(each for each in keys if each.index not in special)
    fields = relation.input.row_type.fields
    bounds = tuple(
        InputRef(fields[i].type, i, fields[i].name) for i in (windows.start, windows.end)
    )
    arguments = arguments_of(relation.calls, (*others, *bounds), relation.input)
    before = lowering.node(relation.input)
    before = add_columns(lowering.graph, "Arguments", before, arguments.step(lowering.zone)).id
    time = windows.table.input.row_type.fields[windows.table.time].type
    is_local = isinstance(time, LocalZonedTimestampType)
    spec = WindowAggregateSpec(
        row_info(arguments.row_type),
        tuple(range(len(others))),
        arguments.calls,
        len(others),
        len(others) + 1,
        arrow_type(windows.table.row_type.fields[-1].type),
        lowering.changes(relation)[0],
        time_kind(time) == "PROCTIME",
        lowering.zone if is_local else None,
    )
    node = add_table(lowering.graph, "Window Aggregate", [before], spec, uid=uid_of(relation)).id
    width = len(others)
    places = [
        width + special[key.index] if key.index in special else others.index(key) for key in keys
    ]
    places += range(width + 3, width + 3 + len(relation.calls))
    return lowering.picked(node, places, relation)
