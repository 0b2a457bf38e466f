"""The registry: what a driver says of itself, and what other processes ask it to do."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millstream.checkpoint import registry
from millstream.checkpoint.lease import Lease
from millstream.checkpoint.registry import Command, JobRecord, Registrar, find_jobs, request
from millstream.common.errors import CheckpointError


def registrar(directory: Path, run: str = "000001", **changes: Any) -> Registrar:
    facts = {"name": "words", "job_id": "0" * 32, "parallelism": 2, "command": ("python", "app.py")}
    (directory / run).mkdir(parents=True, exist_ok=True)
    return Registrar(f"{directory}/{run}", **{**facts, **changes}, now_ms=lambda: 5_000)


def say(one: Registrar, status: str = "RUNNING", **changes: Any) -> None:
    said = {"epoch": 3, "records_in": 30, "records_out": 20, "watermark": 99}
    one.say(status, **{**said, **changes})


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """The checkpoint directory of a job that runs in this process."""
    Lease.take(str(tmp_path / "job"), "me")
    return tmp_path / "job"


@pytest.fixture
def record(directory: Path) -> JobRecord:
    say(registrar(directory))
    return find_jobs(str(directory))[0]


# -- what a driver says ---------------------------------------------------------------------------


def test_a_driver_says_what_its_job_does(directory: Path) -> None:
    say(registrar(directory, ui="http://here:4040"), restarts=2, error="it broke")
    (record,) = find_jobs(str(directory))
    assert record == JobRecord(
        name="words",
        job_id="0" * 32,
        status="RUNNING",
        epoch=3,
        records_in=30,
        records_out=20,
        watermark=99,
        started_ms=5_000,
        updated_ms=5_000,
        pid=os.getpid(),
        host=record.host,
        command=("python", "app.py"),
        error="it broke",
        restarts=2,
        parallelism=2,
        ui="http://here:4040",
        path=f"{directory}/000001",
        directory=str(directory),
        alive=True,
    )
    stored = json.loads((directory / "000001" / "status.json").read_text())
    fields = set(JobRecord.__dataclass_fields__) - {"path", "directory", "alive"}
    assert set(stored) == fields
    assert stored["command"] == ["python", "app.py"]


def test_nothing_is_left_beside_the_status(directory: Path) -> None:
    one = registrar(directory)
    say(one)
    say(one, epoch=4)
    assert [path.name for path in (directory / "000001").iterdir()] == ["status.json"]
    assert find_jobs(str(directory))[0].epoch == 4


@pytest.mark.parametrize("status", ["FINISHED", "CANCELED", "FAILED"])
def test_a_job_that_has_ended_is_not_alive(directory: Path, status: str) -> None:
    say(registrar(directory), status)
    assert not find_jobs(str(directory))[0].alive


def test_a_job_without_a_lease_is_not_alive(tmp_path: Path) -> None:
    say(registrar(tmp_path / "job"))
    assert not find_jobs(str(tmp_path / "job"))[0].alive


def test_a_job_whose_lease_another_process_holds_is_not_alive(directory: Path) -> None:
    say(registrar(directory))
    path = directory / "000001" / "status.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "pid": os.getpid() + 1}))
    assert not find_jobs(str(directory))[0].alive


def test_a_released_job_is_not_alive(tmp_path: Path) -> None:
    lease = Lease.take(str(tmp_path), "me")
    say(registrar(tmp_path))
    lease.release()
    assert not find_jobs(str(tmp_path))[0].alive


# -- finding jobs ---------------------------------------------------------------------------------


def test_jobs_are_found_two_levels_deep(tmp_path: Path) -> None:
    places = ["one", "two", ".millstream/three"]
    for place in places:
        say(registrar(tmp_path / place, name=place))
    say(registrar(tmp_path / "a/b/too-deep"))
    found = find_jobs(str(tmp_path))
    assert sorted(record.name for record in found) == sorted(places)
    assert {record.directory for record in found} == {str(tmp_path / place) for place in places}


def test_all_runs_of_a_job_are_found_in_order(directory: Path) -> None:
    say(registrar(directory, "000002"))
    say(registrar(directory, "000001"), "FINISHED")
    found = find_jobs(str(directory))
    assert [(one.path.rsplit("/", 1)[1], one.alive) for one in found] == [
        ("000001", False),
        ("000002", True),
    ]


def test_runs_without_a_status_and_other_files_are_passed_over(directory: Path) -> None:
    (directory / "000001").mkdir()
    (directory / "000002").mkdir()
    (directory / "000002" / "status.json").write_text('{"name"')
    (directory / "000003").mkdir()
    (directory / "000003" / "status.json").write_text('{"name": "of something else"}')
    (directory / "notes.txt").write_text("x")
    assert find_jobs(str(directory)) == []


def test_nothing_is_found_where_nothing_is(tmp_path: Path) -> None:
    assert find_jobs(str(tmp_path / "nowhere")) == []


# -- requests -------------------------------------------------------------------------------------


class Driver:
    """Answers requests whenever the one who asks has waited a moment."""

    def __init__(self, one: Registrar, *turns: Callable[[Command], None]) -> None:
        self.registrar = one
        self.turns = list(turns)
        self.heard: list[Command] = []

    def turn(self, seconds: float) -> None:
        self.heard += self.registrar.commands()
        if self.turns:
            self.turns.pop(0)(self.heard[0])


def test_a_request_is_heard_once_and_answered(record: JobRecord) -> None:
    one = registrar(Path(record.directory))
    driver = Driver(one, lambda command: one.answer(command.id, "done", result="/s/1"))
    found = request(record, "stop", "relative/path", drain=True, wait=driver.turn)
    assert found == "/s/1"
    (command,) = driver.heard
    assert (command.command, command.drain) == ("stop", True)
    assert command.path == os.path.abspath("relative/path"), "the driver has another directory"
    assert one.commands() == []
    left = [path for path in Path(record.path).rglob("*") if path.is_file()]
    assert [path.name for path in left] == ["status.json"], "nothing is left of a request"


def test_a_uri_is_passed_on_as_it_is(record: JobRecord) -> None:
    one = registrar(Path(record.directory))
    driver = Driver(one, lambda command: one.answer(command.id, "done"))
    assert request(record, "savepoint", "s3a://b/s", wait=driver.turn) is None
    assert driver.heard[0].path == "s3a://b/s"


def test_progress_is_passed_on_as_it_changes(record: JobRecord) -> None:
    one = registrar(Path(record.directory))
    seen: list[Any] = []
    driver = Driver(
        one,
        lambda command: one.answer(command.id, "running", progress=(10, 40)),
        lambda command: None,
        lambda command: one.answer(command.id, "running", progress=(40, 40)),
        lambda command: one.answer(command.id, "done", result="x"),
    )
    request(record, "savepoint", "/s", on_progress=lambda *p: seen.append(p), wait=driver.turn)
    assert seen == [(10, 40), (40, 40)]


def test_a_request_that_fails_raises_the_drivers_error(record: JobRecord) -> None:
    one = registrar(Path(record.directory))
    driver = Driver(one, lambda command: one.answer(command.id, "failed", error="[X] no room"))
    with pytest.raises(CheckpointError) as caught:
        request(record, "savepoint", "/s", wait=driver.turn)
    assert caught.value.code == "REQUEST_FAILED"
    assert "[X] no room" in str(caught.value)


def test_a_job_that_does_not_run_is_not_asked(tmp_path: Path) -> None:
    say(registrar(tmp_path), "FINISHED")
    (record,) = find_jobs(str(tmp_path))
    with pytest.raises(CheckpointError) as caught:
        request(record, "cancel", wait=lambda seconds: None)
    assert caught.value.code == "JOB_NOT_RUNNING"
    assert not (tmp_path / "000001" / "commands").exists()


def test_a_driver_that_dies_is_not_waited_for(record: JobRecord, tmp_path: Path) -> None:
    def dies(seconds: float) -> None:
        for lease in (Path(record.directory) / "lease").iterdir():
            lease.write_text(json.dumps({**json.loads(lease.read_text()), "released": True}))

    with pytest.raises(CheckpointError) as caught:
        request(record, "savepoint", "/s", wait=dies)
    assert caught.value.code == "JOB_NOT_RUNNING"


def test_the_answer_of_a_driver_that_has_just_ended_counts(record: JobRecord) -> None:
    """It gives the directory up first: who has the answer can start the next one."""
    one = registrar(Path(record.directory))
    driver = Driver(
        one,
        lambda command: say(one, "FINISHED"),
        lambda command: None,
        lambda command: one.answer(command.id, "done", result="/s/1"),
    )
    assert request(record, "stop", "/s", wait=driver.turn) == "/s/1"


def test_a_driver_that_does_not_answer_is_given_up_and_the_request_taken_back(
    record: JobRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    with pytest.raises(CheckpointError) as caught:
        request(record, "cancel", timeout=3, wait=waited.append)
    assert caught.value.code == "NO_ANSWER"
    assert sum(waited) == pytest.approx(3, abs=registry.FOLLOW_SECONDS)
    assert registrar(Path(record.directory)).commands() == []


def test_progress_keeps_a_request_waiting(record: JobRecord) -> None:
    """The time limit is for silence: a large savepoint takes longer."""
    one = registrar(Path(record.directory))
    steps = int(5 / registry.FOLLOW_SECONDS)
    turns = [
        lambda command, n=n: one.answer(command.id, "running", progress=(n, steps))
        for n in range(steps)
    ]
    driver = Driver(one, *turns, lambda command: one.answer(command.id, "done", result="x"))
    assert request(record, "savepoint", "/s", timeout=1, wait=driver.turn) == "x"


def test_an_unknown_command_is_refused(record: JobRecord) -> None:
    with pytest.raises(ValueError, match="pause"):
        request(record, "pause")


def test_what_was_asked_of_an_earlier_driver_is_forgotten(directory: Path) -> None:
    commands = directory / "000001" / "commands"
    commands.mkdir(parents=True)
    content = {"id": "old", "command": "cancel", "path": None, "drain": False}
    (commands / "old.json").write_text(json.dumps(content))
    assert registrar(directory).commands() == []


def test_a_command_that_makes_no_sense_is_answered_as_failed(directory: Path) -> None:
    one = registrar(directory)
    commands = directory / "000001" / "commands"
    commands.mkdir()
    (commands / "1.json").write_text(json.dumps({"id": "1", "command": "dance"}))
    assert one.commands() == []
    answer = json.loads((directory / "000001" / "answers" / "1.json").read_text())
    assert (answer["state"], "dance" in answer["error"]) == ("failed", True)


def test_request_waits_by_the_clock_unless_told_otherwise(record: JobRecord) -> None:
    one = registrar(Path(record.directory))
    stop = threading.Event()

    def serve() -> None:
        while not stop.wait(0.01):
            for command in one.commands():
                one.answer(command.id, "done", result="ok")

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        assert request(record, "savepoint", "/s", timeout=30) == "ok"
    finally:
        stop.set()
        thread.join()
