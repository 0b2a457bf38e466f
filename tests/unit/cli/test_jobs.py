"""Commands on jobs: what they ask of whom, what they print, and what they end with."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from millstream.checkpoint.registry import JobRecord
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
from tests.support.cli.fakes import Json, Registry, Run, Savepoints, make_record

ONE, TWO = make_record(1), make_record(2)
DEAD = replace(TWO, alive=False)
FINISHED = replace(TWO, alive=False, status="FINISHED")


# -- list and info ---------------------------------------------------------------------------------


def test_list_shows_a_line_for_each_job_the_latest_first(registry: Registry, run: Run) -> None:
    registry.jobs = [ONE, DEAD]
    code, out, err = run("list")
    head, second, first = out.splitlines()
    assert (code, err) == (0, "")
    assert head.split() == [
        "JOB", "NAME", "STATUS", "EPOCH", "IN", "OUT", "STARTED", "UPDATED", "DIRECTORY",
    ]  # fmt: skip
    assert second.split()[:6] == ["2" * 12, "job-2", "DEAD", "7", "12,000", "300"]
    assert first.split()[:3] == ["1" * 12, "job-1", "RUNNING"]
    assert " ago " in first
    assert registry.roots == [".millstream"]


def test_list_looks_where_it_is_told(registry: Registry, run: Run) -> None:
    assert run("list", "s3://bucket/jobs")[:2] == (0, "No jobs under s3://bucket/jobs.\n")
    run("--root", "there", "list")
    run("list", "--root", "elsewhere")
    assert registry.roots == ["s3://bucket/jobs", "there", "elsewhere"]


def test_list_has_of_each_job_the_last_run_or_all(registry: Registry, run: Run) -> None:
    earlier = replace(FINISHED, job_id="f" * 32)
    registry.jobs = [earlier, replace(TWO, path="/jobs/2/000002")]
    assert run("list", "--quiet")[1] == "2" * 32 + "\n"
    assert sorted(run("list", "--quiet", "--all")[1].split()) == ["2" * 32, "f" * 32]


def test_list_can_leave_out_what_does_not_run(registry: Registry, run: Run) -> None:
    registry.jobs = [ONE, DEAD]
    assert run("list", "--running", "--quiet")[1] == "1" * 32 + "\n"


def test_list_as_json_has_all_of_the_records(registry: Registry, run_json: Json) -> None:
    registry.jobs = [replace(ONE, command=("app.py", "x")), DEAD]
    code, data = run_json("list")
    assert code == 0
    dead, one = data["jobs"]
    assert set(one) == {*JobRecord.__dataclass_fields__, "state"}
    assert (one["status"], one["state"], one["alive"]) == ("RUNNING", "RUNNING", True)
    assert one["command"] == ["app.py", "x"]
    assert (dead["status"], dead["state"], dead["alive"]) == ("RUNNING", "DEAD", False)
    assert run_json("list", "--running")[1]["jobs"][0]["job_id"] == "1" * 32


def test_info_tells_all_that_is_known(registry: Registry, run: Run, run_json: Json) -> None:
    registry.jobs = [replace(ONE, error="[USER_CODE] broken\n  at app.py:3", ui="http://here:4040")]
    code, out, _ = run("info", "job-1")
    assert code == 0
    told = {line[:11].strip(): line[13:] for line in out.splitlines()}
    assert told["job"] == "1" * 32
    assert told["process"] == "4001 on here"
    assert told["Spark UI"] == "http://here:4040"
    assert told["error"] == "[USER_CODE] broken"
    assert "               at app.py:3" in out.splitlines()
    assert run_json("info", "job-1")[1]["job"]["epoch"] == 7
    assert run("--quiet", "info", "job-1")[1] == "RUNNING\n"


METRICS = JobMetrics(
    sources={"in": SourceMetrics(uid="in", name="Lines", read=12_000, rate=99.6, backlog=5)},
    operators={
        "one": OperatorMetrics(
            uid="one",
            name="Keyed Process",
            records_in=4_000,
            records_out=30,
            late=2,
            skipped=1,
            watermark=0,
            state=StateMetrics(keys=7, timers=3, bytes=1_500),
            counters={"words": 8},
            gauges={"open": Summary(2, 3, 1, 2)},
            meters={"hits": MeterMetrics(40, 2.5)},
        ),
        "two": OperatorMetrics(uid="two", name="Keyed Process"),
    },
    sinks={"out": SinkMetrics(uid="out", name="Print", written=300, counters={"rows\x1b": 9})},
    epochs=(EpochMetrics(query=0, number=7, total_ms=820, tasks_ms=487),),
)


def test_info_shows_the_metrics_of_each_part(registry: Registry, run: Run, run_json: Json) -> None:
    registry.jobs = [replace(ONE, metrics=METRICS)]
    lines = [line.split() for line in run("info", "job-1")[1].splitlines()]
    assert ["in", "Lines", "12,000", "100/s", "5"] in lines
    counts = ["4,000", "30", "2", "1", "7", "3", "1.5", "kB"]
    assert ["one", "Keyed", "Process", *counts] in [line[:11] for line in lines]
    assert ["two", "Keyed", "Process", "0", "0", "0", "0", "-", "-", "-", "-"] in lines
    assert ["out", "Print", "300"] in lines
    assert ["0", "7", "820", "-", "-", "-", "487", "-", "-"] in lines
    assert ["one", "words", "8"] in lines and ["one", "hits", "40,", "2.5/s"] in lines
    assert ["one", "open", "1", "to", "2,", "mean", "1.5", "of", "2"] in lines
    assert ["out", "rows\\x1b", "9"] in lines
    told = run_json("info", "job-1")[1]["job"]["metrics"]
    assert JobMetrics.from_dict(told) == METRICS


# -- which job -------------------------------------------------------------------------------------


@pytest.mark.parametrize("job", ["1" * 32, "11", "job-1"])
def test_a_job_is_found_by_id_prefix_and_name(registry: Registry, run_json: Json, job: str) -> None:
    registry.jobs = [ONE, TWO]
    assert run_json("info", job)[1]["job"]["job_id"] == "1" * 32


def test_a_job_is_found_by_its_directory_and_its_run(
    tmp_path: Path, registry: Registry, run_json: Json
) -> None:
    directory = str(tmp_path / "words")
    runs = [f"{directory}/{number}" for number in ("000001", "000002")]
    for path in runs:
        Path(path).mkdir(parents=True)
    registry.jobs = [
        replace(FINISHED, directory=directory, path=runs[0]),
        replace(ONE, directory=directory, path=runs[1]),
    ]
    assert run_json("info", directory)[1]["job"]["path"] == runs[1]
    assert run_json("info", runs[0])[1]["job"]["path"] == runs[0]
    assert run_json("info", f"{runs[0]}/")[1]["job"]["status"] == "FINISHED"


def test_a_name_of_several_jobs_is_refused_with_a_list_of_them(
    registry: Registry, run: Run
) -> None:
    registry.jobs = [ONE, replace(TWO, name="job-1")]
    code, out, err = run("cancel", "job-1")
    assert (code, out) == (2, "")
    assert "[AMBIGUOUS_JOB] 'job-1' fits 2 jobs" in err
    assert "1" * 32 in err
    assert "2" * 32 in err
    assert registry.requests == []


def test_several_runs_of_one_directory_are_one_name(registry: Registry, run_json: Json) -> None:
    registry.jobs = [replace(FINISHED, job_id="f" * 32), replace(TWO, path="/jobs/2/000002")]
    assert run_json("info", "job-2")[1]["job"]["path"] == "/jobs/2/000002"
    assert run_json("info", "ffff")[1]["job"]["path"] == "/jobs/2/000001"


def test_a_job_that_is_not_there_ends_with_3(registry: Registry, run: Run, run_json: Json) -> None:
    code, _, err = run("info", "words")
    assert code == 3
    assert err.startswith("millstream: [NO_SUCH_JOB] there is no job 'words' under .millstream")
    assert "Traceback" not in err
    code, data = run_json("info", "words")
    assert (code, data["exit_code"], data["error"]["code"]) == (3, 3, "NO_SUCH_JOB")


# -- cancel and stop -------------------------------------------------------------------------------


def test_cancel_asks_the_job(registry: Registry, run: Run, run_json: Json) -> None:
    registry.jobs = [ONE]
    assert run("cancel", "job-1")[0] == 0
    assert run_json("cancel", "1")[1] == {"job_id": "1" * 32, "status": "CANCELED"}
    assert registry.requests == [("1" * 32, "cancel", None, False)] * 2


def test_commands_go_by_the_watched_lease_and_not_by_one_look(
    registry: Registry, savepoints: Savepoints, run: Run
) -> None:
    """One look compares the times of day of two hosts, and one of them may be wrong."""
    registry.jobs = [ONE, DEAD]
    registry.watched = {ONE.path: False, DEAD.path: True}
    assert run("cancel", "job-1")[0] == 4
    assert run("cancel", "job-2")[0] == 0
    assert run("savepoint", "job-1", "/sp")[0] == 0
    assert registry.requests == [("2" * 32, "cancel", None, False)]
    assert [call[0] for call in savepoints.calls] == ["take_offline"]


@pytest.mark.parametrize("command", ["cancel", "stop"])
def test_what_does_not_run_cannot_be_stopped(registry: Registry, run: Run, command: str) -> None:
    registry.jobs = [DEAD]
    code, _, err = run(command, "job-2")
    assert code == 4
    assert "[JOB_NOT_RUNNING]" in err
    assert "it is DEAD" in err
    assert registry.requests == []


def test_stop_gives_the_path_of_the_savepoint(
    registry: Registry, run: Run, run_json: Json, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    registry.jobs = [ONE]
    code, out, err = run("stop", "job-1", "--savepoint-path", "sp")
    assert (code, out.splitlines()[-1].strip()) == (0, f"{tmp_path}/sp")
    assert err == f"Stopping job {ONE.job_id} (job-1) with a savepoint ...\n"
    assert run("--quiet", "stop", "job-1", "-p", "hdfs://n/sp", "-d") == (0, "hdfs://n/sp\n", "")
    data = run_json("stop", "job-1")[1]
    assert data == {"job_id": "1" * 32, "savepoint": "/sp/default", "drained": False}
    assert [request[1:] for request in registry.requests] == [
        ("stop", f"{tmp_path}/sp", False),
        ("stop", "hdfs://n/sp", True),
        ("stop", None, False),
    ]


def test_what_the_job_refuses_ends_with_1(registry: Registry, run: Run) -> None:
    def refuse() -> None:
        raise CheckpointError("REQUEST_FAILED", "the disk is full")

    registry.jobs, registry.on_request = [ONE], refuse
    assert run("stop", "job-1")[::2] == (
        1,
        f"Stopping job {ONE.job_id} (job-1) with a savepoint ...\n"
        "millstream: [REQUEST_FAILED] the disk is full\n",
    )
    code, _, err = run("--debug", "stop", "job-1")
    assert code == 1
    assert "Traceback" in err


def test_a_job_that_ends_meanwhile_is_in_the_wrong_state(registry: Registry, run: Run) -> None:
    def refuse() -> None:
        raise CheckpointError("JOB_NOT_RUNNING", "it has just ended")

    registry.jobs, registry.on_request = [ONE], refuse
    assert run("cancel", "job-1")[0] == 4


def test_an_interrupted_command_ends_with_130(registry: Registry, run: Run) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    registry.jobs, registry.on_request = [ONE], interrupt
    assert run("cancel", "job-1")[0] == 130


# -- savepoints ------------------------------------------------------------------------------------


def test_a_savepoint_of_a_running_job_is_asked_for(registry: Registry, run_json: Json) -> None:
    registry.jobs = [ONE]
    assert run_json("savepoint", "job-1", "/sp") == (
        0,
        {"job_id": "1" * 32, "savepoint": "/sp", "epoch": None},
    )
    assert run_json("savepoint", "job-1")[1]["savepoint"] == "/sp/default"
    assert [request[1:] for request in registry.requests] == [
        ("savepoint", "/sp", False),
        ("savepoint", None, False),
    ]


def test_a_savepoint_of_a_dead_job_is_made_of_its_checkpoint(
    registry: Registry, savepoints: Savepoints, run: Run
) -> None:
    registry.jobs = [DEAD]
    assert run("--quiet", "savepoint", "job-2", "/sp", "--epoch", "5") == (0, "/sp\n", "")
    assert savepoints.calls == [("take_offline", "spark", "/jobs/2/000001", "/sp", 5)]
    assert run("--quiet", "savepoint", "job-2")[1] == "/jobs/2/savepoints\n"
    assert registry.requests == []


def test_an_epoch_of_a_running_job_and_a_finished_job_are_the_wrong_state(
    registry: Registry, savepoints: Savepoints, run: Run
) -> None:
    registry.jobs = [ONE, FINISHED]
    code, _, err = run("savepoint", "job-1", "/sp", "--epoch", "5")
    assert code == 4
    assert "[JOB_RUNNING]" in err
    code, _, err = run("savepoint", "job-2", "/sp")
    assert code == 4
    assert "[JOB_FINISHED]" in err
    assert (registry.requests, savepoints.calls) == ([], [])


def test_dispose_deletes_a_savepoint(
    savepoints: Savepoints, run: Run, run_json: Json, tmp_path: Path
) -> None:
    assert run_json("savepoint", "dispose", str(tmp_path)) == (0, {"disposed": str(tmp_path)})
    assert savepoints.calls == [("dispose", str(tmp_path))]
    code, _, err = run("savepoint", "dispose", str(tmp_path / "none"))
    assert code == 3
    assert "[NO_SUCH_SAVEPOINT]" in err
    code, _, err = run("savepoint", "dispose")
    assert code == 2
    assert "dispose needs the path" in err


def test_checkpoint_list_shows_what_is_kept(
    registry: Registry, savepoints: Savepoints, run: Run, run_json: Json
) -> None:
    registry.jobs = [DEAD]
    savepoints.epochs = [
        {"epoch": 8, "query": 0, "committed_ms": 1_700_000_000_000, "bytes": 2_500_000},
        {"epoch": 7, "query": 0, "committed_ms": None, "bytes": None},
    ]
    code, out, _ = run("checkpoint", "list", "job-2")
    lines = [line.split() for line in out.splitlines()]
    assert code == 0
    assert lines[0] == ["EPOCH", "QUERY", "COMMITTED", "AGE", "SIZE"]
    assert lines[1] == ["7", "0", "-", "-", "-"]
    assert (lines[2][:2], lines[2][-2:]) == (["8", "0"], ["2.5", "MB"])
    assert [one["epoch"] for one in run_json("checkpoint", "list", "job-2")[1]["checkpoints"]] == [
        7,
        8,
    ]
    assert run("--quiet", "checkpoint", "list", "job-2")[1] == "7\n8\n"


# -- rescale ---------------------------------------------------------------------------------------


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    calls: list[Any] = []

    def launch(command: Any, log: Path, directory: str, args: Any, environment: Any) -> Any:
        calls.append((list(command), json.loads(environment.get("MILLSTREAM_OPTIONS", "null"))))
        return {"job_id": "9" * 32, "name": "job", "status": "RUNNING", "pid": 5, "log": str(log)}

    monkeypatch.setattr("millstream.cli.launch.launch", launch)
    return calls


def _own_command(*options: str) -> tuple[str, ...]:
    return (
        "python3",
        "-m",
        "millstream.cli",
        "run",
        "-C",
        "/home/me",
        *options,
        "app.py",
        "-p",
        "x",
    )


def test_rescale_stops_the_job_and_runs_its_command_again(
    registry: Registry, run_json: Json, launched: list[Any], tmp_path: Path
) -> None:
    job = replace(
        ONE,
        directory=str(tmp_path),
        command=_own_command("-p", "2", "--supervise", "--name", "job-1"),
    )
    registry.jobs = [job]

    def stop() -> None:
        registry.jobs = [replace(job, alive=False, status="SUSPENDED")]

    registry.on_request = stop
    code, data = run_json("rescale", "job-1", "-p", "4", "--savepoint-path", "/sp")
    assert code == 0
    assert registry.requests == [("1" * 32, "stop", "/sp", False)]
    ((command, options),) = launched
    assert options is None
    assert command[1:] == [
        "-m", "millstream.cli", "run", "-C", "/home/me", "-p", "4",
        "--checkpoint-dir", str(tmp_path), "--name", "job-1", "--from-savepoint", "/sp",
        "--supervise", "--max-restarts", "3", "app.py", "-p", "x",
    ]  # fmt: skip
    log = data.pop("log")
    assert log.startswith(f"{tmp_path}/logs/job-1-")
    assert data == {
        "job_id": "9" * 32,
        "savepoint": "/sp",
        "parallelism": 4,
        "name": "job-1",
        "status": "RUNNING",
        "pid": 5,
    }


def test_rescale_of_a_dead_job_makes_its_savepoint_first(
    registry: Registry, savepoints: Savepoints, run: Run, launched: list[Any], tmp_path: Path
) -> None:
    job = replace(DEAD, directory=str(tmp_path), command=("app.py", "words"))
    registry.jobs = [job]
    assert run("--quiet", "rescale", "job-2", "-p", "3", "--savepoint-path", "/sp")[1] == "/sp\n"
    assert [call[0] for call in savepoints.calls] == ["take_offline"]
    ((command, options),) = launched
    assert command[1:] == ["app.py", "words"]
    assert options["configuration"] == {
        "parallelism.default": "3",
        "execution.checkpointing.dir": str(tmp_path),
        "execution.savepoint.path": "/sp",
    }


def test_a_job_that_cannot_be_started_again_is_not_stopped(registry: Registry, run: Run) -> None:
    registry.jobs = [ONE, FINISHED]
    code, _, err = run("rescale", "job-1", "-p", "3")
    assert code == 4
    assert "[NO_COMMAND]" in err
    assert run("rescale", "job-2", "-p", "3")[0] == 4
    assert registry.requests == []


# -- what others may have written ------------------------------------------------------------------


FOREIGN = replace(ONE, distrust="/jobs/1 belongs to user mallory")


@pytest.mark.parametrize(
    "arguments",
    [
        ("cancel", "job-1"),
        ("stop", "job-1"),
        ("savepoint", "job-1", "/sp"),
        ("rescale", "job-1", "-p", "3"),
        ("rescale", "job-1", "-p", "3", "--run", __file__),
    ],
)
@pytest.mark.parametrize("alive", [True, False])
def test_nothing_is_done_in_a_folder_of_somebody_else(
    registry: Registry,
    savepoints: Savepoints,
    run: Run,
    launched: list[Any],
    arguments: tuple[str, ...],
    alive: bool,
) -> None:
    registry.jobs = [replace(FOREIGN, alive=alive, command=("sh", "-c", "touch pwned"))]
    code, out, err = run(*arguments)
    assert (code, out) == (4, "")
    assert "[NOT_TRUSTED]" in err
    assert "belongs to user mallory" in err
    assert "--trust" in err
    assert (registry.requests, savepoints.calls, launched) == ([], [], [])


def test_who_trusts_a_folder_says_so(registry: Registry, run: Run) -> None:
    registry.jobs = [FOREIGN]
    assert run("cancel", "job-1", "--trust")[0] == 0
    assert registry.requests == [("1" * 32, "cancel", None, False)]


def test_info_says_whether_a_job_is_trusted(registry: Registry, run: Run) -> None:
    registry.jobs = [FOREIGN]
    assert "trusted      no: /jobs/1 belongs to user mallory" in run("info", "job-1")[1]


def test_the_command_to_run_again_is_shown(
    registry: Registry, savepoints: Savepoints, run: Run, launched: list[Any], tmp_path: Path
) -> None:
    registry.jobs = [replace(DEAD, directory=str(tmp_path), command=("app.py", "two words"))]
    err = run("rescale", "job-2", "-p", "3", "--savepoint-path", "/sp")[2]
    assert "Its command: app.py 'two words'\n" in err


def test_the_caller_can_give_the_command_himself(
    registry: Registry, savepoints: Savepoints, run: Run, launched: list[Any], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("app.py").touch()
    registry.jobs = [replace(DEAD, directory=str(tmp_path), command=("sh", "-c", "touch pwned"))]
    given = ("--run", "-D", "db.password=hunter2", "app.py", "--input", "words")
    code, out, err = run("rescale", "job-2", "-p", "3", "--savepoint-path", "/sp", *given)
    assert code == 0, err
    assert "hunter2" not in out + err
    ((command, _),) = launched
    assert command[1:] == [
        "-m", "millstream.cli", "run", "-C", str(tmp_path), "-D", "db.password=hunter2", "-p", "3",
        "--checkpoint-dir", str(tmp_path), "--from-savepoint", "/sp", "app.py", "--input", "words",
    ]  # fmt: skip


def test_the_folder_of_the_callers_command_is_not_that_of_the_job(
    registry: Registry, savepoints: Savepoints, run: Run, launched: list[Any], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    here, app = tmp_path / "here", tmp_path / "app"
    here.mkdir()
    app.mkdir()
    (app / "app.py").touch()
    monkeypatch.chdir(here)
    job = replace(DEAD, path=".millstream/two/000001", directory=".millstream/two")
    registry.jobs = [job]
    code, _, err = run("rescale", "job-2", "-p", "3", "--run", "-C", "../app", "app.py")
    assert code == 0, err
    made = str(here / ".millstream/two/savepoints")
    assert [call[3] for call in savepoints.calls if call[0] == "take_offline"] == [made]
    ((command, _),) = launched
    assert command[command.index("-C") + 1] == str(app)
    assert command[command.index("--checkpoint-dir") + 1] == str(here / ".millstream/two")


def test_a_command_that_cannot_be_read_is_refused_before_the_job_stops(
    registry: Registry, run: Run
) -> None:
    command = (sys.executable, "-m", "millstream.cli", "run", "--no-such-option", "app.py")
    registry.jobs = [replace(ONE, command=command)]
    assert run("rescale", "job-1", "-p", "3")[0] == 2
    assert registry.requests == []


def test_a_program_that_starts_again_hears_that_the_folder_is_trusted(
    registry: Registry, savepoints: Savepoints, run: Run, launched: list[Any], tmp_path: Path
) -> None:
    registry.jobs = [replace(DEAD, directory=str(tmp_path), command=("app.py",))]
    for trust in ([], ["--trust"]):
        assert run("rescale", "job-2", "-p", "3", "--savepoint-path", "/sp", *trust)[0] == 0
    told = [options["configuration"] for _, options in launched]
    assert [settings.get("millstream.trust") for settings in told] == [None, "true"]


def test_a_command_whose_secrets_were_masked_is_not_run_again(registry: Registry, run: Run) -> None:
    registry.jobs = [replace(ONE, command=("app.py", "--password", "*****"))]
    code, _, err = run("rescale", "job-1", "-p", "3")
    assert code == 4
    assert "[MASKED_COMMAND]" in err
    assert "--run" in err
    assert registry.requests == []


def test_a_command_in_a_store_elsewhere_is_not_run_again_unless_it_is_trusted(
    registry: Registry, savepoints: Savepoints, run: Run, launched: list[Any]
) -> None:
    """Nobody can tell who has written it."""
    path = "s3://bucket/jobs/2"
    job = replace(DEAD, path=f"{path}/000001", directory=path, command=("app.py",))
    registry.jobs = [job]
    code, _, err = run("rescale", "job-2", "-p", "3", "--savepoint-path", "/sp")
    assert (code, launched) == (4, [])
    assert "nobody can tell who has written to s3://bucket/jobs/2/000001" in err
    assert run("rescale", "job-2", "-p", "3", "--savepoint-path", "/sp", "--trust")[0] == 0
    assert len(launched) == 1


def test_secrets_that_an_earlier_version_wrote_down_are_not_shown(
    registry: Registry, run: Run, run_json: Json
) -> None:
    registry.jobs = [replace(ONE, command=("app.py", "--password", "hunter2"))]
    assert "app.py --password" in run("info", "job-1")[1]
    assert "hunter2" not in run("info", "job-1")[1]
    assert "hunter2" not in json.dumps(run_json("info", "job-1")[1])
    assert "hunter2" not in json.dumps(run_json("list")[1])


# -- files that make no sense ----------------------------------------------------------------------


def _told(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / "status.json").write_text(text)


def test_a_bad_status_breaks_its_own_row_of_the_list(
    run: Run, run_json: Json, tmp_path: Path
) -> None:
    good = {"name": "\x1b[2Jevil", "job_id": "1" * 32, "status": "FINISHED", "epoch": 4}
    _told(tmp_path / "good/000001", json.dumps(good))
    _told(tmp_path / "bad/000001", '{"name"')
    _told(tmp_path / "worse/000001", json.dumps({**good, "epoch": [], "job_id": "`id`"}))
    code, out, err = run("list", str(tmp_path))
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    assert "\\x1b[2Jevil" in out
    rows = {line.split()[2]: line for line in out.splitlines() if "/worse/" not in line}
    assert rows["FINISHED"].endswith(f"{tmp_path}/good")
    assert rows["BAD"].endswith(f"{tmp_path}/bad/000001 (status.json: it is no JSON, or cut short)")
    assert f"{tmp_path}/worse/000001 (status.json: what it says of job_id, epoch is missing" in out
    assert run("list", "--quiet", str(tmp_path))[1] == "1" * 32 + "\n"
    assert len(run_json("list", str(tmp_path))[1]["jobs"]) == 3
    code, _, err = run("info", f"{tmp_path}/bad")
    assert code == 4
    assert "[BAD_STATUS]" in err
    assert "status.json: it is no JSON" in err
