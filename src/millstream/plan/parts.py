"""The parts of a job that have metrics."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.kernel.calls.totals import JobParts
from millstream.plan.graph import KeyedNode, StatelessNode, TimestampsNode
from millstream.plan.planner import Component

OPERATORS = (KeyedNode, StatelessNode, TimestampsNode)


def job_parts(components: Iterable[Component]) -> JobParts:
    """The sources, operators and sinks of a job, in the order of the program."""
    sources: dict[str, str] = {}
    operators: dict[str, str] = {}
    sinks: dict[str, str] = {}
    for component in components:
        uids = component.uids
        nodes = [component.graph[node_id] for node_id in sorted(component.live)]
        sources |= {uids[node.id]: node.name for node in component.sources}
        operators |= {uids[node.id]: node.name for node in nodes if isinstance(node, OPERATORS)}
        sinks |= {uids[node.id]: node.name for node in component.sinks}
    return JobParts(sources, operators, sinks)
