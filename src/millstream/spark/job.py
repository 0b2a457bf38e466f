"""Running a job: `submit` starts it in a thread of its own and gives a `JobClient`."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
import time
import uuid
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from millstream.checkpoint.folder import CheckpointFolder, Run
from millstream.checkpoint.manifest import manifest_of
from millstream.common.errors import MillstreamError, PlanError
from millstream.common.job import JobExecutionResult, JobID, JobStatus
from millstream.plan.graph import JobGraph
from millstream.plan.options import JobOptions
from millstream.plan.planner import JobPlan, plan
from millstream.spark.progress import ProgressLine, Totals
from millstream.spark.query import BatchRun, StreamRun
from millstream.spark.session import get_session
from millstream.spark.worker import find_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("millstream")
POLL_SECONDS = 0.02


class JobClient:
    """A job that has been started: its state, its metrics, its result."""

    def __init__(self, job_id: str, totals: Totals) -> None:
        self._job_id = job_id
        self._totals = totals
        self._status = JobStatus.CREATED
        self._cancelled = threading.Event()
        self._result: Future[JobExecutionResult] = Future()

    def get_job_id(self) -> JobID:
        """The job's id; it stays the same when a job resumes from its checkpoint."""
        return JobID(self._job_id)

    def get_job_status(self) -> Future[JobStatus]:
        """Where the job is in its life."""
        return _done(self._status)

    def cancel(self) -> Future[None]:
        """Stop the job; its checkpoint stays, so the same program can go on later."""
        self._cancelled.set()
        future: Future[None] = Future()
        self._result.add_done_callback(lambda _: future.set_result(None))
        return future

    def get_job_execution_result(self) -> Future[JobExecutionResult]:
        """The result, when there is one."""
        return self._result

    def wait(self, timeout: float | None = None) -> JobExecutionResult:
        """Wait for the end; raises what the job failed with."""
        return self._result.result(timeout)

    def metrics(self) -> dict[str, int]:
        """Counters so far: records in and out per operator, clocks, and the functions' own."""
        return self._totals.snapshot()

    def get_accumulators(self) -> Future[dict[str, Any]]:
        """Values of the accumulators so far."""
        return _done(self._totals.accumulator_values())


def _done(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def submit(graph: JobGraph, options: JobOptions, spark: SparkSession | None = None) -> JobClient:
    """Plan a job and start it. What is wrong with the program itself is raised here, at once."""
    job_plan = plan(graph)
    batch = is_batch(job_plan, options)
    session = get_session(spark, options.parallelism, options.configuration)
    folder, run = _open_folder(job_plan, options, session.version, batch)
    totals = Totals()
    client = JobClient(run.job_id, totals)
    try:
        if batch:
            execution: BatchRun | StreamRun = BatchRun(session, job_plan, options, run, totals)
        else:
            execution = StreamRun(session, job_plan, options, run, totals)
    except BaseException:
        _remove_temporary(folder, run)
        raise
    body = _Body(client, execution, options, folder, run, totals)
    threading.Thread(target=body.run, name=f"millstream-{options.name}", daemon=True).start()
    return client


def is_batch(job_plan: JobPlan, options: JobOptions) -> bool:
    """Whether to run as a batch; AUTOMATIC does if all sources are bounded."""
    unbounded = [
        source
        for component in job_plan.components
        for source in component.sources
        if not source.source.bounded
    ]
    if options.mode == "batch" and unbounded:
        raise PlanError(
            "UNBOUNDED_BATCH",
            f"source {unbounded[0].name!r} never ends, so the job cannot run in BATCH mode",
            location=unbounded[0].location,
            hint="use RuntimeExecutionMode.STREAMING, or a bounded source",
        )
    return options.mode == "batch" or (options.mode == "automatic" and not unbounded)


def _open_folder(
    job_plan: JobPlan, options: JobOptions, spark_version: str, batch: bool
) -> tuple[CheckpointFolder | None, Run]:
    if batch or options.checkpoint_dir is None:
        path = tempfile.mkdtemp(prefix="millstream-")
        return None, Run(path, uuid.uuid4().hex, resumed=False)
    directory = options.checkpoint_dir
    if "://" not in directory:
        directory = os.path.abspath(directory)
    folder = CheckpointFolder(directory)
    return folder, folder.open_run(manifest_of(job_plan, options, spark_version))


def _remove_temporary(folder: CheckpointFolder | None, run: Run) -> None:
    if folder is None:
        shutil.rmtree(run.path, ignore_errors=True)


class _Body:
    """The thread of a job: polls the execution until it ends, and settles the client's result."""

    def __init__(
        self,
        client: JobClient,
        execution: BatchRun | StreamRun,
        options: JobOptions,
        folder: CheckpointFolder | None,
        run: Run,
        totals: Totals,
    ) -> None:
        self.client = client
        self.execution = execution
        self.options = options
        self.folder = folder
        self.run_info = run
        self.totals = totals

    def run(self) -> None:
        client = self.client
        began = time.monotonic()
        line = ProgressLine(self.totals, self.options.show_progress)
        try:
            self._loop(line)
            line.finish()
            status = JobStatus.CANCELED if client._cancelled.is_set() else JobStatus.FINISHED
            if status is JobStatus.FINISHED and self.folder is not None:
                self.folder.finish(self.run_info)
            client._status = status
            elapsed_ms = int((time.monotonic() - began) * 1000)
            accumulators = self.totals.accumulator_values()
            client._result.set_result(
                JobExecutionResult(client.get_job_id(), elapsed_ms, accumulators)
            )
        except BaseException as error:
            line.finish()
            client._status = JobStatus.FAILED
            client._result.set_exception(readable(error))

    def _loop(self, line: ProgressLine) -> None:
        try:
            self.execution.start()
            self.client._status = JobStatus.RUNNING
            while not self.execution.advance():
                if self.client._cancelled.is_set():
                    self.client._status = JobStatus.CANCELLING
                    break
                line.show()
                time.sleep(POLL_SECONDS)
        finally:
            self.execution.stop()
            # Before the result is known: a program that has it may exit at once.
            _remove_temporary(self.folder, self.run_info)


def readable(error: BaseException) -> BaseException:
    """The error a user should see: theirs, not the JVM's."""
    if isinstance(error, MillstreamError):
        return error
    found = find_error(str(error))
    if found is not None:
        # The JVM's stack says nothing more; it stays reachable as the cause.
        found.__cause__ = None
        return found
    return error
