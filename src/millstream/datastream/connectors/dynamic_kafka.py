"""PyFlink's names for Kafka clusters that change: an error says what to use instead."""

from __future__ import annotations

from millstream.datastream.connectors.absent import absent_name
from millstream.datastream.connectors.kafka import KafkaRecordDeserializationSchema

__all__ = ["KafkaRecordDeserializationSchema"]

__getattr__ = absent_name(__name__)
