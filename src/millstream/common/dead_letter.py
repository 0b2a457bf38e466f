"""Records that an operator has skipped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["DeadLetter"]


@dataclass(frozen=True)
class DeadLetter:
    """A record on which a function failed, together with the exception.

    An operator with ``on_error("skip", tag)`` sends these to the side output of the tag.

    Parameters
    ----------
    value : object
        The record as it came to the operator. Of a timer ``("timer", timestamp, key)``, of a window
        ``(key, window)``, of two records that an interval join has brought together both.
    timestamp : int or None
        The event time of the record, timer or window.
    operator : str
        The name of the operator.
    uid : str
        Its uid.
    error : str
        The exception in one line, such as ``ValueError: no number``.
    traceback : str
        The exception with the frames of the program, innermost first; cut if it is long.

    Examples
    --------
    >>> letter = DeadLetter("x", 7, "parse", "p", "ValueError: no number", "ValueError: no number")
    >>> letter
    DeadLetter(value='x', timestamp=7, operator='parse', uid='p', error='ValueError: no number')
    """

    value: Any
    timestamp: int | None
    operator: str
    uid: str
    error: str
    traceback: str = field(repr=False)
