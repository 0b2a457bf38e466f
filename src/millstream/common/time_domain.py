"""The two clocks of a timer."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeDomain"]


class TimeDomain(Enum):
    """Which clock made a timer fire.

    Examples
    --------
    >>> TimeDomain.EVENT_TIME
    <TimeDomain.EVENT_TIME: 0>
    """

    EVENT_TIME = 0
    """The watermark."""

    PROCESSING_TIME = 1
    """The timestamp of the epoch."""
