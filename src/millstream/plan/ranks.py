"""The places of operators in the order of events, see `millstream.kernel.records.order`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from millstream.plan.graph import KeyedNode, Node, StatelessNode, TimestampsNode


@dataclass(frozen=True)
class Rank:
    """``depth``: the number of operators that can have timers on the longest path from the sources.

    ``turn``: of two operators that read one record, the one with the lower turn comes first.
    """

    depth: int
    turn: int


def ranks_of(nodes: Sequence[Node]) -> dict[int, Rank]:
    """The ranks of nodes, by id; each node comes after those that it reads.

    The operator with fewer operators behind it has its turn first, so an operator has it before all
    those that its input may come from. Else operators go in the order in which the program makes them.
    """
    depths: dict[int, int] = {}
    for node in nodes:
        depths[node.id] = _highest(depths, node.inputs) + isinstance(node, KeyedNode)
    readers: dict[int, list[int]] = {}
    for node in nodes:
        for other in node.inputs:
            readers.setdefault(other, []).append(node.id)
    heights: dict[int, int] = {}
    for node in reversed(nodes):
        heights[node.id] = _highest(heights, readers.get(node.id, ())) + _has_turn(node)
    in_turn = sorted(heights, key=lambda node_id: (heights[node_id], node_id))
    turns = {node_id: turn for turn, node_id in enumerate(in_turn)}
    return {node_id: Rank(depths[node_id], turns[node_id]) for node_id in depths}


def _has_turn(node: Node) -> bool:
    """Whether an operator makes paths longer: unless it gives at most one record for one."""
    if isinstance(node, StatelessNode):
        return node.kind not in ("map", "filter")
    return isinstance(node, KeyedNode | TimestampsNode)


def _highest(numbers: dict[int, int], ids: Iterable[int]) -> int:
    return max((numbers[node_id] for node_id in ids), default=0)
