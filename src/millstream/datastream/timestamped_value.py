"""A value with its event time."""

from __future__ import annotations

from millstream.common.windows import TimestampedValue

__all__ = ["TimestampedValue"]
