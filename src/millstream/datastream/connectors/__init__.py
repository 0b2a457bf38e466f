"""Sources and sinks."""

from __future__ import annotations

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

__all__ = [
    "DataGeneratorSource",
    "DeliveryGuarantee",
    "DiscardingSink",
    "FileSink",
    "FileSource",
    "GeneratorFunction",
    "NumberSequenceSource",
    "PrintSink",
    "RateLimiterStrategy",
    "Sink",
    "Source",
    "SparkSink",
]
