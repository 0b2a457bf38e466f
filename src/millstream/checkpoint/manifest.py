"""The manifest of a job: what a checkpoint is compared by, and what its state belongs to."""

from __future__ import annotations

import platform
from typing import Any

from millstream import __version__
from millstream.checkpoint.sinks import describe_sink
from millstream.connectors.sink import TwoPhaseSink
from millstream.kernel.state.pages import FORMAT as PAGE_FORMAT
from millstream.plan.graph import KeyedNode, Node, SinkNode, SourceNode, TimestampsNode
from millstream.plan.options import JobOptions
from millstream.plan.planner import Component, JobPlan


def manifest_of(plan: JobPlan, options: JobOptions, spark_version: str) -> dict[str, Any]:
    """Sources, keyed operators and sinks with their uids, places and types, and all versions.

    ``operators`` is what a checkpoint is compared by; ``details`` is what a savepoint has to know.
    """
    operators: list[dict[str, Any]] = []
    details: dict[str, dict[str, Any]] = {}
    for component in plan.components:
        operators += _operators(component)
        for node in component.graph:
            if node.id in component.live:
                details[component.uids[node.id]] = _details(component, node)
    sources = [source.source for component in plan.components for source in component.sources]
    return {
        "name": options.name,
        "operators": operators,
        "details": details,
        "queries": [component.index for component in plan.components],
        "named_sources": all(source.has_name for source in sources),
        "slots": options.slot_count,
        "parallelism": options.parallelism,
        "mode": options.channel_order,
        "page_format": PAGE_FORMAT,
        "worker_memory": options.configuration.get("millstream.worker.memory"),
        "versions": {
            "millstream": __version__,
            "spark": spark_version,
            "python": platform.python_version(),
        },
    }


def _operators(component: Component) -> list[dict[str, Any]]:
    levels = {
        node.id: number for number, level in enumerate(component.levels, start=1) for node in level
    }
    operators = []
    for node in component.graph:
        if node.id in component.live and isinstance(node, SourceNode | KeyedNode | SinkNode):
            operator = {
                "uid": component.uids[node.id],
                "kind": _kind(node),
                "query": component.index,
                "level": levels.get(node.id),
            }
            if isinstance(node, KeyedNode):
                operator["state"] = component.choices[node.id].layout
            operators.append(operator)
    return operators


def _kind(node: Node) -> str:
    return type(node).__name__.removesuffix("Node").lower()


def _details(component: Component, node: Node) -> dict[str, Any]:
    found: dict[str, Any] = {
        "number": node.id,
        "kind": _kind(node),
        "name": node.name,
        "named": node.uid is not None,
        "query": component.index,
        "hosted": node.id in component.hosted,
        "signature": _signature(node),
        "depth": component.ranks[node.id].depth,
    }
    if isinstance(node, KeyedNode):
        found["layout"] = component.choices[node.id].layout
        if component.choices[node.id].as_panes is not None:
            found["as_panes"] = component.choices[node.id].as_panes
        records = component.graph[node.inputs[0]].output_type
        if records is not None:
            found["records"] = records.to_dict()
        if node.key_type is not None:
            found["key_type"] = node.key_type.to_dict()
    if isinstance(node, SourceNode):
        found["source"] = node.source.kind
        found |= node.source.details()
        # Sources without names go by their place in the query; the control channel is the first.
        found["place"] = 1 + [source.id for source in component.sources].index(node.id)
        found["offsets"] = {
            component.uids[line]: component.channel_offset(node.id, line)
            for line in component.timelines_of_source(node.id)
        }
    if isinstance(node, SinkNode) and isinstance(node.sink, TwoPhaseSink):
        found["sink"] = describe_sink(node.sink)
    return found


def _signature(node: Node) -> str:
    """A signature that tells an operator without a uid from another one in its place."""
    if isinstance(node, SourceNode):
        return node.source.signature()
    thing: Any = getattr(node, "function", None)
    if isinstance(node, SinkNode):
        thing = node.sink
    elif isinstance(node, TimestampsNode):
        thing = node.strategy
    kind = getattr(node, "kind", _kind(node))
    inner = getattr(thing, "function", None) or thing
    named = inner if hasattr(inner, "__qualname__") else type(inner)
    return f"{kind} {named.__qualname__}"
