"""A value with its event time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["TimestampedValue"]


@dataclass(frozen=True, slots=True)
class TimestampedValue:
    """An element of `from_collection` that brings its own event time.

    Parameters
    ----------
    value
        The element that the stream carries.
    timestamp
        Its event time in milliseconds.

    Examples
    --------
    >>> TimestampedValue("a", 1_000)
    TimestampedValue(value='a', timestamp=1000)
    """

    value: Any
    timestamp: int
