"""Running programs: in this process, as processes of their own, and again when they die."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from millstream.cli.program import OPTIONS
from millstream.cli.supervise import run_child
from tests.support.cli.fakes import Json, Registry, Run, make_record

TELL = """
import json, os, sys
class Word: pass
assert sys.modules["__main__"].Word is Word
print(json.dumps({"argv": sys.argv, "path": sys.path[0], "options": os.environ["MILLSTREAM_OPTIONS"]}))
"""


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = Path(__file__).parents[3] / "src"
    monkeypatch.setenv("PYTHONPATH", str(source))
    monkeypatch.delenv(OPTIONS, raising=False)


def script(text: str, name: str = "app.py") -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return name


def test_a_script_runs_as_main_with_its_arguments(run: Run, tmp_path: Path) -> None:
    path = list(sys.path)
    code, out, err = run("run", script(TELL, "jobs/app.py"), "--input", "words", "-p", "3")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert told["argv"] == ["jobs/app.py", "--input", "words", "-p", "3"]
    assert told["path"] == str(tmp_path / "jobs")
    assert json.loads(told["options"]) == {
        "configuration": {},
        "command": [
            sys.executable, "-m", "millstream.cli", "run", "-C", str(tmp_path),
            "jobs/app.py", "--input", "words", "-p", "3",
        ],
        "restarts": 0,
    }  # fmt: skip
    assert sys.path == path
    assert OPTIONS not in os.environ


def test_a_module_runs_by_its_name(run: Run, tmp_path: Path) -> None:
    script("", "pack/__init__.py")
    script(TELL, "pack/words.py")
    code, out, _ = run("run", "-m", "pack.words", "a")
    told = json.loads(out)
    assert code == 0
    assert told["argv"] == [str(tmp_path / "pack/words.py"), "a"]
    assert told["path"] == str(tmp_path)
    assert json.loads(told["options"])["command"][-3:] == ["-m", "pack.words", "a"]


def test_options_reach_the_program_by_their_keys(run: Run, tmp_path: Path) -> None:
    code, out, _ = run(
        "run", "-p", "4", "-D", "millstream.slots=8", "-D", "parallelism.default=1",
        "-D", "spark.x=a=b", "--mode", "streaming", "--checkpoint-dir", "cp", "--name", "words",
        "--from-savepoint", "/sp", "--allow-non-restored-state", script(TELL),
    )  # fmt: skip
    assert code == 0
    options = json.loads(json.loads(out)["options"])
    assert options["configuration"] == {
        "parallelism.default": "4",
        "millstream.slots": "8",
        "spark.x": "a=b",
        "execution.runtime-mode": "streaming",
        "execution.checkpointing.dir": "cp",
        "execution.savepoint.path": "/sp",
        "execution.savepoint.ignore-unclaimed-state": "true",
        "pipeline.name": "words",
    }
    # Started again, the job goes on from its own epochs, not from the savepoint.
    assert "--from-savepoint" not in options["command"]
    assert options["command"][5:] == [
        str(tmp_path), "-D", "millstream.slots=8", "-D", "parallelism.default=1",
        "-D", "spark.x=a=b", "-p", "4", "--mode", "streaming", "--checkpoint-dir", "cp",
        "--name", "words", "app.py",
    ]  # fmt: skip


def test_a_folder_can_be_chosen(run: Run, tmp_path: Path) -> None:
    script(TELL, "there/app.py")
    code, out, _ = run("run", "-C", "there", "app.py")
    assert code == 0
    assert json.loads(json.loads(out)["options"])["command"][5] == str(tmp_path / "there")
    assert run("run", "-C", "nowhere", "app.py")[0] == 2


@pytest.mark.parametrize(
    ("text", "code", "shown"),
    [
        ("import sys; sys.exit(7)", 7, ""),
        ("import sys; sys.exit()", 0, ""),
        ("import sys; sys.exit('no words')", 1, "no words\n"),
        ("raise KeyboardInterrupt", 130, ""),
    ],
)
def test_the_programs_exit_code_is_that_of_the_command(
    run: Run, text: str, code: int, shown: str
) -> None:
    assert run("run", script(text)) == (code, "", shown)


def test_an_error_of_the_program_shows_the_programs_frames(run: Run) -> None:
    code, _, err = run("run", script("def f():\n    return {}['word']\n\nf()\n"))
    assert code == 1
    assert err.splitlines()[-1] == "KeyError: 'word'"
    assert "in f" in err
    assert "runpy" not in err
    assert "program.py" not in err


def test_an_error_of_millstream_is_one_message(run: Run, run_json: Json) -> None:
    program = script(
        "from millstream.common.errors import PlanError\n"
        "raise PlanError('NO_SINK', 'nothing to run', hint='add a sink')\n"
    )
    message = "millstream: [NO_SINK] nothing to run\n  what to do: add a sink\n"
    assert run("run", program) == (1, "", message)
    code, _, err = run("run", "--debug", program)
    assert code == 1
    assert "Traceback" in err
    assert err.endswith(message)
    code, data = run_json("run", program)
    assert (code, data["error"]["code"]) == (1, "NO_SINK")


def test_with_json_stdout_has_the_result_alone(run: Run) -> None:
    code, out, err = run("run", "--json", script("print('to be')"))
    assert (code, err) == (0, "to be\n")
    assert json.loads(out) == {"program": "app.py", "exit_code": 0}


def test_a_program_that_is_not_there_is_wrong_usage(run: Run) -> None:
    code, _, err = run("run", "none.py")
    assert code == 2
    assert "[NO_SUCH_PROGRAM]" in err


def test_explain_prints_what_the_program_plans(run: Run, run_json: Json) -> None:
    program = script(
        "import json, os\n"
        f"options = json.loads(os.environ[{OPTIONS!r}])\n"
        "assert options['explain'] is True\n"
        "print('the plan with', options['configuration']['parallelism.default'])\n"
        "raise SystemExit(0)\n"
    )
    assert run("explain", "-p", "5", program) == (0, "the plan with 5\n", "")
    assert run_json("explain", "-p", "5", program) == (0, {"plan": "the plan with 5"})
    code, _, err = run("explain", script("print('no job here')", "empty.py"))
    assert code == 1
    assert "[NO_JOB]" in err


# -- processes of their own ------------------------------------------------------------------------


@pytest.mark.slow
def test_a_detached_program_that_ends_soon_is_finished(
    run_json: Json, registry: Registry, tmp_path: Path
) -> None:
    code, data = run_json("run", "--detached", "--name", "my words", script("print('done')"))
    assert code == 0
    assert (data["status"], data["job_id"]) == ("FINISHED", None)
    log = Path(data["log"])
    assert log.parent == tmp_path / ".millstream/logs"
    assert log.name.startswith("my-words-")
    assert log.read_text() == "done\n"


@pytest.mark.slow
def test_a_detached_program_that_fails_shows_the_end_of_its_log(
    run: Run, registry: Registry, tmp_path: Path
) -> None:
    program = script("print('reading'); raise SystemExit('no words')")
    code, _, err = run("run", "--detached", "--checkpoint-dir", "cp", program)
    assert code == 1
    assert "[START_FAILED] the job has failed with exit code 1" in err
    assert {"  | reading", "  | no words"} <= set(err.splitlines())
    assert list((tmp_path / "cp/logs").glob("app-*.log"))


@pytest.fixture
def left_over() -> Iterator[list[int]]:
    """Processes that a test has started and that go on by themselves."""
    pids: list[int] = []
    yield pids
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("supervise", [[], ["--supervise"]], ids=["alone", "supervised"])
def test_a_detached_job_is_waited_for_until_it_runs(
    run_json: Json,
    registry: Registry,
    monkeypatch: pytest.MonkeyPatch,
    left_over: list[int],
    supervise: list[str],
) -> None:
    program = script(
        "import os, threading\n"
        "with open('new', 'w') as file:\n"
        "    file.write(str(os.getpid()))\n"
        "os.rename('new', 'pid')\n"
        "threading.Event().wait(60)\n"
    )
    looks = 0

    def find_jobs(root: str) -> list[Any]:
        nonlocal looks
        if not Path("pid").exists():
            return []
        looks += 1
        status = "CREATED" if looks < 3 else "RUNNING"
        pid = int(Path("pid").read_text())
        other = make_record(2, updated_ms=2**62)
        return [other, make_record(1, pid=pid, status=status, updated_ms=2**62)]

    monkeypatch.setattr("millstream.checkpoint.registry.find_jobs", find_jobs)
    code, data = run_json("run", "--detached", *supervise, program)
    job = int(Path("pid").read_text())
    left_over += [data["pid"], job]
    assert code == 0
    assert (data["job_id"], data["status"]) == ("1" * 32, "RUNNING")
    assert os.getsid(job) == data["pid"] != os.getsid(0)
    assert (job == data["pid"]) is (not supervise)


@pytest.mark.slow
def test_a_detached_job_that_says_nothing_is_left_to_itself(
    run: Run, registry: Registry, left_over: list[int]
) -> None:
    program = script("import threading; threading.Event().wait(60)")
    code, out, _ = run("run", "--detached", "--wait", "0", program)
    assert code == 0
    left_over.append(int(out.partition("process ")[2].partition(",")[0]))
    assert out.startswith("The program has been started; it has not said yet that it runs")


@pytest.mark.slow
def test_a_supervised_program_that_is_killed_runs_again(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millstream.cli.supervise._FIRST_PAUSE_SECONDS", 0.0)
    program = script(
        "import json, os, signal\n"
        f"options = json.loads(os.environ[{OPTIONS!r}])\n"
        "open('starts', 'a').write(json.dumps(options) + '\\n')\n"
        "if options['restarts'] < 2:\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert run("run", "--supervise", "-s", "/sp", "--max-restarts", "0", program)[0] == 0
    starts = [json.loads(line) for line in Path("starts").read_text().splitlines()]
    assert [start["restarts"] for start in starts] == [0, 1, 2]
    # All of them hear of the savepoint: the first may have died before it had taken it in.
    paths = {start["configuration"]["execution.savepoint.path"] for start in starts}
    assert paths == {"/sp"}
    assert {"--supervise", "--max-restarts"} <= set(starts[0]["command"])
    assert "--attempt" not in starts[0]["command"]


def test_a_lost_jvm_is_no_error_of_the_program(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gateway:
        class proc:
            @staticmethod
            def poll() -> int:
                return 137

    fake = type(sys)("pyspark")
    fake.SparkContext = type("SparkContext", (), {"_gateway": Gateway})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyspark", fake)
    program = script("raise OSError('connection refused')")
    assert run("run", "--attempt", "0", program)[0] == 75
    assert run("run", program)[0] == 1


def test_who_stops_the_supervisor_stops_the_job() -> None:
    code = "import os, signal, threading; os.kill(os.getppid(), 15); threading.Event().wait(60)"
    handler = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as end:
        run_child([sys.executable, "-c", code])
    assert end.value.code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is handler
