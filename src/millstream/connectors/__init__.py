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
    PartWriter,
    Sink,
    SinkContext,
    TwoPhaseSink,
)

__all__ = [
    "Changelog",
    "Committer",
    "FunctionSink",
    "IdempotentSink",
    "IdempotentWriter",
    "PartContext",
    "PartWriter",
    "Sink",
    "SinkContext",
    "TwoPhaseSink",
]
