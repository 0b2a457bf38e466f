"""SIGTERM and ctrl-C in the middle of an epoch: the process ends, and no record is lost or doubled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.spark.spark_support import PATIENCE_SECONDS, lines_of, program_env, wait_until

pytestmark = pytest.mark.spark

APP = """
import sys, time
from pathlib import Path
from pyspark import SparkContext
from millstream.common import WatermarkStrategy
from millstream.datastream import JobListener, StreamExecutionEnvironment
from millstream.datastream.connectors import DataGeneratorSource, FileSink, RateLimiterStrategy

folder, block_at = Path(sys.argv[1]), int(sys.argv[2])

def number(n: int) -> int:
    return n

def blocks(n: int) -> int:
    if n == block_at:
        while not (folder / "jvm").exists():
            time.sleep(0.01)
        (folder / f"blocks-{n}").touch()
        time.sleep(3600)
    return n

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1).set_runtime_mode("STREAMING")
env.set_checkpoint_directory(str(folder / "checkpoint"))
source = DataGeneratorSource(number, 40, RateLimiterStrategy.per_checkpoint(4))
numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
numbers.map(blocks).sink_to(FileSink.text(str(folder / "out"), str))

class NoteJvm(JobListener):
    def on_job_submitted(self, client, error):
        (folder / "jvm").write_text(str(SparkContext._gateway.proc.pid))

    def on_job_executed(self, result, error):
        pass

env.register_job_listener(NoteJvm())
env.execute()
"""


def started(folder: Path, block_at: int) -> subprocess.Popen[str]:
    """The program, in a process group of its own as under a terminal."""
    (folder / "app.py").write_text(APP)
    return subprocess.Popen(
        [sys.executable, "app.py", str(folder), str(block_at)],
        env=program_env(),
        cwd=folder,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def break_off(folder: Path, block_at: int, send: Callable[[int], None]) -> tuple[int, str]:
    """Run the program to the middle of an epoch, and stop it there."""
    (folder / "jvm").unlink(missing_ok=True)
    program = started(folder, block_at)
    try:
        mark = folder / f"blocks-{block_at}"
        wait_until(lambda: mark.exists() or program.poll() is not None, "an epoch that blocks")
        assert mark.exists(), program.communicate()[1]
        send(program.pid)
        _, err = program.communicate(timeout=PATIENCE_SECONDS)
    finally:
        if program.poll() is None:
            os.killpg(program.pid, signal.SIGKILL)
    jvm = int((folder / "jvm").read_text())
    wait_until(lambda: not Path(f"/proc/{jvm}").exists(), "end of the JVM")
    return program.returncode, err


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
def test_a_job_that_is_stopped_by_a_signal_goes_on_where_it_was(tmp_path: Path) -> None:
    code, err = break_off(tmp_path, 10, lambda pid: os.killpg(pid, signal.SIGINT))
    assert code != 0
    assert "\nKeyboardInterrupt" in err, err
    assert sorted(map(int, lines_of(tmp_path / "out"))) == list(range(8))

    code, _ = break_off(tmp_path, 22, lambda pid: os.kill(pid, signal.SIGTERM))
    assert code == -signal.SIGTERM
    assert sorted(map(int, lines_of(tmp_path / "out"))) == list(range(20))

    program = started(tmp_path, -1)
    _, err = program.communicate(timeout=PATIENCE_SECONDS)
    assert program.returncode == 0, err
    assert sorted(map(int, lines_of(tmp_path / "out"))) == list(range(40))
