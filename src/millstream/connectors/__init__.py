"""Contracts for connectors: what a source or a sink has to do, and what it may rely on.

Built-in connectors are in `millstream.datastream.connectors`. `millstream.testing.connectors` checks
whether a connector keeps its contract.
"""

from millstream.connectors.sink import (
    Changelog,
    Committer,
    FunctionSink,
    IdempotentSink,
    IdempotentWriter,
    PartContext,
    PartMarker,
    PartWriter,
    Sink,
    SinkContext,
    TwoPhaseSink,
)
from millstream.connectors.source import (
    ChannelName,
    ChannelSource,
    Chunk,
    Limits,
    Position,
    Source,
)

__all__ = [
    "Changelog",
    "ChannelName",
    "ChannelSource",
    "Chunk",
    "Committer",
    "FunctionSink",
    "IdempotentSink",
    "IdempotentWriter",
    "Limits",
    "PartContext",
    "PartMarker",
    "PartWriter",
    "Position",
    "Sink",
    "SinkContext",
    "Source",
    "TwoPhaseSink",
]
