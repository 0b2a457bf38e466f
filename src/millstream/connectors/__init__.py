"""Contracts for connectors: what a source or a sink of one's own implements."""

from __future__ import annotations

from millstream.connectors.source import (
    ChannelName,
    ChannelSource,
    Chunk,
    Limits,
    Position,
    Source,
)

__all__ = [
    "ChannelName",
    "ChannelSource",
    "Chunk",
    "Limits",
    "Position",
    "Source",
]
