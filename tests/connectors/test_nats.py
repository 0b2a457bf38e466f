"""NATS connectors on a real server: the contract, lost messages, kills, whole jobs."""

from __future__ import annotations

import ast
import itertools
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.common.errors import MillstreamError
from millstream.connectors.nats import NatsMessage, NatsSink, NatsSource, _Connection
from millstream.connectors.sink import PartContext
from millstream.datastream import StreamExecutionEnvironment
from millstream.testing import run_local
from millstream.testing.connectors import check_sink, check_source
from tools.servers.nats import Nats

pytestmark = pytest.mark.servers

NAMES = (f"stream_{number}" for number in itertools.count())


class Streams:
    """A client of the tests."""

    def __init__(self, server: Nats) -> None:
        self.server = server
        self.connection = _Connection([server.url], {}, "a test")
        self.jetstream = self.connection.jetstream
        self.made: set[str] = set()

    def add(self, name: str | None = None, **config: Any) -> str:
        name = name or next(NAMES)
        if name not in self.made:
            self.made.add(name)
            self.call(self.jetstream.add_stream(name=name, subjects=[f"{name}.>"], **config))
        return name

    def call(self, coroutine: Any) -> Any:
        return self.connection.call(coroutine)

    def publish(self, stream: str, *texts: str, subject: str = "a", **options: Any) -> list[bytes]:
        for text in texts:
            self.call(self.jetstream.publish(f"{stream}.{subject}", text.encode(), **options))
        return [text.encode() for text in texts]

    def texts(self, stream: str) -> list[str]:
        source = NatsSource(servers=self.server.url, streams=stream)
        source.open()
        try:
            ranges = source.read(stream, source.first(stream), source.latest()[stream])
            return [data.decode() for chunk in ranges for data in chunk.values]
        finally:
            source.close()


@pytest.fixture
def streams(nats: Nats) -> Iterator[Streams]:
    found = Streams(nats)
    yield found
    found.connection.close()


# -- the source ------------------------------------------------------------------------------------


def test_the_source_keeps_the_contract(streams: Streams) -> None:
    one, two = streams.add(), streams.add()
    numbers = map(str, itertools.count())
    expected = streams.publish(one, *itertools.islice(numbers, 40))
    expected += streams.publish(two, *itertools.islice(numbers, 30))
    streams.call(streams.jetstream.delete_msg(one, 5))
    expected.remove(b"4")

    def arrive() -> list[bytes]:
        first, *others = itertools.islice(numbers, 4)
        return streams.publish(one, first) + streams.publish(two, *others)

    passed = check_source(
        lambda: NatsSource(servers=streams.server.url, streams=[one, two]),
        expected=expected,
        arrive=arrive,
    )
    assert "a job that waits" in passed


def test_a_subject_is_a_filter_and_leaves_gaps(streams: Streams) -> None:
    name = streams.add()
    for number in range(30):
        streams.publish(name, str(number), subject="odd" if number % 2 else "even")
    odd = [str(number).encode() for number in range(1, 30, 2)]
    check_source(
        lambda: NatsSource(servers=streams.server.url, streams=name, subject=f"{name}.odd"),
        expected=odd,
        arrive=lambda: streams.publish(name, "x") and streams.publish(name, "y", subject="odd"),
    )


def test_a_bounded_source_in_a_program(streams: Streams) -> None:
    name = streams.add()
    streams.publish(name, "a", "b", headers={"colour": "red"})

    def decode(message: NatsMessage) -> tuple[str, int, str]:
        assert message.timestamp_ms > 1_700_000_000_000
        return message.data.decode(), message.sequence, message.headers["colour"]

    def program(env: StreamExecutionEnvironment) -> Any:
        source = NatsSource(servers=[streams.server.url], streams=name, decode=decode, bounded=True)
        return env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "messages")

    assert run_local(program).values() == [("a", 1, "red"), ("b", 2, "red")]
    streams.publish(name, "c", headers={"colour": "blue"})
    assert len(run_local(program, epochs=1, restarts="every").values()) == 3


@pytest.mark.parametrize(
    ("start", "expected"), [("first", 2), ("latest", 6), (4, 4), (1, 2), (99, 6)]
)
def test_where_a_new_job_begins(streams: Streams, start: Any, expected: int) -> None:
    name = streams.add()
    streams.publish(name, *"abcde")
    streams.call(streams.jetstream.delete_msg(name, 1))
    source = NatsSource(servers=streams.server.url, streams=name, start=start)
    source.open()
    assert source.first(name) == expected
    source.close()


def test_an_empty_stream_begins_at_its_end(streams: Streams) -> None:
    name = streams.add()
    source = NatsSource(servers=streams.server.url, streams=name)
    source.open()
    assert (source.first(name), source.latest()) == (1, {name: 1})
    source.close()


def test_messages_that_a_limit_has_deleted_are_missed(
    streams: Streams, caplog: pytest.LogCaptureFixture
) -> None:
    name = streams.add(max_msgs=3)
    streams.publish(name, *"abcdefgh")
    source = NatsSource(servers=streams.server.url, streams=name)
    source.open()
    asked: list[Callable[[], Any]] = [
        lambda: source.latest_after({name: 3}),
        lambda: list(source.read(name, 3, 9)),
    ]
    for ask in asked:
        with pytest.raises(MillstreamError) as info:
            ask()
        assert info.value.code == "NATS_DATA_LOSS"
        assert info.value.parameters == {"stream": name, "first": 6, "position": 3}
    assert source.latest_after({name: 6}) == {name: 9}
    source.close()
    tolerant = NatsSource(servers=streams.server.url, streams=name, fail_on_data_loss=False)
    tolerant.open()
    assert [v for chunk in tolerant.read(name, 3, 9) for v in chunk.values] == [b"f", b"g", b"h"]
    assert "3 numbers are missing" in caplog.text
    tolerant.close()


@pytest.mark.parametrize("retention", ["workqueue", "interest"])
def test_a_stream_that_cannot_be_read_again_is_refused(streams: Streams, retention: str) -> None:
    name = streams.add(retention=retention)
    source = NatsSource(servers=streams.server.url, streams=name)
    source.open()
    with pytest.raises(MillstreamError, match=f"its retention is '{retention}'"):
        source.latest()
    source.close()


def test_a_stream_that_is_not_there_is_named(streams: Streams) -> None:
    source = NatsSource(servers=streams.server.url, streams="nowhere")
    source.open()
    with pytest.raises(MillstreamError, match="there is no stream 'nowhere'") as info:
        source.latest()
    assert info.value.code == "NATS_STREAM_MISSING"
    source.close()


# -- the sink --------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 4, 256])
def test_the_sink_keeps_the_contract(streams: Streams, batch: int) -> None:
    def make(folder: Path) -> NatsSink:
        name = streams.add(folder.name)
        return NatsSink(
            servers=streams.server.url,
            stream=name,
            subject=lambda record: f"{name}.{record[1] % 2}",
            encode=lambda record: repr(record).encode(),
            batch=batch,
        )

    def read(folder: Path) -> list[Any]:
        return [ast.literal_eval(text) for text in streams.texts(streams.add(folder.name))]

    assert "a zombie task" in check_sink(make, read, crashes=8 if batch == 1 else 3)


def part(epoch: int = 0, **others: Any) -> PartContext:
    return PartContext(job_id="job", sink="sink", epoch=epoch, part=0, fingerprint="f", **others)


def write(sink: NatsSink, context: PartContext, records: list[str]) -> str | None:
    writer = sink.open_part(context)
    found = writer.begin()
    if found is None:
        writer.write(records)
        writer.finish()
    writer.close()
    return found


class Dying(NatsSink):
    """A sink whose process is killed when it has published two batches."""

    def open_part(self, context: PartContext) -> Any:
        writer = super().open_part(context)
        batches, publish = itertools.count(), writer._publish

        def published(records: Any) -> None:
            if next(batches) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            publish(records)

        writer._publish = published  # type: ignore[method-assign]
        return writer


def killed(url: str, stream: str, records: list[str]) -> None:
    write(Dying(servers=url, stream=stream, subject=f"{stream}.x", batch=3), part(), records)


def test_a_part_that_was_half_written_is_completed_long_after(streams: Streams) -> None:
    """Also when the server does not remember the ids any more."""
    name = streams.add(duplicate_window=0.1)
    records = [f"record {number}" for number in range(20)]
    child = multiprocessing.get_context("spawn").Process(
        target=killed, args=(streams.server.url, name, records)
    )
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    assert streams.texts(name) == records[:6]
    # The window has passed when the server takes an id again.
    other = streams.add(duplicate_window=0.1)
    probe = {"Nats-Msg-Id": "probe"}
    while len(streams.texts(other)) < 2:
        streams.publish(other, "probe", headers=probe)
    sink = NatsSink(servers=streams.server.url, stream=name, subject=f"{name}.x", batch=3)
    assert write(sink, part(attempt=1), records) is None
    assert streams.texts(name) == records
    assert write(sink, part(attempt=2), records) == "f"
    assert write(sink, part(epoch=1, attempt=2), ["more"]) is None
    assert streams.texts(name) == [*records, "more"]
    sink.close()


def test_an_attempt_that_was_overtaken_is_stopped(streams: Streams) -> None:
    name = streams.add()
    sink = NatsSink(servers=streams.server.url, stream=name, subject=f"{name}.x", batch=2)
    slow, fast = (sink.open_part(part(task_attempt=number)) for number in (1, 2))
    for writer in (slow, fast):
        assert writer.begin() is None
        writer.write(list("abcd"))
    publish = slow._publish

    def overtaken(records: Any) -> None:
        publish(records)
        fast.finish()

    slow._publish = overtaken  # type: ignore[method-assign]
    with pytest.raises(MillstreamError) as info:
        slow.finish()
    assert info.value.code == "NATS_TAKEN_OVER"
    assert streams.texts(name) == list("abcd")
    sink.close()


def test_a_part_with_other_records_is_told_by_its_fingerprint(streams: Streams) -> None:
    name = streams.add()
    sink = NatsSink(servers=streams.server.url, stream=name, subject=f"{name}.x")
    writer = sink.open_part(part())
    writer._begun(None)
    other = PartContext(job_id="job", sink="sink", epoch=0, part=0, fingerprint="other")
    assert sink.open_part(other).begin() == "f"
    assert sink.last_epoch(part()) == 0
    sink.close()


def test_the_server_is_killed_between_two_epochs() -> None:
    with Nats() as server:
        streams = Streams(server)
        name = streams.add()
        sink = NatsSink(servers=server.url, stream=name, subject=f"{name}.x")
        write(sink, part(0), ["a"])
        server.kill()
        with pytest.raises(MillstreamError) as info:
            write(sink, part(1), ["b"])
        assert info.value.code == "NATS_UNREACHABLE"
        sink.close()
        server.start()
        write(sink, part(1), ["b"])
        assert write(sink, part(1), ["b"]) == "f"
        assert streams.texts(name) == ["a", "b"]
        sink.close()
        streams.connection.close()


# -- on Spark --------------------------------------------------------------------------------------


@pytest.mark.spark
def test_a_job_from_stream_to_stream(
    streams: Streams, make_env: Callable[..., StreamExecutionEnvironment]
) -> None:
    orders, totals = streams.add(), streams.add()
    streams.publish(orders, *"abcabcaab")
    env = make_env(settings={"millstream.epoch.max-records": 4})
    source = NatsSource(
        servers=streams.server.url,
        streams=orders,
        decode=lambda message: message.data.decode(),
        type_info=Types.STRING(),
        bounded=True,
    )
    pairs = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "orders").map(
        lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.LONG()])
    )
    sink = NatsSink(
        servers=streams.server.url, stream=totals, subject=f"{totals}.all", encode=str_bytes
    )
    pairs.key_by(lambda pair: pair[0]).sum(1).sink_to(sink).uid("totals")
    env.execute()
    expected = [
        ("a", 1),
        ("a", 2),
        ("a", 3),
        ("a", 4),
        ("b", 1),
        ("b", 2),
        ("b", 3),
        ("c", 1),
        ("c", 2),
    ]
    assert sorted(map(ast.literal_eval, streams.texts(totals))) == expected


def str_bytes(record: Any) -> bytes:
    return str(tuple(record)).encode()
