"""PyFlink's builders of Kafka sinks; nothing is connected."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import cloudpickle
import pytest

from millstream.common import SimpleStringSchema
from millstream.common.errors import PlanError
from millstream.connectors import FunctionSink, IdempotentSink, SinkContext
from millstream.connectors.kafka.serialization import KafkaProducerRecord
from millstream.connectors.kafka.transactions import ExactlyOnceKafkaSink
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DeliveryGuarantee
from millstream.datastream.connectors.kafka import (
    FlinkKafkaProducer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSinkBuilder,
    KafkaTopicSelector,
    Semantic,
)

TEXT = SimpleStringSchema()


def schema() -> Any:
    return (
        KafkaRecordSerializationSchema.builder()
        .set_topic("words")
        .set_value_serialization_schema(TEXT)
    )


def builder() -> KafkaSinkBuilder:
    return (
        KafkaSink.builder()
        .set_bootstrap_servers("broker:9092")
        .set_record_serializer(schema().build())
    )


def test_the_guarantee_chooses_the_kind_of_sink() -> None:
    kinds = {
        DeliveryGuarantee.NONE: FunctionSink,
        DeliveryGuarantee.AT_LEAST_ONCE: FunctionSink,
        DeliveryGuarantee.EXACTLY_ONCE: IdempotentSink,
    }
    for guarantee, kind in kinds.items():
        made = builder().set_delivery_guarantee(guarantee).build()
        assert isinstance(made, KafkaSink)
        assert isinstance(made, kind)
    assert isinstance(builder().build(), FunctionSink)


def test_everything_the_builder_takes() -> None:
    made = (
        builder()
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix("shop")
        .set_property("compression.type", "lz4")
        .set_property("bootstrap.servers", "other:9092")
        .set_property("transaction.timeout.ms", "5000")
        .build()
    )
    assert isinstance(made, ExactlyOnceKafkaSink)
    assert made.settings.servers == "other:9092"
    assert made.producing.properties["compression.type"] == "lz4"
    assert made.timeout_ms == 5_000
    context = SinkContext(job_id="j", sink="s")
    assert made.transactional_id(context, 3) == "shop-j-s-3"
    again = pickle.loads(cloudpickle.dumps(made))
    assert again.prefix == "shop"


def test_names_that_librdkafka_does_not_take_are_escaped() -> None:
    made = builder().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()
    assert isinstance(made, ExactlyOnceKafkaSink)
    names = {
        made.transactional_id(SinkContext(job_id="j", sink=s), 0) for s in ("ü", "%C3%BC", "\n")
    }
    assert len(names) == 3
    assert all(name.isascii() and name.isprintable() for name in names)


def test_topics_are_selected_by_functions_and_selectors() -> None:
    class ByLength(KafkaTopicSelector):
        def apply(self, data: str) -> str:
            return f"of-{len(data)}"

    for selector in (ByLength(), lambda word: f"of-{len(word)}"):
        made = schema().set_topic_selector(selector).build()
        assert made.serialize("be", None).topic == "of-2"


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: KafkaSink.builder().build(), "no servers"),
        (lambda: KafkaSink.builder().set_bootstrap_servers("b:1").build(), "no record serializer"),
        (lambda: builder().set_bootstrap_servers(""), "needs servers"),
        (lambda: builder().set_delivery_guarantee("exactly once"), "no guarantee"),  # type: ignore[arg-type]
        (lambda: builder().set_transactional_id_prefix(""), "no prefix"),
        (lambda: builder().set_record_serializer("words"), "needs a schema"),  # type: ignore[arg-type]
        (lambda: builder().set_property("transactional.id", "x"), "cannot be set"),
        (lambda: KafkaRecordSerializationSchema.builder().build(), "no topic"),
        (lambda: KafkaRecordSerializationSchema.builder().set_topic("t").build(), "for values"),
        (lambda: schema().set_topic(""), "name of a topic"),
        (lambda: schema().set_topic_selector("words"), "needs a function"),
        (lambda: schema().set_key_serialization_schema(str), "needs a schema"),
        (lambda: schema().set_upsert().build(), "without keys"),
    ],
)
def test_what_makes_no_sense_is_refused_at_the_users_line(
    build: Callable[[], object], says: str
) -> None:
    with pytest.raises(PlanError) as info:
        build()
    assert info.value.code == "KAFKA_SINK"
    assert says in info.value.message
    assert info.value.location is not None
    assert info.value.location.file == __file__
    assert info.value.hint


@pytest.mark.parametrize("guarantee", DeliveryGuarantee)
def test_properties_that_nobody_knows_are_refused_when_the_stream_gets_the_sink(
    guarantee: DeliveryGuarantee,
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    words = env.from_collection(["be"])
    wrong = builder().set_delivery_guarantee(guarantee).set_property("nobody.knows", "1")
    with pytest.raises(PlanError, match=r"KAFKA_PROPERTY.*nobody.knows"):
        words.sink_to(wrong.build())
    secret = builder().set_delivery_guarantee(guarantee).set_property("sasl.password", "s3cret-x")
    sink = secret.build()
    words.sink_to(sink)
    assert "s3cret-x" not in f"{sink!r} {env.get_execution_plan()}"


def test_the_old_producer(caplog: pytest.LogCaptureFixture) -> None:
    config = {"bootstrap.servers": "broker:9092", "group.id": "as in PyFlink's examples"}
    made = FlinkKafkaProducer("words", TEXT, config)
    assert isinstance(made, FunctionSink)
    assert made.set_log_failures_only(False) is made
    made.set_flush_on_checkpoint(True).set_write_timestamp_to_kafka(True)
    made.ignore_failures_after_transaction_timeout()
    with pytest.raises(PlanError, match="KAFKA_SINK"):
        made.set_log_failures_only(True)
    once = FlinkKafkaProducer("words", TEXT, config, 5, Semantic.EXACTLY_ONCE)
    assert isinstance(once, IdempotentSink)
    for producer in (made, once):
        again = pickle.loads(cloudpickle.dumps(producer))
        assert again.settings.servers == "broker:9092"
        assert again.serializer.serialize("be", None) == KafkaProducerRecord("words", b"be")
        assert type(again) is type(producer)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(["be"]).add_sink(made)
