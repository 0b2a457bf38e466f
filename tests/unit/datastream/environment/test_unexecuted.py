"""A program that builds streams and never calls execute() says so in one line at its exit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import millstream

pytestmark = pytest.mark.slow

BUILD = """
from millstream.datastream import StreamExecutionEnvironment

def build():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).print()
    return env
"""


def stderr_of(program: str, folder: Path) -> str:
    (folder / "app.py").write_text(BUILD + program)
    done = subprocess.run(
        [sys.executable, "app.py"],
        cwd=folder,
        env={"PATH": "", "PYTHONPATH": str(Path(millstream.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""
    return done.stderr


@pytest.mark.parametrize("program", ["build()", "env = build()", "build().close()\nbuild()"])
def test_forgotten(program: str, tmp_path: Path) -> None:
    # An environment that nobody holds any more was forgotten all the same.
    (line,) = stderr_of(program, tmp_path).splitlines()
    assert line.startswith("millstream: streams were built at ")
    assert line.endswith("app.py:6, but execute() was never called: nothing has run")


@pytest.mark.parametrize(
    "program",
    [
        "StreamExecutionEnvironment.get_execution_environment()",
        "build().get_execution_plan()",
        "build().close()",
        "from millstream.testing import run_local\nrun_local(build())",
    ],
)
def test_not_forgotten(program: str, tmp_path: Path) -> None:
    assert stderr_of(program, tmp_path) == ""


def test_after_an_error_it_says_nothing(tmp_path: Path) -> None:
    assert stderr_of("build()\n1 / 0", tmp_path).splitlines()[-1].startswith("ZeroDivisionError")
