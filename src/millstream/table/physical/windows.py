"""Windows of rows, and the aggregates of them, in the kernel's form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.kernel.tables.timed.assign import WindowStep
from millstream.kernel.tables.timed.sessions import SessionSpec
from millstream.kernel.tables.timed.updating_windows import UpdatingWindowSpec
from millstream.kernel.tables.timed.window_aggregate import WindowAggregateSpec
from millstream.plan.tables import add_columns, add_table
from millstream.table.expressions.tree import InputRef
from millstream.table.logical.algebra import Aggregate, WindowTable
from millstream.table.logical.typing_rules import time_kind
from millstream.table.physical.aggregates import GroupingSets, arguments_of, group_of, is_grouping
from millstream.table.physical.compiled import row_info
from millstream.table.physical.meaning import uid_of
from millstream.table.physical.stateful import expanded, with_groupings
from millstream.table.physical.window_columns import WindowColumns
from millstream.table.types.arrow import arrow_type
from millstream.table.types.logical import LocalZonedTimestampType

if TYPE_CHECKING:
    from millstream.table.physical.lowering import Lowering

__all__ = ["add_window_aggregate", "add_window_table"]


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
    """Add an aggregate whose groups end with their windows, of one or of several grouping sets."""
    special = {windows.start: 0, windows.end: 1, windows.time: 2}
    keys = group_of(relation)
    others = tuple(each for each in keys if each.index not in special)
    fields = relation.input.row_type.fields
    bounds = tuple(InputRef(fields[i].type, i, fields[i].name) for i in windows.bounds)
    calls = [each for each in relation.calls if not is_grouping(each)]
    apart = relation.sets is not None
    arguments = arguments_of(calls, (*others, *bounds), relation.input, apart=apart)
    before = lowering.node(relation.input)
    before = add_columns(lowering.graph, "Arguments", before, arguments.step(lowering.zone)).id
    row, key = row_info(arguments.row_type), tuple(range(len(others)))
    if relation.sets is not None:
        places = {keys.index(each): at for at, each in enumerate(others)}
        sets = tuple(tuple(places[k] for k in each if k in places) for each in relation.sets)
        before, row = expanded(lowering, arguments, before, GroupingSets(len(others), sets))
        key = (*key, len(arguments.columns))
    spec = WindowAggregateSpec(
        row,
        key,
        arguments.calls,
        len(others),
        len(others) + 1,
        arrow_type(windows.table.row_type.fields[-1].type),
        lowering.changes(relation)[0],
        not windows.in_event_time,
        windows.zone(lowering.zone),
    )
    emit = windows.table.emit
    if emit is not None:
        spec = UpdatingWindowSpec.of(spec, emit.early, emit.lateness)
    node = add_table(lowering.graph, "Window Aggregate", [before], spec, uid=uid_of(relation)).id
    width = len(key)
    places_of = [
        width + special[each.index] if each.index in special else others.index(each)
        for each in keys
    ]
    return with_groupings(lowering, relation, node, places_of, len(others), width + 3)
