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
from millstream.checkpoint.lease import LEASE_SECONDS, Lease, LeaseClock
from millstream.checkpoint.registry import (
    BAD,
    Command,
    JobRecord,
    Registrar,
    find_jobs,
    known,
    request,
)
from millstream.common.errors import CheckpointError
from millstream.metrics import (
    EpochMetrics,
    JobMetrics,
    MeterMetrics,
    OperatorMetrics,
    SinkMetrics,
    SourceMetrics,
    StateMetrics,
    Summary,
)

Foreign = Callable[[Path], None]


def registrar(directory: Path, run: str = "000001", **changes: Any) -> Registrar:
    facts = {"name": "words", "job_id": "0" * 32, "parallelism": 2, "command": ("python", "app.py")}
    (directory / run).mkdir(parents=True, exist_ok=True)
    return Registrar(f"{directory}/{run}", **{**facts, **changes}, now_ms=lambda: 5_000)


METRICS = JobMetrics(
    sources={"lines": SourceMetrics(uid="lines", name="Lines", read=30, rate=1.5)},
    operators={
        "count": OperatorMetrics(
            uid="count",
            name="Count",
            watermark=99,
            state=StateMetrics(3, 1, 200),
            counters={"seen": 5},
            gauges={"open": Summary(2, 3, 1, 2)},
            meters={"hits": MeterMetrics(4, 0.5)},
        )
    },
    sinks={"out": SinkMetrics(uid="out", name="Print", written=20)},
    epochs=(EpochMetrics(query=0, number=3, tasks_ms=12),),
)


def say(one: Registrar, status: str = "RUNNING", **changes: Any) -> None:
    one.say(status, METRICS, **changes)


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
        metrics=METRICS,
    )
    stored = json.loads((directory / "000001" / "status.json").read_text())
    found = {"path", "directory", "alive", "problem", "distrust"}
    fields = set(JobRecord.__dataclass_fields__) - found
    assert set(stored) == fields
    assert stored["command"] == ["python", "app.py"]


def test_nothing_is_left_beside_the_status(directory: Path) -> None:
    one = registrar(directory)
    say(one)
    one.say("RUNNING", JobMetrics(epochs=(EpochMetrics(query=0, number=4),)))
    left = [path for path in (directory / "000001").rglob("*") if path.is_file()]
    assert [path.name for path in left] == ["status.json"]
    assert find_jobs(str(directory))[0].epoch == 4


def with_metrics(directory: Path, change: Callable[[Any], Any]) -> JobRecord:
    """A job whose status has other metrics than it wrote."""
    say(registrar(directory))
    path = directory / "000001" / "status.json"
    stored = json.loads(path.read_text())
    stored["metrics"] = change(stored["metrics"])
    path.write_text(json.dumps(stored))
    (record,) = find_jobs(str(directory))
    return record


@pytest.mark.parametrize("change", [lambda told: None, lambda told: {**told, "version": 99}])
def test_metrics_of_another_version_are_not_read(
    directory: Path, change: Callable[[Any], Any]
) -> None:
    record = with_metrics(directory, change)
    assert (record.status, record.epoch, record.metrics) == ("RUNNING", 3, None)


def test_metrics_that_make_no_sense_are_a_problem(directory: Path) -> None:
    record = with_metrics(directory, lambda told: {**told, "sources": {"lines": {"read": "x"}}})
    assert record.status == BAD and record.problem is not None and "read" in record.problem


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
    (directory / "notes.txt").write_text("x")
    assert find_jobs(str(directory)) == []


GOOD = {"name": "words", "job_id": "0" * 32, "status": "RUNNING"}


@pytest.mark.parametrize(
    "text",
    [
        '{"name"',
        "[]",
        "[" * 100_000,
        '{"name": "of something else"}',
        json.dumps({**GOOD, "job_id": "$(touch x)"}),
        json.dumps({**GOOD, "status": ["RUNNING"]}),
        json.dumps({**GOOD, "status": "DANCING"}),
        json.dumps({**GOOD, "epoch": "7"}),
        json.dumps({**GOOD, "started_ms": 1e300}),
        json.dumps({**GOOD, "started_ms": 10**400}),
        json.dumps({**GOOD, "command": "rm -rf /"}),
        json.dumps({**GOOD, "command": ["app.py", 7]}),
        json.dumps({**GOOD, "name": None}),
        json.dumps({**GOOD, "pid": -1}),
    ],
)
def test_a_bad_status_is_a_record_of_its_own(directory: Path, text: str) -> None:
    """It does not keep other runs from being found."""
    say(registrar(directory))
    (directory / "000002").mkdir()
    (directory / "000002" / "status.json").write_text(text)
    good, bad = find_jobs(str(directory))
    assert (good.problem, good.alive) == (None, True)
    assert (bad.status, bad.alive, bad.path) == ("BAD", False, f"{directory}/000002")
    assert bad.problem is not None
    assert bad.problem.startswith("status.json: ")


@pytest.mark.parametrize("kind", ["link", "folder", "fifo"])
def test_a_status_is_a_plain_file(directory: Path, kind: str) -> None:
    """A link may lead to a secret, and who opens a fifo waits for ever."""
    (directory / "000001").mkdir()
    path = directory / "000001" / "status.json"
    if kind == "link":
        (directory / "elsewhere").write_text(json.dumps(GOOD))
        path.symlink_to(directory / "elsewhere")
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    (record,) = find_jobs(str(directory))
    assert record.status == "BAD"


@pytest.mark.parametrize("text", ["{}", "[]", '{"holder": 7, "host": []}', None])
def test_a_bad_lease_breaks_its_own_record(directory: Path, text: str | None) -> None:
    """Nor does anybody wait for a fifo in its place."""
    say(registrar(directory))
    for lease in (directory / "lease").iterdir():
        if text is None:
            lease.unlink()
            os.mkfifo(lease)
        else:
            lease.write_text(text)
    (record,) = find_jobs(str(directory))
    assert not record.alive


def test_folders_that_may_not_be_read_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a shared root every user has folders that others cannot look into."""
    say(registrar(tmp_path / "mine"))
    (tmp_path / "other").mkdir()
    scandir = os.scandir

    def refuse(path: str) -> Any:
        if str(path).endswith("/other"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert [record.directory for record in find_jobs(str(tmp_path))] == [str(tmp_path / "mine")]


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
    assert list((tmp_path / "000001" / "commands").iterdir()) == []


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
    (commands / "1.json").write_text(json.dumps({"id": "1", "command": "dance"}))
    assert one.commands() == []
    answer = json.loads((directory / "000001" / "answers" / "1.json").read_text())
    assert (answer["state"], "dance" in answer["error"]) == ("failed", True)


CANCEL = {"id": "bad", "command": "cancel", "path": None, "drain": False}


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"id": "bad"',
        "[]",
        "{}",
        json.dumps({"command": "cancel"}),
        json.dumps({"id": "bad"}),
        json.dumps({**CANCEL, "command": ["cancel"]}),
        json.dumps({**CANCEL, "path": {"a": 1}}),
        json.dumps({**CANCEL, "drain": "yes"}),
        json.dumps({**CANCEL, "id": "../../../escaped"}),
        json.dumps({**CANCEL, "id": "other"}),
        json.dumps({**CANCEL, "id": "x" * 100}),
    ],
)
def test_a_bad_command_is_set_aside_and_others_are_heard(
    directory: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    one = registrar(directory)
    commands = directory / "000001" / "commands"
    (commands / "bad.json").write_text(text)
    (commands / "good.json").write_text(json.dumps({**CANCEL, "id": "good"}))
    assert [command.id for command in one.commands()] == ["good"]
    assert [path.name for path in commands.iterdir()] == [".rejected-bad.json"]
    assert "bad.json' is set aside" in caplog.text
    assert one.commands() == []
    files = {path.name for path in directory.parent.rglob("*") if path.is_file()}
    assert not any("escaped" in name for name in files), "nothing is written outside the run"


def test_what_is_no_file_among_commands_does_not_end_the_job(directory: Path) -> None:
    commands = directory / "000001" / "commands"
    (commands / "folder.json").mkdir(parents=True)
    one = registrar(directory)
    (commands / "another.json").mkdir()
    os.mkfifo(commands / "fifo.json")
    (commands / "link.json").symlink_to("/etc/passwd")
    os.close(os.open(bytes(commands) + b"/\xff\x1b[31m.json", os.O_CREAT | os.O_WRONLY))
    assert one.commands() == []
    assert all(path.name.startswith(".rejected-") for path in commands.iterdir())


def test_a_bad_command_with_a_long_name_is_set_aside(directory: Path) -> None:
    """Else it is read, and logged, every time."""
    one = registrar(directory)
    commands = directory / "000001" / "commands"
    (commands / ("x" * 250 + ".json")).write_text("bad")
    assert one.commands() == []
    assert [path.name[:10] for path in commands.iterdir()] == [".rejected-"]


def test_commands_of_other_users_are_set_aside(directory: Path, foreign: Foreign) -> None:
    one = registrar(directory)
    commands = directory / "000001" / "commands"
    for name in ("theirs", "open"):
        (commands / f"{name}.json").write_text(json.dumps({**CANCEL, "id": name}))
    (commands / "open.json").chmod(0o666)
    foreign(commands / "theirs.json")
    assert one.commands() == []
    assert {path.name for path in commands.iterdir()} == {
        ".rejected-theirs.json",
        ".rejected-open.json",
    }


@pytest.mark.skipif(os.getuid() != 0, reason="only root can ask the job of another user")
def test_a_request_of_root_belongs_to_the_user_of_the_job(
    record: JobRecord, foreign: Foreign
) -> None:
    commands = Path(record.path) / "commands"
    foreign(commands)
    owners: list[int] = []

    def look(seconds: float) -> None:
        owners.extend(path.stat().st_uid for path in commands.iterdir())

    with pytest.raises(CheckpointError, match="NO_ANSWER"):
        request(record, "cancel", timeout=registry.FOLLOW_SECONDS, wait=look)
    assert set(owners) == {commands.stat().st_uid} != {0}


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_root_does_not_give_away_what_a_link_leads_to(
    record: JobRecord, foreign: Foreign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner of the folder can put a link into the place of a file at any time."""
    of_root = tmp_path / "of-root"
    of_root.touch()
    commands = Path(record.path) / "commands"
    foreign(commands)
    write = registry.write_json  # type: ignore[attr-defined]

    def written_and_swapped(fs: Any, path: str, content: Any) -> None:
        write(fs, path, content)
        if Path(path).parent == commands:
            Path(path).unlink()
            Path(path).symlink_to(of_root)

    monkeypatch.setattr(registry, "write_json", written_and_swapped)
    with pytest.raises(CheckpointError, match="NO_ANSWER"):
        request(record, "cancel", timeout=0.2, wait=lambda seconds: None)
    assert of_root.stat().st_uid == 0


def test_a_request_that_is_taken_back_while_it_is_read_is_not_heard(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = registrar(directory)
    path = directory / "000001" / "commands" / "a.json"
    path.write_text(json.dumps({"id": "a", "command": "cancel"}))
    path.chmod(0o600)
    read = registry._read_command

    def read_and_taken_back(fs: Any, place: str) -> Command | None:
        command = read(fs, place)
        path.unlink()
        return command

    monkeypatch.setattr(registry, "_read_command", read_and_taken_back)
    assert one.commands() == []


def test_an_answer_that_makes_no_sense_is_an_error(record: JobRecord) -> None:
    def answers(seconds: float) -> None:
        (posted,) = (Path(record.path) / "commands").iterdir()
        (Path(record.path) / "answers" / posted.name).write_text('{"state": "dancing"}')

    with pytest.raises(CheckpointError) as caught:
        request(record, "cancel", wait=answers)
    assert caught.value.code == "BAD_ANSWER"


# -- rights ---------------------------------------------------------------------------------------


def test_all_that_a_driver_writes_is_its_own(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Lease.take(str(tmp_path / "root/job"), "me")
        one = registrar(tmp_path / "root/job")
        say(one)
        one.answer("1", "done")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o7777 for path in (tmp_path / "root").rglob("*")}
    modes["root"] = (tmp_path / "root").stat().st_mode & 0o7777
    del modes["000001"]  # The fixture makes it.
    assert modes == {
        "root": 0o700, "job": 0o700, "lease": 0o700, "00000001.json": 0o600, "status.json": 0o600,
        "commands": 0o700, "answers": 0o700, "1.json": 0o600,
    }  # fmt: skip


def test_a_record_says_why_it_is_not_trusted(directory: Path, foreign: Foreign) -> None:
    say(registrar(directory))
    assert find_jobs(str(directory))[0].distrust is None
    (directory / "000001").chmod(0o777)
    (record,) = find_jobs(str(directory))
    assert record.distrust == f"{directory}/000001 can be written to by everybody"
    (directory / "000001").chmod(0o700)
    foreign(directory / "000001" / "status.json")
    assert "status.json belongs to user" in str(find_jobs(str(directory))[0].distrust)


def test_a_run_with_a_manifest_of_somebody_else_is_not_trusted(
    directory: Path, foreign: Foreign
) -> None:
    say(registrar(directory))
    manifest = directory / "000001" / "job.json"
    manifest.touch()
    assert find_jobs(str(directory))[0].distrust is None
    foreign(manifest)
    assert "belongs to user" in str(find_jobs(str(directory))[0].distrust)


def test_secrets_of_the_command_are_not_written_down(directory: Path) -> None:
    say(registrar(directory, command=("app.py", "--password", "hunter2", "-D", "x.token=hunter2")))
    assert "hunter2" not in (directory / "000001" / "status.json").read_text()
    assert find_jobs(str(directory))[0].command == (
        "app.py", "--password", "*****", "-D", "x.token=*****",
    )  # fmt: skip


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


# -- drivers on other hosts -----------------------------------------------------------------------

HOUR_MS = 3_600_000


class OtherHost(LeaseClock):
    """A driver on another host, whose time of day is wrong; time passes when somebody waits for it."""

    def __init__(self, directory: Path, ahead_ms: int, *, renews: bool) -> None:
        self.lease = directory / "lease" / "00000001.json"
        self.renews, self.passed, self.ahead_ms = renews, 0.0, ahead_ms
        say(registrar(directory))
        status = directory / "000001" / "status.json"
        for path in (status, self.lease):
            path.write_text(json.dumps({**json.loads(path.read_text()), "host": "elsewhere"}))
        self.renew()

    def renew(self) -> None:
        content = json.loads(self.lease.read_text())
        now_ms = self.wall_ms() + self.ahead_ms
        self.lease.write_text(json.dumps({**content, "renewed_ms": now_ms}))

    def seconds(self) -> float:
        return self.passed

    def wait(self, seconds: float) -> None:
        self.passed += seconds
        if self.renews:
            self.renew()


@pytest.mark.parametrize("ahead_ms", [0, HOUR_MS, -HOUR_MS])
@pytest.mark.parametrize("renews", [True, False])
def test_whether_a_driver_on_another_host_lives_is_watched(
    directory: Path, ahead_ms: int, renews: bool
) -> None:
    """The time of day of another machine may be wrong: a command would refuse a job that runs."""
    driver = OtherHost(directory, ahead_ms, renews=renews)
    (record,) = find_jobs(str(directory))
    assert known(record, driver).alive == renews
    assert driver.passed < LEASE_SECONDS if renews else driver.passed >= LEASE_SECONDS


def test_a_job_that_has_ended_is_not_watched(directory: Path) -> None:
    driver = OtherHost(directory, 0, renews=False)
    say(registrar(directory), "FINISHED")
    assert not known(find_jobs(str(directory))[0], driver).alive
    assert driver.passed == 0


def test_a_request_to_a_driver_whose_time_of_day_is_behind_is_answered(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = OtherHost(directory, -HOUR_MS, renews=True)
    monkeypatch.setattr("millstream.checkpoint.lease.LeaseClock", lambda: driver)
    (record,) = find_jobs(str(directory))
    assert not record.alive, "at one look"
    one = registrar(directory)
    # It works for longer than a driver that has ended is waited for.
    turns = [lambda command: None] * int(2 * registry.LAST_WORD_SECONDS / registry.FOLLOW_SECONDS)
    work = Driver(one, *turns, lambda command: one.answer(command.id, "done", result="/sp"))

    def wait(seconds: float) -> None:
        driver.wait(seconds)
        work.turn(seconds)

    assert request(record, "savepoint", wait=wait) == "/sp"
