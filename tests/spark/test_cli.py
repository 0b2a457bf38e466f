"""The command line on real Spark: programs that run here and apart, and jobs asked from outside."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from millstream.checkpoint.registry import find_jobs
from tests.support.spark.spark_support import (
    Finished,
    program_env,
    run_program,
    wait_until,
    write_lines,
)

pytestmark = pytest.mark.spark

COUNT = """
import sys
from millstream.datastream import StreamExecutionEnvironment

class Word:
    def __init__(self, text):
        self.text = text

env = StreamExecutionEnvironment.get_execution_environment()
words = env.from_collection(sys.argv[1:]).map(Word)
words.map(lambda word: (word.text, 1)).key_by(lambda pair: pair[0]).sum(1).print()
env.execute("count")
"""
ENDLESS = """
from millstream.common import WatermarkStrategy
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors.file_system import FileSource, StreamFormat

env = StreamExecutionEnvironment.get_execution_environment()
env.enable_checkpointing("500 ms")
text = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "in")
source = text.monitor_continuously("1 s").build()
lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").uid("lines")
lines.map(lambda line: (line, 1)).key_by(lambda pair: pair[0]).sum(1).uid("sum").print()
env.execute("endless words")
"""


def millstream(folder: Path, *arguments: str) -> Finished:
    command = (sys.executable, "-m", "millstream.cli", *arguments)
    return run_program(*command, env=program_env(), cwd=folder)


def as_json(done: Finished) -> Any:
    assert done.code == 0, "\n".join([*done.out, done.err])
    return json.loads("\n".join(done.out))


def test_run_prints_what_the_program_prints(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs/count.py").write_text(COUNT)
    done = millstream(
        tmp_path, "run", "-p", "1", "--mode", "batch", "jobs/count.py", "to", "be", "to"
    )
    assert done.code == 0, done.err
    assert sorted(done.out) == ["('be', 1)", "('to', 2)"]


def test_explain_prints_the_plan_and_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "count.py").write_text(COUNT)
    done = millstream(tmp_path, "--json", "explain", "-p", "3", "count.py", "to", "be")
    plan = as_json(done)["plan"]
    assert "Collection" in plan
    assert "('be', 1)" not in plan


def test_a_detached_job_is_listed_and_cancelled_by_other_processes(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(ENDLESS)
    write_lines(tmp_path / "in/1.txt", ["to", "be", "to"])
    started = as_json(
        millstream(tmp_path, "--json", "run", "--detached", "--wait", "200", "app.py")
    )
    try:
        _listed_then_cancelled(tmp_path, started)
    finally:
        with suppress(ProcessLookupError):
            os.kill(started["pid"], signal.SIGKILL)


def _listed_then_cancelled(folder: Path, started: dict[str, Any]) -> None:
    assert started["status"] == "RUNNING", Path(started["log"]).read_text()
    (job,) = as_json(millstream(folder, "--json", "list", "--running"))["jobs"]
    assert (job["job_id"], job["pid"]) == (started["job_id"], started["pid"])
    assert (job["name"], job["status"]) == ("endless words", "RUNNING")

    wait_until(lambda: find_jobs(str(folder / ".millstream"))[0].records_in == 3, "lines read")
    info = as_json(millstream(folder, "--json", "info", job["job_id"][:8]))["job"]
    assert (info["records_in"], info["directory"]) == (3, ".millstream/endless-words")
    assert "('to', 2)" in Path(started["log"]).read_text()

    done = millstream(folder, "cancel", "endless words")
    assert done.code == 0, done.err
    (job,) = as_json(millstream(folder, "--json", "list"))["jobs"]
    assert (job["status"], job["alive"]) == ("CANCELED", False)
    assert millstream(folder, "cancel", "endless words").code == 4
