"""The two ways to run a plan: streaming queries, or one batch job per component."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from millstream.checkpoint.folder import Run
from millstream.common.errors import MillstreamError, PlanError
from millstream.kernel.hashing import stable_hash
from millstream.kernel.pages import NEVER
from millstream.kernel.stages import control_rows
from millstream.kernel.time import Control
from millstream.plan.compile import Compiler, Programs
from millstream.plan.graph import Node, SourceNode
from millstream.plan.options import JobOptions
from millstream.plan.planner import Component, JobPlan
from millstream.plan.specs import ChannelSpec, DataFrameSpec, FilesSinkSpec, FunctionSinkSpec
from millstream.spark.channel_source import ChannelReader, channel_rows
from millstream.spark.control import ControlChannel
from millstream.spark.file_listing import is_capped
from millstream.spark.keyed_stage import batch_stage, streaming_stage
from millstream.spark.named_sources import BY_NAME
from millstream.spark.progress import Totals
from millstream.spark.rows import SCHEMA, slot_values
from millstream.spark.sources import (
    announced_channels,
    readable_refusal,
    spark_rows,
)
from millstream.spark.worker import ProgramRef, wall_clock_ms
from millstream.spark.writer import EpochReport, Writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

log = logging.getLogger("millstream")
MIN_TICK_MS = 200
BATCH_SLOTS = 8

LIMITED_BATCHES = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(64 << 20),
}
"""How Spark cuts Arrow batches: by bytes, which costs it more than 1 us a row to watch."""

SMALL_BATCHES = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1024",
    "spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1),
}
"""Without a limit by bytes, where an epoch's input is small: 1,024 buffers of 1 MB fit a batch."""

LOCAL_FILES = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    )
}
"""How Spark writes a checkpoint on a local disk. Its default asks eight processes about each file."""


class _Builder:
    """Turns one component into a DataFrame of its last stage's rows."""

    def __init__(
        self, spark: SparkSession, component: Component, options: JobOptions, *, streaming: bool
    ) -> None:
        self.spark = spark
        self.component = component
        self.options = options
        self.streaming = streaming
        self.run = uuid.uuid4().hex[:12]
        self.values = slot_values(options.slot_count, options.parallelism)
        compiler = Compiler(component, options, batch=not streaming, wall_clock_ms=wall_clock_ms)
        self.programs: Programs = compiler.compile()

    def ref(self, name: str, program: Any) -> ProgramRef:
        """A program ready to travel; what cannot be pickled is an error of the program's."""
        try:
            return ProgramRef.of(f"{self.run}-{self.component.index}-{name}", program)
        except MillstreamError:
            raise
        except Exception as error:
            raise self._unpicklable(error) from error

    def _unpicklable(self, error: Exception) -> PlanError:
        from pyspark import cloudpickle

        for node_id in sorted(self.component.live):
            node = self.component.graph[node_id]
            for name, part in _travelling(node):
                try:
                    cloudpickle.dumps(part)
                except Exception as cause:
                    return PlanError(
                        "UNPICKLABLE_FUNCTION",
                        f"the {name} of operator {node.name!r} cannot be sent to the workers: "
                        f"{cause}",
                        location=node.location,
                        hint="make what it holds (a lock, a connection, a session) in open(), "
                        "not before",
                    )
        return PlanError("UNPICKLABLE_FUNCTION", f"the job cannot be sent to the workers: {error}")

    def _limited(self, spec: ChannelSpec) -> ChannelSpec:
        """The source with the job's limit of records per epoch and channel, if it has none itself."""
        limit = self.options.configuration.get("millstream.epoch.max-records")
        if limit is None or spec.per_epoch is not None:
            return spec
        return replace(spec, per_epoch=int(limit))

    def source_rows(self, node: SourceNode) -> DataFrame:
        with readable_refusal(node):
            return self._source_rows(node)

    def _source_rows(self, node: SourceNode) -> DataFrame:
        ref = self.ref(f"source-{node.id}", self.programs.sources[node.id])
        if isinstance(node.source, ChannelSpec):
            reader = ChannelReader(
                node.id,
                self._limited(node.source),
                ref,
                self.values,
                self.options.parallelism,
                closes=not self.streaming,
            )
            name = f"millstream_{self.run}_{node.id}"
            uid = self.component.uids[node.id]
            return channel_rows(self.spark, reader, name, uid, streaming=self.streaming)
        return spark_rows(
            self.spark,
            node,
            self.component.uids[node.id],
            ref,
            self.values,
            self.options.configuration,
            streaming=self.streaming,
        )

    def all_rows(self, control: DataFrame) -> DataFrame:
        """Sources and control, through all keyed stages."""
        parts = [self.source_rows(node) for node in self.component.sources]
        # The first part gives the session: a DataFrame of the user's may belong to another one.
        rows = reduce(lambda left, right: left.union(right), [control, *parts])
        for index, program in enumerate(self.programs.stages):
            ref = self.ref(f"stage-{index}", program)
            if self.streaming:
                rows = streaming_stage(rows, ref, self.values, self._state_name(index))
            else:
                rows = batch_stage(rows, ref, self.values, self.options.parallelism)
        return rows

    def _state_name(self, index: int) -> str:
        uids = sorted(self.component.uids[node.id] for node in self.component.levels[index])
        return f"pages_{index}_{stable_hash(tuple(uids)):08x}"

    def writer(self, run: Run, on_epoch: Callable[[int, EpochReport], None]) -> Writer:
        return Writer(
            self.component.sinks,
            self.programs.sink_edges,
            self.component.uids,
            run.job_id,
            self.ref,
            on_epoch,
        )


def _travelling(node: Node) -> Iterator[tuple[str, Any]]:
    """What of an operator is sent to the workers."""
    for name in ("function", "selector", "source", "strategy"):
        yield name, getattr(node, name, None)
    sink = getattr(node, "sink", None)
    if isinstance(sink, FunctionSinkSpec):
        yield "function", sink.function
    elif isinstance(sink, FilesSinkSpec):
        yield "encoder", sink.encoder


class BatchRun:
    """One epoch and the end, for each component in turn."""

    def __init__(
        self,
        spark: SparkSession,
        plan: JobPlan,
        options: JobOptions,
        run: Run,
        totals: Totals,
    ) -> None:
        # The slots of a partition run one after the other, so more of them need less memory at a
        # time; Spark's sort spills what waits. Results do not depend on their number.
        if options.slots is None:
            options = replace(options, slots=options.parallelism * BATCH_SLOTS)
        self.jobs = []
        for component in plan.components:
            builder = _Builder(spark, component, options, streaming=False)
            end = Control(ended=component.timelines(), started=True)
            values = builder.values
            rows = [
                (values[row.slot], row.kind, row.tag, row.header, row.payload)
                for row in control_rows(end, options.slot_count)
            ]
            control = spark.createDataFrame(rows, SCHEMA).coalesce(1)
            self.jobs.append((builder.writer(run, totals.add), builder.all_rows(control)))

    def start(self) -> None:
        pass

    def advance(self) -> bool:
        """Run the next component; True when all have run."""
        if self.jobs:
            writer, rows = self.jobs.pop(0)
            writer.write(rows, 0)
        return not self.jobs

    def stop(self) -> None:
        pass


class _Stream:
    """The streaming query of one component."""

    def __init__(
        self,
        spark: SparkSession,
        component: Component,
        options: JobOptions,
        run: Run,
        totals: Totals,
    ) -> None:
        self.builder = _Builder(spark, component, options, streaming=True)
        self.component = component
        self.totals = totals
        self.bounded = all(node.source.bounded for node in component.sources)
        self.path = run.query_path(component.index)
        self.interval_ms = 0 if self.bounded else options.checkpoint_interval_ms or 0
        self.query: StreamingQuery | None = None
        self.end_posted = False
        self.end_epoch: int | None = None
        self.tick_ms = self._tick_ms()
        self.ticked_ms = wall_clock_ms()
        self.tick_waits = False
        self.due_ms = NEVER
        control = ControlChannel(f"{self.path}-control", self.builder.run, self.builder.values)
        # A bounded source is announced once, when its run begins; the command is still there if the
        # driver died before it was heard. Later its finished channels must not come back.
        channels = {
            node.id: announced_channels(spark, node)
            for node in component.sources
            if component.has_clock(node.id) and not (control.has_spoken() and node.source.bounded)
        }
        control.post(Control(started=True, announced=tuple(component.announced(channels))))
        self.control = control
        self.rows = self.builder.all_rows(control.rows(spark))
        self.writer = self.builder.writer(run, self._on_epoch)

    def _tick_ms(self) -> int | None:
        """How often idleness has to be judged, if at all."""
        timeouts = [
            ms for stage in self.builder.programs.stages for ms in stage.idle_after.values()
        ]
        return max(min(timeouts) // 2, MIN_TICK_MS) if timeouts else None

    def start(self) -> None:
        self.query = (
            self.rows.writeStream.foreachBatch(self.writer.write)
            .option("checkpointLocation", self.path)
            .trigger(processingTime=f"{self.interval_ms} milliseconds")
            .start()
        )

    def _on_epoch(self, epoch: int, report: EpochReport) -> None:
        """Called when an epoch is written; Spark commits it afterwards."""
        self.totals.add(epoch, report)
        due = [when for name, when in report.counters.items() if name.startswith("due:")]
        self.due_ms = min(due, default=NEVER)
        self.tick_waits = False
        if report.ended:
            self.end_epoch = epoch

    def advance(self) -> bool:
        """Whether the query has come to its end; tells it to when its input is exhausted."""
        query = self.query
        assert query is not None
        if not query.isActive:
            error = query.exception()
            if error is not None:
                raise self.writer.failure or error
            return True
        progress = query.lastProgress
        if progress is None:
            return False
        if self.end_epoch is not None and progress["batchId"] >= self.end_epoch:
            return True
        if self.bounded and not self.end_posted and self._is_exhausted(progress):
            self.control.post(Control(ended=self.component.timelines()))
            self.end_posted = True
        if not self.tick_waits:
            self._tick()
        return False

    def _tick(self) -> None:
        """Give the stages the time when a timer is due, and from time to time to judge idleness.

        One that waits to be heard is enough: while an epoch takes long they would pile up, and old
        commands are removed.
        """
        now_ms = wall_clock_ms()
        due = self.ticked_ms < self.due_ms <= now_ms
        if due or (self.tick_ms is not None and now_ms - self.ticked_ms >= self.tick_ms):
            self.control.post(Control())
            self.ticked_ms, self.tick_waits = now_ms, True

    def _is_exhausted(self, progress: Any) -> bool:
        """Whether a trigger has found that no source has anything more to read."""
        assert self.query is not None
        if not self._at_the_end(progress):
            return False
        status = self.query.status
        if not status["isDataAvailable"] and not status["isTriggerActive"]:
            return True
        others = [s for s in progress["sources"] if self.control.folder not in s["description"]]
        return all(s["startOffset"] == s["endOffset"] for s in others)

    def _at_the_end(self, progress: Any) -> bool:
        """Whether our own sources have read all they have: a rate lets them pause before that."""
        offsets = [_positions(source["endOffset"]) for source in progress["sources"]]
        specs = [node.source for node in self.component.sources]
        ends = [_ends(spec) for spec in specs if isinstance(spec, ChannelSpec)]
        return all(offsets.count(end) >= ends.count(end) for end in ends)

    def stop(self) -> None:
        if self.query is not None and self.query.isActive:
            self.query.stop()


def _positions(offset: Any) -> Any:
    return json.loads(offset) if isinstance(offset, str) else offset


def _ends(spec: ChannelSpec) -> dict[str, int | None]:
    return {str(channel): spec.source.end(channel) for channel in spec.source.channels()}


class StreamRun:
    """All components as streaming queries, side by side."""

    def __init__(
        self,
        spark: SparkSession,
        plan: JobPlan,
        options: JobOptions,
        run: Run,
        totals: Totals,
    ) -> None:
        settings = {"spark.sql.shuffle.partitions": str(options.parallelism)}
        sources = [node for component in plan.components for node in component.sources]
        capped = all(is_capped(node, options.configuration) for node in sources)
        settings |= SMALL_BATCHES if capped else LIMITED_BATCHES
        if run.is_local:
            settings |= LOCAL_FILES
        unnamed = any(isinstance(node.source, DataFrameSpec) for node in sources)
        settings[BY_NAME] = "false" if unnamed else "true"
        for key, value in settings.items():
            spark.conf.set(key, options.configuration.get(key, value))
        self.streams = [
            _Stream(spark, component, options, run, totals) for component in plan.components
        ]

    def start(self) -> None:
        for stream in self.streams:
            stream.start()

    def advance(self) -> bool:
        ended = [stream.advance() for stream in self.streams]
        return all(ended)

    def stop(self) -> None:
        for stream in self.streams:
            stream.stop()
