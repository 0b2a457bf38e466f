"""The rules of time within an epoch, each of them once.

| Rule | Where |
|---|---|
| the clock before a record | `Clock.at` |
| the time that is over for a record | `Clock.limits` |
| when a window is over | `cleanup_time` |
| when a window is late for a record | `is_late`; by pane: `Panes.first_windows` |
| the clock that a callback reads when a timer fires | `Clock.at_firing` |
| the end of the input | `Clock.goals`, `Clock.last`, `Clock.fires_at_end` |
| the order key of what a timer emits | `Origin` in `kernel/records/order.py` |

Watermarks of channels, from which the clock of an epoch follows, are in `kernel/time/watermarks.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.kernel.records.order import AT_END, Ints

Lateness = Literal["channel", "operator"]
"""Whether a record is late by its own channel, or by Flink's rule: by the clock of the operator."""


@dataclass(frozen=True)
class Clock:
    """The clock of one operator in one epoch; ``ends``: after the data it goes to infinity.

    ``lag``: how far it is behind the channels. Sessions fire an instant later than other windows, so
    what comes after them has to wait as long, or their results would be late there.
    """

    before: int
    after: int
    now_ms: int
    ends: bool = False
    lag: int = 0

    # -- records ---------------------------------------------------------------------------------

    def at(self, stamps: Ints) -> Ints:
        """The clock before each of the records with these stamps."""
        return np.maximum(self.before, np.minimum(self.local(stamps), self.after))

    def limits(self, stamps: Ints, lateness: Lateness = "channel", wait: int = 0) -> Ints:
        """The time that is over for each record: a window that is over by then is late for it.

        In its own channel that is its stamp. An earlier clock is behind the stamp, except for a channel
        that was idle meanwhile: then the clock at the beginning of the epoch counts. ``wait``: how many
        instants later than others the clock clears windows; those that merge wait for one.
        """
        if lateness == "operator":
            return self.at(stamps)
        return np.maximum(self.local(stamps), max(self.before, MIN_TIMESTAMP + wait) - wait)

    @property
    def stamp_before(self) -> int:
        """The clock at the beginning of the epoch, as the channels count."""
        return self.before + self.lag if self.before > MIN_TIMESTAMP else self.before

    def local(self, stamps: Ints) -> Ints:
        """Sorted stamps as this clock counts; what was born at the end comes when all else is over."""
        times = lagging(stamps, self.lag)
        at_end = len(stamps) > 0 and stamps[-1] == AT_END
        return np.where(stamps == AT_END, self.after, times) if at_end else times

    # -- behind the records ----------------------------------------------------------------------

    @property
    def goals(self) -> tuple[int, ...]:
        """How far the clock goes behind the last record, step by step.

        At the end of the input it goes to infinity, and everything fires. Timers that are due without
        the end fire before, as if there were more to come.
        """
        return (self.after, MAX_TIMESTAMP) if self.ends else (self.after,)

    @property
    def last(self) -> int:
        """The clock when the epoch is over."""
        return self.goals[-1]

    def fires_at_end(self, time: Any) -> Any:
        """Whether a timer fires because the input has ended; of an array, which of them do."""
        return time > self.after

    def at_firing(self, time: int) -> int:
        """The clock that a callback reads when a timer fires: the timer's own time, infinity at the end.

        The clock passes through every instant on its way, however far it goes. It is infinite when the
        input has ended, and not because a channel says so: that would depend on the cut into epochs.

        Examples
        --------
        >>> clock = Clock(before=0, after=20, now_ms=0, ends=True)
        >>> clock.at_firing(5), clock.at_firing(21) == MAX_TIMESTAMP
        (5, True)
        """
        return MAX_TIMESTAMP if self.fires_at_end(time) else time


def cleanup_time(last: int, allowed_lateness: int) -> int:
    """When a window with some last instant is over: nothing can change it any more.

    Examples
    --------
    >>> cleanup_time(99, 10)
    109
    """
    return min(last + allowed_lateness, MAX_TIMESTAMP)


def cleanup_times(lasts: Ints, allowed_lateness: int) -> Ints:
    """``cleanup_time`` of many windows."""
    return np.minimum(lasts, MAX_TIMESTAMP - allowed_lateness) + allowed_lateness


def is_late(cleanup: Any, limit: Any) -> Any:
    """Whether a window is late for a record, given `cleanup_time` and `Clock.limits`; arrays likewise.

    Examples
    --------
    >>> is_late(109, limit=108), is_late(109, limit=109)
    (False, True)
    """
    return cleanup <= limit


def lagging(times: Ints, lag: int) -> Ints:
    """Shift times back by `lag`; MIN_TIMESTAMP (no time) stays."""
    return np.maximum(times, MIN_TIMESTAMP + lag) - lag if lag else times


def limits_by_stamp(stamps: Ints, lag: int) -> Ints:
    """The least that `Clock.limits` can be, where the clock is not known yet.

    For records that were born at the end that is nothing: their own operator has to judge them.
    """
    return lagging(np.where(stamps == AT_END, MIN_TIMESTAMP, stamps), lag)
