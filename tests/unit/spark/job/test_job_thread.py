"""The thread of a job, on executions that do as a test says: restarts, savepoints, requests."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from millstream.checkpoint.folder import CheckpointFolder, Run
from millstream.checkpoint.lease import Lease
from millstream.checkpoint.registry import find_jobs, request
from millstream.checkpoint.savepoints import Savepoint
from millstream.checkpoint.spark_files import QueryFiles
from millstream.common.errors import (
    CheckpointError,
    ConfigurationError,
    EnvironmentSetupError,
    MillstreamError,
    PlanError,
    UserCodeError,
)
from millstream.common.job import JobStatus
from millstream.common.restart_strategy import Restarts, RestartStrategies
from millstream.datastream import StreamExecutionEnvironment
from millstream.plan.graph import JobGraph
from millstream.plan.options import JobOptions
from millstream.plan.planner import JobPlan
from millstream.spark.io.writer import EpochReport
from millstream.spark.job import submit as job_module
from millstream.spark.job.client import JobClient
from millstream.spark.job.remote_control import Outside
from millstream.spark.job.submit import JobPlace, _Body, _made, _open_place, _strategy
from millstream.spark.query.totals import EpochTotals

PATIENCE_SECONDS = 30


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody wait as long as in real life."""
    monkeypatch.setattr("millstream.spark.job.remote_control.TELL_SECONDS", 0.05)
    monkeypatch.setattr("millstream.spark.job.remote_control.LISTEN_SECONDS", 0.0)
    monkeypatch.setattr("millstream.checkpoint.registry.FOLLOW_SECONDS", 0.005)


class Fake:
    """An execution: each `advance` is one of its steps, the last of them for ever."""

    def __init__(self, *steps: bool | BaseException) -> None:
        self.steps = list(steps)
        self.calls: list[str] = []
        self.may_write = threading.Event()
        self.may_write.set()
        self.suspends: BaseException | None = None
        self.writes: str | BaseException = "/made"
        self.drained = False
        self.on_progress: Callable[[int, int], None] = lambda done, total: None

    def start(self) -> None:
        self.calls.append("start")

    def advance(self) -> bool:
        if self.drained:
            return True
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if isinstance(step, BaseException):
            raise step
        return step

    def stop(self) -> None:
        self.calls.append("stop")

    def suspend(self) -> None:
        self.calls.append("suspend")
        if self.suspends is not None:
            raise self.suspends

    def drain(self) -> None:
        self.calls.append("drain")
        self.drained = True

    def savepoint(self, path: str, on_progress: Callable[[int, int], None]) -> str:
        self.calls.append(f"savepoint {path}")
        on_progress(1, 2)
        while not self.may_write.wait(0.001):
            on_progress(1, 2)
        if isinstance(self.writes, BaseException):
            raise self.writes
        return self.writes


class Job:
    """A job of one or more executions, in a checkpoint directory."""

    def __init__(
        self,
        folder: Path,
        *executions: Fake,
        strategy: Any = None,
        spark_lives: Callable[[], bool] = lambda: True,
        registered: bool = True,
        options: JobOptions | None = None,
    ) -> None:
        self.directory = str(folder / "checkpoint")
        self.folder = CheckpointFolder(self.directory)
        manifest = {
            "operators": [],
            "details": {},
            "queries": [],
            "slots": 1,
            "parallelism": 1,
            "mode": "arrival",
        }
        lease = Lease.take(self.directory, "me")
        run = self.folder.open_run(manifest)
        self.options = options or JobOptions(
            name="fake", savepoint_path="/from", show_progress=False
        )
        self.client = JobClient(run.job_id, EpochTotals(), str(folder / "savepoints"))
        self.made: list[tuple[Run, JobOptions]] = []
        self.left = list(executions)
        outside = Outside(run, lease, self.client, self.options, None) if registered else None
        strategy = strategy or RestartStrategies.no_restart()
        restarts = Restarts(strategy, lambda: 0, lambda: 0.0)
        self.place = JobPlace(run, JobPlan(()), manifest, self.folder, lease)
        first = self.left.pop(0)
        self.body = _Body(
            self.client, self.place, self.options, first, self.make, restarts, spark_lives, outside
        )
        self.thread = threading.Thread(target=self.body.run, daemon=True)

    def make(self, run: Run, options: JobOptions) -> Fake:
        self.made.append((run, options))
        return self.left.pop(0)

    def start(self) -> Job:
        self.thread.start()
        return self

    def end(self) -> Any:
        """The result, or the error, and the thread has ended."""
        try:
            return self.client.wait(PATIENCE_SECONDS)
        finally:
            self.thread.join(PATIENCE_SECONDS)

    def failure(self) -> BaseException:
        with pytest.raises(BaseException) as caught:
            self.end()
        return caught.value

    @property
    def status(self) -> JobStatus:
        return self.client.get_job_status().result()

    @property
    def finished(self) -> bool:
        return Path(self.place.run.path, "FINISHED").exists()

    @property
    def told_status(self) -> str | None:
        found = find_jobs(self.directory)
        return found[0].status if found else None

    @property
    def told(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(Path(self.place.run.path, "status.json").read_text())
        return found


def again(attempts: int) -> Any:
    return RestartStrategies.fixed_delay_restart(attempts, 0)


# -- without anything special ---------------------------------------------------------------------


def test_a_job_that_ends_is_marked_told_and_its_directory_free(tmp_path: Path) -> None:
    job = Job(tmp_path, fake := Fake(False, True)).start()
    job.end()
    assert fake.calls == ["start", "stop"]
    assert job.status is JobStatus.FINISHED
    assert job.finished
    assert (job.told["status"], job.told["error"]) == ("FINISHED", None)
    Lease.take(job.directory, "next").check()


def test_a_cancelled_job_keeps_its_run(tmp_path: Path) -> None:
    job = Job(tmp_path, Fake(False)).start()
    job.client.cancel().result(PATIENCE_SECONDS)
    assert job.status is JobStatus.CANCELED
    assert not job.finished
    assert job.told["status"] == "CANCELED"
    Lease.take(job.directory, "next").check()


def test_secrets_of_a_job_are_masked_in_its_status_and_its_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    errors = [RuntimeError("login with hunter2 and t0k3n failed") for _ in range(2)]
    options = JobOptions(
        show_progress=False,
        configuration={"db.password": "hunter2"},
        command=("app.py", "--token", "t0k3n"),
    )
    fakes = [Fake(False, error) for error in errors]
    job = Job(tmp_path, *fakes, strategy=again(1), options=options).start()
    with caplog.at_level(logging.WARNING, logger="millstream"):
        job.failure()
    status = Path(job.place.run.path, "status.json").read_text()
    for text in (status, caplog.text):
        assert "login with ***** and ***** failed" in text
        assert "hunter2" not in text
        assert "t0k3n" not in text


# -- restarts -------------------------------------------------------------------------------------


def test_a_failed_job_goes_on_in_the_same_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = Fake(False, RuntimeError("the disk is full")), Fake(False, True)
    job = Job(tmp_path, first, second, strategy=again(1))
    with caplog.at_level(logging.WARNING, logger="millstream"):
        job.start().end()
    assert job.status is JobStatus.FINISHED and job.finished
    assert first.calls == second.calls == ["start", "stop"]
    ((run, options),) = job.made
    assert run.resumed and (run.path, run.job_id) == (job.place.run.path, job.place.run.job_id)
    assert options.savepoint_path is None, "the run has begun, it must not begin anew"
    assert "the disk is full" in caplog.text and "restart 1" in caplog.text
    assert (job.told["restarts"], job.told["error"]) == (1, "the disk is full")


def test_each_restart_shuts_out_what_is_left_of_the_attempt_before(tmp_path: Path) -> None:
    job = Job(tmp_path, Fake(RuntimeError("once")), Fake(True), strategy=again(1))
    assert job.place.lease is not None
    first = job.place.lease.fence
    first.check()
    job.start().end()
    assert job.place.lease.number == first.number + 1
    with pytest.raises(CheckpointError, match="LEASE_LOST"):
        first.check()


def test_a_job_is_given_up_with_its_last_failure_and_how_often_it_was_tried(
    tmp_path: Path,
) -> None:
    failures = [UserCodeError("USER_CODE", f"failure {n}", operator="m") for n in range(3)]
    job = Job(tmp_path, *(Fake(failure) for failure in failures), strategy=again(2)).start()
    error = job.failure()
    assert isinstance(error, UserCodeError) and error.code == "USER_CODE"
    assert "failure 2" in str(error) and "tried 3 times" in str(error)
    assert job.status is JobStatus.FAILED and not job.finished
    assert (job.told["status"], job.told["restarts"]) == ("FAILED", 2)
    assert "tried 3 times" in job.told["error"]


def test_a_failure_that_is_not_ours_is_shown_when_a_job_is_given_up(tmp_path: Path) -> None:
    job = Job(tmp_path, Fake(OSError("no a")), Fake(OSError("no b")), strategy=again(1)).start()
    error = job.failure()
    assert isinstance(error, MillstreamError) and error.code == "RESTARTS_EXHAUSTED"
    assert "no b" in str(error) and "tried 2 times" in str(error)
    assert isinstance(error.__cause__, OSError)


def test_a_failure_without_a_restart_is_raised_as_it_is(tmp_path: Path) -> None:
    failure = OSError("no")
    assert Job(tmp_path, Fake(failure)).start().failure() is failure


@pytest.mark.parametrize(
    "failure",
    [PlanError("X", "x"), CheckpointError("LEASE_LOST", "x"), ConfigurationError("X", "x")],
)
def test_what_a_retry_cannot_mend_is_not_retried(tmp_path: Path, failure: MillstreamError) -> None:
    job = Job(tmp_path, Fake(failure), strategy=again(5)).start()
    assert job.failure() is failure
    assert job.made == []


def no_worker() -> EnvironmentSetupError:
    return EnvironmentSetupError("WORKER_NOT_STARTED", "too busy")


def test_a_worker_that_did_not_start_is_tried_again_without_any_strategy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millstream.spark.job.submit.DEFAULT_WITH_CHECKPOINTS", again(2))
    fakes = [Fake(no_worker()), Fake(no_worker()), Fake(True)]
    job = Job(tmp_path, *fakes).start()
    job.end()
    assert (job.status, len(job.made)) == (JobStatus.FINISHED, 2)


def test_a_machine_that_stays_too_busy_ends_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millstream.spark.job.submit.DEFAULT_WITH_CHECKPOINTS", again(1))
    job = Job(tmp_path, Fake(no_worker()), Fake(no_worker())).start()
    error = job.failure()
    assert isinstance(error, EnvironmentSetupError)
    assert "tried 2 times" in str(error)


def test_a_job_that_is_not_to_be_restarted_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user has said so, or it is a batch, of which something may be written already."""
    monkeypatch.setattr("millstream.spark.job.submit.DEFAULT_WITH_CHECKPOINTS", again(5))
    for folder, by_user in (("a", True), ("b", False)):
        (tmp_path / folder).mkdir()
        job = Job(tmp_path / folder, Fake(no_worker()))
        if by_user:
            none = RestartStrategies.no_restart()
            job.body.options = job.options = replace(job.options, restart=none)
        else:
            job.client._batch = True
        assert isinstance(job.start().failure(), EnvironmentSetupError)
        assert job.made == []


def test_an_execution_that_could_not_be_made_for_want_of_a_worker_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("millstream.spark.job.submit.MAKE_AGAIN_SECONDS", (0.0, 0.0))
    fake, calls = Fake(True), []

    def make(failures: int, failure: Exception) -> Fake:
        calls.append(failures)
        if len(calls) <= failures:
            raise failure
        return fake

    busy = RuntimeError("Python worker failed to connect back.")
    assert _made(lambda: make(2, busy)) is fake
    calls.clear()
    with pytest.raises(EnvironmentSetupError, match="WORKER_NOT_STARTED"):
        _made(lambda: make(3, busy))
    assert len(calls) == 3
    calls.clear()
    with pytest.raises(PlanError):
        _made(lambda: make(1, PlanError("X", "x")))
    assert len(calls) == 1


def test_a_job_without_spark_is_not_restarted(tmp_path: Path) -> None:
    job = Job(tmp_path, Fake(OSError("x")), strategy=again(5), spark_lives=lambda: False).start()
    error = job.failure()
    assert isinstance(error, EnvironmentSetupError) and error.code == "SPARK_GONE"
    assert job.made == [] and isinstance(error.__cause__, OSError)


def test_a_wait_for_a_restart_can_be_cancelled(tmp_path: Path) -> None:
    slow = RestartStrategies.fixed_delay_restart(5, "1 h")
    job = Job(tmp_path, Fake(OSError("x")), strategy=slow).start()
    found = wait_until(lambda: [r for r in find_jobs(job.directory) if r.status == "RESTARTING"])
    assert job.status is JobStatus.RESTARTING
    assert (found[0].alive, found[0].restarts, found[0].error) == (True, 1, "x")
    job.client.cancel().result(PATIENCE_SECONDS)
    assert job.status is JobStatus.CANCELED and job.made == []


def test_a_new_attempt_that_cannot_be_made_counts_as_a_failure(tmp_path: Path) -> None:
    job = Job(tmp_path, Fake(OSError("first")), Fake(True), strategy=again(2))
    make, problems = job.make, [OSError("cannot begin")]

    def unlucky(run: Run, options: JobOptions) -> Fake:
        if problems:
            raise problems.pop()
        return make(run, options)

    job.body.make = unlucky
    job.start().end()
    assert job.status is JobStatus.FINISHED and job.told["restarts"] == 2


def test_a_job_that_has_lost_its_lease_ends_and_leaves_the_winners_status(
    tmp_path: Path,
) -> None:
    job = Job(tmp_path, Fake(False), strategy=again(5)).start()
    wait_until(lambda: job.told_status == "RUNNING")
    lease = Path(job.directory, "lease", "00000001.json")
    lease.with_name("00000002.json").write_text(lease.read_text())
    error = job.failure()
    assert isinstance(error, CheckpointError) and error.code == "LEASE_LOST"
    assert job.told["status"] == "RUNNING"
    assert job.made == []


@pytest.mark.parametrize(
    ("options", "batch", "described"),
    [
        ({}, False, "no restart"),
        ({"checkpoint_dir": "/c"}, False, "at most 3 restarts, 1 s"),
        ({"checkpoint_dir": "/c"}, True, "no restart"),
        ({"restart": again(4)}, False, "at most 4 restarts"),
        ({"restart": again(4), "checkpoint_dir": "/c"}, True, "no restart"),
        ({"restart": again(0), "checkpoint_dir": "/c"}, False, "at most 0 restarts"),
    ],
)
def test_which_strategy_a_job_has(options: dict[str, Any], batch: bool, described: str) -> None:
    strategy = _strategy(JobOptions(**options), batch)
    assert strategy.get_description().startswith(described)


# -- savepoints -----------------------------------------------------------------------------------


def test_a_savepoint_is_written_while_the_job_goes_on(tmp_path: Path) -> None:
    fake = Fake(False)
    fake.may_write.clear()
    job = Job(tmp_path, fake).start()
    future = job.client.trigger_savepoint("/s")
    wait_until(lambda: "savepoint /s" in fake.calls)
    polled: list[bool] = []
    advance = fake.advance
    fake.advance = lambda: bool(polled.append(True)) or advance()  # type: ignore[method-assign]
    wait_until(lambda: len(polled) > 2)
    assert not future.done()
    fake.may_write.set()
    assert future.result(PATIENCE_SECONDS) == "/made"
    assert job.status is JobStatus.RUNNING
    assert job.client.savepoint() == "/made", "to the default directory"
    assert fake.calls[-1] == f"savepoint {tmp_path}/savepoints"
    job.client.cancel().result(PATIENCE_SECONDS)


def test_a_failed_savepoint_does_not_harm_the_job(tmp_path: Path) -> None:
    fake = Fake(False)
    fake.writes = CheckpointError("NO_ROOM", "no room")
    job = Job(tmp_path, fake).start()
    with pytest.raises(CheckpointError, match="no room"):
        job.client.savepoint("/s")
    assert job.status is JobStatus.RUNNING
    job.client.cancel().result(PATIENCE_SECONDS)
    assert job.status is JobStatus.CANCELED


def test_a_job_whose_input_ends_waits_for_its_savepoint(tmp_path: Path) -> None:
    fake = Fake(False)
    fake.may_write.clear()
    job = Job(tmp_path, fake).start()
    future = job.client.trigger_savepoint("/s")
    wait_until(lambda: "savepoint /s" in fake.calls)
    fake.steps = [True]
    fake.may_write.set()
    job.end()
    assert future.result(PATIENCE_SECONDS) == "/made"
    assert job.status is JobStatus.FINISHED and job.finished


def test_stop_with_savepoint_suspends_and_keeps_the_run(tmp_path: Path) -> None:
    job = Job(tmp_path, fake := Fake(False)).start()
    assert job.client.stop_with_savepoint("/s") == "/made"
    assert fake.calls == ["start", "suspend", "savepoint /s", "stop"]
    assert job.status is JobStatus.FINISHED and job.client.wait(0) is not None
    assert not job.finished, "the run can be resumed"
    assert job.told["status"] == "FINISHED"
    Lease.take(job.directory, "next").check()


@pytest.mark.parametrize("named", [False, True])
def test_stop_with_savepoint_in_pyflinks_form_gives_a_future(tmp_path: Path, named: bool) -> None:
    job = Job(tmp_path, fake := Fake(False)).start()
    stop = job.client.stop_with_savepoint
    if named:
        future = stop(advance_to_end_of_event_time=False, savepoint_directory="/s")
    else:
        future = stop(False, "/s")
    assert future.result(PATIENCE_SECONDS) == "/made"
    job.end()
    assert "savepoint /s" in fake.calls and "drain" not in fake.calls


def test_stop_with_savepoint_takes_the_names_of_its_own_form(tmp_path: Path) -> None:
    job = Job(tmp_path, fake := Fake(False)).start()
    assert job.client.stop_with_savepoint(path="/s", drain=True) == "/made"
    assert "savepoint /s" in fake.calls and "drain" in fake.calls


def test_a_drained_job_ends_before_its_savepoint_and_is_finished(tmp_path: Path) -> None:
    job = Job(tmp_path, fake := Fake(False)).start()
    assert job.client.stop_with_savepoint(drain=True) == "/made"
    assert fake.calls == ["start", "drain", f"savepoint {tmp_path}/savepoints", "stop"]
    assert job.status is JobStatus.FINISHED and job.finished


@pytest.mark.parametrize("drain", [False, True])
def test_a_job_whose_last_savepoint_fails_fails_with_it_and_keeps_its_run(
    tmp_path: Path, drain: bool
) -> None:
    fake = Fake(False)
    fake.writes = OSError("no room")
    job = Job(tmp_path, fake, strategy=again(5)).start()
    with pytest.raises(OSError, match="no room"):
        job.client.stop_with_savepoint("/s", drain=drain)
    assert job.failure() is fake.writes
    assert job.status is JobStatus.FAILED and not job.finished and job.made == []


def test_a_job_that_fails_while_it_is_suspended_is_restarted(tmp_path: Path) -> None:
    fake, second = Fake(False), Fake(True)
    fake.suspends = RuntimeError("in its last epoch")
    job = Job(tmp_path, fake, second, strategy=again(1)).start()
    with pytest.raises(RuntimeError, match="in its last epoch"):
        job.client.stop_with_savepoint("/s")
    job.end()
    assert job.status is JobStatus.FINISHED and job.finished


@pytest.mark.parametrize("stop", [False, True])
def test_cancelling_ends_a_savepoint(tmp_path: Path, stop: bool) -> None:
    fake = Fake(False)
    fake.may_write.clear()
    job = Job(tmp_path, fake).start()
    future = job.client._ask("/s", stop=stop)
    wait_until(lambda: "savepoint /s" in fake.calls)
    job.client.cancel().result(PATIENCE_SECONDS)
    with pytest.raises(CheckpointError) as caught:
        future.result(PATIENCE_SECONDS)
    assert caught.value.code == "SAVEPOINT_ABANDONED"
    assert job.status is JobStatus.CANCELED and not job.finished


def test_a_savepoint_is_answered_when_spark_is_gone(tmp_path: Path) -> None:
    class Gone(Fake):
        def advance(self) -> bool:
            if "savepoint /s" in self.calls:
                raise ConnectionResetError("the JVM was killed")
            return False

        def stop(self) -> None:
            raise ConnectionRefusedError("nobody is there")

    fake = Gone(False)
    fake.may_write.clear()
    job = Job(tmp_path, fake, spark_lives=lambda: False).start()
    with pytest.raises(CheckpointError) as caught:
        job.client.trigger_savepoint("/s").result(PATIENCE_SECONDS)
    assert caught.value.code == "SAVEPOINT_ABANDONED"
    assert "SPARK_GONE" in str(job.failure())


def test_savepoints_wait_for_each_other_and_none_is_forgotten(tmp_path: Path) -> None:
    fake = Fake(False)
    fake.may_write.clear()
    job = Job(tmp_path, fake).start()
    first, second = job.client.trigger_savepoint("/1"), job.client.trigger_savepoint("/2")
    wait_until(lambda: "savepoint /1" in fake.calls)
    assert "savepoint /2" not in fake.calls
    job.client.cancel().result(PATIENCE_SECONDS)
    codes = [future.exception(PATIENCE_SECONDS).code for future in (first, second)]  # type: ignore[union-attr]
    assert codes == ["SAVEPOINT_ABANDONED", "JOB_ENDED"]
    with pytest.raises(CheckpointError) as caught:
        job.client.savepoint("/3")
    assert caught.value.code == "JOB_ENDED"


def test_savepoints_that_cannot_be_are_refused_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        JobClient("0" * 32, EpochTotals()).savepoint()
    assert caught.value.code == "NO_SAVEPOINT_DIRECTORY" and caught.value.hint
    with pytest.raises(CheckpointError) as refused:
        JobClient("0" * 32, EpochTotals(), batch=True).stop_with_savepoint("/s")
    assert refused.value.code == "NO_SAVEPOINT_OF_BATCH"


# -- asked by other processes ---------------------------------------------------------------------


def asked(job: Job, *arguments: Any, **named: Any) -> str | None:
    record = wait_until(lambda: [r for r in find_jobs(job.directory) if r.status == "RUNNING"])[0]
    return request(record, *arguments, timeout=PATIENCE_SECONDS, **named)  # type: ignore[misc]


def test_another_process_can_cancel(tmp_path: Path) -> None:
    job = Job(tmp_path, Fake(False)).start()
    assert asked(job, "cancel") is None
    job.end()
    assert job.status is JobStatus.CANCELED


def test_another_process_can_take_savepoints_and_stop(tmp_path: Path) -> None:
    fake = Fake(False)
    job = Job(tmp_path, fake).start()
    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        seen.append((done, total))
        fake.may_write.set()

    fake.may_write.clear()
    assert asked(job, "savepoint", "/s", on_progress=progress) == "/made"
    assert seen[0] == (1, 2)
    assert asked(job, "stop", None) == "/made"
    Lease.take(job.directory, "who has the answer can start the next").check()
    job.end()
    assert fake.calls[1:3] == ["savepoint /s", "suspend"]
    assert job.status is JobStatus.FINISHED and not job.finished


def test_another_process_hears_why_a_savepoint_failed(tmp_path: Path) -> None:
    fake = Fake(False)
    fake.writes = CheckpointError("NO_ROOM", "no room")
    job = Job(tmp_path, fake).start()
    job.client._savepoint_dir = None
    with pytest.raises(CheckpointError, match="no room"):
        asked(job, "savepoint", "/s")
    with pytest.raises(CheckpointError, match="NO_SAVEPOINT_DIRECTORY"):
        asked(job, "savepoint")
    job.client.cancel().result(PATIENCE_SECONDS)


def wait_until(condition: Callable[[], Any]) -> Any:
    """Wait for what another thread does."""
    pause = threading.Event()
    for _ in range(PATIENCE_SECONDS * 100):
        if found := condition():
            return found
        pause.wait(0.01)
    raise TimeoutError


# -- damaged files --------------------------------------------------------------------------------


class Advances(Fake):
    """Writes an epoch of its query before it fails."""

    job: Job

    def start(self) -> None:
        report = EpochReport()
        self.job.client._totals.add(0, 5, report)


def damaged_job(tmp_path: Path, first: Fake, **changes: Any) -> tuple[Job, Path]:
    """A job with a query whose metadata are cut short."""
    job = Job(tmp_path, first, **changes)
    job.place.manifest["queries"] = [0]
    metadata = Path(job.place.run.query_path(0), "metadata")
    metadata.parent.mkdir(parents=True)
    metadata.write_text("")
    return job, metadata


def test_a_failure_at_the_start_names_the_damaged_file(tmp_path: Path) -> None:
    job, metadata = damaged_job(tmp_path, Fake(RuntimeError("unexpected end")))
    failure = job.start().failure()
    assert "CHECKPOINT_DAMAGED" in str(failure)
    assert str(metadata) in str(failure)


def test_a_failure_of_the_search_does_not_hide_the_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(self: QueryFiles, epoch: int | None = None) -> list[str]:
        raise OSError("the disk is gone")

    monkeypatch.setattr(QueryFiles, "damaged", unreachable)
    fakes = Fake(RuntimeError("true cause")), Fake(RuntimeError("true cause"))
    job, _ = damaged_job(tmp_path, fakes[0], strategy=again(1))
    job.left.append(fakes[1])
    failure = job.start().failure()
    assert "true cause" in str(failure)
    assert len(job.made) == 1, "it was restarted all the same"


def test_a_query_that_has_written_an_epoch_is_not_searched(tmp_path: Path) -> None:
    """Its checkpoint is read when it begins; to look at large state again takes long."""
    job, _ = damaged_job(tmp_path, fake := Advances(RuntimeError("later")))
    fake.job = job
    assert str(job.start().failure()) == "later"


# -- whose folders --------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["", "000001", "000001/job.json"])
def test_a_checkpoint_directory_of_somebody_else_is_not_used(
    tmp_path: Path, foreign: Callable[[Path], None], part: str
) -> None:
    """What is resumed from it is unpickled."""
    job = Job(tmp_path, Fake(RuntimeError("it broke"))).start()
    job.failure()
    foreign(Path(job.directory, part))
    options = JobOptions(checkpoint_dir=job.directory, mode="streaming")
    with pytest.raises(CheckpointError) as caught:
        _open_place(JobGraph(), options, "4.3.0", False)
    assert caught.value.code == "NOT_TRUSTED"
    # Who trusts it comes further: the graph has no sink.
    with pytest.raises(PlanError, match="NO_SINK"):
        _open_place(JobGraph(), replace(options, trust=True), "4.3.0", False)


def test_a_savepoint_of_somebody_else_is_not_used(
    tmp_path: Path, foreign: Callable[[Path], None]
) -> None:
    path = tmp_path / "saved"
    path.mkdir()
    texts: dict[str, Any] = dict.fromkeys(("id", "job_id", "name", "channel_order"), "x")
    parts: dict[str, Any] = {"operators": {}, "states": {}, "sources": {}, "time": {}, "tables": ()}
    Savepoint(path=str(path), epoch=1, created_ms=1, **texts, **parts).write()
    foreign(path)
    options = JobOptions(savepoint_path=str(path), mode="streaming")
    with pytest.raises(CheckpointError) as caught:
        _open_place(JobGraph(), options, "4.3.0", False)
    assert caught.value.code == "NOT_TRUSTED"
    with pytest.raises(PlanError, match="NO_SINK"):
        _open_place(JobGraph(), replace(options, trust=True), "4.3.0", False)


# -- from a savepoint -----------------------------------------------------------------------------


def test_a_start_from_a_savepoint_that_fails_leaves_no_run_to_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Resumed, its sources would begin anew, with the state of the savepoint."""
    path = tmp_path / "saved"
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1, 2]).print()
    path.mkdir()
    texts: dict[str, Any] = dict.fromkeys(("id", "job_id", "name"), "x") | {
        "channel_order": "arrival"
    }
    parts: dict[str, Any] = {"operators": {}, "states": {}, "sources": {}}
    parts |= {"time": {"ended": []}, "tables": ()}
    Savepoint(path=str(path), epoch=1, created_ms=1, **texts, **parts).write()
    directory = tmp_path / "checkpoint"
    options = JobOptions(
        savepoint_path=str(path), checkpoint_dir=str(directory), mode="streaming", trust=True
    )

    def fails(savepoint: Savepoint, run: Run) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="disk full"):
        patch.setattr(job_module, "note_sources", fails)
        _open_place(env._graph, options, "4.3.0", False)
    assert CheckpointFolder(str(directory)).origin().stored is None
    place = _open_place(env._graph, options, "4.3.0", False)
    assert place.run.sources() == {} and Path(place.run.path, "restored/sources.json").exists()
