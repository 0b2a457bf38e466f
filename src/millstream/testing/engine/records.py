"""Results of a test run: values with their event times."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["StreamRecord"]


class StreamRecord(NamedTuple):
    """A value and its event time; None if it has none. It equals the plain tuple of both.

    Examples
    --------
    >>> StreamRecord("a", 5)
    StreamRecord(value='a', timestamp=5)
    >>> StreamRecord("a", 5) == ("a", 5)
    True
    """

    value: Any
    timestamp: int | None = None
