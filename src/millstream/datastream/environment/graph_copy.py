"""Copies of parts of a graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from millstream.plan.graph import JobGraph, Node

__all__ = ["copy_with_inputs", "part_of"]


def part_of(graph: JobGraph, targets: Iterable[int]) -> JobGraph:
    """Return a graph of some nodes and all nodes before them, numbered from 1 without gaps.

    So the numbers in a job depend on that job only, not on what else its program has built.
    """
    part = JobGraph()
    copy_with_inputs(graph, targets, part, {})
    return part


def copy_with_inputs(
    source: JobGraph, targets: Iterable[int], into: JobGraph, known: dict[int, int]
) -> None:
    """Copy nodes and all nodes before them into another graph.

    ``known`` gives the new ids of nodes that are there already, and receives those of the rest.
    """
    wanted = _with_inputs(source, targets)
    for node in list(source):
        if node.id in wanted and node.id not in known:
            inputs = tuple(known[i] for i in node.inputs)
            known[node.id] = into.add(type(node), **_fields(node) | {"inputs": inputs}).id


def _with_inputs(graph: JobGraph, targets: Iterable[int]) -> set[int]:
    found: set[int] = set()
    open_ids = list(targets)
    while open_ids:
        node_id = open_ids.pop()
        if node_id not in found:
            found.add(node_id)
            open_ids.extend(graph[node_id].inputs)
    return found


def _fields(node: Node) -> dict[str, Any]:
    return {
        field.name: getattr(node, field.name)
        for field in dataclasses.fields(node)
        if field.name != "id"
    }
