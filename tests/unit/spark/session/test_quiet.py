"""What a JVM that Millstream starts may write to the standard error stream."""

from __future__ import annotations

import logging
import os
import select
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import millstream
from millstream.spark.session.quiet import LineFilter, _write, silence_py4j

BROKEN = b"""Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
  File "/x/pyspark/sql/streaming/python_streaming_source_runner.py", line 5, in <module>
    main(infile, outfile)
BrokenPipeError: [Errno 32] Broken pipe
"""
USERS = BROKEN.replace(b"/x/pyspark/sql/streaming", b"/home/me")
OTHER = BROKEN.replace(b"BrokenPipeError: [Errno 32] Broken pipe", b"ValueError: 1")
DURING = b"\nDuring handling of the above exception, another exception occurred:\n\n"
STARTING = b"Starting Streaming TransformWithStateInPandas Python worker.\n\n"


def shown(*parts: bytes) -> bytes:
    lines = LineFilter()
    return b"".join([*map(lines.feed, parts), lines.end()])


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (b"WARNING: Using incubator modules: jdk.incubator.vector\nout\n", b"out\n"),
        (STARTING + b"out\n\n\n", b"out\n\n\n"),
        (b"Current mem limits: -1 of max -1\n\nSetting mem limits to 1 of max 1\n\n", b""),
        (BROKEN + b"out\n", b"out\n"),
        (USERS, USERS),
        (BROKEN + DURING + BROKEN + b"out\n", b"out\n"),
        (OTHER + DURING + BROKEN.replace(b"Broken", b"Other"), None),
        (b"Exception ignored in: <_io.TextIOWrapper name='<stdout>'>\n" + BROKEN, b""),
        (b"Exception ignored in: <_io.BufferedWriter name=6>\nBrokenPipeError: gone\n", b""),
        (b"Exception ignored in: <x>\n" + OTHER, None),
        (b"PySpark daemon failed to flush the output to the worker process:\n" + BROKEN, b""),
        (OTHER + b"out\n", OTHER + b"out\n"),
        (b"\n\nWARNING: other\n", b"\n\nWARNING: other\n"),
        (b"no line end", b"no line end"),
        (BROKEN[:-60], BROKEN[:-60]),
    ],
)
def test_noise_is_left_out_however_it_is_cut(text: bytes, left: bytes | None) -> None:
    left = text if left is None else left
    assert shown(text) == left
    assert shown(*(text[i : i + 1] for i in range(len(text)))) == left


def test_what_cannot_become_noise_is_shown_at_once() -> None:
    lines = LineFilter()
    assert lines.feed(b"progress 1") == b"progress 1"
    assert (
        lines.feed(b" WARNING: Using incubator modules: \n")
        == b" WARNING: Using incubator modules: \n"
    )


CHILD = """
import subprocess, sys
from millstream.spark.session.quiet import quiet_start
child = "import os; os.read(0, 1); os.write(2, b'Current mem limits: x\\\\nkept\\\\n')"
with quiet_start():
    started = subprocess.Popen([sys.executable, "-c", child], stdin=subprocess.PIPE)
print("own", file=sys.stderr, flush=True)
started.communicate(b"")
import threading
[thread.join() for thread in threading.enumerate() if thread.name == "millstream-stderr"]
"""


def test_a_process_that_starts_meanwhile_is_filtered_to_its_end() -> None:
    path = str(Path(millstream.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "own\nkept\n")


def test_a_slow_reader_of_a_stream_that_does_not_block_gets_all() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    data = b"x" * (1 << 20)
    writer = threading.Thread(target=_write, args=(write, data))
    writer.start()
    found = b""
    while len(found) < len(data) and (writer.is_alive() or select.select([read], [], [], 0)[0]):
        if select.select([read], [], [], 0.1)[0]:
            found += os.read(read, 1 << 12)
    writer.join()
    os.close(read)
    os.close(write)
    assert found == data


@pytest.mark.parametrize(
    ("chosen", "level"), [(0, logging.WARNING), (logging.DEBUG, logging.DEBUG)]
)
def test_py4j_is_silent_unless_the_program_says_otherwise(chosen: int, level: int) -> None:
    logger = logging.getLogger("py4j")
    before = logger.level
    try:
        logger.setLevel(chosen)
        silence_py4j()
        assert logger.level == level
    finally:
        logger.setLevel(before)
