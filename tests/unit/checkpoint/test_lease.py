"""Leases: of two drivers on one checkpoint directory only one goes on."""

from __future__ import annotations

import json
import os
import pickle
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest

from millstream.checkpoint import lease as lease_module
from millstream.checkpoint.durable import write_at
from millstream.checkpoint.lease import KEPT, LEASE_SECONDS, RENEW_SECONDS, Lease, current_holder
from millstream.common.errors import CheckpointError


class Clock(lease_module.LeaseClock):
    """A clock that a test sets; who waits only moves it."""

    def __init__(self) -> None:
        self.ms = 1_000_000
        self.passed = 5_000.0
        self.while_waiting: Callable[[], None] = lambda: None

    def wall_ms(self) -> int:
        return self.ms

    def seconds(self) -> float:
        return self.passed

    def wait(self, seconds: float) -> None:
        self.forward(seconds)
        self.while_waiting()

    def forward(self, seconds: float) -> None:
        self.ms += int(seconds * 1_000)
        self.passed += seconds


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
        Lease.take(str(folder), "second", clock=clock)
    assert caught.value.code == "CHECKPOINT_IN_USE"
    return caught.value


def lost(lease: Lease) -> CheckpointError:
    with pytest.raises(CheckpointError) as caught:
        lease.check()
    assert caught.value.code == "LEASE_LOST"
    return caught.value


def test_the_first_lease_says_who_holds_it(tmp_path: Path, clock: Clock) -> None:
    Lease.take(str(tmp_path / "new"), "me", clock=clock).check()
    content = json.loads((tmp_path / "new" / "lease" / "00000001.json").read_text())
    assert (content["holder"], content["pid"]) == ("me", os.getpid())
    assert content["host"] and content["renewed_ms"] == clock.ms
    if Path("/proc/self/stat").exists():
        assert content["process_started"] is not None


def test_a_directory_in_use_is_refused_and_the_error_says_by_whom(
    tmp_path: Path, clock: Clock
) -> None:
    first = Lease.take(str(tmp_path), "first", clock=clock)
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
    Lease.take(str(tmp_path), "first", clock=clock)
    clock.forward(100 * LEASE_SECONDS)
    in_use(tmp_path, clock)


def test_a_killed_driver_of_this_host_is_followed_at_once(
    tmp_path: Path, clock: Clock, dead_pid: int
) -> None:
    Lease.take(str(tmp_path), "first", clock=clock)
    change(tmp_path, pid=dead_pid)
    second = Lease.take(str(tmp_path), "second", clock=clock)
    assert second.number == 2
    second.check()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_killed_driver_that_its_parent_has_not_missed_is_dead(
    tmp_path: Path, clock: Clock, zombie_pid: int
) -> None:
    Lease.take(str(tmp_path), "first", clock=clock)
    started = lease_module.process_started(os.getppid())
    assert started is not None and lease_module.process_started(zombie_pid) is None
    change(tmp_path, pid=zombie_pid)
    Lease.take(str(tmp_path), "second", clock=clock).check()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_another_process_under_the_same_number_does_not_hold_the_lease(
    tmp_path: Path, clock: Clock
) -> None:
    Lease.take(str(tmp_path), "first", clock=clock)
    change(tmp_path, process_started=1)
    Lease.take(str(tmp_path), "second", clock=clock).check()


ELSEWHERE = pytest.mark.parametrize("elsewhere", [{"host": "other"}, {"pid_space": "other"}])


@ELSEWHERE
def test_a_driver_elsewhere_is_given_up_when_it_is_silent_while_it_is_watched(
    tmp_path: Path, clock: Clock, elsewhere: dict[str, Any], dead_pid: int
) -> None:
    """Its process cannot be seen from here, so that only time can tell."""
    Lease.take(str(tmp_path), "first", clock=clock)
    change(tmp_path, pid=dead_pid, **elsewhere)
    began = clock.passed
    Lease.take(str(tmp_path), "second", clock=clock).check()
    assert clock.passed - began >= LEASE_SECONDS


def test_a_driver_of_another_machine_with_the_same_name_is_watched(
    tmp_path: Path, clock: Clock, dead_pid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clones of a machine have one host name, and the first space of processes has the same number."""
    with monkeypatch.context() as other_machine:
        (tmp_path / "boot_id").write_text("another one\n")
        other_machine.setattr(lease_module, "BOOT_ID", tmp_path / "boot_id")
        Lease.take(str(tmp_path), "first", clock=clock)
    change(tmp_path, pid=dead_pid)
    began = clock.passed
    Lease.take(str(tmp_path), "second", clock=clock).check()
    assert clock.passed - began >= LEASE_SECONDS


@pytest.mark.parametrize("jump_seconds", [-3_600, 0, 3_600])
@ELSEWHERE
def test_a_driver_elsewhere_that_renews_is_not_followed_whatever_the_time_of_day(
    tmp_path: Path, clock: Clock, elsewhere: dict[str, str], jump_seconds: int
) -> None:
    first_clock = Clock()
    first_clock.ms += jump_seconds * 1_000
    first = Lease.take(str(tmp_path), "first", clock=first_clock)
    first._content |= elsewhere
    first.renew()

    def goes_on() -> None:
        first_clock.forward(lease_module.WATCH_SECONDS)
        first.check()

    clock.while_waiting = goes_on
    began = clock.passed
    error = in_use(tmp_path, clock)
    assert f"{LEASE_SECONDS}" in (error.hint or "")
    assert clock.passed - began <= RENEW_SECONDS + 1, "the next renewal tells"
    first.check()


def test_a_driver_elsewhere_that_releases_while_it_is_watched_is_followed(
    tmp_path: Path, clock: Clock
) -> None:
    first = Lease.take(str(tmp_path), "first", clock=clock)
    change(tmp_path, host="other")
    clock.while_waiting = lambda: change(tmp_path, released=True)
    Lease.take(str(tmp_path), "second", clock=clock).check()
    lost(first)


def test_of_two_that_watch_the_same_dead_driver_one_wins(tmp_path: Path, clock: Clock) -> None:
    Lease.take(str(tmp_path), "dead", clock=clock)
    change(tmp_path, host="other")
    faster = Clock()
    won: list[Lease] = []

    def overtaken() -> None:
        if not won and clock.passed >= 5_000 + LEASE_SECONDS:
            won.append(Lease.take(str(tmp_path), "faster", clock=faster))

    clock.while_waiting = overtaken
    in_use(tmp_path, clock)
    won[0].check()
    assert won[0].number == 2


@pytest.mark.parametrize("jump_seconds", [-3_600, 3_600])
def test_a_holder_renews_in_time_whatever_is_done_to_the_time_of_day(
    tmp_path: Path, clock: Clock, jump_seconds: int
) -> None:
    lease = Lease.take(str(tmp_path), "me", clock=clock)
    for expected in (0, 1, 2):
        path = tmp_path / "lease" / "00000001.json"
        assert json.loads(path.read_text())["renewals"] == expected
        clock.ms += jump_seconds * 1_000
        clock.forward(RENEW_SECONDS)
        lease.check()


def test_each_attempt_has_a_number_and_the_fence_of_an_earlier_one_is_down(
    tmp_path: Path, clock: Clock
) -> None:
    lease = Lease.take(str(tmp_path), "me", clock=clock)
    earlier = lease.fence
    earlier.check()
    lease.next_attempt()
    assert lease.number == 2
    lease.check()
    pickle.loads(pickle.dumps(lease.fence)).check()
    with pytest.raises(CheckpointError, match="LEASE_LOST"):
        earlier.check()
    for _ in range(5):
        lease.next_attempt()
    assert files(tmp_path) == [f"{number:08d}.json" for number in range(8 - KEPT, 8)]


def test_a_file_whose_name_is_no_number_is_no_lease(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "lease").mkdir()
    for name in ("².json", "٣.json", "-1.json", "x.json"):
        (tmp_path / "lease" / name).touch()
    assert current_holder(str(tmp_path)) is None
    lease = Lease.take(str(tmp_path), "me", clock=clock)
    lease.check()
    assert lease.number == 1


def test_a_driver_whose_lease_was_deleted_has_lost_it(tmp_path: Path, clock: Clock) -> None:
    """A driver that begins anew in the same place has a lower number, and nobody was in its way."""
    first = Lease.take(str(tmp_path), "first", clock=clock)
    first.next_attempt()
    shutil.rmtree(tmp_path / "lease")
    assert "deleted" in str(lost(first))
    # A worker need not reach the checkpoint directory at all.
    pickle.loads(pickle.dumps(first.fence)).check()
    second = Lease.take(str(tmp_path), "second", clock=clock)
    second.check()
    assert second.number < first.number
    lost(first)
    with pytest.raises(CheckpointError, match="LEASE_LOST"):
        pickle.loads(pickle.dumps(first.fence)).check()


def test_the_next_attempt_of_a_driver_that_was_followed_is_refused(
    tmp_path: Path, clock: Clock
) -> None:
    first = Lease.take(str(tmp_path), "first", clock=clock)
    change(tmp_path, host="other")
    second = Lease.take(str(tmp_path), "second", clock=clock)
    with pytest.raises(CheckpointError, match="LEASE_LOST"):
        first.next_attempt()
    second.check()


@pytest.mark.parametrize(
    "content",
    [
        '{"holder": 5}',
        "[1]",
        "{",
        '{"holder": "x", "host": "h", "pid": "../1", "taken_ms": 1, "renewed_ms": 1}',
    ],
)
def test_a_lease_that_says_nonsense_holds_only_while_it_changes(
    tmp_path: Path, clock: Clock, content: str
) -> None:
    (tmp_path / "lease").mkdir()
    (tmp_path / "lease" / "00000004.json").write_text(content)
    holder = current_holder(str(tmp_path), clock.wall_ms)
    assert holder is not None and holder.host == "unknown"
    began = clock.passed
    assert Lease.take(str(tmp_path), "me", clock=clock).number == 5
    assert clock.passed - began >= LEASE_SECONDS


def test_a_lease_that_was_taken_over_is_lost(tmp_path: Path, clock: Clock) -> None:
    first = Lease.take(str(tmp_path), "first", clock=clock)
    first.check()
    change(tmp_path, host="other")
    second = Lease.take(str(tmp_path), "second", clock=clock)
    text = str(lost(first))
    assert str(tmp_path) in text and str(os.getpid()) in text
    second.check()
    lost(first)


def test_a_lease_whose_file_is_somebody_elses_is_lost(tmp_path: Path, clock: Clock) -> None:
    """Where files cannot be made exclusively, two may have written the same number."""
    first = Lease.take(str(tmp_path), "first", clock=clock)
    change(tmp_path, holder="second")
    lost(first)


def test_a_released_lease_can_be_taken_at_once_under_the_next_number(
    tmp_path: Path, clock: Clock
) -> None:
    first = Lease.take(str(tmp_path), "first", clock=clock)
    first.release()
    second = Lease.take(str(tmp_path), "second", clock=clock)
    assert (first.number, second.number) == (1, 2)
    lost(first)


def test_releasing_what_was_lost_leaves_the_new_holder_alone(tmp_path: Path, clock: Clock) -> None:
    first = Lease.take(str(tmp_path), "first", clock=clock)
    change(tmp_path, host="other")
    second = Lease.take(str(tmp_path), "second", clock=clock)
    first.release()
    second.check()
    in_use(tmp_path, clock)


def test_a_withdrawn_lease_leaves_nothing(tmp_path: Path, clock: Clock) -> None:
    Lease.take(str(tmp_path), "first", clock=clock).release()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    Lease.take(str(tmp_path), "refused", clock=clock).withdraw()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_checking_renews_but_not_every_time(tmp_path: Path, clock: Clock) -> None:
    lease = Lease.take(str(tmp_path), "me", clock=clock)
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
    lease = Lease.take(str(tmp_path), "me", clock=clock)
    clock.forward(3_600)
    lease.renew()
    assert "1970-01-01T00:16:40" in str(in_use(tmp_path, clock))


def test_old_leases_are_removed(tmp_path: Path, clock: Clock) -> None:
    for number in range(1, 7):
        lease = Lease.take(str(tmp_path), f"{number}", clock=clock)
        lease.check()
        lease.release()
    assert files(tmp_path) == [f"{number:08d}.json" for number in range(7 - KEPT, 7)]


def test_of_two_that_find_the_same_last_lease_one_wins(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other has listed the leases before the winner made its own."""
    listed = lease_module._numbers
    monkeypatch.setattr(lease_module, "_numbers", lambda fs, folder: [])
    first = Lease.take(str(tmp_path), "first", clock=clock)
    with pytest.raises(CheckpointError) as caught:
        Lease.take(str(tmp_path), "second", clock=clock)
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


def test_a_driver_that_comes_between_the_two_looks_wins(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    until_sure, others = lease_module.Watch.until_sure, []

    def overtaken(watch: lease_module.Watch) -> bool:
        monkeypatch.setattr(lease_module.Watch, "until_sure", until_sure)
        others.append(Lease.take(str(tmp_path), "another", clock=clock))
        return until_sure(watch)

    monkeypatch.setattr(lease_module.Watch, "until_sure", overtaken)
    with pytest.raises(CheckpointError) as failed:
        Lease.take(str(tmp_path), "one", clock=clock)
    assert failed.value.code == "CHECKPOINT_IN_USE"
    others[0].check()


def test_a_remote_lease_is_taken_checked_and_released(remote: Path, clock: Clock) -> None:
    first = Lease.take("store://job", "first", clock=clock)
    first.check()
    in_use(remote, clock)
    first.release()
    Lease.take("store://job", "second", clock=clock).check()
    assert files(remote) == ["00000001.json", "00000002.json"]


def test_of_two_that_write_the_same_remote_lease_the_last_one_wins(
    remote: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = lease_module.create  # type: ignore[attr-defined]

    def overtaken(fs: Any, path: str, data: bytes, aside: str) -> bool:
        created = create(fs, path, data, aside)
        write_at(fs, path, data.replace(b"slower", b"faster"))
        return created

    monkeypatch.setattr(lease_module, "create", overtaken)
    with pytest.raises(CheckpointError) as caught:
        Lease.take("store://job", "slower", clock=clock)
    assert caught.value.code == "CHECKPOINT_IN_USE"
    assert json.loads((remote / "lease" / "00000001.json").read_text())["holder"] == "faster"


# -- asked from outside ---------------------------------------------------------------------------


def test_the_current_holder_is_seen_from_outside(tmp_path: Path, clock: Clock) -> None:
    assert current_holder(str(tmp_path), clock.wall_ms) is None
    lease = Lease.take(str(tmp_path), "me", clock=clock)
    holder = current_holder(str(tmp_path), clock.wall_ms)
    assert holder is not None and (holder.pid, holder.alive) == (os.getpid(), True)
    lease.release()
    holder = current_holder(str(tmp_path), clock.wall_ms)
    assert holder is not None and not holder.alive


def test_a_lease_that_cannot_be_written_keeps_nobody_out(tmp_path: Path, clock: Clock) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            Lease.take(str(tmp_path), "first", clock=clock)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert files(tmp_path) == []
    Lease.take(str(tmp_path), "second", clock=clock).check()
