"""The life of a receiver: starts, stops, restarts, errors, and the blocks it stores."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from millstream.common.errors import PlanError, TypeMismatchError
from millstream.dstream.listener import ReceiverInfo
from millstream.dstream.rdd import StorageLevel
from millstream.dstream.receivers.receiver import Receiver
from millstream.dstream.receivers.supervisor import ReceiverSupervisor

WAIT = 20


class Calls(Receiver):
    """Notes what is called, and does what a test says."""

    def __init__(self) -> None:
        super().__init__(StorageLevel.MEMORY_ONLY)
        self.calls: list[str] = []
        self.starts = threading.Semaphore(0)
        self.stops = threading.Semaphore(0)
        self.failures: Iterator[BaseException | None] = iter([])

    def onStart(self) -> None:
        self.calls.append("start")
        self.starts.release()
        failure = next(self.failures, None)
        if failure is not None:
            raise failure

    def onStop(self) -> None:
        self.calls.append("stop")
        self.stops.release()


class Told:
    def __init__(self) -> None:
        self.blocks: list[list[Any]] = []
        self.events: list[tuple[str, ReceiverInfo]] = []
        self.heard = threading.Condition()

    def tell(self, name: str, info: ReceiverInfo) -> None:
        with self.heard:
            self.events.append((name, info))
            self.heard.notify_all()

    def wait_for(self, *names: str) -> None:
        with self.heard:
            ok = self.heard.wait_for(lambda: [n for n, _ in self.events] == [*names], WAIT)
            assert ok, self.events


@pytest.fixture
def told() -> Told:
    return Told()


def supervised(receiver: Receiver, told: Told, delay_ms: int = 1) -> ReceiverSupervisor:
    return ReceiverSupervisor(receiver, told.blocks.append, told.tell, lambda: 42, delay_ms)


def test_a_receiver_starts_and_stops_with_the_context(told: Told) -> None:
    receiver = Calls()
    supervisor = supervised(receiver, told)
    assert not receiver.isStarted()
    supervisor.start()
    told.wait_for("onReceiverStarted")
    assert receiver.starts.acquire(timeout=WAIT)
    assert (receiver.isStarted(), receiver.isStopped()) == (True, False)
    supervisor.close()
    assert (receiver.isStarted(), receiver.isStopped()) == (False, True)
    told.wait_for("onReceiverStarted", "onReceiverStopped")
    supervisor.close()
    assert receiver.calls == ["start", "stop"]


def test_restart_stops_and_starts_again(told: Told) -> None:
    receiver = Calls()
    supervised(receiver, told, delay_ms=10_000_000).start()
    assert receiver.starts.acquire(timeout=WAIT)
    receiver.restart("connection lost", ValueError("x"), 1)
    assert receiver.starts.acquire(timeout=WAIT)
    told.wait_for("onReceiverStarted", "onReceiverStopped", "onReceiverStarted")
    assert receiver.calls == ["start", "stop", "start"]
    stopped = told.events[1][1]
    assert "connection lost" in stopped.lastErrorMessage()
    assert stopped.lastError() == "ValueError('x')"
    assert stopped.lastErrorTime() == 42
    receiver.stop("enough")


def test_a_restart_that_waits_ends_with_the_context(told: Told) -> None:
    receiver = Calls()
    supervisor = supervised(receiver, told, delay_ms=10_000_000)
    supervisor.start()
    assert receiver.starts.acquire(timeout=WAIT)
    receiver.restart("later")
    assert receiver.stops.acquire(timeout=WAIT)
    supervisor.close()
    told.wait_for("onReceiverStarted", "onReceiverStopped")


def test_a_receiver_that_stops_stays_stopped(told: Told) -> None:
    receiver = Calls()
    supervisor = supervised(receiver, told)
    supervisor.start()
    assert receiver.starts.acquire(timeout=WAIT)
    receiver.stop("done", RuntimeError("end"))
    receiver.restart("again")
    told.wait_for("onReceiverStarted", "onReceiverStopped")
    assert supervisor.finished
    assert receiver.isStopped()


def test_an_error_in_on_start_is_reported_and_tried_again(told: Told) -> None:
    receiver = Calls()
    receiver.failures = iter([OSError("refused"), None])
    supervisor = supervised(receiver, told)
    supervisor.start()
    for _ in range(2):
        assert receiver.starts.acquire(timeout=WAIT)
    told.wait_for("onReceiverStarted", "onReceiverError", "onReceiverStopped", "onReceiverStarted")
    assert told.events[1][1].lastError() == "OSError('refused')"
    supervisor.close()


def test_reported_errors_reach_listeners(told: Told) -> None:
    receiver = Calls()
    supervised(receiver, told)
    receiver.streamId = 3
    receiver.reportError("odd record", ValueError("v"))
    ((name, info),) = told.events
    assert name == "onReceiverError"
    assert (info.streamId(), info.name(), info.active()) == (3, "Calls-3", False)
    assert (info.lastErrorMessage(), info.lastError()) == ("odd record", "ValueError('v')")


def test_what_is_stored(told: Told) -> None:
    receiver = Calls()
    supervisor = supervised(receiver, told)
    receiver.store("one")
    receiver.store(("a", 2))
    receiver.store([1, 2])
    receiver.store(iter([3]))
    receiver.store([])
    receiver.store([[4, 5]])
    receiver.store(b"bytes")
    supervisor.flush()
    supervisor.flush()
    assert told.blocks == [["one", ("a", 2)], [1, 2], [3], [[4, 5]], [b"bytes"]]


def test_single_records_become_blocks_by_themselves(told: Told) -> None:
    receiver = Calls()
    came = threading.Event()

    def keep(records: list[Any]) -> None:
        told.blocks.append(records)
        came.set()

    supervisor = ReceiverSupervisor(receiver, keep, told.tell, lambda: 0, 1)
    supervisor.start()
    receiver.store("single")
    assert came.wait(WAIT)
    supervisor.close()
    assert told.blocks == [["single"]]


def test_single_records_stay_if_they_cannot_be_kept(told: Told) -> None:
    receiver = Calls()
    full = True

    def keep(records: list[Any]) -> None:
        if full:
            raise OSError("disk full")
        told.blocks.append(records)

    supervisor = ReceiverSupervisor(receiver, keep, told.tell, lambda: 0, 1)
    receiver.store("a")
    with pytest.raises(OSError, match="disk full"):
        supervisor.flush()
    with pytest.raises(OSError, match="disk full"):
        receiver.store(["b"])
    full = False
    receiver.store(["c"])
    assert told.blocks == [["a"], ["c"]]


def test_a_record_that_can_never_be_kept_is_left_out(told: Told) -> None:
    kept: list[Any] = []
    full = [True]

    def keep(records: list[Any]) -> None:
        if "bad" in records:
            raise TypeMismatchError("UNPICKLABLE_VALUE", "bad")
        if records == [3] and full.pop():
            raise OSError("full")
        kept.extend(records)

    receiver = Calls()
    supervisor = ReceiverSupervisor(receiver, keep, told.tell, lambda: 42)
    for record in (1, "bad", 2, 3, "bad", 4):
        receiver.store(record)
    with pytest.raises(OSError, match="full"):
        supervisor.flush()
    assert kept == [1, 2]
    full[:] = [False]
    supervisor.flush()
    assert kept == [1, 2, 3, 4]
    assert supervisor.is_empty()
    assert [info.lastErrorMessage() for _, info in told.events] == ["a record is left out"] * 2


def test_an_exit_in_on_start_is_an_error(told: Told) -> None:
    receiver = Calls()
    receiver.failures = iter([SystemExit(2)])
    supervisor = supervised(receiver, told)
    supervisor.start()
    told.wait_for("onReceiverStarted", "onReceiverError", "onReceiverStopped", "onReceiverStarted")
    supervisor.close()


class Plain(Receiver):
    """As programs are written that forget super().__init__()."""

    def __init__(self, host: str) -> None:
        self.host = host

    def onStart(self) -> None: ...


def test_a_receiver_belongs_to_a_context() -> None:
    with pytest.raises(PlanError, match="RECEIVER_NOT_STARTED"):
        Plain("h").store(1)


def test_receivers_are_pickled_without_their_supervisor(told: Told) -> None:
    receiver = Plain("h")
    supervised(receiver, told)
    copied = pickle.loads(pickle.dumps(receiver))
    assert copied.host == "h"
    assert copied._supervisor is None
    assert copied.storageLevel == StorageLevel.MEMORY_AND_DISK_2
    assert receiver.preferredLocation() is None
