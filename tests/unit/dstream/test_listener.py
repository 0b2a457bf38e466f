"""What listeners hear: Spark's callbacks, and values as methods."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from millstream.dstream.listener import (
    BatchInfo,
    BatchTime,
    OutputOperationInfo,
    ReceiverInfo,
    StreamingListener,
    StreamInputInfo,
    notify,
)

CALLBACKS = [
    "onStreamingStarted",
    "onReceiverStarted",
    "onReceiverError",
    "onReceiverStopped",
    "onBatchSubmitted",
    "onBatchStarted",
    "onBatchCompleted",
    "onOutputOperationStarted",
    "onOutputOperationCompleted",
]


def test_there_are_sparks_nine_callbacks() -> None:
    pytest.importorskip("pyspark")
    from pyspark.streaming.listener import StreamingListener as Theirs

    assert [name for name in vars(Theirs) if name.startswith("on")] == CALLBACKS
    assert [name for name in vars(StreamingListener) if name.startswith("on")] == CALLBACKS
    for name in CALLBACKS:
        notify([StreamingListener()], name)


def test_the_delays_of_a_batch() -> None:
    waiting = BatchInfo(BatchTime(2000), 2001, inputs={0: StreamInputInfo(0, 5, "a socket")})
    assert waiting.batchTime().milliseconds() == 2000
    assert (waiting.schedulingDelay(), waiting.processingDelay(), waiting.totalDelay()) == (-1,) * 3
    begun = waiting.begun(2010)
    assert (begun.schedulingDelay(), begun.processingDelay(), begun.totalDelay()) == (9, -1, -1)
    output = OutputOperationInfo(BatchTime(2000), 0, "foreachRDD at app.py:3", "", 2010, 2020)
    done = begun.finished(2020, {0: output})
    assert (done.schedulingDelay(), done.processingDelay(), done.totalDelay()) == (9, 10, 19)
    assert done.numRecords() == 5
    assert done.outputOperationInfos()[0].name() == "foreachRDD at app.py:3"
    assert done.outputOperationInfos()[0].failureReason() is None


def test_the_records_of_an_input() -> None:
    info = StreamInputInfo(2, 7, "files of /data")
    assert (info.inputStreamId(), info.numRecords, info.numRecords()) == (2, 7, 7)
    assert info.metadata() == {"Description": "files of /data"}
    assert info.metadataDescription() == "files of /data"


def test_the_state_of_a_receiver() -> None:
    info = ReceiverInfo(1, "Numbers-1", True, last_message="m", last_error="e", last_error_ms=3)
    values = (info.streamId(), info.name(), info.active(), info.location())
    assert values == (1, "Numbers-1", True, "localhost")
    assert (info.lastErrorMessage(), info.lastError(), info.lastErrorTime()) == ("m", "e", 3)


def test_a_listener_that_fails_does_not_stop_the_others(caplog: Any) -> None:
    class Bad(StreamingListener):
        def onStreamingStarted(self, streamingStarted: Any) -> None:
            raise ValueError("bad listener")

    class Good(StreamingListener):
        def onStreamingStarted(self, streamingStarted: Any) -> None:
            heard.append(streamingStarted.time())

    heard: list[int] = []
    with caplog.at_level(logging.ERROR):
        notify([Bad(), Good()], "onStreamingStarted", time=77)
    assert heard == [77]
    assert "bad listener" in caplog.text


def test_an_event_has_only_its_values() -> None:
    heard: list[Any] = []

    class Listener(StreamingListener):
        def onBatchCompleted(self, batchCompleted: Any) -> None:
            heard.append(repr(batchCompleted))
            assert not hasattr(batchCompleted, "receiverInfo")

    notify([Listener()], "onBatchCompleted", batchInfo=1)
    assert heard == ["Event(batchInfo=1)"]
