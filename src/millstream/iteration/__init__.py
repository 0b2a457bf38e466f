"""Loops whose state stays in their tasks, and the same loops as a job per superstep."""

from __future__ import annotations

from millstream.iteration.loops import choose, run_loop
from millstream.iteration.program import (
    Aggregator,
    Columns,
    LoopInput,
    LoopJob,
    LoopMode,
    LoopOptions,
    LoopProgram,
    MeshProgram,
    Outbox,
    Task,
)
from millstream.iteration.result import LoopChoice, LoopResult, Superstep

__all__ = [
    "Aggregator",
    "Columns",
    "LoopChoice",
    "LoopInput",
    "LoopJob",
    "LoopMode",
    "LoopOptions",
    "LoopProgram",
    "LoopResult",
    "MeshProgram",
    "Outbox",
    "Superstep",
    "Task",
    "choose",
    "run_loop",
]
