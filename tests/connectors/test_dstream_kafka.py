"""DStreams of a real Kafka: ranges of offsets, transactions, and programs that are killed."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from millstream.common.errors import MillstreamError
from millstream.dstream import ManualClock, SparkContext, StreamingContext
from millstream.dstream.kafka import KafkaUtils, OffsetRange, TopicAndPartition
from tests.support.dstream.killing import Killed

if TYPE_CHECKING:
    from tests.support.kafka import Topics

pytestmark = pytest.mark.servers


def test_batches_are_ranges_of_offsets(topics: Topics) -> None:
    topic = topics.new(2)
    topics.write(topic, [b"a", b"b"])
    clock = ManualClock()
    ssc = StreamingContext(SparkContext("local[2]"), 1, clock=clock)
    params = {"bootstrap.servers": topics.servers, "auto.offset.reset": "earliest"}
    found: list[Any] = []

    def keep(rdd: Any) -> None:
        ranges = [
            (each.partition, each.fromOffset, each.untilOffset) for each in rdd.offsetRanges()
        ]
        found.append((ranges, rdd.glom().collect()))

    KafkaUtils.createDirectStream(ssc, [topic], params).foreachRDD(keep)
    ssc.start()
    clock.advance(1)
    topics.write(topic, [b"c"], partition=1, key=b"k")
    topics.transaction(topic, [b"never"], commit=False)
    topics.transaction(topic, [b"d"])

    def records() -> list[Any]:
        return [record for _, parts in found for part in parts for record in part]

    for _ in range(200):  # Brokers show a transaction a moment after its commit.
        clock.advance(1)
        if len(records()) == 4:
            break
    ssc.stop()
    assert found[0] == ([(0, 0, 2), (1, 0, 0)], [[(None, "a"), (None, "b")], []])
    assert sorted(records()[2:], key=str) == [("k", "c"), (None, "d")]
    for (before, _), (after, _) in pairwise(found):
        assert [each[2] for each in before] == [each[1] for each in after]


def test_where_a_stream_begins(topics: Topics) -> None:
    topic = topics.new()
    topics.write(topic, [b"0", b"1", b"2"])
    clock = ManualClock()
    ssc = StreamingContext(SparkContext("local[2]"), 1, clock=clock)
    params = {"metadata.broker.list": topics.servers}
    found: dict[str, list[Any]] = {"latest": [], "given": []}
    latest = KafkaUtils.createDirectStream(ssc, [topic], params)
    given = KafkaUtils.createDirectStream(
        ssc,
        [topic],
        params,
        {TopicAndPartition(topic, 0): 1},
        messageHandler=lambda message: (message.offset, message.message),
    )
    latest.foreachRDD(lambda rdd: found["latest"].extend(rdd.values().collect()))
    given.foreachRDD(lambda rdd: found["given"].extend(rdd.collect()))
    ssc.start()
    topics.write(topic, [b"3"])
    clock.advance(1)
    ssc.stop()
    assert found == {"latest": ["3"], "given": [(1, "1"), (2, "2"), (3, "3")]}


def test_an_rdd_of_ranges(topics: Topics) -> None:
    topic = topics.new()
    topics.write(topic, [b"0", b"1", b"2", b"3"])
    ranges = [OffsetRange(topic, 0, 1, 3), OffsetRange(topic, 0, 3, 4)]
    params = {"bootstrap.servers": topics.servers}
    rdd = KafkaUtils.createRDD(SparkContext(), params, ranges)
    assert rdd.values().glom().collect() == [["1", "2"], ["3"]]
    assert rdd.count() == 3


def test_a_topic_that_is_not_there(topics: Topics) -> None:
    ssc = StreamingContext(SparkContext("local[2]"), 1, clock=ManualClock())
    KafkaUtils.createDirectStream(
        ssc, ["no-such-topic"], {"bootstrap.servers": topics.servers}
    ).pprint()
    with pytest.raises(MillstreamError, match="KAFKA_NO_TOPIC"):
        ssc.start()


@pytest.mark.slow
def test_a_program_that_is_killed_has_each_message_once(topics: Topics, tmp_path: Path) -> None:
    topic = topics.new(2)

    def feed(numbers: list[str]) -> None:
        for number in numbers:
            topics.write(topic, [number.encode()], partition=int(number) % 2)

    program = Killed(["kafka", str(tmp_path), topics.servers, topic], feed)
    given = program.run()
    found = [number for records in program.by_time().values() for number in records]
    assert sorted(found, key=int) == given
