"""Numbers of operators that outlive a program.

Timelines and channels go by the numbers of the operators that make them, and state is full of channels.
So where a program goes on from the state of another, an operator that both have keeps its number.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from itertools import count

from millstream.plan.graph import JobGraph
from millstream.plan.planner import assign_uids, live_nodes


def numbers_of(graph: JobGraph) -> dict[str, int]:
    """The number of each operator by its uid."""
    return {uid: number for number, uid in assign_uids(graph, live_nodes(graph)).items()}


def with_numbers(graph: JobGraph, known: Mapping[str, int]) -> JobGraph:
    """The program with the numbers that its operators have had; new operators get new ones."""
    free = count(max(known.values(), default=0) + 1)
    uids = assign_uids(graph, live_nodes(graph))
    numbers = {
        node.id: known[uids[node.id]] if uids.get(node.id) in known else next(free)
        for node in graph
    }
    nodes = {}
    for node in graph:
        inputs = tuple(numbers[other] for other in node.inputs)
        nodes[numbers[node.id]] = dataclasses.replace(node, id=numbers[node.id], inputs=inputs)
    return JobGraph(nodes)
