"""The two ways to run a plan: streaming queries, or one batch job per component."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from millstream.checkpoint.folder import Run
from millstream.checkpoint.lease import Fence
from millstream.checkpoint.savepoints import OnProgress
from millstream.checkpoint.spark_files import QueryFiles
from millstream.common.errors import CheckpointError
from millstream.kernel.stages.programs import control_rows
from millstream.kernel.time.watermarks import Control
from millstream.plan.options import JobOptions, retained_epochs
from millstream.plan.planner import JobPlan
from millstream.spark.io.inputs import input_of
from millstream.spark.io.writer import Writer
from millstream.spark.query.builder import QueryBuilder
from millstream.spark.query.component_query import Stream
from millstream.spark.query.totals import EpochTotals
from millstream.spark.savepoint.take import take
from millstream.spark.tasks.named_sources import BY_NAME
from millstream.spark.tasks.rows import SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger("millstream")
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


class BatchRun:
    """One epoch and the end, for each component in turn."""

    def __init__(
        self,
        spark: SparkSession,
        plan: JobPlan,
        options: JobOptions,
        run: Run,
        totals: EpochTotals,
    ) -> None:
        # The slots of a partition run one after the other, so more of them need less memory at a
        # time; Spark's sort spills what waits. Results do not depend on their number.
        if options.slots is None:
            options = replace(options, slots=options.parallelism * BATCH_SLOTS)
        self.jobs: list[tuple[Writer, DataFrame]] = []
        self.written: list[Writer] = []
        for component in plan.components:
            builder = QueryBuilder(spark, component, options, run, streaming=False)
            builder.restore()
            end = Control(ended=component.timelines(), started=True)
            values = builder.values
            rows = [
                (values[row.slot], row.kind, row.tag, row.header, row.payload)
                for row in control_rows(end, options.slot_count)
            ]
            control = spark.createDataFrame(rows, SCHEMA).coalesce(1)
            writer = builder.writer(partial(totals.add, component.index))
            self.jobs.append((writer, builder.all_rows(control)))
        self.first_epoch = run.first_epoch

    def start(self) -> None:
        pass

    def advance(self) -> bool:
        """Run the next component; True when all have run."""
        if self.jobs:
            writer, rows = self.jobs.pop(0)
            self.written.append(writer)
            writer.write(rows, self.first_epoch)
        return not self.jobs

    def stop(self) -> None:
        for writer in [*self.written, *(writer for writer, _ in self.jobs)]:
            writer.close()


class StreamRun:
    """All components as streaming queries, side by side.

    ``fence`` is asked before each sink is written to: it raises if another driver has taken over.
    """

    def __init__(
        self,
        spark: SparkSession,
        plan: JobPlan,
        options: JobOptions,
        run: Run,
        totals: EpochTotals,
        manifest: dict[str, Any],
        fence: Fence | None = None,
    ) -> None:
        self.spark = spark
        self.run = run
        self.manifest = manifest
        self.states = run.states()
        self.noting = threading.Lock()
        self.stopped = False
        settings = {
            "spark.sql.shuffle.partitions": str(options.parallelism),
            "spark.sql.streaming.minBatchesToRetain": str(retained_epochs(options)),
        }
        sources = [node for component in plan.components for node in component.sources]
        inputs = [input_of(spark, node, node.name) for node in sources]
        capped = all(found.is_capped(options.configuration) for found in inputs)
        settings |= SMALL_BATCHES if capped else LIMITED_BATCHES
        if run.is_local:
            settings |= LOCAL_FILES
        named = all(node.source.has_name for node in sources)
        settings[BY_NAME] = "true" if named else "false"
        for key, value in settings.items():
            spark.conf.set(key, options.configuration.get(key, value))
        self.streams = [
            Stream(spark, component, options, run, totals, fence, self._note_states)
            for component in plan.components
        ]

    def _note_states(self, news: dict[str, dict[str, Any]]) -> None:
        """Write down what functions have asked for, before the epoch with the first of it commits."""
        with self.noting:
            known = {uid: dict(infos) for uid, infos in self.states.items()}
            for uid, infos in news.items():
                known.setdefault(uid, {}).update(infos)
            if known != self.states:
                self.run.note_states(known)
                self.states = known

    def start(self) -> None:
        for stream in self.streams:
            stream.start()

    def advance(self) -> bool:
        ended = [stream.advance() for stream in self.streams]
        return all(ended)

    def stop(self) -> None:
        for stream in self.streams:
            stream.stop()
        for stream in self.streams:
            stream.wait_for_tasks()
            stream.writer.close()

    def suspend(self) -> None:
        """Let the epochs under way end, and stop there: sinks have then what the state has."""
        for stream in self.streams:
            stream.suspended.set()
        for stream in self.streams:
            stream.suspend()
        self.stopped = True

    def drain(self) -> None:
        """Let all sources end now: everything fires, and `advance` says when that is done."""
        for stream in self.streams:
            stream.drain()
        self.stopped = True

    def savepoint(self, path: str, on_progress: OnProgress) -> str:
        """Write a savepoint of the last committed epochs; the job may go on meanwhile."""
        epochs = {}
        for stream in self.streams:
            committed = QueryFiles(stream.path).committed()
            if not committed:
                raise CheckpointError(
                    "NOTHING_COMMITTED",
                    "the job has not committed an epoch yet, so there is nothing to save",
                    hint="wait for its first epoch, then take the savepoint",
                )
            epochs[stream.component.index] = committed[-1]
        taken_of = "stopped" if self.stopped else "running"
        return take(
            self.spark,
            self.run,
            self.manifest,
            path,
            epochs,
            taken_of=taken_of,
            on_progress=on_progress,
        )
