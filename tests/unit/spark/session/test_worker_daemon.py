"""The process that Spark forks its Python workers from."""

import subprocess
import sys

import pytest

SCRIPT = """
from millstream.spark.session.worker_daemon import without_a_listener

def serve(sock, authenticated):
    raise {error}("gone")

without_a_listener(serve)(None, True)
"""


@pytest.mark.parametrize(
    ("error", "silent"),
    [("BrokenPipeError", True), ("ConnectionResetError", True), ("ValueError", False)],
)
def test_a_worker_ends_in_silence_only_when_nobody_listens(error: str, silent: bool) -> None:
    command = [sys.executable, "-c", SCRIPT.format(error=error)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert (ended.stderr == "") is silent
