"""The helper for Kafka: what it refuses before any broker is asked, and what it makes of messages."""

from __future__ import annotations

from typing import Any, cast

import pytest

from millstream.common.errors import PlanError
from millstream.dstream.inputs.kafka import KafkaInput
from millstream.dstream.kafka import (
    KafkaMessageAndMetadata,
    KafkaUtils,
    OffsetRange,
    TopicAndPartition,
)
from millstream.dstream.rdd import SparkContext

SERVERS = {"bootstrap.servers": "localhost:1"}
MESSAGE = KafkaMessageAndMetadata("t", 0, 5, b"k", "wört".encode(), 1000)


class Context:
    """A context that keeps its input."""

    _rdds = SparkContext("local[2]")

    def _add_input(self, source: KafkaInput[Any]) -> KafkaInput[Any]:
        return source


def direct(topics: Any = ("t",), params: Any = SERVERS, *more: Any, **named: Any) -> Any:
    return KafkaUtils.createDirectStream(cast(Any, Context()), topics, params, *more, **named)


def made(**named: Any) -> Any:
    return direct(**named)._records._make(MESSAGE)


def test_records_are_pairs_of_text() -> None:
    assert made() == ("k", "wört")
    assert made(keyDecoder=len, valueDecoder=bytes) == (1, "wört".encode())


def test_a_handler_sees_where_a_message_is() -> None:
    found = made(
        messageHandler=lambda m: (m.topic, m.partition, m.offset, m.timestamp, m.key, m.message),
        valueDecoder=len,
    )
    assert found == ("t", 0, 5, 1000, "k", 5)


@pytest.mark.parametrize("name", ["bootstrap.servers", "metadata.broker.list"])
def test_servers_have_two_names(name: str) -> None:
    assert direct(params={name: "h:1"})._records.channels.settings.servers == "h:1"


def test_where_a_stream_begins() -> None:
    starts = [
        str(direct(params=SERVERS | reset)._records.channels.start)
        for reset in ({}, {"auto.offset.reset": "smallest"}, {"auto.offset.reset": "latest"})
    ]
    assert starts == ["latest", "earliest", "latest"]
    given = direct(fromOffsets={TopicAndPartition("t", 1): 7})._records.channels
    assert (given.subscription.chosen, given.start.given) == ((("t", 1),), ((("t", 1), 7),))


def test_mistakes_are_refused_at_once() -> None:
    for code, ask in (
        ("KAFKA_SERVERS", lambda: direct(params={})),
        ("KAFKA_TOPICS", lambda: direct(topics=[])),
        ("KAFKA_PROPERTY", lambda: direct(params=SERVERS | {"auto.offset.reset": "middle"})),
        ("KAFKA_PROPERTY", lambda: direct(params=SERVERS | {"no.such.thing": "1"})),
        ("KAFKA_OFFSETS", lambda: direct(fromOffsets={TopicAndPartition("u", 0): 1})),
    ):
        with pytest.raises(PlanError, match=code):
            ask()


def test_an_rdd_has_a_partition_for_each_range() -> None:
    ranges = [OffsetRange("t", 0, 0, 5), OffsetRange("u", 1, 3, 3)]
    rdd = KafkaUtils.createRDD(SparkContext(), SERVERS, ranges)
    assert (rdd.getNumPartitions(), rdd.offsetRanges()) == (2, ranges)
    assert ranges[0].topicAndPartition() == TopicAndPartition("t", 0)
