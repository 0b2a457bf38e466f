"""A normal run shows what the program prints and nothing else.

The JVM says at its start which modules it uses, and Spark's Python processes tell what they are
about to do, by plain prints that no setting turns off. So the standard error stream of a JVM that we
start is a pipe, and a thread passes on what is not one of those lines.
"""

from __future__ import annotations

import logging
import os
import select
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread

NOISE = (
    b"WARNING: Using incubator modules: ",
    b"Starting Streaming TransformWithState",
    b"Streaming TransformWithState",
    b"Current mem limits: ",
    b"Setting mem limits to ",
    b"PySpark daemon failed to flush the output to the worker process:",
)
"""How lines begin that tell a user nothing. Empty lines behind them are left out, too."""

_TRACEBACK = b"Traceback (most recent call last):"
_STARTS = (_TRACEBACK, b"Exception ignored in: ")
_LINKS = (b"During handling of the above exception", b"The above exception was the direct cause")
_HUNG_UP = (b"BrokenPipeError", b"ConnectionResetError")


class LineFilter:
    """Takes bytes as they come and gives back those to show.

    What it holds back is the beginning of a line that may become noise, and a traceback until its
    last line is known.

    Examples
    --------
    >>> lines = LineFilter()
    >>> lines.feed(b"WARNING: Using incubator")
    b''
    >>> lines.feed(b" modules: jdk.incubator.vector\\nout of memory\\n")
    b'out of memory\\n'
    """

    def __init__(self) -> None:
        self._rest = b""
        self._traceback: list[bytes] = []
        self._after_noise = False
        self._within_a_line = False

    def feed(self, data: bytes) -> bytes:
        """Take in bytes; return those that are to be shown now."""
        shown = b""
        if self._within_a_line:
            begun, end, data = data.partition(b"\n")
            shown, self._within_a_line = begun + end, not end
        *lines, self._rest = (self._rest + data).split(b"\n")
        shown += b"".join(self._take(line + b"\n") for line in lines)
        if self._rest and not self._may_be_noise(self._rest):
            shown, self._rest = shown + self._rest, b""
            self._within_a_line, self._after_noise = True, False
        return shown

    def end(self) -> bytes:
        """At the end of the stream, return the bytes that were held back and are not noise."""
        return b"".join(self._traceback) + (b"" if _is_noise(self._rest) else self._rest)

    def _may_be_noise(self, part: bytes) -> bool:
        known = (*NOISE, *_STARTS, *(_LINKS if self._after_noise else ()))
        begins = any(text.startswith(part) for text in known)
        return bool(self._traceback) or begins or part.startswith(known)

    def _take(self, line: bytes) -> bytes:
        if self._traceback:
            return self._take_of_traceback(line)
        follows = self._after_noise and (line == b"\n" or line.startswith(_LINKS))
        if follows or _is_noise(line):
            self._after_noise = True
            return b""
        if line.startswith(_STARTS):
            self._traceback.append(line)
            return b""
        self._after_noise = False
        return line

    def _take_of_traceback(self, line: bytes) -> bytes:
        self._traceback.append(line)
        if line.startswith((b" ", _TRACEBACK)):
            return b""
        frames, self._traceback = self._traceback, []
        self._after_noise = _is_of_a_worker_without_a_listener(frames)
        return b"" if self._after_noise else b"".join(frames)


def _is_noise(line: bytes) -> bool:
    return line.startswith(NOISE)


def _is_of_a_worker_without_a_listener(traceback: list[bytes]) -> bool:
    """Whether one of Spark's own processes could not write, because Spark needs it no more."""
    files = [line for line in traceback if line.lstrip().startswith(b'File "')]
    own = all(b"pyspark" in line or b"<frozen" in line for line in files)
    return own and traceback[-1].startswith(_HUNG_UP)


def silence_py4j() -> None:
    """Keep a program that logs at level INFO from seeing each command that the JVM sends us."""
    logger = logging.getLogger("py4j")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)


@contextmanager
def quiet_start() -> Iterator[None]:
    """Let a JVM that starts now have a standard error stream without noise."""
    try:
        shown = os.dup(2)
    except OSError:
        yield
        return
    read, write = os.pipe()
    os.dup2(write, 2)
    os.close(write)
    Thread(target=_pass_on, args=(read, shown), name="millstream-stderr", daemon=True).start()
    try:
        yield
    finally:
        os.dup2(shown, 2)


def _pass_on(read: int, shown: int) -> None:
    lines = LineFilter()
    with suppress(OSError):
        while data := os.read(read, 1 << 16):
            _write(shown, lines.feed(data))
        _write(shown, lines.end())
    os.close(read)
    os.close(shown)


def _write(file: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(file, data) :]
        except BlockingIOError:
            # Another process has made the stream non-blocking, and who reads it is slow.
            select.select([], [file], [])
