"""The lease of a checkpoint directory: one driver works in it, and a replaced driver finds out.

``<directory>/lease/<number>.json`` says who works there. Who takes over from a driver that is gone
writes the next number; the higher number is in the right, so that a driver that only seemed to be
gone finds that it has lost the directory before it commits anything more. A driver that starts its
job again writes the next number too, so that each attempt has one of its own.

The holder renews its lease by its own clock. Another driver watches the file by a clock of
its own, so that nobody compares the times of day of two machines.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs

from millstream.checkpoint.durable import create, exists, is_local, make_folder, write_at
from millstream.checkpoint.folder import open_path, wall_clock_ms
from millstream.checkpoint.small_files import BadFile, numbers_of, read_small
from millstream.common.errors import CheckpointError

log = logging.getLogger("millstream")
LEASE_SECONDS = 30
"""How long a driver on another host may be silent before it is given up."""

RENEW_SECONDS = 5
WATCH_SECONDS = 0.5
SETTLE_SECONDS = 1.0
"""How long to wait for a rival, where files cannot be made exclusively."""

KEPT = 3
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
"""What is different for each machine, and after each start of it."""


@dataclass(frozen=True)
class Holder:
    """The present or last holder of a directory."""

    number: int
    holder: str | None
    host: str
    pid: int | None
    since_ms: int
    alive: bool

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.since_ms / 1000, UTC).isoformat(timespec="seconds")
        return f"process {self.pid} on host {self.host}, since {since}"


class LeaseClock:
    """The time as a lease needs it; tests give another one."""

    def wall_ms(self) -> int:
        """The time of day, for people to read."""
        return wall_clock_ms()

    def seconds(self) -> float:
        """Seconds that only go forward, whatever is done to the time of day."""
        return time.monotonic()

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        threading.Event().wait(seconds)


@dataclass(frozen=True)
class Fence:
    """Tells whether a lease is still held; small enough to travel to tasks.

    ``travelled``: this is the copy of a task, which need not reach the checkpoint directory.
    """

    directory: str
    number: int
    holder: str
    travelled: bool = False

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(replace(self, travelled=True))}

    @cached_property
    def _place(self) -> tuple[pafs.FileSystem, str]:
        return _lease_folder(self.directory)

    def check(self) -> None:
        """Make sure that nobody else has taken over.

        Raises
        ------
        CheckpointError
            ``LEASE_LOST`` if another driver has, or if somebody has deleted the lease.
        """
        fs, folder = self._place
        highest = max(_numbers(fs, folder), default=0)
        if highest <= self.number:
            if not exists(fs, _path(folder, self.number)):
                if self.travelled and not exists(fs, folder):
                    return
                raise self._gone()
            found = read_json(fs, _path(folder, self.number))
            # A file that cannot be read is nobody else's.
            if found is None or found.get("holder") == self.holder:
                return
        rival = _holder(fs, folder, highest, wall_clock_ms())
        raise CheckpointError(
            "LEASE_LOST",
            f"another driver works in {self.directory} now: {rival}",
            hint="this driver has stopped, and commits nothing more; let one of them run",
        )

    def _gone(self) -> CheckpointError:
        """Another driver cannot see that this directory is in use, and may start from the beginning."""
        return CheckpointError(
            "LEASE_LOST",
            f"the lease of {self.directory} is gone: its folder was deleted or replaced",
            hint="this driver has stopped, and commits nothing more; bring the checkpoint directory "
            "back and start the job again, or start from 0 in another one",
        )


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
    clock : LeaseClock
        The time.

    Attributes
    ----------
    fence : Fence
        What the sinks of the present attempt ask before they write.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     lease = Lease.take(directory, "a name of one's own")
    ...     lease.check()
    ...     lease.release()
    """

    def __init__(
        self, directory: str, number: int, content: dict[str, Any], clock: LeaseClock
    ) -> None:
        self.fence = Fence(directory, number, content["holder"])
        self._fs, self._folder = _lease_folder(directory)
        self._content = content
        self._clock = clock
        self._renewed = clock.seconds()
        # Epochs are committed in a thread of Spark's, the job's own thread renews besides.
        self._lock = threading.Lock()

    @staticmethod
    def take(directory: str, holder: str, *, clock: LeaseClock | None = None) -> Lease:
        """Take the lease of a directory, if nobody holds it.

        A holder on another machine is watched: one that does not renew its lease for `LEASE_SECONDS`
        is given up. Only the clock of this process counts for that.

        Raises
        ------
        CheckpointError
            ``CHECKPOINT_IN_USE`` if a driver that lives works there.
        """
        clock = clock or LeaseClock()
        fs, folder = _lease_folder(directory)
        make_folder(fs, folder)
        numbers = _numbers(fs, folder)
        lives = Watch(directory, clock).until_sure()
        # Another driver may have come since the first look.
        newest = max(_numbers(fs, folder), default=0)
        if lives or newest > max(numbers, default=0):
            raise _in_use(directory, _holder(fs, folder, newest, clock.wall_ms()))
        number = newest + 1
        content = {
            "holder": holder,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "process_started": process_started(os.getpid()),
            "pid_space": _pid_space(),
            "taken_ms": clock.wall_ms(),
            "renewed_ms": clock.wall_ms(),
            "renewals": 0,
        }
        if not _create(fs, _path(folder, number), content):
            raise _in_use(directory, _holder(fs, folder, number, clock.wall_ms()))
        _forget(fs, folder, numbers)
        return Lease(directory, number, content, clock)

    @property
    def number(self) -> int:
        """The number of the attempt."""
        return self.fence.number

    def check(self) -> None:
        """Make sure that the lease is still held, and renew it from time to time.

        Raises
        ------
        CheckpointError
            ``LEASE_LOST`` if another driver has taken over.
        """
        with self._lock:
            self.fence.check()
            if self._clock.seconds() - self._renewed >= RENEW_SECONDS:
                self._renew()

    def renew(self) -> None:
        """Say now that the holder lives; see `check`."""
        with self._lock:
            self.fence.check()
            self._renew()

    def next_attempt(self) -> None:
        """Go on under the next number: what is left of the attempt before it may not write any more.

        Raises
        ------
        CheckpointError
            ``LEASE_LOST`` if another driver has taken over.
        """
        with self._lock:
            self.fence.check()
            if _create(self._fs, _path(self._folder, self.number + 1), self._content):
                self.fence = replace(self.fence, number=self.number + 1)
                _forget(self._fs, self._folder, _numbers(self._fs, self._folder)[:-1])
            self.fence.check()

    def release(self) -> None:
        """Give the directory up: the next driver need not wait."""
        with self._lock, suppress(CheckpointError):
            self.fence.check()
            self._write(released=True)

    def withdraw(self) -> None:
        """Undo `take`, for a program that was refused and has written nothing."""
        with self._lock, suppress(CheckpointError):
            self.fence.check()
            self._fs.delete_file(_path(self._folder, self.number))

    def _renew(self) -> None:
        self._write(renewed_ms=self._clock.wall_ms(), renewals=self._content["renewals"] + 1)
        self._renewed = self._clock.seconds()

    def _write(self, **changes: Any) -> None:
        self._content = {**self._content, **changes}
        write_at(self._fs, _path(self._folder, self.number), json.dumps(self._content).encode())


class Watch:
    """Finds out whether the holder of a directory lives, without comparing the times of two machines.

    A process of this machine is looked up. One on another machine lives if its lease changes while it is
    watched, and is dead if it does not for `LEASE_SECONDS` of this process's own clock.

    Parameters
    ----------
    directory : str
        The checkpoint directory.
    clock : LeaseClock, optional
        The time.
    """

    def __init__(self, directory: str, clock: LeaseClock | None = None) -> None:
        self._fs, self._folder = _lease_folder(directory)
        self._clock = clock or LeaseClock()
        self._looks: object = None
        self._since = 0.0
        self._moves = False

    def look(self) -> bool | None:
        """Whether there is a holder and it lives; None if that is not sure yet."""
        numbers = _numbers(self._fs, self._folder)
        if not numbers:
            return False
        path = _path(self._folder, numbers[-1])
        content = _valid(found := read_json(self._fs, path))
        if content is not None:
            if content.get("released"):
                return False
            if _is_here(content):
                return _process_lives(content["pid"], content["process_started"])
        looks = path, found, self._fs.get_file_info(path).mtime_ns
        if looks != self._looks:
            self._moves = self._looks is not None
            self._looks, self._since = looks, self._clock.seconds()
        if self._clock.seconds() - self._since >= LEASE_SECONDS:
            return False
        return True if self._moves else None

    def until_sure(self) -> bool:
        """Whether the holder lives; waits until that is sure, `LEASE_SECONDS` at most."""
        lives = self.look()
        if lives is None:
            log.warning(
                "waiting up to %d seconds for a sign of life of the driver that holds %s",
                LEASE_SECONDS,
                self._folder,
            )
        while lives is None:
            self._clock.wait(WATCH_SECONDS)
            lives = self.look()
        return lives


def current_holder(directory: str, now_ms: Callable[[], int] = wall_clock_ms) -> Holder | None:
    """The present or last holder of the lease of a directory; None if there was none.

    Whether a holder on another machine lives can only be guessed at one look, by the time of day of both
    machines. That is good enough to show it; who acts on it asks a `Watch`.
    """
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
    """The content of a small file; None if there is none, or only a part of it."""
    try:
        found = read_small(fs, path, {})
    except BadFile:
        return None
    return None if found is None else found.content


def write_json(fs: pafs.FileSystem, path: str, content: dict[str, Any]) -> None:
    """Write a small file in one step; it may be lost if the machine crashes."""
    write_at(fs, path, json.dumps(content).encode(), sync=False)


def _create(fs: pafs.FileSystem, path: str, content: dict[str, Any]) -> bool:
    """Make a lease that nobody else makes at the same time; whether that worked."""
    created = create(fs, path, json.dumps(content).encode(), aside=path.rpartition("/")[0])
    if is_local(fs) or not created:
        return created
    threading.Event().wait(SETTLE_SECONDS)
    found = read_json(fs, path)
    return found is not None and found.get("holder") == content["holder"]


def _forget(fs: pafs.FileSystem, folder: str, numbers: list[int]) -> None:
    """Delete old leases; the last ones say who was there."""
    for old in numbers[: -KEPT + 1]:
        with suppress(FileNotFoundError):
            fs.delete_file(_path(folder, old))


def _holder(fs: pafs.FileSystem, folder: str, number: int, now_ms: int) -> Holder:
    path = _path(folder, number)
    content = _valid(read_json(fs, path))
    if content is None:
        return _unknown_holder(fs, path, number, now_ms)
    return Holder(
        number=number,
        holder=content["holder"],
        host=content["host"],
        pid=content["pid"],
        since_ms=content["taken_ms"],
        alive=_seems_alive(content, now_ms),
    )


def _unknown_holder(fs: pafs.FileSystem, path: str, number: int, now_ms: int) -> Holder:
    """The holder of a lease that is being written, or of a file that is no lease."""
    written = fs.get_file_info(path).mtime_ns
    since_ms = now_ms if written is None else written // 1_000_000
    alive = now_ms - since_ms < LEASE_SECONDS * 1_000
    return Holder(number, None, "unknown", None, since_ms, alive)


def _valid(content: dict[str, Any] | None) -> dict[str, Any] | None:
    """The content of a lease, if it is complete."""
    if content is None or not all(
        isinstance(content.get(name), kind) for name, kind in _FIELDS.items()
    ):
        return None
    return {"process_started": None, "pid_space": None, **content}


_FIELDS = {"holder": str, "host": str, "pid": int, "taken_ms": int, "renewed_ms": int}


def _seems_alive(content: dict[str, Any], now_ms: int) -> bool:
    if content.get("released"):
        return False
    if _is_here(content):
        return _process_lives(content["pid"], content["process_started"])
    return bool(now_ms - content["renewed_ms"] < LEASE_SECONDS * 1_000)


def _is_here(content: dict[str, Any]) -> bool:
    """Whether a holder is a process that can be seen from here."""
    return (content["host"], content["pid_space"]) == (socket.gethostname(), _pid_space())


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
    """Among which processes a number is a process's own.

    Containers and machines may share a host's name, and the first space of every machine has the same
    number; only the id of its last start is a machine's own.
    """
    try:
        return f"{BOOT_ID.read_text().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return None


def _lease_folder(directory: str) -> tuple[pafs.FileSystem, str]:
    fs, inner = open_path(directory)
    return fs, f"{inner}/lease"


def _numbers(fs: pafs.FileSystem, folder: str) -> list[int]:
    found = fs.get_file_info(pafs.FileSelector(folder, allow_not_found=True))
    names = (info.base_name.removesuffix(".json") for info in found)
    return numbers_of(names)


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
