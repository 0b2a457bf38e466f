"""Runs programs on Spark: decides per node whether Spark's engine or Python does the work."""

from __future__ import annotations

import itertools
import os
import pickle
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.accumulators import AccumulatorParam
from pyspark.sql import DataFrame, SparkSession

from millstream.common.typeinfo import TypeInformation
from millstream.dataset.execution import merged
from millstream.dataset.functions import RuntimeContext
from millstream.dataset.kernel.files import replacing, write_lines
from millstream.dataset.kernel.steps import Step
from millstream.dataset.optimizer.rules import key_columns
from millstream.dataset.plan.columns import column_names, stored
from millstream.dataset.plan.keys import Keys, SortKey
from millstream.dataset.plan.nodes import Node, readers_of
from millstream.dataset.plan.records import (
    PICKLED,
    decoded,
    field_names,
    field_types,
    table_of,
)
from millstream.dataset.plan.travelling import TravellingType
from millstream.dataset.spark.columns import spark_schema
from millstream.dataset.spark.passes import Extra, Groups, Output, Pass, Place, Task
from millstream.iteration import LoopOptions
from millstream.spark.session.session import get_session
from millstream.spark.tasks.failures import readable_errors

if TYPE_CHECKING:
    from millstream.dataset.sinks import FileSink

__all__ = ["Flow", "SparkEngine", "compiles", "loop_tasks"]

F_ = TypeVar("F_", bound=Callable[..., Any])
COMPILERS: dict[type[Node], Callable[[SparkEngine, Any], Flow]] = {}


def compiles(kind: type[Node]) -> Callable[[F_], F_]:
    """Register what makes DataFrames of a kind of node."""

    def register(function: F_) -> F_:
        COMPILERS[kind] = function
        return function

    return register


def loop_tasks(spark: SparkSession, parallelism: int | None) -> int | None:
    """How many tasks iterations have; None for as many as run at once."""
    slots = spark.sparkContext.defaultParallelism
    return parallelism if parallelism and parallelism <= slots else None


@dataclass(frozen=True)
class Flow:
    """Records on their way: columns of a DataFrame, and functions that still have to run on them.

    Parameters
    ----------
    frame
        The DataFrame, with the columns c0, c1 and so on.
    type
        The type of the records in it.
    steps
        The functions.
    result
        The type of the records after them.
    """

    frame: DataFrame
    type: TypeInformation
    steps: tuple[Step, ...] = ()
    result: TypeInformation = PICKLED
    groups: tuple[tuple[TypeInformation, ...], tuple[str, ...], Step] | None = None
    node: Node | None = None

    @property
    def pending(self) -> bool:
        """Whether Python has to run before the columns are there."""
        return bool(self.steps) or self.groups is not None


class _Totals(AccumulatorParam[Any]):
    """Accumulators per task: a task that runs twice counts once."""

    def zero(self, value: Any) -> Any:
        return {}

    def addInPlace(self, value1: Any, value2: Any) -> Any:
        value1.update(value2)
        return value1


class SparkEngine:
    """A run on Spark."""

    def __init__(
        self,
        parallelism: int | None,
        session: SparkSession | None,
        configuration: Mapping[str, str],
        loop_options: LoopOptions | None = None,
    ) -> None:
        self.loop_options = loop_options or LoopOptions()
        given = session or SparkSession.getActiveSession()
        self.spark = given or get_session(None, parallelism or os.cpu_count() or 1, configuration)
        self.parallelism = parallelism or self.spark.sparkContext.defaultParallelism
        self.run = uuid.uuid4().hex
        self._numbers = itertools.count(1)
        self._flows: dict[Node, Flow] = {}
        self._consumers: Counter[Node] = Counter()
        self._broadcasts: dict[Node, list[Any]] = {}
        self._kept: list[DataFrame] = []
        self._totals = self.spark.sparkContext.accumulator({}, _Totals())
        self._context: Callable[..., RuntimeContext] = RuntimeContext
        self._aggregators: dict[str, Any] = {}
        self.types: Sequence[TravellingType] = ()
        self.loop_tasks = loop_tasks(self.spark, parallelism)
        self._notes: dict[Node, str] = {}
        self.more_accumulators: list[dict[str, Any]] = []

    # -- flows -------------------------------------------------------------------------------------

    def flow(self, node: Node) -> Flow:
        """The records of a node, perhaps with functions that still have to run."""
        if node not in self._flows:
            flow = replace(COMPILERS[type(node)](self, node), node=node)
            if flow.pending and self._consumers[node] > 1:
                # Several operators read it: functions run once, and their results are kept.
                flow = self.ran(flow)
                flow = replace(flow, frame=self.keep(flow.frame), node=node)
                self.note(node, "kept", f"{self._consumers[node]} operators read it")
            self._flows[node] = flow
        return self._flows[node]

    def prepare(self, results: Sequence[Node]) -> None:
        """Count how many operators read each node."""
        self._consumers = readers_of(results)

    def settled(self, node: Node, wanted: TypeInformation | None = None) -> Flow:
        """The records of a node in columns."""
        flow = self.flow(node)
        if flow.pending:
            flow = self.ran(flow)
            self._flows[node] = replace(flow, node=node)
        if wanted is not None and stored(wanted) != flow.type:
            return self.ran(replace(flow, result=wanted))
        return flow

    def ran(self, flow: Flow, extras: Sequence[Extra] = ()) -> Flow:
        """Run the functions that wait, in one pass; also compute more columns."""
        kind = stored(flow.result)
        location = flow.node.location if flow.node is not None else None
        output = Output(kind, tuple(extras), location)
        place = Place(
            self.parallelism,
            next(self._numbers),
            self._totals,
            self._context,
            {},
            self._aggregators,
        )
        if flow.groups is not None:
            sides, keys, step = flow.groups
            work: Any = Groups(sides, keys, step, flow.steps, output, place)
        else:
            work = Pass(flow.type, flow.steps, output, place)
        schema = spark_schema(kind, [(extra.name, extra.arrow) for extra in extras])
        task = Task(f"{self.run}-{place.number}", work, self.types)
        frame = flow.frame.mapInArrow(task, schema)
        return Flow(frame, kind, result=flow.result, node=flow.node)

    def then(self, node: Node, step: Step, result: TypeInformation) -> Flow:
        """The records of a node after one more function."""
        flow = self.flow(node)
        return replace(flow, steps=(*flow.steps, step), result=result)

    def step(self, node: Any, kind: str, function: Any) -> Step:
        """A function of a node in a pass, with its broadcast sets."""
        broadcasts = {name: self.everything(other) for name, other in node.broadcasts.items()}
        return Step(kind, function, node.title, node.number, broadcasts)

    def everything(self, node: Node) -> list[Any]:
        """All records of a broadcast set."""
        if node not in self._broadcasts:
            self._broadcasts[node] = self.records(node)
        return self._broadcasts[node]

    # -- keys --------------------------------------------------------------------------------------

    def keyed(
        self,
        flow: Flow,
        keys: Keys | None,
        sort: Sequence[SortKey] = (),
        kind: str = "key",
        *,
        plain: bool = True,
    ) -> tuple[Flow, list[str], list[tuple[str, bool]]]:
        """The records in columns, with columns for a key and for what sorts.

        A key of fields whose types Spark compares as Python does is these columns; any other is
        computed in the pass, as bytes.
        """
        extras: list[Extra] = []
        names: list[str] = []
        if keys is not None:
            names = self._plain_columns(flow, keys) if plain else []
            if not names:
                names = ["k0"]
                extras.append(Extra("k0", kind, keys))
        orders: list[tuple[str, bool]] = []
        for number, each in enumerate(sort):
            found = self._plain_columns(flow, each.keys, floats=True)
            if not found:
                found = [f"s{number}"]
                extras.append(Extra(f"s{number}", "order", each.keys))
            orders += [(name, each.descending) for name in found]
        if flow.pending or extras:
            flow = self.ran(flow, extras)
        return flow, names, orders

    def _plain_columns(self, flow: Flow, keys: Keys, *, floats: bool = False) -> list[str]:
        places = key_columns(flow.result, keys, floats=floats)
        return [] if places is None else [f"c{place}" for place in places]

    def width(self, node: Node) -> int:
        """How many tasks an operator uses."""
        return node.parallelism or self.parallelism

    # -- results -----------------------------------------------------------------------------------

    def records(self, node: Node) -> list[Any]:
        flow = self.settled(node)
        with readable_errors():
            table = self._bare(flow).toArrow()
        return decoded(flow.type, table.columns)

    def count(self, node: Node) -> int:
        with readable_errors():
            return self.settled(node).frame.count()

    def table(self, node: Node) -> pa.Table:
        flow = self.settled(node)
        if any(kind == PICKLED for kind in field_types(flow.type)):
            return table_of(node.type, self.records(node))
        with readable_errors():
            return self._bare(flow).toArrow().rename_columns(field_names(flow.type))

    def frame(self, node: Node) -> DataFrame:
        flow = self.settled(node)
        if any(kind == PICKLED for kind in field_types(flow.type)):
            return self.spark.createDataFrame(self.table(node))
        return self._bare(flow).toDF(*field_names(flow.type))

    def _bare(self, flow: Flow) -> DataFrame:
        return flow.frame.select(*column_names(flow.type))

    def keep(self, frame: DataFrame) -> DataFrame:
        """Keep what a frame computes until the run ends."""
        kept = frame.persist()
        self._kept.append(kept)
        return kept

    def write(self, sink: FileSink) -> None:
        if sink.parallelism == 1:
            with replacing(sink.path, sink.overwrite, sink.location) as place, readable_errors():
                if sink.kind == "parquet":
                    pq.write_table(self.table(sink.node), place)
                    return
                rows = self._bare(self.settled(sink.node)).toLocalIterator()
                write_lines(place, [(row[0] for row in rows)], sink.end, one_file=True)
            return
        from millstream.dataset.spark.files import write_frame

        frame = self.frame(sink.node)
        if sink.parallelism is not None:
            frame = frame.repartition(sink.parallelism)
        write_frame(frame, sink, sink.kind, sink.end)

    def accumulators(self) -> dict[str, Any]:
        return merged([*self.own_accumulators(), *self.more_accumulators])

    def own_accumulators(self) -> list[dict[str, Any]]:
        """The accumulators of each task."""
        return [pickle.loads(told)[0] for told in self._totals.value.values()]

    def aggregates(self) -> list[dict[str, Any]]:
        """The values of the aggregators of each task of a superstep."""
        found = [pickle.loads(told)[1] for told in self._totals.value.values()]
        return [values for values in found if values]

    def inner(
        self,
        bound: Mapping[Node, Flow],
        context: Callable[..., RuntimeContext],
        aggregators: dict[str, Any],
    ) -> SparkEngine:
        """An engine for one superstep."""
        engine = SparkEngine(self.parallelism, self.spark, {})
        engine._flows.update(bound)
        engine._context, engine._aggregators = context, aggregators
        engine.types = self.types
        return engine

    def note(self, node: Node, way: str, reason: str) -> None:
        """Remember how a node was run, and why."""
        self._notes[node] = f"{way}: {reason}"

    def notes(self) -> dict[Node, str]:
        return self._notes

    def close(self) -> None:
        for frame in self._kept:
            frame.unpersist()
