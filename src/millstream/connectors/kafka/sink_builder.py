"""PyFlink's builders of Kafka sinks, and its old producer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Self

from millstream.common._logging import accepted_without_effect
from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.serialization import SerializationSchema
from millstream.connectors.kafka.serialization import (
    CalledSerializer,
    FieldSerializer,
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
)
from millstream.connectors.kafka.settings import KafkaSettings
from millstream.connectors.kafka.sink import AtLeastOnceKafkaSink, KafkaSink
from millstream.connectors.kafka.transactions import ExactlyOnceKafkaSink
from millstream.connectors.sink import DeliveryGuarantee

if TYPE_CHECKING:
    from millstream.connectors.sink import PartContext

__all__ = [
    "FlinkKafkaProducer",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSinkBuilder",
    "KafkaTopicSelector",
    "Semantic",
]

_SERVERS = "bootstrap.servers"
_PREFIX = "kafka-sink"


class KafkaTopicSelector(ABC):
    """Chooses the topic of each record. A plain function does as well.

    Examples
    --------
    >>> class ByCountry(KafkaTopicSelector):
    ...     def apply(self, data):
    ...         return f"orders-{data[0]}"
    >>> ByCountry().apply(("de", 3))
    'orders-de'
    """

    @abstractmethod
    def apply(self, data: Any) -> str:
        """The topic of a record."""


class KafkaRecordSerializationSchemaBuilder:
    """Builds the schema of a `KafkaSink` out of a topic and schemas for value and key.

    Examples
    --------
    >>> from millstream.common import SimpleStringSchema
    >>> schema = (
    ...     KafkaRecordSerializationSchemaBuilder()
    ...     .set_topic("words")
    ...     .set_value_serialization_schema(SimpleStringSchema())
    ...     .build()
    ... )
    >>> schema.serialize("to", None)[:2]
    ('words', b'to')
    """

    def __init__(self) -> None:
        self._topic: str | None = None
        self._selector: Callable[[Any], str] | None = None
        self._key: SerializationSchema[Any] | None = None
        self._value: SerializationSchema[Any] | None = None
        self._upsert = False

    def set_topic(self, topic: str) -> Self:
        """Write all records to one topic."""
        if not isinstance(topic, str) or not topic:
            raise _wrong(f"set_topic needs the name of a topic, got {short_repr(topic)}", _TOPIC)
        self._topic, self._selector = topic, None
        return self

    def set_topic_selector(self, topic_selector: KafkaTopicSelector | Callable[[Any], str]) -> Self:
        """Choose the topic of each record by a function or a `KafkaTopicSelector`."""
        selector = getattr(topic_selector, "apply", topic_selector)
        if not callable(selector):
            message = f"set_topic_selector needs a function, got {short_repr(topic_selector)}"
            raise _wrong(message, "give a function of the record that returns the name of a topic")
        self._topic, self._selector = None, selector
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema[Any]
    ) -> Self:
        """Make keys with a schema, which gets the whole record; without one there are no keys."""
        self._key = _schema("set_key_serialization_schema", key_serialization_schema)
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema[Any]
    ) -> Self:
        """Make values with a schema. None from it is a tombstone."""
        self._value = _schema("set_value_serialization_schema", value_serialization_schema)
        return self

    def set_upsert(self, upsert: bool = True) -> Self:
        """Take a stream of changes: a row of kind DELETE or UPDATE_BEFORE becomes a tombstone.

        It needs a schema for the key. Not in PyFlink.
        """
        self._upsert = upsert
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        """The schema."""
        if self._topic is None and self._selector is None:
            raise _wrong("the record serializer has no topic", _TOPIC)
        if self._value is None:
            hint = (
                "call set_value_serialization_schema(SimpleStringSchema()), or with another schema"
            )
            raise _wrong("the record serializer has no schema for values", hint)
        if self._upsert and self._key is None:
            hint = "call set_key_serialization_schema(...): changes replace the value of a key"
            raise _wrong("a stream of changes is to be written without keys", hint)
        return FieldSerializer(self._topic, self._selector, self._value, self._key, self._upsert)


_TOPIC = "call set_topic('words'), or set_topic_selector(lambda record: ...)"


class KafkaSinkBuilder:
    """Builds a `KafkaSink`.

    Examples
    --------
    >>> from millstream.connectors.kafka.sink import KafkaSink
    >>> sink = (
    ...     KafkaSink.builder()
    ...     .set_bootstrap_servers("broker:9092")
    ...     .set_record_serializer(lambda word: KafkaProducerRecord("words", word.encode()))
    ...     .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    ...     .set_transactional_id_prefix("shop")
    ...     .build()
    ... )
    >>> sink.promise
    'each record once, part by part'
    """

    def __init__(self) -> None:
        self._servers: str | None = None
        self._properties: dict[str, Any] = {}
        self._serializer: KafkaRecordSerializationSchema | None = None
        self._guarantee = DeliveryGuarantee.NONE
        self._prefix = _PREFIX

    def set_bootstrap_servers(self, bootstrap_servers: str) -> Self:
        """Name the brokers to begin with: ``"host:port"``, several with commas."""
        if not isinstance(bootstrap_servers, str) or not bootstrap_servers.strip():
            message = f"set_bootstrap_servers needs servers, got {short_repr(bootstrap_servers)}"
            raise _wrong(message, "give 'host:port', several with commas")
        self._servers = bootstrap_servers
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> Self:
        """Choose between exactly once and at least once.

        ``NONE``, the default as in Flink, writes at least once: records are never given up.
        """
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            message = f"{short_repr(delivery_guarantee)} is no guarantee"
            raise _wrong(message, "use one of DeliveryGuarantee")
        self._guarantee = delivery_guarantee
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> Self:
        """Let transactional ids begin so; they go on with the ids of job, sink and part.

        Keep it while a job is stopped or has failed: markers are found by it.
        """
        if not isinstance(transactional_id_prefix, str) or not transactional_id_prefix:
            message = f"{short_repr(transactional_id_prefix)} is no prefix"
            raise _wrong(message, "give a text, not empty")
        self._prefix = transactional_id_prefix
        return self

    def set_record_serializer(
        self,
        record_serializer: KafkaRecordSerializationSchema
        | Callable[[Any], KafkaProducerRecord | None],
    ) -> Self:
        """Make records of Kafka with a schema, or with a function that returns them."""
        if isinstance(record_serializer, KafkaRecordSerializationSchema):
            self._serializer = record_serializer
        elif callable(record_serializer):
            self._serializer = CalledSerializer(record_serializer)
        else:
            message = f"set_record_serializer needs a schema, got {short_repr(record_serializer)}"
            raise _wrong(message, _SERIALIZER)
        return self

    def set_property(self, key: str, value: Any) -> Self:
        """Set a property of the producer, such as ``compression.type``."""
        if key == _SERVERS:
            return self.set_bootstrap_servers(value)
        if key == "transactional.id":
            hint = "call set_transactional_id_prefix(...): each part needs an id of its own"
            raise _wrong("transactional.id cannot be set", hint)
        self._properties[key] = value
        return self

    def build(self) -> KafkaSink:
        """The sink."""
        if self._servers is None:
            raise _wrong("the Kafka sink has no servers", "call set_bootstrap_servers('host:port')")
        if self._serializer is None:
            raise _wrong("the Kafka sink has no record serializer", _SERIALIZER)
        settings = KafkaSettings(self._servers, dict(self._properties), user_location())
        if self._guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            return ExactlyOnceKafkaSink(settings, self._serializer, self._prefix)
        return AtLeastOnceKafkaSink(settings, self._serializer)


_SERIALIZER = (
    "call set_record_serializer(...) with KafkaRecordSerializationSchema.builder()...build(), or with a "
    "function that returns a KafkaProducerRecord"
)


class Semantic(Enum):
    """The guarantees of `FlinkKafkaProducer`, see `DeliveryGuarantee`."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


class FlinkKafkaProducer(KafkaSink):
    """PyFlink's old producer, for ``stream.add_sink``. Use `KafkaSink` in new programs.

    Event times of records are always written.

    Parameters
    ----------
    topic
        The topic.
    serialization_schema
        The schema of the values; there are no keys.
    producer_config
        Properties of the producer, among them ``bootstrap.servers``.
    kafka_producer_pool_size
        Accepted without effect.
    semantic
        How often a record may be written when something fails.

    Examples
    --------
    >>> from millstream.common import SimpleStringSchema
    >>> producer = FlinkKafkaProducer(
    ...     "words", SimpleStringSchema(), {"bootstrap.servers": "broker:9092"})
    >>> producer.promise
    'at least once'
    """

    def __new__(
        cls,
        topic: str = "",
        serialization_schema: SerializationSchema[Any] | None = None,
        producer_config: Mapping[str, Any] | None = None,
        kafka_producer_pool_size: int = 5,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> Any:
        once = getattr(semantic, "name", None) == "EXACTLY_ONCE"
        return object.__new__(_ExactlyOnceProducer if once else _AtLeastOnceProducer)

    def __init__(
        self,
        topic: str,
        serialization_schema: SerializationSchema[Any],
        producer_config: Mapping[str, Any],
        kafka_producer_pool_size: int = 5,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        schema = KafkaRecordSerializationSchemaBuilder().set_topic(topic)
        builder = KafkaSinkBuilder().set_record_serializer(
            schema.set_value_serialization_schema(serialization_schema).build()
        )
        for key, value in producer_config.items():
            builder.set_property(key, value)
        vars(self).update(vars(builder.build()), prefix=_PREFIX)

    if TYPE_CHECKING:  # its subclasses have it

        def open_part(self, context: PartContext) -> Any: ...

    def __reduce__(self) -> tuple[Any, ...]:
        return object.__new__, (type(self),), self.__getstate__()

    def set_log_failures_only(self, log_failures_only: bool) -> Self:
        """Refuse to only log failures: records would be lost."""
        if log_failures_only:
            raise _wrong(
                "a sink of Millstream does not lose records: failures cannot be only logged",
                "leave set_log_failures_only out; a job starts again after a failure",
            )
        return self

    def set_flush_on_checkpoint(self, flush_on_checkpoint: bool) -> Self:
        """Accepted without effect: each epoch waits until its records are written."""
        accepted_without_effect("set_flush_on_checkpoint", "each epoch waits for its records")
        return self

    def set_write_timestamp_to_kafka(self, write_timestamp_to_kafka: bool) -> Self:
        """Accepted without effect: event times are written, where records have one."""
        accepted_without_effect("set_write_timestamp_to_kafka", "event times are always written")
        return self

    def ignore_failures_after_transaction_timeout(self) -> Self:
        """Accepted without effect: a transaction is never open between epochs."""
        accepted_without_effect(
            "ignore_failures_after_transaction_timeout", "no transaction waits for a commit"
        )
        return self


class _AtLeastOnceProducer(FlinkKafkaProducer, AtLeastOnceKafkaSink):
    pass


class _ExactlyOnceProducer(FlinkKafkaProducer, ExactlyOnceKafkaSink):
    pass


def _schema(method: str, found: object) -> SerializationSchema[Any]:
    if not callable(getattr(found, "serialize", None)):
        raise _wrong(
            f"{method} needs a schema, got {short_repr(found)}",
            "give SimpleStringSchema(), JsonRowSerializationSchema, or a class of your own with "
            "serialize(value)",
        )
    return found  # type: ignore[return-value]


def _wrong(message: str, hint: str) -> PlanError:
    return PlanError("KAFKA_SINK", message, location=user_location(), hint=hint)
