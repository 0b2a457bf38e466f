"""Batches of what receivers store, with and without a write-ahead log."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any

import pytest

from millstream.common.errors import PlanError
from millstream.dstream.inputs.received import ReceivedInput
from millstream.dstream.receivers import Receiver
from tests.support.dstream.inputs import Batches

WAIT = 20


class Told(Receiver):
    """Stores what a test says, in the thread of the test."""

    def __init__(self) -> None:
        super().__init__()
        self.ready = threading.Event()

    def onStart(self) -> None:
        self.ready.set()

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"ready": None}


def started(folder: str | None = None, **conf: str) -> tuple[Told, Batches]:
    receiver = Told()
    named = {f"spark.streaming.{key.replace('_', '.')}": value for key, value in conf.items()}
    batches = Batches(ReceivedInput(receiver, named), folder=folder)
    assert receiver.ready.wait(WAIT)
    return receiver, batches


@pytest.mark.parametrize("durable", [False, True])
def test_a_batch_has_a_partition_for_each_block(durable: bool, tmp_path: Path) -> None:
    receiver, batches = started(str(tmp_path) if durable else None)
    assert batches.parts(1000) == []
    receiver.store([1, 2])
    receiver.store(iter([3]))
    assert not batches.source.idle()
    assert batches.parts(2000) == [[1, 2], [3]]
    assert batches.source.idle()
    assert batches.parts(3000) == []
    batches.source.close()


@pytest.mark.parametrize("durable", [False, True])
def test_what_came_before_the_end_can_still_be_taken(durable: bool, tmp_path: Path) -> None:
    receiver, batches = started(str(tmp_path) if durable else None, blockInterval="1h")
    receiver.store("single")
    assert not batches.source.idle()
    batches.source.close()
    assert batches.take(1000) == ["single"]


def test_after_a_crash_batches_have_their_blocks_and_the_next_one_what_was_left(
    tmp_path: Path,
) -> None:
    receiver, first = started(str(tmp_path))
    receiver.store([1])
    first.take(1000)
    receiver.store([2])
    receiver.store([3])
    again = Told()
    second = first.recovered(ReceivedInput(again, {}), folder=str(tmp_path))
    assert first.again(second.source, 0) == [[1]]
    taken = second.source.take(2000)
    assert second.source.records(taken) == 2
    assert second.source.rdd(second.context, taken, 2000).collect() == [2, 3]  # type: ignore[union-attr]


def test_a_batch_that_was_not_written_into_the_log_comes_again(tmp_path: Path) -> None:
    receiver, first = started(str(tmp_path))
    receiver.store([1])
    assert first.source.take(1000) is not None  # A crash: nobody knows of this batch.
    second = first.recovered(ReceivedInput(Told(), {}), folder=str(tmp_path))
    assert second.take(1000) == [1]


def test_blocks_that_nobody_needs_are_deleted(tmp_path: Path) -> None:
    receiver, batches = started(str(tmp_path))
    for number in range(3):
        receiver.store([bytes(9_000_000), number])
        batches.parts(number)
    files = len(list((tmp_path / "log").iterdir()))
    for time, taken in batches.log:
        batches.source.forget(pickle.loads(taken), time)
    assert len(list((tmp_path / "log").iterdir())) < files


def test_listeners_hear_of_the_receiver_and_its_records() -> None:
    heard: list[tuple[str, int]] = []

    def tell(callback: str, *, receiverInfo: Any) -> None:
        heard.append((callback, receiverInfo.streamId()))

    receiver = Told()
    batches = Batches(ReceivedInput(receiver, {}), number=7, tell=tell)
    assert receiver.ready.wait(WAIT)
    receiver.store([1, 2, 3])
    taken = batches.source.take(1000)
    assert (batches.source.records(taken), batches.source.description(taken)) == (3, "Told")
    assert batches.source.records(None) == 0
    batches.source.close()
    assert heard == [("onReceiverStarted", 7), ("onReceiverStopped", 7)]


def test_a_limit_holds_for_single_records_and_ends_with_the_receiver() -> None:
    receiver, batches = started(receiver_maxRate="0.001")
    receiver.store(1)
    receiver.store([2, 3])  # As in Spark blocks do not wait.
    waiting = threading.Thread(target=receiver.store, args=(4,))
    waiting.start()
    batches.source.close()
    waiting.join(WAIT)
    assert not waiting.is_alive()


def test_back_pressure_begins_with_its_first_rate() -> None:
    conf = {
        "spark.streaming.backpressure.enabled": "true",
        "spark.streaming.backpressure.initialRate": "50",
    }
    source: ReceivedInput[Any] = ReceivedInput(Told(), conf)
    assert source.listener() is None
    Batches(source)
    assert source.listener() is not None
    source.close()


def test_an_input_that_runs_can_be_pickled() -> None:
    _, batches = started()
    copy = pickle.loads(pickle.dumps(batches.source))
    assert copy.take(1000) is None
    batches.source.close()


def test_what_is_no_receiver() -> None:
    with pytest.raises(PlanError, match=r"NOT_A_RECEIVER.*list"):
        ReceivedInput([], {})  # type: ignore[arg-type]
