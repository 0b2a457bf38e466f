"""The lease of a checkpoint directory: one driver works in it, and one that was followed notices.

``<directory>/lease/<number>.json`` says who works there. Who takes over from a driver that is gone
writes the next number; the higher number is in the right, so that a driver that only seemed to be
gone finds that it has lost the directory before it commits anything more.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs

from millstream.checkpoint.folder import open_path, wall_clock_ms, write_at
from millstream.common.errors import CheckpointError

LEASE_SECONDS = 30
"""How long a driver on another host may be silent before it is given up."""

RENEW_SECONDS = 5
SETTLE_SECONDS = 1.0
"""How long to wait for a rival, where files cannot be made exclusively."""

KEPT = 3


@dataclass(frozen=True)
class Holder:
    """Who holds, or held, a directory."""

    number: int
    holder: str | None
    host: str
    pid: int | None
    since_ms: int
    alive: bool

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.since_ms / 1000, UTC).isoformat(timespec="seconds")
        return f"process {self.pid} on host {self.host}, since {since}"


class Lease:
    """The right to work in a checkpoint directory; get it with `take`.

    Parameters
    ----------
    directory : str
        The checkpoint directory, a path or a URI.
    number : int
        The number of the lease.
    content : dict
        What its file says.
    now_ms : callable
        A clock.

    Examples
    --------
    >>> import tempfile
    >>> directory = tempfile.mkdtemp()
    >>> lease = Lease.take(directory, "a name of one's own")
    >>> lease.check()
    >>> lease.release()
    """

    def __init__(
        self, directory: str, number: int, content: dict[str, Any], now_ms: Callable[[], int]
    ) -> None:
        self.directory = directory
        self.number = number
        self._fs, self._folder = _lease_folder(directory)
        self._content = content
        self._now_ms = now_ms
        # Epochs are committed in a thread of Spark's, the job's own thread renews besides.
        self._lock = threading.Lock()

    @staticmethod
    def take(directory: str, holder: str, *, now_ms: Callable[[], int] = wall_clock_ms) -> Lease:
        """Take the lease of a directory, if nobody holds it.

        Raises
        ------
        CheckpointError
            ``CHECKPOINT_IN_USE`` if a driver that lives works there.
        """
        fs, folder = _lease_folder(directory)
        fs.create_dir(folder, recursive=True)
        numbers = _numbers(fs, folder)
        last = _holder(fs, folder, numbers[-1], now_ms()) if numbers else None
        if last is not None and last.alive:
            raise _in_use(directory, last)
        number = numbers[-1] + 1 if numbers else 1
        content = {
            "holder": holder,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "process_started": process_started(os.getpid()),
            "pid_space": _pid_space(),
            "taken_ms": now_ms(),
            "renewed_ms": now_ms(),
        }
        if not _create(fs, _path(folder, number), content):
            raise _in_use(directory, _holder(fs, folder, number, now_ms()))
        for old in numbers[: -KEPT + 1]:
            with suppress(FileNotFoundError):
                fs.delete_file(_path(folder, old))
        return Lease(directory, number, content, now_ms)

    def check(self) -> None:
        """Make sure that the lease is still held, and renew it from time to time.

        Raises
        ------
        CheckpointError
            ``LEASE_LOST`` if another driver has taken over.
        """
        with self._lock:
            self._require()
            if self._now_ms() - self._content["renewed_ms"] >= RENEW_SECONDS * 1_000:
                self._write(renewed_ms=self._now_ms())

    def renew(self) -> None:
        """Say now that the holder lives; see `check`."""
        with self._lock:
            self._require()
            self._write(renewed_ms=self._now_ms())

    def release(self) -> None:
        """Give the directory up: the next driver need not wait."""
        with self._lock, suppress(CheckpointError):
            self._require()
            self._write(released=True)

    def withdraw(self) -> None:
        """Undo `take`, for a program that was refused and has written nothing."""
        with self._lock, suppress(CheckpointError):
            self._require()
            self._fs.delete_file(_path(self._folder, self.number))

    def _require(self) -> None:
        highest = max(_numbers(self._fs, self._folder), default=0)
        if highest <= self.number:
            found = read_json(self._fs, _path(self._folder, self.number))
            # A file that is gone or cannot be read is nobody else's.
            if found is None or found["holder"] == self._content["holder"]:
                return
        rival = _holder(self._fs, self._folder, highest, self._now_ms())
        raise CheckpointError(
            "LEASE_LOST",
            f"another driver works in {self.directory} now: {rival}",
            hint="this driver has stopped, and commits nothing more; let one of them run",
        )

    def _write(self, **changes: Any) -> None:
        self._content = {**self._content, **changes}
        write_json(self._fs, _path(self._folder, self.number), self._content)


def current_holder(directory: str, now_ms: Callable[[], int] = wall_clock_ms) -> Holder | None:
    """Who holds the lease of a directory, or held it last; None if nobody ever did."""
    fs, folder = _lease_folder(directory)
    numbers = _numbers(fs, folder)
    return _holder(fs, folder, numbers[-1], now_ms()) if numbers else None


def process_started(pid: int) -> int | None:
    """When a process was started, in the system's own ticks; None if it is dead or cannot be seen.

    A number of a process is used again, but not with the same start.
    """
    try:
        # The name of the program comes first, in brackets, and may have any characters.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def read_json(fs: pafs.FileSystem, path: str) -> dict[str, Any] | None:
    """What a small file says; None if there is none, or only a part of it."""
    try:
        with fs.open_input_stream(path) as stream:
            content = json.loads(bytes(stream.read()))
    except (FileNotFoundError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def write_json(fs: pafs.FileSystem, path: str, content: dict[str, Any]) -> None:
    """Write a small file in one step: readers see all of it or nothing."""
    write_at(fs, path, json.dumps(content).encode())


def _create(fs: pafs.FileSystem, path: str, content: dict[str, Any]) -> bool:
    """Make a lease that nobody else makes at the same time; whether that worked."""
    if isinstance(fs, pafs.LocalFileSystem):
        try:
            with open(path, "x") as file:
                file.write(json.dumps(content))
        except FileExistsError:
            return False
        except OSError:
            # Half a lease would keep everybody out for a while.
            with suppress(OSError):
                os.unlink(path)
            raise
        return True
    write_json(fs, path, content)
    threading.Event().wait(SETTLE_SECONDS)
    found = read_json(fs, path)
    return found is not None and found["holder"] == content["holder"]


def _holder(fs: pafs.FileSystem, folder: str, number: int, now_ms: int) -> Holder:
    path = _path(folder, number)
    content = read_json(fs, path)
    if content is None:
        return _unknown_holder(fs, path, number, now_ms)
    return Holder(
        number=number,
        holder=content["holder"],
        host=content["host"],
        pid=content["pid"],
        since_ms=content["taken_ms"],
        alive=_is_alive(content, now_ms),
    )


def _unknown_holder(fs: pafs.FileSystem, path: str, number: int, now_ms: int) -> Holder:
    """The holder of a lease that is being written, or whose writer died at that."""
    written = fs.get_file_info(path).mtime_ns
    since_ms = now_ms if written is None else written // 1_000_000
    alive = now_ms - since_ms < LEASE_SECONDS * 1_000
    return Holder(number, None, "unknown", None, since_ms, alive)


def _is_alive(content: dict[str, Any], now_ms: int) -> bool:
    if content.get("released"):
        return False
    if (content["host"], content["pid_space"]) == (socket.gethostname(), _pid_space()):
        return _process_lives(content["pid"], content["process_started"])
    return bool(now_ms - content["renewed_ms"] < LEASE_SECONDS * 1_000)


def _process_lives(pid: int, started: int | None) -> bool:
    if started is not None:
        return process_started(pid) == started
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _pid_space() -> str | None:
    """Among which processes a number is a process's own: containers may share a host's name."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return None


def _lease_folder(directory: str) -> tuple[pafs.FileSystem, str]:
    fs, inner = open_path(directory)
    return fs, f"{inner}/lease"


def _numbers(fs: pafs.FileSystem, folder: str) -> list[int]:
    found = fs.get_file_info(pafs.FileSelector(folder, allow_not_found=True))
    names = (info.base_name.removesuffix(".json") for info in found)
    return sorted(int(name) for name in names if name.isdigit())


def _path(folder: str, number: int) -> str:
    return f"{folder}/{number:08d}.json"


def _in_use(directory: str, holder: Holder) -> CheckpointError:
    return CheckpointError(
        "CHECKPOINT_IN_USE",
        f"another driver works in {directory}: {holder}",
        parameters={"host": holder.host, "pid": holder.pid, "since_ms": holder.since_ms},
        hint="stop that job first, or choose another checkpoint directory; a driver on another "
        f"host that has died is given up after {LEASE_SECONDS} seconds",
    )
