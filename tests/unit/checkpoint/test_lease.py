"""Leases: of two drivers on one checkpoint directory only one goes on."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest

from millstream.checkpoint import lease as lease_module
from millstream.checkpoint.lease import KEPT, LEASE_SECONDS, RENEW_SECONDS, Lease, current_holder
from millstream.common.errors import CheckpointError


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.ms = 1_000_000

    def __call__(self) -> int:
        return self.ms

    def forward(self, seconds: float) -> None:
        self.ms += int(seconds * 1_000)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def dead_pid() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.fixture
def zombie_pid() -> Iterator[int]:
    """The id of a process that was killed and that nobody has asked about yet."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    yield process.pid
    process.wait()


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "lease").iterdir())


def change(folder: Path, number: int = 1, **content: Any) -> None:
    """Make a lease somebody else's."""
    path = folder / "lease" / f"{number:08d}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **content}))


def in_use(folder: Path, clock: Clock) -> CheckpointError:
    with pytest.raises(CheckpointError) as caught:
        Lease.take(str(folder), "second", now_ms=clock)
    assert caught.value.code == "CHECKPOINT_IN_USE"
    return caught.value


def lost(lease: Lease) -> CheckpointError:
    with pytest.raises(CheckpointError) as caught:
        lease.check()
    assert caught.value.code == "LEASE_LOST"
    return caught.value


def test_the_first_lease_says_who_holds_it(tmp_path: Path, clock: Clock) -> None:
    Lease.take(str(tmp_path / "new"), "me", now_ms=clock).check()
    content = json.loads((tmp_path / "new" / "lease" / "00000001.json").read_text())
    assert (content["holder"], content["pid"]) == ("me", os.getpid())
    assert content["host"] and content["renewed_ms"] == clock.ms
    if Path("/proc/self/stat").exists():
        assert content["process_started"] is not None


def test_a_directory_in_use_is_refused_and_the_error_says_by_whom(
    tmp_path: Path, clock: Clock
) -> None:
    first = Lease.take(str(tmp_path), "first", now_ms=clock)
    before = files(tmp_path)
    error = in_use(tmp_path, clock)
    text = str(error)
    assert str(tmp_path) in text and str(os.getpid()) in text
    assert "1970-01-01T00:16:40" in text, "since when"
    assert error.hint
    assert files(tmp_path) == before, "a refused driver leaves nothing"
    first.check()


def test_a_live_process_of_this_host_keeps_its_lease_however_long_it_is_silent(
    tmp_path: Path, clock: Clock
) -> None:
    Lease.take(str(tmp_path), "first", now_ms=clock)
    clock.forward(100 * LEASE_SECONDS)
    in_use(tmp_path, clock)


def test_a_killed_driver_of_this_host_is_followed_at_once(
    tmp_path: Path, clock: Clock, dead_pid: int
) -> None:
    Lease.take(str(tmp_path), "first", now_ms=clock)
    change(tmp_path, pid=dead_pid)
    second = Lease.take(str(tmp_path), "second", now_ms=clock)
    assert second.number == 2
    second.check()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_killed_driver_that_its_parent_has_not_missed_is_dead(
    tmp_path: Path, clock: Clock, zombie_pid: int
) -> None:
    Lease.take(str(tmp_path), "first", now_ms=clock)
    started = lease_module.process_started(os.getppid())
    assert started is not None and lease_module.process_started(zombie_pid) is None
    change(tmp_path, pid=zombie_pid)
    Lease.take(str(tmp_path), "second", now_ms=clock).check()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_another_process_under_the_same_number_does_not_hold_the_lease(
    tmp_path: Path, clock: Clock
) -> None:
    Lease.take(str(tmp_path), "first", now_ms=clock)
    change(tmp_path, process_started=1)
    Lease.take(str(tmp_path), "second", now_ms=clock).check()


@pytest.mark.parametrize("elsewhere", [{"host": "other"}, {"pid_space": "other"}])
def test_a_driver_elsewhere_is_given_up_when_it_has_been_silent(
    tmp_path: Path, clock: Clock, elsewhere: dict[str, str], dead_pid: int
) -> None:
    """Its process cannot be seen from here, so that only time can tell."""
    Lease.take(str(tmp_path), "first", now_ms=clock)
    change(tmp_path, pid=dead_pid, **elsewhere)
    clock.forward(LEASE_SECONDS - 0.001)
    error = in_use(tmp_path, clock)
    assert f"{LEASE_SECONDS}" in (error.hint or "")
    clock.forward(0.001)
    Lease.take(str(tmp_path), "second", now_ms=clock).check()


def test_a_lease_that_was_taken_over_is_lost(tmp_path: Path, clock: Clock) -> None:
    first = Lease.take(str(tmp_path), "first", now_ms=clock)
    first.check()
    change(tmp_path, host="other")
    clock.forward(LEASE_SECONDS)
    second = Lease.take(str(tmp_path), "second", now_ms=clock)
    text = str(lost(first))
    assert str(tmp_path) in text and str(os.getpid()) in text
    second.check()
    lost(first)


def test_a_lease_whose_file_is_somebody_elses_is_lost(tmp_path: Path, clock: Clock) -> None:
    """Where files cannot be made exclusively, two may have written the same number."""
    first = Lease.take(str(tmp_path), "first", now_ms=clock)
    change(tmp_path, holder="second")
    lost(first)


def test_a_released_lease_can_be_taken_at_once_under_the_next_number(
    tmp_path: Path, clock: Clock
) -> None:
    first = Lease.take(str(tmp_path), "first", now_ms=clock)
    first.release()
    second = Lease.take(str(tmp_path), "second", now_ms=clock)
    assert (first.number, second.number) == (1, 2)
    lost(first)


def test_releasing_what_was_lost_leaves_the_new_holder_alone(tmp_path: Path, clock: Clock) -> None:
    first = Lease.take(str(tmp_path), "first", now_ms=clock)
    change(tmp_path, host="other")
    clock.forward(LEASE_SECONDS)
    second = Lease.take(str(tmp_path), "second", now_ms=clock)
    first.release()
    second.check()
    in_use(tmp_path, clock)


def test_a_withdrawn_lease_leaves_nothing(tmp_path: Path, clock: Clock) -> None:
    Lease.take(str(tmp_path), "first", now_ms=clock).release()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    Lease.take(str(tmp_path), "refused", now_ms=clock).withdraw()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_checking_renews_but_not_every_time(tmp_path: Path, clock: Clock) -> None:
    lease = Lease.take(str(tmp_path), "me", now_ms=clock)
    path = tmp_path / "lease" / "00000001.json"

    def renewed_ms() -> int:
        return int(json.loads(path.read_text())["renewed_ms"])

    began = clock.ms
    clock.forward(RENEW_SECONDS - 0.001)
    lease.check()
    assert renewed_ms() == began
    clock.forward(0.001)
    lease.check()
    assert renewed_ms() == clock.ms
    clock.forward(0.001)
    lease.renew()
    assert renewed_ms() == clock.ms
    assert files(tmp_path) == ["00000001.json"]


def test_a_renewal_says_since_when_the_lease_is_held(tmp_path: Path, clock: Clock) -> None:
    lease = Lease.take(str(tmp_path), "me", now_ms=clock)
    clock.forward(3_600)
    lease.renew()
    assert "1970-01-01T00:16:40" in str(in_use(tmp_path, clock))


def test_old_leases_are_removed(tmp_path: Path, clock: Clock) -> None:
    for number in range(1, 7):
        lease = Lease.take(str(tmp_path), f"{number}", now_ms=clock)
        lease.check()
        lease.release()
    assert files(tmp_path) == [f"{number:08d}.json" for number in range(7 - KEPT, 7)]


def test_a_lease_whose_writer_died_while_writing_holds_for_a_while(
    tmp_path: Path, clock: Clock
) -> None:
    (tmp_path / "lease").mkdir()
    broken = tmp_path / "lease" / "00000004.json"
    broken.write_text("")
    clock.ms = int(broken.stat().st_mtime * 1_000)
    in_use(tmp_path, clock)
    clock.forward(LEASE_SECONDS + 1)
    assert Lease.take(str(tmp_path), "me", now_ms=clock).number == 5


def test_of_two_that_find_the_same_last_lease_one_wins(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other has listed the leases before the winner made its own."""
    listed = lease_module._numbers
    monkeypatch.setattr(lease_module, "_numbers", lambda fs, folder: [])
    first = Lease.take(str(tmp_path), "first", now_ms=clock)
    with pytest.raises(CheckpointError) as caught:
        Lease.take(str(tmp_path), "second", now_ms=clock)
    assert caught.value.code == "CHECKPOINT_IN_USE"
    monkeypatch.setattr(lease_module, "_numbers", listed)
    first.check()


# -- elsewhere than on a local disk ---------------------------------------------------------------


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file system that cannot make files exclusively."""
    store = pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem())
    monkeypatch.setattr(lease_module, "open_path", lambda path: (store, "job"))
    monkeypatch.setattr(lease_module, "SETTLE_SECONDS", 0)
    return tmp_path / "job"


def test_a_remote_lease_is_taken_checked_and_released(remote: Path, clock: Clock) -> None:
    first = Lease.take("store://job", "first", now_ms=clock)
    first.check()
    in_use(remote, clock)
    first.release()
    Lease.take("store://job", "second", now_ms=clock).check()
    assert files(remote) == ["00000001.json", "00000002.json"]


def test_of_two_that_write_the_same_remote_lease_the_last_one_wins(
    remote: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = lease_module.write_json

    def overtaken(fs: Any, path: str, content: dict[str, Any]) -> None:
        write(fs, path, content)
        write(fs, path, {**content, "holder": "faster"})

    monkeypatch.setattr(lease_module, "write_json", overtaken)
    with pytest.raises(CheckpointError) as caught:
        Lease.take("store://job", "slower", now_ms=clock)
    assert caught.value.code == "CHECKPOINT_IN_USE"
    assert json.loads((remote / "lease" / "00000001.json").read_text())["holder"] == "faster"


# -- asked from outside ---------------------------------------------------------------------------


def test_the_current_holder_is_seen_from_outside(tmp_path: Path, clock: Clock) -> None:
    assert current_holder(str(tmp_path), clock) is None
    lease = Lease.take(str(tmp_path), "me", now_ms=clock)
    holder = current_holder(str(tmp_path), clock)
    assert holder is not None and (holder.pid, holder.alive) == (os.getpid(), True)
    lease.release()
    holder = current_holder(str(tmp_path), clock)
    assert holder is not None and not holder.alive


def test_a_lease_that_cannot_be_written_keeps_nobody_out(tmp_path: Path, clock: Clock) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            Lease.take(str(tmp_path), "first", now_ms=clock)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert files(tmp_path) == []
    Lease.take(str(tmp_path), "second", now_ms=clock).check()
