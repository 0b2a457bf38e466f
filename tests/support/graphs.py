"""The graph of Gelly's tests, and loops of user functions without a Graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millstream.graph.loops.running import cells, run_vertices
from millstream.graph.loops.values import unpacked
from millstream.graph.loops.vertex_loop import CELL
from millstream.iteration import LoopOptions

VERTICES = [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]
EDGES = [(1, 2, 12), (1, 3, 13), (2, 3, 23), (3, 4, 34), (3, 5, 35), (4, 5, 45), (5, 1, 51)]
MEMORY = LoopOptions(mode="memory")


def run(
    program: Any, tasks: int, vertices: Iterable[Any] = VERTICES, edges: Iterable[Any] = EDGES
) -> list[tuple[Any, Any]]:
    """The vertices after a loop, sorted by the text of their ids."""
    result = run_vertices("test", program, cells(vertices), cells(edges), tasks, MEMORY)
    records = [r for cell in result.to_arrow()[CELL].to_pylist() for r in unpacked(cell)]
    return sorted(records, key=lambda record: str(record[0]))
