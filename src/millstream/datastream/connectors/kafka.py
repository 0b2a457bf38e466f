"""Kafka, where PyFlink has it. It needs the extra ``millstream[kafka]``."""

from __future__ import annotations

from millstream.connectors.kafka.serialization import (
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
)
from millstream.connectors.kafka.sink import KafkaSink
from millstream.connectors.kafka.sink_builder import (
    FlinkKafkaProducer,
    KafkaRecordSerializationSchemaBuilder,
    KafkaSinkBuilder,
    KafkaTopicSelector,
    Semantic,
)
from millstream.datastream.connectors.base import DeliveryGuarantee
from millstream.datastream.connectors.kafka_source import (
    ConsumerRecord,
    FlinkKafkaConsumer,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecordDeserializationSchema,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)

__all__ = [
    "ConsumerRecord",
    "DeliveryGuarantee",
    "FlinkKafkaConsumer",
    "FlinkKafkaProducer",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaProducerRecord",
    "KafkaRecordDeserializationSchema",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
    "Semantic",
]
