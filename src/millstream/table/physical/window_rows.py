"""Top-N, deduplication and joins of windows in the kernel's form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.kernel.tables.timed.window_rows import WindowJoinSpec, WindowRankSpec
from millstream.plan.tables import add_table
from millstream.table.logical.algebra import Join
from millstream.table.physical.compiled import compiled, row_info
from millstream.table.physical.meaning import uid_of
from millstream.table.physical.sorts import sort_columns_of
from millstream.table.physical.stateful import join_input, joined_names
from millstream.table.physical.window_columns import WindowColumns, WindowJoinParts
from millstream.table.rules.conditions import moved
from millstream.table.rules.nodes import Rank

if TYPE_CHECKING:
    from millstream.table.physical.lowering import Lowering

__all__ = ["add_window_join", "add_window_rank"]


def add_window_rank(lowering: Lowering, relation: Rank, windows: WindowColumns) -> int:
    """Add the first rows of each key and window."""
    start, end = windows.bounds
    spec = WindowRankSpec(
        row_info(relation.input.row_type),
        tuple(each for each in relation.partition if each not in (start, end)),
        sort_columns_of(relation.order),
        start,
        end,
        relation.end,
        relation.start,
        relation.kind,
        relation.row_type.fields[-1].name,
        lowering.changes(relation)[0],
        windows.zone(lowering.zone),
    )
    node = lowering.stateful(relation, "Window Rank", spec)
    return lowering.named(node, spec.output, relation)


def add_window_join(lowering: Lowering, relation: Join, found: WindowJoinParts) -> int:
    """Add a join of rows of the same window."""
    width = len(relation.left.row_type.fields)
    sides = [found.parts.side(each, i) for i, each in enumerate(relation.inputs())]
    left, right = sides
    extra = len(left.columns) - width
    condition = found.parts.rest
    if condition is not None:
        condition = moved(condition, lambda i: i if i < width else i + extra)
    only_left = relation.kind in ("semi", "anti")
    spec = WindowJoinSpec(
        row_info(left.row_type),
        row_info(right.row_type),
        relation.kind,
        left.key[2:],
        right.key[2:],
        left.key[:2],  # type: ignore[arg-type]
        right.key[:2],  # type: ignore[arg-type]
        joined_names(sides, only_left),
        None if condition is None else compiled(condition, lowering.zone),
        lowering.changes(relation),  # type: ignore[arg-type]
        found.left.zone(lowering.zone),
    )
    nodes = [
        join_input(lowering, each, side)
        for each, side in zip(relation.inputs(), sides, strict=True)
    ]
    node = add_table(lowering.graph, "Window Join", nodes, spec, uid=uid_of(relation)).id
    places = [*range(width)]
    if not only_left:
        inner = len(relation.right.row_type.fields)
        places += range(len(left.columns), len(left.columns) + inner)
    return lowering.picked(node, places, relation)
