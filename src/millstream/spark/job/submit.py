"""Running a job: `submit` starts it in a thread of its own and gives a `JobClient`."""

from __future__ import annotations

import logging
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pyspark

from millstream.checkpoint.folder import (
    CheckpointFolder,
    Run,
    RunOrigin,
    new_manifest,
    run_of,
)
from millstream.checkpoint.lease import Lease
from millstream.checkpoint.manifest import manifest_of
from millstream.checkpoint.restoring import refuse_unfit
from millstream.checkpoint.savepoints import Savepoint, refuse_foreign
from millstream.checkpoint.spark_files import QueryFiles, damaged
from millstream.checkpoint.trust import require_trusted, require_trusted_run
from millstream.common.errors import (
    CheckpointError,
    ConfigurationError,
    EnvironmentSetupError,
    MillstreamError,
    PlanError,
)
from millstream.common.execution_config import accepted_without_effect
from millstream.common.job import JobExecutionResult, JobStatus
from millstream.common.paths import absolute_path
from millstream.common.restart_strategy import (
    DEFAULT_WITH_CHECKPOINTS,
    Restarts,
    RestartStrategies,
    RestartStrategyConfiguration,
)
from millstream.plan.graph import JobGraph, SourceNode
from millstream.plan.numbering import with_numbers
from millstream.plan.options import JobOptions, redactor_of
from millstream.plan.parts import job_parts
from millstream.plan.planner import JobPlan, live_nodes, plan
from millstream.spark.job.client import (
    Execution,
    JobClient,
    SavepointRequest,
    StreamExecution,
    job_ended,
)
from millstream.spark.job.remote_control import Outside
from millstream.spark.job.temporary import forget_folder, temporary_folder
from millstream.spark.query.runs import BatchRun, StreamRun
from millstream.spark.query.totals import EpochTotals, ProgressLine
from millstream.spark.savepoint.restore import note_sources
from millstream.spark.session import jvm
from millstream.spark.session.session import get_session
from millstream.spark.tasks.failures import after_restarts, is_outage, readable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["JobClient", "is_batch", "submit"]

log = logging.getLogger("millstream")
POLL_SECONDS = 0.02
MAKE_AGAIN_SECONDS = (1.0, 2.0)
NOT_MENDED_BY_A_RETRY = (PlanError, CheckpointError, ConfigurationError)


def submit(graph: JobGraph, options: JobOptions, spark: SparkSession | None = None) -> JobClient:
    """Plan a job and start it. Errors of the program itself are raised here, at once."""
    batch = is_batch(graph, options)
    version = pyspark.__version__ if spark is None else spark.version
    place = _open_place(graph, options, version, batch)
    job_plan = place.plan
    # A savepoint of a running job is written beside it: its tasks must not wait for the job's.
    spare_slots = 0 if batch else 1
    try:
        session = get_session(
            spark, options.parallelism, options.configuration, spare_slots=spare_slots
        )
    except BaseException:
        place.give_up()
        raise
    totals = EpochTotals(job_parts(job_plan.components))

    def make(run: Run, options: JobOptions) -> Execution:
        if batch:
            return BatchRun(session, job_plan, options, run, totals)
        fence = None if place.lease is None else place.lease.fence
        return StreamRun(session, job_plan, options, run, totals, place.manifest, fence=fence)

    client = JobClient(place.run.job_id, totals, options.savepoint_dir, batch)
    try:
        execution = _made(lambda: make(place.run, options))
        ui = session.sparkContext.uiWebUrl
        outside = (
            None if place.lease is None else Outside(place.run, place.lease, client, options, ui)
        )
    except BaseException:
        place.give_up()
        raise
    restarts = Restarts(
        _strategy(options, batch),
        now_ms=lambda: int(time.monotonic() * 1_000),
        random=lambda: random.uniform(-1.0, 1.0),
    )
    spark_lives = partial(jvm.is_running, session)
    body = _Body(client, place, options, execution, make, restarts, spark_lives, outside)
    threading.Thread(target=body.run, name=f"millstream-{options.name}", daemon=True).start()
    return client


def _made(make: Callable[[], Execution]) -> Execution:
    """Make an execution; Spark starts Python processes for it, for which a machine may be too busy."""
    for delay_seconds in MAKE_AGAIN_SECONDS:
        try:
            return make()
        except Exception as error:
            failure = readable(error)
            if not is_outage(failure):
                raise failure from None
        log.warning("the job could not be started, and is tried again: %s", failure)
        time.sleep(delay_seconds)
    try:
        return make()
    except Exception as error:
        raise readable(error) from None


def is_batch(graph: JobGraph, options: JobOptions) -> bool:
    """Whether to run as a batch; AUTOMATIC does if all sources are bounded."""
    live = live_nodes(graph)
    sources = [node for node in graph if isinstance(node, SourceNode) and node.id in live]
    unbounded = [source for source in sources if not source.source.bounded]
    if options.mode == "batch" and unbounded:
        raise PlanError(
            "UNBOUNDED_BATCH",
            f"source {unbounded[0].name!r} never ends, so the job cannot run in BATCH mode",
            location=unbounded[0].location,
            hint="use RuntimeExecutionMode.STREAMING, or a bounded source",
        )
    batch = options.mode == "batch" or (options.mode == "automatic" and not unbounded)
    if not batch:
        _refuse_batch_sources(sources)
    return batch


def _refuse_batch_sources(sources: list[SourceNode]) -> None:
    for source in sources:
        if source.source.batch_only:
            raise PlanError(
                "BATCH_DATAFRAME",
                "a batch DataFrame cannot be a source of a job in STREAMING mode",
                location=source.location,
                hint='call env.set_runtime_mode("BATCH"), or read the data with spark.readStream',
            )


def _strategy(options: JobOptions, batch: bool) -> RestartStrategyConfiguration:
    if batch:
        if options.restart not in (None, RestartStrategies.no_restart()):
            why = "what a batch job has written before it failed would be written again"
            accepted_without_effect("a restart strategy in batch mode", why)
        return RestartStrategies.no_restart()
    if options.restart is not None:
        return options.restart
    if options.checkpoint_dir is None:
        return RestartStrategies.no_restart()
    return DEFAULT_WITH_CHECKPOINTS


@dataclass
class JobPlace:
    """Where a job keeps its state: a run of its checkpoint directory, or a folder of its own."""

    run: Run
    plan: JobPlan
    manifest: dict[str, Any]
    folder: CheckpointFolder | None = None
    lease: Lease | None = None

    def next_attempt(self) -> None:
        """Shut out what may be left of the attempt before."""
        if self.lease is not None:
            self.lease.next_attempt()

    def finish(self) -> None:
        """Mark the run as one whose input has ended."""
        if self.folder is not None:
            self.folder.finish(self.run)

    def give_up(self) -> None:
        """Leave nothing of a run that could not begin from its savepoint."""
        new = self.run.savepoint is not None and not self.run.resumed
        if new and self.folder is not None:
            self.folder.discard(self.run)
        self.leave()

    def leave(self) -> None:
        """Let others work here; nothing is kept of a folder that only this run knows."""
        if self.lease is not None:
            self.lease.release()
        if self.folder is None:
            forget_folder(self.run.path)


def _open_place(graph: JobGraph, options: JobOptions, spark_version: str, batch: bool) -> JobPlace:
    savepoint = None
    if options.savepoint_path is not None:
        savepoint = Savepoint.load(absolute_path(options.savepoint_path))
        if not options.trust:
            refuse_foreign(savepoint)
    if batch or options.checkpoint_dir is None:
        origin = RunOrigin(savepoint=savepoint)
        job_plan = _planned(graph, options, origin)
        manifest = new_manifest(manifest_of(job_plan, options, spark_version), savepoint)
        refuse_unfit(savepoint, job_plan, manifest, options)
        run = run_of(temporary_folder(), manifest, resumed=False)
        place = JobPlace(run, job_plan, manifest)
        try:
            _prepare(savepoint, run)
        except BaseException:
            place.leave()
            raise
        return place
    directory = absolute_path(options.checkpoint_dir)
    if not options.trust:
        require_trusted(directory, f"the checkpoint directory {directory}")
    lease = Lease.take(directory, uuid.uuid4().hex)
    try:
        folder = CheckpointFolder(directory)
        origin = folder.origin(savepoint)
        if origin.run is not None and not options.trust:
            require_trusted_run(f"{directory}/{origin.run}")
        job_plan = _planned(graph, options, origin)
        manifest = manifest_of(job_plan, options, spark_version)
        refuse_unfit(origin.savepoint, job_plan, manifest, options)
        run = folder.open_run(manifest, origin, partial(_prepare, origin.savepoint))
        return JobPlace(run, job_plan, manifest, folder, lease)
    except BaseException:
        lease.withdraw()
        raise


def _planned(graph: JobGraph, options: JobOptions, origin: RunOrigin) -> JobPlan:
    """The plan of a job that goes on from something: numbers of operators and layouts stay."""
    return plan(with_numbers(graph, origin.numbers), options.configuration, origin.state)


def _prepare(savepoint: Savepoint | None, run: Run) -> None:
    if savepoint is not None:
        note_sources(savepoint, run)


class _Body:
    """The thread of a job: polls the execution until it ends, and settles the client's result."""

    def __init__(
        self,
        client: JobClient,
        place: JobPlace,
        options: JobOptions,
        execution: Execution,
        make: Callable[[Run, JobOptions], Execution],
        restarts: Restarts,
        spark_lives: Callable[[], bool],
        outside: Outside | None = None,
    ) -> None:
        self.client = client
        self.place = place
        self.options = options
        self.execution: Execution | None = execution
        self.make = make
        self.restarts = restarts
        self.outside = outside
        self.spark_lives = spark_lives
        self.line = ProgressLine(client._totals, options.show_progress)
        self.savepoint: SavepointRequest | None = None
        self.stopped: SavepointRequest | None = None
        self.savepoint_failed = False
        self.epochs: dict[int, int] = {}
        """The last epoch of each query before the attempt under way."""

    def run(self) -> None:
        client = self.client
        began = time.monotonic()
        try:
            self._tend()
            status = self._until_the_end()
            # A job that was stopped with a savepoint has more input: its run can be resumed.
            if status is JobStatus.FINISHED and (self.stopped is None or self.stopped.drain):
                self.place.finish()
        except BaseException as error:
            self._end(JobStatus.FAILED, readable(error))
            client._result.set_exception(readable(error))
        else:
            self._end(status)
            elapsed_ms = int((time.monotonic() - began) * 1000)
            accumulators = client._totals.accumulators()
            client._result.set_result(
                JobExecutionResult(client.get_job_id(), elapsed_ms, accumulators)
            )

    def _end(self, status: JobStatus, error: BaseException | None = None) -> None:
        """Tell everybody, before the result is known: a program that has it may exit at once."""
        self.line.finish()
        self.client._status = status
        if self.outside is not None:
            with _logged("the status of the job could not be written"):
                self.outside.last_word(error)
        with _logged("the checkpoint directory could not be released"):
            self.place.leave()
        if self.stopped is not None:
            self.stopped.settle(error or job_ended())
        self.client._end()
        if self.outside is not None:
            with _logged("the end of the job could not be answered"):
                self.outside.answer_cancels()

    # -- attempts --------------------------------------------------------------------------------

    def _until_the_end(self) -> JobStatus:
        """Run the job, again and again if it fails and its strategy says so."""
        while True:
            try:
                return self._attempt()
            except Exception as error:
                failure = self._explained(readable(error))
            # Not in the handler: the error of a user's has no use for the JVM's as its context.
            delay_ms = self._delay_after(failure)
            self.client._status = JobStatus.RESTARTING
            log.warning(
                "job %r failed, restart %d follows in %g seconds: %s",
                self.options.name,
                self.restarts.count,
                delay_ms / 1_000,
                redactor_of(self.options)(str(failure)),
            )
            if self.outside is not None:
                self.outside.restarting(self.restarts.count, failure)
            if self._cancelled_within(delay_ms / 1_000):
                return JobStatus.CANCELED
            self.execution = None

    def _explained(self, failure: BaseException) -> BaseException:
        """Say which file of the checkpoint is damaged, if that is why Spark cannot go on."""
        if isinstance(failure, MillstreamError) and failure.code != "CHECKPOINT_DAMAGED":
            return failure
        with _logged("the checkpoint could not be searched for damaged files"):
            for file in self._damaged(failure):
                error = damaged(file)
                error.__cause__ = failure
                return error
        return failure

    def _damaged(self, failure: BaseException) -> Iterator[str]:
        """Damaged files of the queries that may have failed to read their checkpoints.

        A query reads its own when it begins. One that has written an epoch since then has read it all,
        unless Spark says otherwise; to look at large state after each failure takes long.
        """
        epochs = self.client._totals.last_epochs()
        for query in self.place.manifest["queries"]:
            if isinstance(failure, MillstreamError) or epochs.get(query) == self.epochs.get(query):
                yield from QueryFiles(self.place.run.query_path(query)).damaged()

    def _attempt(self) -> JobStatus:
        """Run the job until it ends, one way or the other."""
        self.epochs = self.client._totals.last_epochs()
        try:
            if self.execution is None:
                self.place.next_attempt()
                run = replace(self.place.run, resumed=True)
                # What a savepoint held is in the run since its first start.
                self.execution = self.make(run, replace(self.options, savepoint_path=None))
            self.execution.start()
            self.client._status = JobStatus.RUNNING
            while not self._is_over(self.execution):
                if self.client._cancelled.is_set():
                    self.client._status = JobStatus.CANCELLING
                    self._stop()
                    return JobStatus.CANCELED
                self._tend()
                time.sleep(POLL_SECONDS)
        except BaseException as error:
            with _logged("the failed job could not be stopped"):
                self._stop(readable(error))
            raise
        self._stop()
        return JobStatus.FINISHED

    def _stop(self, failure: BaseException | None = None) -> None:
        """Stop the execution, and a savepoint that is being written of it."""
        if self.savepoint is not None:
            self.savepoint.abandon()
        try:
            if self.execution is not None:
                self.execution.stop()
        finally:
            # Where Spark is gone nothing can be stopped, and somebody may still wait for an answer.
            if self.savepoint is not None:
                self.savepoint.join()
                self.savepoint.settle(failure or job_ended())
                self.savepoint = None

    def _tend(self) -> None:
        self.line.show()
        if self.outside is not None:
            self.outside.tend()

    def _cancelled_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while True:
            self._tend()
            left = deadline - time.monotonic()
            if self.client._cancelled.wait(max(min(left, POLL_SECONDS), 0.0)) or left <= 0:
                return self.client._cancelled.is_set()

    def _delay_after(self, failure: BaseException) -> int:
        """How long to wait before the next attempt; raises the failure if there is to be none."""
        final = self.savepoint_failed or self.client._cancelled.is_set()
        if final or isinstance(failure, NOT_MENDED_BY_A_RETRY):
            raise failure
        if not self.spark_lives():
            raise EnvironmentSetupError(
                "SPARK_GONE",
                f"the Spark session of job {self.options.name!r} has ended while it ran",
                hint="start the program again; with a checkpoint directory it goes on from there",
            ) from failure
        # A streaming job can go on from its last epoch in any case, and here nothing is wrong with it.
        chosen = self.options.restart is not None or self.client._batch
        outage = is_outage(failure) and not chosen
        delay_ms = self.restarts.after_failure(DEFAULT_WITH_CHECKPOINTS if outage else None)
        if delay_ms is None:
            raise after_restarts(failure, self.restarts.count)
        return delay_ms

    # -- savepoints ------------------------------------------------------------------------------

    def _is_over(self, execution: Execution) -> bool:
        """Whether the job has come to its end; goes on with the savepoint that is wanted."""
        savepoint = self.savepoint
        if savepoint is not None and savepoint.over:
            return self._is_over_with(savepoint)
        if savepoint is not None and savepoint.begun and savepoint.stop:
            return False
        ended = execution.advance()
        if savepoint is None:
            return ended or self._take_next(execution)
        if ended and not savepoint.begun:
            savepoint.begin(cast(StreamExecution, execution))
        return False

    def _take_next(self, execution: Execution) -> bool:
        """Begin with the next savepoint, if one is wanted; the job goes on."""
        savepoint = self.savepoint = self.client._next_savepoint()
        if savepoint is not None:
            stream = cast(StreamExecution, execution)
            if savepoint.drain:
                stream.drain()
            else:
                savepoint.begin(stream)
        return False

    def _is_over_with(self, savepoint: SavepointRequest) -> bool:
        """Whether the job ends with a savepoint that has just been written, or has failed."""
        self.savepoint = None
        if not savepoint.stop:
            savepoint.settle(job_ended())
            return False
        if savepoint.error is not None and not savepoint.job_stands_still:
            # It failed like any epoch, and may be restarted like after any.
            savepoint.settle(job_ended())
            raise savepoint.error
        self.stopped = savepoint
        if savepoint.error is not None:
            self.savepoint_failed = True
            raise savepoint.error
        return True


@contextmanager
def _logged(what: str) -> Iterator[None]:
    """Let a job come to its end although something around it fails."""
    try:
        yield
    except Exception as error:
        log.warning("%s: %s", what, error)
