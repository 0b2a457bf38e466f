"""Flink's old switch between event time and processing time."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeCharacteristic"]


class TimeCharacteristic(Enum):
    """Kept for programs of Flink 1.x: the watermark strategy decides, not this switch."""

    ProcessingTime = 0
    IngestionTime = 1
    EventTime = 2
