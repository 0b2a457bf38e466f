"""The streaming query of one component: its life, its end, and how it is stopped between epochs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from millstream.checkpoint.folder import Run
from millstream.checkpoint.lease import Fence
from millstream.checkpoint.spark_files import QueryFiles
from millstream.kernel.state.pages import NEVER
from millstream.kernel.time.watermarks import Control
from millstream.plan.graph import SourceNode
from millstream.plan.options import JobOptions
from millstream.plan.planner import Component
from millstream.spark.io.inputs import Input
from millstream.spark.io.writer import EpochReport
from millstream.spark.query.builder import QueryBuilder
from millstream.spark.query.control import ControlChannel
from millstream.spark.query.totals import EpochTotals
from millstream.spark.tasks.failures import EpochFailed
from millstream.spark.tasks.named_sources import BY_NAME, source_name
from millstream.spark.tasks.worker import wall_clock_ms

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

MIN_TICK_MS = 200
POLL_SECONDS = 0.05
TASKS_END_SECONDS = 10.0


class Suspended(Exception):
    """An epoch that is not to begin any more."""


class Stream:
    """The streaming query of one component."""

    def __init__(
        self,
        spark: SparkSession,
        component: Component,
        options: JobOptions,
        run: Run,
        totals: EpochTotals,
        fence: Fence | None,
        on_states: Callable[[dict[str, Any]], None],
    ) -> None:
        self.builder = QueryBuilder(spark, component, options, run, streaming=True)
        self.builder.restore()
        self.component = component
        self.totals = totals
        self.on_states = on_states
        self.bounded = all(node.source.bounded for node in component.sources)
        self.path = run.query_path(component.index)
        self.first_epoch = run.first_epoch
        self.interval_ms = 0 if self.bounded else options.checkpoint_interval_ms or 0
        self.interval_ms = max(self.interval_ms, options.min_pause_ms)
        self.query: StreamingQuery | None = None
        self.end_posted = False
        self.end_epoch: int | None = None
        self.writing = threading.Lock()
        self.suspended = threading.Event()
        self.pause = threading.Event()
        self.draining = False
        self.written = -1
        self.noted = -1
        self.progress: Any = None
        self.has_looked = False
        # Spark turns an exception of a streaming writer into text; this is the exception itself.
        self.failure: BaseException | None = None
        self.tick_ms = self._tick_ms()
        self.ticked_ms, self.ticked = wall_clock_ms(), time.monotonic()
        self.tick_waits = False
        self.due_ms = NEVER
        control = ControlChannel(f"{self.path}-control", self.builder.run, self.builder.values)
        # A source is announced once, when its run begins; the command is still there if the driver
        # died before it was heard. Later its finished channels must not come back.
        spoken = control.has_spoken()
        channels = {
            node.id: self.builder.inputs[node.id].announced(options.configuration)
            for node in component.sources
            if component.has_clock(node.id) and not spoken and not self._is_known(node)
        }
        control.post(Control(started=True, announced=tuple(component.announced(channels))))
        self.control = control
        self.rows = self.builder.all_rows(control.rows(spark))
        self.writer = self.builder.writer(self._on_epoch, fence)
        self.writer.refuse_later(self.first_epoch + QueryFiles(self.path).last_planned())

    def _is_known(self, node: SourceNode) -> bool:
        """Whether the state that the run begins with knows a source's channels."""
        return self.component.uids[node.id] in self.builder.begin

    def _tick_ms(self) -> int | None:
        """How often idleness has to be judged, if at all."""
        timeouts = [
            ms for stage in self.builder.programs.stages for ms in stage.idle_after.values()
        ]
        return max(min(timeouts) // 2, MIN_TICK_MS) if timeouts else None

    def start(self) -> None:
        self.query = (
            self.rows.writeStream.foreachBatch(self._write)
            .option("checkpointLocation", self.path)
            .trigger(processingTime=f"{self.interval_ms} milliseconds")
            .start()
        )

    def _write(self, rows: DataFrame, batch: int) -> None:
        try:
            with self.writing:
                self.has_looked = False
                self._write_epoch(rows, batch)
        except BaseException as error:
            self.failure = error
            raise EpochFailed.of(error) from None

    def _write_epoch(self, rows: DataFrame, batch: int) -> None:
        if self.suspended.is_set():
            raise Suspended(f"epoch {batch} does not begin: the job is stopped")
        self._refuse_missing_files(batch)
        self.writer.write(rows, self.first_epoch + batch)
        self.written = batch
        if batch == 1:
            # Spark has committed the epoch before, with which the stages have begun.
            self.builder.forget_restored()

    def _refuse_missing_files(self, batch: int) -> None:
        """Fail if a file of the epoch is gone."""
        files = QueryFiles(self.path)
        named = self.builder.spark.conf.get(BY_NAME, "false") == "true"
        for place, node in enumerate(self.component.sources, 1):
            name = source_name(self.component.uids[node.id]) if named else str(place)
            self.builder.inputs[node.id].refuse_missing(files, name, batch)

    def _on_epoch(self, epoch: int, report: EpochReport) -> None:
        """Called when an epoch is written; Spark commits it afterwards."""
        states = report.states
        if states:
            self.on_states(states)
        self.totals.add(self.component.index, epoch, report)
        self.due_ms = report.due_ms
        self.tick_waits = False
        if report.ended:
            self.end_epoch = epoch
            if self.draining:
                self.suspended.set()

    def advance(self) -> bool:
        """Whether the query has come to its end; tells it to when its input is exhausted."""
        query = self.query
        assert query is not None
        if not query.isActive:
            error = query.exception()
            if error is not None and not self.suspended.is_set():
                raise self.failure or error
            return True
        progress = self._last_progress(query)
        if progress is None:
            return False
        self._note(progress)
        if self.end_epoch is not None and self.first_epoch + progress["batchId"] >= self.end_epoch:
            return True
        if self.bounded and not self.end_posted and self._is_exhausted(progress):
            if not self.builder.programs.stages:
                return True  # no operator waits to hear of the end: it needs no epoch of its own
            self.control.post(Control(ended=self.component.timelines()))
            self.end_posted = True
        if not self.tick_waits:
            self._tick()
        return False

    def _last_progress(self, query: StreamingQuery) -> Any:
        """Spark's last progress: an epoch makes none on its way, and to look takes many calls."""
        if not (self.writing.locked() and self.has_looked):
            # Said before the look: an epoch that begins meanwhile makes it look again.
            self.has_looked = True
            self.progress = query.lastProgress
        return self.progress

    def _note(self, progress: Any) -> None:
        """Add what Spark has measured of an epoch to the metrics, once."""
        times, epoch = progress["durationMs"], self.first_epoch + progress["batchId"]
        if "addBatch" not in times or epoch == self.noted:
            return
        self.noted = epoch
        self.totals.add_progress(self.component.index, epoch, times)
        for found, source in self._with_progress(progress):
            waiting = found.lags(source)
            if waiting is not None:
                self.totals.set_lags(found.uid, waiting)

    def _with_progress(self, progress: Any) -> Iterator[tuple[Input[Any], Any]]:
        """The sources, each with its part of Spark's progress. The control source comes first."""
        inputs = [self.builder.inputs[node.id] for node in self.component.sources]
        return zip(inputs, progress["sources"][1:], strict=False)

    def _tick(self) -> None:
        """Give the stages the time when a timer is due, and from time to time to judge idleness.

        One that waits to be heard is enough: while an epoch takes long they would pile up, and old
        commands are removed.
        """
        # A timer is due by the time of day; how long ago the last tick was does not depend on it.
        now_ms, now = wall_clock_ms(), time.monotonic()
        due = self.ticked_ms < self.due_ms <= now_ms
        if due or (self.tick_ms is not None and now - self.ticked >= self.tick_ms / 1_000):
            self.control.post(Control())
            self.ticked_ms, self.ticked, self.tick_waits = now_ms, now, True

    def _is_exhausted(self, progress: Any) -> bool:
        """Whether a trigger has found that no source has anything more to read."""
        assert self.query is not None
        if not all(found.at_end(source) for found, source in self._with_progress(progress)):
            return False
        status = self.query.status
        if not status["isDataAvailable"] and not status["isTriggerActive"]:
            return True
        others = [s for s in progress["sources"] if self.control.folder not in s["description"]]
        return all(s["startOffset"] == s["endOffset"] for s in others)

    def drain(self) -> None:
        """Let the sources end with the next epoch; none comes after it."""
        self.draining = True
        if not self.end_posted:
            self.end_posted = True
            self.control.post(Control(ended=self.component.timelines()))

    def suspend(self) -> None:
        """Let the epoch under way end, and begin no other."""
        self.suspended.set()
        with self.writing:
            last = self.written
        files = QueryFiles(self.path)
        while last >= 0 and last not in files.committed() and self._is_active():
            self.pause.wait(POLL_SECONDS)
        self.stop()

    def _is_active(self) -> bool:
        return self.query is not None and self.query.isActive

    def stop(self) -> None:
        if self.query is not None and self.query.isActive:
            self.query.stop()

    def wait_for_tasks(self) -> None:
        """Wait until the tasks of a query that has stopped are gone: Spark stops them in its own time.

        A program may exit when its job is over, and a JVM that ends under tasks in the middle of native
        code can crash. If it is gone already there is nothing to wait for.
        """
        limit = time.monotonic() + TASKS_END_SECONDS
        with suppress(Exception):
            while self._tasks_left() and time.monotonic() < limit:
                self.pause.wait(POLL_SECONDS)

    def _tasks_left(self) -> int:
        if self.query is None:
            return 0
        tracker = self.builder.spark.sparkContext.statusTracker()
        # An epoch is one job, or a few that come one after the other.
        latest = sorted(tracker.getJobIdsForGroup(str(self.query.runId)))[-2:]
        jobs = [tracker.getJobInfo(job) for job in latest]
        stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        return sum(stage.numActiveTasks for stage in stages if stage)
