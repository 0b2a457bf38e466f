"""The two clocks of a timer."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["TimeDomain"]


class TimeDomain(StrEnum):
    """Which clock made a timer fire.

    Examples
    --------
    >>> TimeDomain("event") is TimeDomain.EVENT_TIME
    True
    """

    EVENT_TIME = "event"
    """The watermark."""

    PROCESSING_TIME = "processing"
    """The timestamp of the epoch."""
