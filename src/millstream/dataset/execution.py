"""Runs programs: in memory inside of `millstream.testing.in_memory`, else on Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from millstream.common.accumulators import Accumulator
from millstream.common.job import JobExecutionResult, JobID
from millstream.common.memory_mode import memory_tasks
from millstream.dataset.kernel import elements, files, groups, loops, pairs, sources  # noqa: F401
from millstream.dataset.kernel.evaluate import Evaluator
from millstream.dataset.kernel.places import AllPlaces
from millstream.dataset.plan.nodes import BulkLoop, DeltaLoop, Node, readers_of
from millstream.dataset.plan.records import table_of
from millstream.dataset.plan.travelling import TravellingType
from millstream.iteration import LoopOptions, choose

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from millstream.dataset.sinks import FileSink

__all__ = ["Engine", "Settings", "engine_for", "foreseen", "result_of"]


@dataclass
class Settings:
    """The settings of an environment."""

    parallelism: int | None = None
    session: SparkSession | None = None
    configuration: dict[str, str] = field(default_factory=dict)
    types: list[TravellingType] = field(default_factory=list)
    loop_options: LoopOptions = field(default_factory=LoopOptions)


class Engine(Protocol):
    """A run of a program. Nodes that several results share are computed once."""

    def prepare(self, results: Sequence[Node]) -> None:
        """Look at the whole program before it runs."""

    def records(self, node: Node) -> list[Any]:
        """The records of a node."""

    def count(self, node: Node) -> int:
        """How many records a node has."""

    def table(self, node: Node) -> pa.Table:
        """The columns of the records."""

    def frame(self, node: Node) -> DataFrame:
        """The columns of the records as a DataFrame of Spark."""

    def write(self, sink: FileSink) -> None:
        """Write files."""

    def accumulators(self) -> dict[str, Any]:
        """The values of the accumulators."""

    def notes(self) -> dict[Node, str]:
        """How nodes were run where only the run could decide, and why."""

    def close(self) -> None:
        """Give back what the run has kept."""


class MemoryEngine:
    """Runs programs in this process."""

    def __init__(self, tasks: int, loop_options: LoopOptions) -> None:
        self._run = Evaluator(AllPlaces(tasks), loop_options=loop_options)

    def prepare(self, results: Sequence[Node]) -> None:
        self._run.shared = {node for node, count in readers_of(results).items() if count > 1}

    def records(self, node: Node) -> list[Any]:
        return [record for part in self._run.parts(node) for record in part]

    def count(self, node: Node) -> int:
        return sum(map(len, self._run.parts(node)))

    def table(self, node: Node) -> pa.Table:
        return table_of(node.type, self.records(node))

    def frame(self, node: Node) -> DataFrame:
        from millstream.common.errors import PlanError, user_location

        raise PlanError(
            "DATASET_NO_SPARK",
            "a data set in memory has no DataFrame",
            location=user_location(),
            hint="use to_arrow() or to_pandas()",
        )

    def write(self, sink: FileSink) -> None:
        one = sink.parallelism == 1
        parts = self._run.parts(sink.node)
        with files.replacing(sink.path, sink.overwrite, sink.location) as place:
            if sink.kind == "parquet":
                files.write_parquet(place, sink.node.type, self.records(sink.node), one_file=one)
            else:
                files.write_lines(place, parts, sink.end, one_file=one)

    def accumulators(self) -> dict[str, Any]:
        return merged(self._run.accumulators)

    def notes(self) -> dict[Node, str]:
        return {}

    def close(self) -> None:
        pass


def merged(tasks: Sequence[Mapping[str, Accumulator[Any, Any]]]) -> dict[str, Any]:
    """The results of accumulators of all tasks.

    Examples
    --------
    >>> from millstream.common.accumulators import IntCounter
    >>> merged([{"n": IntCounter(1)}, {"n": IntCounter(2)}])
    {'n': 3}
    """
    totals: dict[str, Accumulator[Any, Any]] = {}
    for task in tasks:
        for name, accumulator in task.items():
            if name in totals:
                totals[name].merge(accumulator)
            else:
                totals[name] = accumulator.clone()
    return {name: total.get_local_value() for name, total in totals.items()}


def engine_for(settings: Settings) -> Engine:
    """The engine that runs a program here and now."""
    tasks = memory_tasks()
    if tasks is not None:
        return MemoryEngine(settings.parallelism or tasks, settings.loop_options)
    from millstream.dataset.spark.running import SparkEngine

    engine = SparkEngine(
        settings.parallelism, settings.session, settings.configuration, settings.loop_options
    )
    engine.types = settings.types
    return engine


def foreseen(settings: Settings, root: Node) -> dict[Node, str]:
    """How the iterations of a program would run here and now, and why; it is not run."""
    tasks = memory_tasks()
    found: dict[Node, str] = {}
    for node in readers_of([root]):
        if not isinstance(node, BulkLoop | DeltaLoop):
            continue
        if tasks is None:
            from millstream.dataset.spark.running import chosen_loop

            way = chosen_loop(node, settings)
        else:
            width = settings.parallelism or tasks
            job = loops.job_of(node, loops.loop_of(node), _no_data, width, settings.loop_options)
            choice = choose(job)
            way = f"{choice.mode} loop: {choice.reason}"
        if way is not None:
            found[node] = way
    return found


def _no_data(source: Node) -> None:
    """Nothing, where data is not looked at."""


def result_of(engine: Engine, started: float) -> JobExecutionResult:
    """The result of a run that has ended."""
    took = int((perf_counter() - started) * 1000)
    return JobExecutionResult(JobID(), took, engine.accumulators())
