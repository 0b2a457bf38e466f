"""Sources and sinks."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from millstream.datastream.connectors.absent import ABSENT
from millstream.datastream.connectors.base import DeliveryGuarantee, Sink, Source
from millstream.datastream.connectors.data_generator import (
    DataGeneratorSource,
    GeneratorFunction,
    RateLimiterStrategy,
)
from millstream.datastream.connectors.file_system import FileSink, FileSource
from millstream.datastream.connectors.number_seq import NumberSequenceSource
from millstream.datastream.connectors.print import DiscardingSink, PrintSink
from millstream.datastream.connectors.spark import SparkSink

if TYPE_CHECKING:
    from millstream.datastream.connectors.databases import (
        Database,
        DatabaseLookup,
        DatabaseSink,
        DatabaseSource,
    )
    from millstream.datastream.connectors.datagen import DataGenSource, FieldGenerator
    from millstream.datastream.connectors.delta import DeltaSink, DeltaSource
    from millstream.datastream.connectors.hybrid_source import HybridSource, HybridSourceBuilder
    from millstream.datastream.connectors.iceberg import IcebergSink, IcebergSource
    from millstream.datastream.connectors.jdbc import (
        JdbcConnectionOptions,
        JdbcExecutionOptions,
        JdbcSink,
    )
    from millstream.datastream.connectors.kafka import (
        ConsumerRecord,
        FlinkKafkaConsumer,
        FlinkKafkaProducer,
        KafkaOffsetResetStrategy,
        KafkaOffsetsInitializer,
        KafkaProducerRecord,
        KafkaRecordDeserializationSchema,
        KafkaRecordSerializationSchema,
        KafkaRecordSerializationSchemaBuilder,
        KafkaSink,
        KafkaSinkBuilder,
        KafkaSource,
        KafkaSourceBuilder,
        KafkaTopicPartition,
        KafkaTopicSelector,
        Semantic,
    )

__all__ = [
    "ConsumerRecord",
    "DataGenSource",
    "DataGeneratorSource",
    "Database",
    "DatabaseLookup",
    "DatabaseSink",
    "DatabaseSource",
    "DeliveryGuarantee",
    "DeltaSink",
    "DeltaSource",
    "DiscardingSink",
    "FieldGenerator",
    "FileSink",
    "FileSource",
    "FlinkKafkaConsumer",
    "FlinkKafkaProducer",
    "GeneratorFunction",
    "HybridSource",
    "HybridSourceBuilder",
    "IcebergSink",
    "IcebergSource",
    "JdbcConnectionOptions",
    "JdbcExecutionOptions",
    "JdbcSink",
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
    "NumberSequenceSource",
    "PrintSink",
    "RateLimiterStrategy",
    "Semantic",
    "Sink",
    "Source",
    "SparkSink",
]

_LATER = {
    **{name: module for module, absent in ABSENT.items() for name in absent.names},
    "Database": "databases",
    "DatabaseLookup": "databases",
    "DatabaseSink": "databases",
    "DatabaseSource": "databases",
    "DataGenSource": "datagen",
    "FieldGenerator": "datagen",
    "DeltaSink": "delta",
    "DeltaSource": "delta",
    "HybridSource": "hybrid_source",
    "HybridSourceBuilder": "hybrid_source",
    "IcebergSink": "iceberg",
    "IcebergSource": "iceberg",
    "JdbcConnectionOptions": "jdbc",
    "JdbcExecutionOptions": "jdbc",
    "JdbcSink": "jdbc",
    "ConsumerRecord": "kafka",
    "FlinkKafkaConsumer": "kafka",
    "FlinkKafkaProducer": "kafka",
    "KafkaOffsetResetStrategy": "kafka",
    "KafkaOffsetsInitializer": "kafka",
    "KafkaProducerRecord": "kafka",
    "KafkaRecordDeserializationSchema": "kafka",
    "KafkaRecordSerializationSchema": "kafka",
    "KafkaRecordSerializationSchemaBuilder": "kafka",
    "KafkaSink": "kafka",
    "KafkaSinkBuilder": "kafka",
    "KafkaSource": "kafka",
    "KafkaSourceBuilder": "kafka",
    "KafkaTopicPartition": "kafka",
    "KafkaTopicSelector": "kafka",
    "Semantic": "kafka",
}
"""Names that are loaded when they are used: their modules cost something, or are not here."""

if not TYPE_CHECKING:  # With this function, a type checker would accept any name.

    def __getattr__(name: str) -> Any:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
        globals()[name] = found
        return found
