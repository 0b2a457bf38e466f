"""Ranges of Kafka's offsets as batches, with brokers that a test makes up."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from millstream.common.errors import PlanError
from millstream.connectors.kafka.offsets import EARLIEST, LATEST
from millstream.connectors.kafka.partitions import Subscription
from millstream.connectors.kafka.settings import KafkaSettings
from millstream.connectors.kafka.source import KafkaChannels
from millstream.dstream import ManualClock, SparkContext, StreamingContext
from millstream.dstream.inputs.kafka import KafkaInput, KafkaRecords
from millstream.dstream.inputs.kafka_ranges import KafkaMessageAndMetadata, OffsetRange
from millstream.dstream.listener import BatchInfo, BatchTime, StreamInputInfo, notify
from tests.support.dstream.inputs import Batches

LOGS: dict[tuple[str, int], list[bytes | None]] = {}
CLOSED: list[Brokers] = []


class Message:
    def __init__(self, topic: str, partition: int, offset: int, value: bytes | None) -> None:
        self.place = (topic, partition, offset)
        self.content = value

    def value(self) -> bytes | None:
        return self.content

    def key(self) -> bytes:
        return b"key"

    def offset(self) -> int:
        return self.place[2]

    def partition(self) -> int:
        return self.place[1]

    def timestamp(self) -> tuple[int, int]:
        return 1, 1000 + self.place[2]


class Brokers:
    """The brokers and the readers of `LOGS`."""

    def __init__(self, *_: Any) -> None:
        pass

    def topics(self, named: Any = None) -> dict[str, int]:
        names = {topic for topic, _ in LOGS}
        return {name: sum(topic == name for topic, _ in LOGS) for name in names}

    def earliest(self, partitions: Any) -> dict[Any, int]:
        return dict.fromkeys(partitions, 0)

    def latest(self, partitions: Any) -> dict[Any, int]:
        return {each: len(LOGS[each]) for each in partitions}

    def of(self, partition: tuple[str, int]) -> Any:
        self.partition = partition
        return self

    def read(self, start: int, stop: int) -> Iterator[list[Message]]:
        values = LOGS[self.partition][start:stop]
        yield [Message(*self.partition, start + at, value) for at, value in enumerate(values)]

    def close(self) -> None:
        CLOSED.append(self)


class Settings(KafkaSettings):
    def check_reachable(self, seconds: float = 0) -> None:
        pass


def values(message: KafkaMessageAndMetadata) -> Any:
    return message.message


@pytest.fixture(autouse=True)
def logs() -> dict[tuple[str, int], list[bytes | None]]:
    LOGS.clear()
    LOGS.update({("t", 0): [b"a", b"b"], ("t", 1): [b"c"]})
    return LOGS


def records(start: Any = EARLIEST) -> KafkaRecords:
    found = KafkaChannels(
        Settings("a:1"),
        Subscription(topics=("t",)),
        start,
        discovery_seconds=0.0,
        make_cluster=Brokers,
        make_readers=Brokers,
    )
    return KafkaRecords(found, values)


def direct(start: Any = EARLIEST, **conf: Any) -> KafkaInput[Any]:
    named = {f"spark.streaming.{key.replace('__', '.')}": str(v) for key, v in conf.items()}
    return KafkaInput(records(start), named)


def spans(source: KafkaInput[Any], time_ms: int = 1000) -> list[tuple[int, int]]:
    return [(each.fromOffset, each.untilOffset) for each in source.take(time_ms)]


def test_a_batch_has_what_has_come_until_then() -> None:
    batches = Batches(direct())
    assert batches.parts(1000) == [["a", "b"], ["c"]]
    LOGS["t", 1] += [b"d"]
    assert batches.parts(2000) == [[], ["d"]]


def test_the_latest_offsets_are_those_of_the_start() -> None:
    batches = Batches(direct(LATEST))
    LOGS["t", 0] += [b"new"]
    assert batches.take(1000) == ["new"]


def test_a_new_partition_is_read_from_its_beginning() -> None:
    batches = Batches(direct(LATEST))
    LOGS["t", 2] = [b"first"]
    assert batches.parts(1000) == [[], [], ["first"]]


def test_batches_know_their_ranges() -> None:
    batches = Batches(direct())
    taken = batches.source.take(1000)
    rdd: Any = batches.source.rdd(batches.context, taken, 1000)
    assert rdd.offsetRanges() == [OffsetRange("t", 0, 0, 2), OffsetRange("t", 1, 0, 1)]
    assert not hasattr(rdd.map(str), "offsetRanges")
    assert batches.source.records(taken) == 3
    assert batches.source.description([*taken, OffsetRange("t", 2, 5, 5)]) == (
        "topic: t\tpartition: 0\toffsets: 0 to 2\ntopic: t\tpartition: 1\toffsets: 0 to 1"
    )


def test_after_a_crash_batches_are_the_same_and_nothing_comes_twice() -> None:
    first = Batches(direct(LATEST))
    LOGS["t", 0] += [b"x"]
    first.take(1000)
    LOGS["t", 0] += [b"while nobody ran"]
    second = first.recovered(direct(LATEST))
    assert first.again(second.source, 0) == [["x"], []]
    assert second.take(2000) == ["while nobody ran"]


def test_a_limit_of_each_partition() -> None:
    LOGS["t", 0] = [b"a"] * 10
    source = direct(kafka__maxRatePerPartition=2)
    Batches(source, batch_ms=2000)
    assert [spans(source), spans(source), spans(source)] == [
        [(0, 4), (0, 1)],
        [(4, 8), (1, 1)],
        [(8, 10), (1, 1)],
    ]


def test_back_pressure_divides_the_rate_by_lag() -> None:
    LOGS["t", 0] = [b"a"] * 300
    LOGS["t", 1] = [b"b"] * 100
    source = direct(backpressure__enabled="true", backpressure__initialRate=40)
    Batches(source)
    assert spans(source) == [(0, 30), (0, 10)]
    controller = source.listener()
    assert controller is not None
    for end in (1100, 2100):
        done = BatchInfo(
            BatchTime(end), end - 400, end - 400, end, inputs={0: StreamInputInfo(0, 80)}
        )
        notify([controller], "onBatchCompleted", batchInfo=done)
    assert spans(source) == [(30, 180), (10, 60)]  # 80 records in 400 ms are 200 per second.


def test_the_lowest_rate_lets_every_partition_go_on() -> None:
    LOGS["t", 0] = [b"a"] * 1000
    source = direct(
        backpressure__enabled="true", backpressure__initialRate=5, kafka__minRatePerPartition=3
    )
    Batches(source)
    assert spans(source) == [(0, 4), (0, 1)]
    LOGS["t", 1] += [b"c"] * 10
    assert spans(source)[1] == (1, 4)


def test_the_input_can_be_pickled_while_it_runs() -> None:
    batches = Batches(direct())
    batches.take(1000)
    copy = pickle.loads(pickle.dumps(batches.source))
    assert batches.again(copy, 0) == [["a", "b"], ["c"]]


def test_a_context_that_stops_closes_the_clients() -> None:
    clock = ManualClock()
    ssc = StreamingContext(SparkContext("local[2]"), 1, clock=clock)
    found: list[Any] = []
    ssc._add_input(direct()).foreachRDD(lambda rdd: found.append(rdd.collect()))
    ssc.start()
    clock.advance(1)
    CLOSED.clear()
    ssc.stop()
    assert found == [["a", "b", "c"]]
    assert len(CLOSED) == 2  # That of the driver, and the readers.


@pytest.mark.parametrize("offsets", [(-1, 2), (3, 2)])
def test_ranges_that_are_none(offsets: tuple[int, int]) -> None:
    with pytest.raises(PlanError, match="KAFKA_OFFSETS"):
        OffsetRange("t", 0, *offsets)
