"""Nodes of table operators: the graph's own form of a `TableSpec` or a `TableStep`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from millstream.common.errors import Location
from millstream.kernel.steps.columns import TableStep
from millstream.kernel.steps.routing import Place
from millstream.kernel.tables.spec import ColumnKey, TableSpec
from millstream.plan.graph import JobGraph, KeyedNode, Selector, StatelessNode

__all__ = ["add_columns", "add_table", "free_uid"]


def add_table(
    graph: JobGraph,
    name: str,
    inputs: Sequence[int],
    spec: TableSpec,
    *,
    uid: str | None = None,
    location: Location | None = None,
) -> KeyedNode:
    """Add a stateful operator; its inputs give columns of the types that the spec says.

    A uid that the graph has already gets a number behind it.
    """
    selectors = [_selector(places) for places in spec.keys]
    return graph.add(
        KeyedNode,
        name=name,
        inputs=tuple(inputs),
        output_type=spec.output,
        uid=None if uid is None else free_uid(graph, uid),
        location=location,
        selector=selectors[0],
        second=selectors[1] if len(selectors) > 1 else None,
        key_type=spec.key_type,
        kind="table",
        function=spec,
    )


def add_columns(
    graph: JobGraph,
    name: str,
    before: int,
    step: TableStep,
    *,
    uid: str | None = None,
    location: Location | None = None,
) -> StatelessNode:
    """Add a step over columns."""
    return graph.add(
        StatelessNode,
        name=name,
        inputs=(before,),
        output_type=step.output,
        uid=uid,
        location=location,
        kind="columns",
        function=step,
    )


def free_uid(graph: JobGraph, uid: str) -> str:
    """The uid, with a number behind it if the graph has it already."""
    taken = {node.uid for node in graph}
    numbered = (f"{uid}-{number}" for number in count(2))
    return uid if uid not in taken else next(each for each in numbered if each not in taken)


def _selector(places: tuple[int, ...]) -> Selector:
    return ColumnKey(places) if places else Place.ONE_SLOT
