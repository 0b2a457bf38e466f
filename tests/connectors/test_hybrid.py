"""History first, then Kafka: on a real broker, in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from millstream.common import SimpleStringSchema, Types, WatermarkStrategy
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DataGeneratorSource, HybridSource
from millstream.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaSource,
)
from millstream.testing import Checkpoint, run_local

if TYPE_CHECKING:
    from tests.support.kafka import Topics

pytestmark = pytest.mark.servers


def history(count: int = 4) -> DataGeneratorSource:
    return DataGeneratorSource(lambda n: f"old {n}", count, type_info=Types.STRING())


def log(topics: Topics, name: str, *, bounded: bool) -> KafkaSource:
    builder = KafkaSource.builder().set_bootstrap_servers(topics.servers).set_topics(name)
    builder.set_value_only_deserializer(SimpleStringSchema())
    builder.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    if bounded:
        builder.set_bounded(KafkaOffsetsInitializer.latest())
    return builder.build()


def test_history_comes_before_the_topic(topics: Topics) -> None:
    name = topics.new(partitions=2)
    topics.write(name, ["a", "b"], partition=0)
    topics.write(name, ["c"], partition=1)

    def program(env: StreamExecutionEnvironment) -> Any:
        source = HybridSource.builder(history()).add_source(log(topics, name, bounded=True)).build()
        assert source.bounded and source.get_produced_type() == Types.STRING()
        return env.from_source(source, WatermarkStrategy.no_watermarks(), "texts")

    for options in ({"epochs": 1}, {"epochs": 3, "restarts": "every"}, {"batch": False}):
        found = run_local(program, **options).values()
        assert found[:4] == [f"old {n}" for n in range(4)]
        assert sorted(found[4:]) == ["a", "b", "c"]


def test_a_topic_without_end_is_read_from_the_switch_on(topics: Topics) -> None:
    name = topics.new()
    topics.transaction(name, ["a", "b"])

    def program(env: StreamExecutionEnvironment) -> Any:
        source = HybridSource(history(3), log(topics, name, bounded=False))
        return env.from_source(source, WatermarkStrategy.no_watermarks(), "texts")

    checkpoint = Checkpoint()
    old = run_local(program, epochs=[2], checkpoint=checkpoint).values()
    assert old == ["old 0", "old 1"]
    # In the epoch that reads the last record of the history the topic enters, and is not read yet.
    assert run_local(program, epochs=[5], checkpoint=checkpoint).values()[-1] == "old 2"
    topics.write(name, ["c"])
    found = run_local(program, epochs=[9, 9], checkpoint=checkpoint).values()
    assert found[-3:] == ["a", "b", "c"]
