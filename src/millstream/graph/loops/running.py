"""From a program and the records of a graph to a loop that has run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from millstream.graph.loops.two_phases import TwoPhases
from millstream.graph.loops.values import packed
from millstream.graph.loops.vertex_centric import VertexCentricLoop
from millstream.graph.loops.vertex_loop import CELL, RESULT
from millstream.iteration import LoopInput, LoopJob, LoopOptions, LoopResult, run_loop

__all__ = ["cells", "run_vertices"]


def cells(records: Iterable[Any]) -> pa.Table:
    """Records as a table of packed cells, the input of a loop.

    Examples
    --------
    >>> cells([(1, "a"), (2, "b")]).num_rows
    1
    """
    return pa.table({CELL: pa.array(packed(records), pa.large_binary())}, RESULT)


def run_vertices(
    name: str,
    program: TwoPhases | VertexCentricLoop,
    vertices: Any,
    edges: Any,
    tasks: int | None = None,
    options: LoopOptions | None = None,
) -> LoopResult:
    """Run an iteration over vertices and edges, which are tables or DataFrames of packed cells."""
    inputs = {"vertices": LoopInput(vertices), "edges": LoopInput(edges)}
    steps = program.supersteps()
    return run_loop(LoopJob(name, program, inputs, RESULT, steps, tasks, options or LoopOptions()))
