"""The two ways to run a plan: streaming queries, or one batch job per component."""

from __future__ import annotations

import json
import logging
import uuid
from functools import reduce
from typing import TYPE_CHECKING, Any

from millstream.checkpoint.folder import Run
from millstream.common.errors import MillstreamError, PlanError
from millstream.kernel.hashing import stable_hash
from millstream.kernel.stages import control_rows
from millstream.kernel.time import Control
from millstream.plan.compile import Compiler, Programs
from millstream.plan.graph import SourceNode
from millstream.plan.options import JobOptions
from millstream.plan.planner import Component, JobPlan
from millstream.plan.specs import ChannelSpec
from millstream.spark.control import (
    END,
    ControlSettings,
    ControlSource,
    Mailbox,
    is_control_offset,
    settings_option,
)
from millstream.spark.keyed_stage import batch_stage, streaming_stage
from millstream.spark.progress import Totals
from millstream.spark.rows import SCHEMA, slot_values
from millstream.spark.sources import (
    ChannelReader,
    announced_channels,
    channel_rows,
    spark_rows,
)
from millstream.spark.worker import ProgramRef, wall_clock_ms
from millstream.spark.writer import Writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

log = logging.getLogger("millstream")


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
            for name in ("function", "selector", "source", "strategy"):
                try:
                    cloudpickle.dumps(getattr(node, name, None))
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

    def source_rows(self, node: SourceNode) -> DataFrame:
        ref = self.ref(f"source-{node.id}", self.programs.sources[node.id])
        if isinstance(node.source, ChannelSpec):
            reader = ChannelReader(node.id, node.source, ref, self.values, self.options.parallelism)
            name = f"millstream_{self.run}_{node.id}"
            return channel_rows(self.spark, reader, name, streaming=self.streaming)
        return spark_rows(
            self.spark,
            node,
            ref,
            self.values,
            self.options.configuration,
            streaming=self.streaming,
        )

    def all_rows(self, control: DataFrame) -> DataFrame:
        """Sources and control, through all keyed stages."""
        parts = [self.source_rows(node) for node in self.component.sources]
        rows = reduce(lambda left, right: left.union(right), [*parts, control])
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

    def writer(self, run: Run, totals: Totals) -> Writer:
        return Writer(
            self.component.sinks,
            self.programs.sink_edges,
            self.component.uids,
            run.job_id,
            self.run,
            totals.add,
        )


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
            self.jobs.append((builder.writer(run, totals), builder.all_rows(control)))

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
        self.mailbox = Mailbox.create()
        self.bounded = all(node.source.bounded for node in component.sources)
        self.end_posted = False
        self.query: StreamingQuery | None = None
        self.path = run.query_path(component.index)
        self.interval_ms = 0 if self.bounded else options.checkpoint_interval_ms or 0
        rows = self.builder.all_rows(self._control(spark, component, options))
        self.writer = self.builder.writer(run, totals)
        self.rows = rows

    def _control(self, spark: SparkSession, component: Component, options: JobOptions) -> DataFrame:
        channels = {node.id: announced_channels(spark, node) for node in component.sources}
        settings = ControlSettings(
            run=self.builder.run,
            announced=tuple(component.announced(channels)),
            ends=tuple(sorted(component.timelines())),
            tick_ms=int(options.configuration.get("millstream.tick-ms", "1000")),
            mailbox=self.mailbox.path,
            slots=self.builder.values,
        )
        if self.bounded and not self._needs_ticks():
            settings = ControlSettings(**{**settings.__dict__, "tick_ms": None})
        spark.dataSource.register(ControlSource)
        reader = spark.readStream.format(ControlSource.name())
        return reader.option("settings", settings_option(settings)).load()

    def _needs_ticks(self) -> bool:
        return any(program.idle_after for program in self.builder.programs.stages)

    def start(self) -> None:
        self.query = (
            self.rows.writeStream.foreachBatch(self.writer.write)
            .option("checkpointLocation", self.path)
            .trigger(processingTime=f"{self.interval_ms} milliseconds")
            .start()
        )

    def advance(self) -> bool:
        """Whether the query has come to its end; tells it to when its input is exhausted."""
        query = self.query
        assert query is not None
        if not query.isActive:
            error = query.exception()
            if error is not None:
                raise error
            return True
        progress = query.lastProgress
        if progress is None:
            return False
        if self._has_ended(progress):
            return True
        if self.bounded and not self.end_posted and self._is_exhausted(progress):
            self.mailbox.post(END)
            self.end_posted = True
        return False

    def _has_ended(self, progress: Any) -> bool:
        """Whether the epoch of the end has been committed: progress comes after the commit."""
        offsets = [_offset(source["endOffset"]) for source in progress["sources"]]
        return any(is_control_offset(offset) and offset["ended"] for offset in offsets)

    def _is_exhausted(self, progress: Any) -> bool:
        """Whether a trigger has found that no source has anything more to read."""
        assert self.query is not None
        status = self.query.status
        if not status["isDataAvailable"] and not status["isTriggerActive"]:
            return True
        others = [s for s in progress["sources"] if not is_control_offset(_offset(s["endOffset"]))]
        return all(s["startOffset"] == s["endOffset"] for s in others)

    def stop(self) -> None:
        if self.query is not None and self.query.isActive:
            self.query.stop()
        self.mailbox.remove()


def _offset(offset: Any) -> Any:
    return json.loads(offset) if isinstance(offset, str) else offset


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
        spark.conf.set("spark.sql.shuffle.partitions", str(options.parallelism))
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
