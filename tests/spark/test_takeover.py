"""A driver that is stopped in the middle of an epoch, replaced, and goes on: on real processes."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.spark import takeover_program
from tests.support.spark.spark_support import (
    PATIENCE_SECONDS,
    data_files,
    lines_of,
    program_env,
    wait_until,
)
from tests.support.spark.takeover_program import RECORDS

pytestmark = pytest.mark.spark

PROGRAM = takeover_program.__file__
STOPPED = "T"


def start(folder: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    with open(folder / name, "wb") as log:
        return subprocess.Popen(
            [sys.executable, PROGRAM, str(folder), *arguments],
            env=program_env(),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def state(process: subprocess.Popen[bytes]) -> str:
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_driver_that_is_stopped_and_replaced_writes_nothing_when_it_goes_on(
    tmp_path: Path,
) -> None:
    old = start(tmp_path, "old.log", "--stop-at", "2")
    try:
        wait_until(lambda: old.poll() is not None or state(old) == STOPPED, "driver that stops")
        assert old.poll() is None, (tmp_path / "old.log").read_text()[-3_000:]
        new = start(tmp_path, "new.log", "--elsewhere")
        assert new.wait(PATIENCE_SECONDS) == 0, (tmp_path / "new.log").read_text()[-3_000:]
        files = {path: path.read_bytes() for path in data_files(tmp_path / "out")}
        careless = (tmp_path / "careless").read_text()
        (tmp_path / "go on").touch()
        os.kill(old.pid, signal.SIGCONT)
        assert old.wait(PATIENCE_SECONDS) != 0
    finally:
        if old.poll() is None:
            os.killpg(old.pid, signal.SIGKILL)
            old.wait()
    log = (tmp_path / "old.log").read_text()
    assert "goes on, current: False" in log
    # The database and the thread of the job find it out at the same time.
    assert "a later driver writes here" in log or "LEASE_LOST" in log
    wanted = list(range(RECORDS))
    with closing(sqlite3.connect(tmp_path / "rows.sqlite")) as database:
        rows = database.execute("select number, attempt from line order by number").fetchall()
    assert [number for number, _ in rows] == wanted
    assert {attempt for _, attempt in rows} == {1, 2}, "both have written some of it"
    assert {path: path.read_bytes() for path in data_files(tmp_path / "out")} == files
    assert sorted(map(int, lines_of(tmp_path / "out"))) == wanted
    assert (tmp_path / "careless").read_text() == careless
