"""The processes of a job: who they are, and their end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, task.read_text().split())
        except OSError:
            continue
    return found


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def _descendants(pid: int) -> Iterator[int]:
    for child in _children(pid):
        yield child
        yield from _descendants(child)


def jvms_of(pid: int) -> list[int]:
    """The JVM of a driver; not the one that it asks for the version of Java before."""
    commands = {child: _command(child) for child in _children(pid)}
    return [p for p, found in commands.items() if "java" in found and "SparkSubmit" in found]


def workers_of(pid: int) -> list[int]:
    """The Python workers of a driver: what the daemons of Spark have forked, and what asks sources."""
    found = [(child, _command(child)) for child in _descendants(pid)]
    # Spark's own daemon, and the one that Millstream gives it.
    daemons = [p for p, command in found if "spark.daemon" in command or "worker_daemon" in command]
    forked = [worker for daemon in daemons for worker in _children(daemon)]
    return forked + [p for p, command in found if "python_streaming_source_runner" in command]


def is_working(pid: int) -> bool:
    """Whether a process runs or wants to; one that waits for its next task sleeps."""
    try:
        # The name stands in parentheses and may hold anything.
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state in {"R", "D"}


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def pause(pid: int, *, alone: bool) -> list[int]:
    """Stop a driver, and its JVM unless the driver is to be alone; returns them for `resume`."""
    stopped = [pid] if alone else [pid, *jvms_of(pid)]
    for one in stopped:
        os.kill(one, signal.SIGSTOP)
    return stopped


def resume(stopped: list[int]) -> None:
    """Let stopped processes go on."""
    for one in stopped:
        with suppress(ProcessLookupError):
            os.kill(one, signal.SIGCONT)


def kill_all(pid: int) -> None:
    """The driver and its JVM at once: nobody is left to tidy up."""
    for victim in [pid, *jvms_of(pid)]:
        kill(victim)
