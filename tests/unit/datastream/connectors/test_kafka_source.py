"""PyFlink's builder of Kafka sources."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from millstream.common import SimpleStringSchema, Types
from millstream.common.errors import PlanError
from millstream.connectors.source import Limits
from millstream.datastream import connectors
from millstream.datastream.connectors import kafka
from millstream.datastream.connectors.kafka import (
    FlinkKafkaConsumer,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecordDeserializationSchema,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)

ANY: Any = KafkaOffsetsInitializer
"""A class as a program without types sees it."""


def builder() -> KafkaSourceBuilder:
    made = KafkaSource.builder().set_bootstrap_servers("a:1").set_topics("t")
    return made.set_value_only_deserializer(SimpleStringSchema())


def anything() -> Any:
    return KafkaSource.builder()


def test_both_import_paths() -> None:
    for name in kafka.__all__:
        assert getattr(connectors, name) is getattr(kafka, name)


@pytest.mark.slow
def test_importing_it_does_not_import_the_client() -> None:
    program = (
        "import sys, millstream.datastream.connectors.kafka as k; print(k.KafkaSource.builder())"
    )
    program += "; assert 'confluent_kafka' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_everything_the_builder_takes() -> None:
    source = (
        builder()
        .set_group_id("g")
        .set_client_id_prefix("mine")
        .set_starting_offsets(KafkaOffsetsInitializer.latest())
        .set_bounded(KafkaOffsetsInitializer.timestamp(5))
        .set_properties(
            {
                "partition.discovery.interval.ms": "-1",
                "default.api.timeout.ms": 5_000,
                "commit.offsets.on.checkpoint": "false",
                "fetch.min.bytes": "7",
            }
        )
        .set_on_data_loss("continue")
        .set_max_records_per_epoch(100)
        .build()
    )
    (channels,) = source.parts()
    assert source.bounded
    assert source.get_produced_type() == Types.STRING()
    assert channels.group == "g" and not channels.commits
    assert channels.discovery_seconds is None
    assert channels.patience_seconds == 5.0
    assert channels.limits() == Limits(per_epoch=100)
    assert channels.settings.properties == {"fetch.min.bytes": "7"}
    assert channels.settings.location is not None
    assert repr(source) == "KafkaSource(topic t, from latest to timestamp 5, at a:1)"
    unbounded = builder().set_bounded(KafkaOffsetsInitializer.latest()).set_unbounded().build()
    assert not unbounded.bounded


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: KafkaSource.builder().build(), "no bootstrap servers"),
        (lambda: KafkaSource.builder().set_bootstrap_servers("a:1").build(), "no topics"),
        (
            lambda: KafkaSource.builder().set_bootstrap_servers("a:1").set_topics("t").build(),
            "no deserializer",
        ),
        (lambda: builder().set_topics("u"), "reads topic t already"),
        (lambda: KafkaSource.builder().set_topics(), "no topic"),
        (lambda: KafkaSource.builder().set_topics("a b"), "no topic can be named 'a b'"),
        (lambda: KafkaSource.builder().set_topics(".."), "no topic can be named"),
        (lambda: anything().set_topics(7), "a topic must be a text, got 7"),
        (lambda: KafkaSource.builder().set_topic_pattern("("), "is no regular expression"),
        (lambda: anything().set_partitions([("t", 1)]), "a KafkaTopicPartition"),
        (lambda: anything().set_starting_offsets("earliest"), "a KafkaOffsetsInitializer"),
        (lambda: anything().set_deserializer(7), "a function of a ConsumerRecord"),
        (lambda: anything().set_value_only_deserializer(bytes), "a DeserializationSchema"),
        (lambda: builder().set_on_data_loss("ignore"), "cannot 'ignore'"),
        (lambda: builder().set_max_records_per_epoch(0), "cannot read 0 records"),
        (
            lambda: builder().set_property("partition.discovery.interval.ms", "x").build(),
            "is milliseconds, got 'x'",
        ),
        (lambda: ANY.timestamp("now"), "timestamp must be a whole number"),
        (lambda: ANY.offsets({("t", 0): 1}), "given by partition"),
        (lambda: ANY.committed_offsets("latest"), "KafkaOffsetResetStrategy"),
        (
            lambda: (
                builder().set_starting_offsets(KafkaOffsetsInitializer.committed_offsets()).build()
            ),
            "belong to a consumer group",
        ),
        (lambda: FlinkKafkaConsumer("t", SimpleStringSchema(), {}), "'bootstrap.servers'"),
    ],
)
def test_mistakes(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(PlanError, match=message) as error:
        build()
    assert error.value.code == "KAFKA_SOURCE"
    assert error.value.location is not None


def test_a_property_that_nobody_knows() -> None:
    with pytest.raises(PlanError, match=r"KAFKA_PROPERTY.*no\.such\.thing"):
        builder().set_property("no.such.thing", 1).build()


def test_deserializers_of_whole_records() -> None:
    class Offset(KafkaRecordDeserializationSchema[int]):
        def deserialize(self, record: Any) -> int:
            return int(record.offset)

        def get_produced_type(self) -> Any:
            return Types.LONG()

    assert builder().set_deserializer(Offset()).build().get_produced_type() == Types.LONG()
    by_function = builder().set_deserializer(lambda record: record.key, Types.STRING()).build()
    assert by_function.get_produced_type() == Types.STRING()
    assert by_function.parts()[0].headers
    assert not builder().build().parts()[0].headers


@pytest.mark.parametrize(
    ("properties", "start"),
    [
        ({}, "from latest"),
        ({"auto.offset.reset": "earliest"}, "from earliest"),
        ({"group.id": "g"}, "from committed offsets, else latest"),
        ({"group.id": "g", "auto.offset.reset": "none"}, "from committed offsets, else none"),
    ],
)
def test_where_the_older_source_begins(properties: dict[str, str], start: str) -> None:
    given = {"bootstrap.servers": "a:1", **properties}
    consumer = FlinkKafkaConsumer(["t", "u"], SimpleStringSchema(), given)
    assert repr(consumer) == f"FlinkKafkaConsumer(topics t, u, {start}, at a:1)"
    assert "from earliest" in repr(consumer.set_start_from_earliest())
    assert "from latest" in repr(consumer.set_start_from_latest())
    assert "from timestamp 5" in repr(consumer.set_start_from_timestamp(5))
    assert repr(consumer.set_start_from_group_offsets()).endswith(f"{start}, at a:1)")
    assert consumer.get_produced_type() == Types.STRING()
    assert consumer.disable_filter_restored_partitions_with_subscribed_topics() is consumer
    assert not consumer.set_commit_offsets_on_checkpoints(False).parts()[0].commits


def test_partitions_and_strategies_are_those_of_pyflink() -> None:
    assert KafkaTopicPartition("t", 1) in {KafkaTopicPartition("t", 1)}
    assert [one.name for one in KafkaOffsetResetStrategy] == ["LATEST", "EARLIEST", "NONE"]
