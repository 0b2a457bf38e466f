"""Streams of inputs in a context: what batches have, and what they have after a recovery."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from millstream.common.errors import PlanError
from millstream.dstream import (
    DStream,
    ManualClock,
    Receiver,
    SparkContext,
    StreamingContext,
    StreamingListener,
)

WAIT = 20
START_MS = 10_000
Found = list[list[Any]]


def made(clock: ManualClock, **conf: str) -> StreamingContext:
    named = {f"spark.streaming.{key.replace('__', '.')}": value for key, value in conf.items()}
    return StreamingContext(SparkContext("local[2]", conf=named), 1, clock=clock)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture
def ssc(clock: ManualClock) -> Iterator[StreamingContext]:
    context = made(clock)
    yield context
    context.stop()


def collected(stream: DStream[Any]) -> Found:
    found: Found = []
    stream.foreachRDD(lambda rdd: found.append(rdd.collect()))
    return found


def write(path: Path, content: bytes, modified_ms: int) -> None:
    path.write_bytes(content)
    os.utime(path, ns=(0, modified_ms * 1_000_000))


def test_files(tmp_path: Path, ssc: StreamingContext, clock: ManualClock) -> None:
    write(tmp_path / "old.txt", b"old", 9_000)
    lines = collected(ssc.textFileStream(str(tmp_path)))
    pairs = collected(
        ssc.binaryRecordsStream(str(tmp_path), 2).map(lambda each: struct.unpack("2b", each))
    )
    chosen = collected(
        ssc.fileStream(str(tmp_path), lambda path: path.endswith("txt"), False, lambda data: [data])
    )
    ssc.start()
    write(tmp_path / "a.txt", b"a\nb\n", 10_500)
    clock.advance(1)
    write(tmp_path / "c.bin", b"xy", 11_500)
    clock.advance(1)
    assert lines == [["a", "b"], ["xy"]]
    assert pairs == [[(97, 10), (98, 10)], [(120, 121)]]
    assert chosen == [[b"a\nb\n", b"old"], []]


class Server:
    """A server with one connection, whose bytes a test sends."""

    def __init__(self) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.listening.settimeout(WAIT)
        self.port = self.listening.getsockname()[1]

    def send(self, content: bytes) -> None:
        connection, _ = self.listening.accept()
        with connection:
            connection.sendall(content)


def until(clock: ManualClock, found: Found, expected: list[Any]) -> None:
    """End batches until they have the records; receivers store in threads of their own."""
    for _ in range(WAIT * 20):
        clock.advance(1)
        if [record for batch in found for record in batch] == expected:
            return
        threading.Event().wait(0.05)
    raise AssertionError(found)


def test_sockets(ssc: StreamingContext, clock: ManualClock) -> None:
    def sizes(stream: BinaryIO) -> Iterator[int]:
        while head := stream.read(1):
            yield len(stream.read(head[0]))

    servers = Server(), Server()
    lines = collected(ssc.socketTextStream("127.0.0.1", servers[0].port))
    numbers = collected(ssc.socketStream("127.0.0.1", servers[1].port, sizes))
    ssc.start()
    servers[0].send(b"to be\nor not\n")
    servers[1].send(b"\x03abc\x01d")
    until(clock, lines, ["to be", "or not"])
    until(clock, numbers, [3, 1])


class Told(Receiver):
    """Stores what tests say."""

    running: list[Told] = []
    changed = threading.Condition()

    def onStart(self) -> None:
        with Told.changed:
            Told.running.append(self)
            Told.changed.notify_all()

    @staticmethod
    def last(number: int) -> Told:
        with Told.changed:
            assert Told.changed.wait_for(lambda: len(Told.running) >= number, WAIT)
            return Told.running[-1]


@pytest.fixture(autouse=True)
def no_receivers() -> None:
    Told.running.clear()


def test_receivers_and_listeners(ssc: StreamingContext, clock: ManualClock) -> None:
    class Heard(StreamingListener):
        def onBatchCompleted(self, batchCompleted: Any) -> None:
            info = batchCompleted.batchInfo()
            inputs = info.streamIdToInputInfo()
            heard.append((info.numRecords(), {n: int(i.numRecords) for n, i in inputs.items()}))

        def onReceiverStarted(self, receiverStarted: Any) -> None:
            heard.append(receiverStarted.receiverInfo().name())

    heard: list[Any] = []
    ssc.addStreamingListener(Heard())
    found = collected(ssc.receiverStream(Told()))
    ssc.start()
    receiver = Told.last(1)
    receiver.store([1, 2])
    clock.advance(1)
    receiver.store([3])
    receiver.store([4])
    clock.advance(1)
    assert found == [[1, 2], [3, 4]]
    assert [each for each in heard if isinstance(each, tuple)] == [(2, {0: 2}), (2, {0: 2})]
    assert "Told-0" in heard


def test_stopping_gracefully_takes_what_receivers_have_stored(
    ssc: StreamingContext, clock: ManualClock
) -> None:
    found = collected(ssc.receiverStream(Told()))
    ssc.start()
    receiver = Told.last(1)
    receiver.store("one")
    receiver.store(["two"])
    ssc.stop(stopGraceFully=True)
    assert found == [["one", "two"]]


def test_back_pressure_follows_the_batches(clock: ManualClock) -> None:
    context = made(clock, backpressure__enabled="true", backpressure__initialRate="5")
    context.receiverStream(Told()).foreachRDD(lambda rdd: None)
    context.start()
    assert [type(each).__name__ for each in context._listeners] == ["RateController"]
    context.stop()


RESULTS: Found = []


def keep(rdd: Any) -> None:
    RESULTS.append(rdd.collect())


@pytest.mark.parametrize("rebuild", [False, True])
def test_a_recovered_context_has_each_record_once(tmp_path: Path, rebuild: bool) -> None:
    RESULTS.clear()
    files = tmp_path / "files"
    files.mkdir()
    clock = ManualClock(START_MS)

    def setup() -> StreamingContext:
        context = made(clock)
        lines = context.textFileStream(str(files))
        told = context.receiverStream(Told()).map(str)
        lines.union(told).foreachRDD(keep)
        return context

    def begun() -> StreamingContext:
        folder = str(tmp_path / "checkpoint")
        context = StreamingContext.getOrCreate(folder, setup, rebuild=rebuild, clock=clock)
        context.start()
        return context

    context = begun()
    receiver = Told.last(1)
    write(files / "a", b"a", 10_500)
    receiver.store([1])
    clock.advance(1)
    receiver.store([2])  # It waits in the log while nobody runs, and so does the file.
    context.stop()
    write(files / "b", b"b", 11_500)
    clock.advance(2)

    context = begun()
    receiver = Told.last(2)
    clock.advance(1)
    receiver.store([3])
    write(files / "c", b"c", clock.now_ms() + 500)
    clock.advance(1)
    context.stop()
    assert [sorted(batch) for batch in RESULTS if batch] == [["1", "a"], ["2", "b"], ["3", "c"]]


def test_what_is_refused(ssc: StreamingContext) -> None:
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("NOT_A_RECEIVER", lambda: ssc.receiverStream("x")),  # type: ignore[arg-type]
        ("RECORD_LENGTH", lambda: ssc.binaryRecordsStream("/tmp", 0)),
        ("FILE_STREAM_REMOTE", lambda: ssc.textFileStream("hdfs://a/b")),
    ]
    for code, call in calls:
        with pytest.raises(PlanError, match=code):
            call()
