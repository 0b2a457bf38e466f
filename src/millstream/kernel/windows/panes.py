"""Panes: the pieces of time that aligned windows are made of.

With g the greatest common divisor of size and slide, pane p is the time from offset + p * g on. Window w
begins with pane w * k and has m panes, k = slide / g and m = size / g. A record belongs to one pane,
and to all windows with that pane from some first one on: windows that are late for it come before.
Counting in panes instead of milliseconds, little overflows at the ends of time: only panes of one
millisecond that are counted from an offset, and windows that slide by one, are not exact there.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np

from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.kernel.records.order import Ints
from millstream.kernel.time.clock import Clock
from millstream.kernel.windows.spec import Alignment


@dataclass(frozen=True)
class Panes:
    """Panes of windows of some size and slide."""

    length: int
    offset: int
    per_slide: int
    per_window: int

    @staticmethod
    def of(alignment: Alignment) -> Panes:
        length = gcd(alignment.size, alignment.slide)
        return Panes(length, alignment.offset, alignment.slide // length, alignment.size // length)

    @property
    def overlap(self) -> int:
        """How many windows a pane belongs to, at most."""
        return -(-self.per_window // self.per_slide)

    def at(self, times: Ints) -> Ints:
        """The pane of each time."""
        # The last instant belongs to no window of its own: it counts as the one before. And panes of one
        # millisecond leave no room to number them from an offset at one of the ends of time.
        room = self.offset if self.length == 1 else 0
        low, high = MIN_TIMESTAMP + max(room, 0), MAX_TIMESTAMP - 1 + min(room, 0)
        capped = np.clip(times, low, high)
        rest = capped % self.length
        panes: Ints = capped // self.length + (rest - self.offset) // self.length
        return panes

    def first_windows(self, panes: Ints, limits: Ints) -> Ints:
        """The first window that has a pane and is not late for its record, see `Clock.limits`.

        This is `is_late` for all windows of a record at once, without allowed lateness.
        """
        passed = self.at(np.minimum(limits, MAX_TIMESTAMP - 2) + 1)
        firsts = self.oldest_windows(np.maximum(panes, passed))
        # No window ends after the last instant: from the one before on, all are over.
        over = limits >= MAX_TIMESTAMP - 1
        return np.where(over, self.last_windows(panes) + 1, firsts) if over.any() else firsts

    def oldest_windows(self, panes: Ints) -> Ints:
        """The first window that has a pane, or ends behind it."""
        # The same as (panes - per_window) // per_slide + 1, which would wrap around at the low end.
        # Where windows slide by one millisecond, those that begin before the lowest time have no number.
        slides, rest = np.divmod(panes, self.per_slide)
        slides = np.maximum(slides, MIN_TIMESTAMP + self.overlap)
        oldest: Ints = slides + (rest - self.per_window) // self.per_slide + 1
        return oldest

    def last_windows(self, panes: Ints) -> Ints:
        """The last window that has a pane."""
        lasts: Ints = panes // self.per_slide
        return lasts

    def bounds(self, window: int) -> tuple[int, int]:
        """Start and end of a window, within what 64 bits hold."""
        start = self.offset + window * self.per_slide * self.length
        end = start + self.per_window * self.length
        return max(start, MIN_TIMESTAMP + 1), min(end, MAX_TIMESTAMP)

    def memberships(self, panes: Ints, firsts: Ints, windows: list[int]) -> tuple[Ints, Ints]:
        """Each row as often as it counts for one of some windows that follow, and the window.

        A row counts from its first window on.
        """
        low = np.maximum(firsts, windows[0])
        high = np.minimum(self.last_windows(panes), windows[-1])
        counts = np.where(high >= low, high - low + 1, 0)
        rows: Ints = np.repeat(np.arange(len(counts)), counts)
        before = np.cumsum(counts) - counts
        return rows, low[rows] + np.arange(len(rows)) - before[rows]

    def due(self, panes: Ints, clock: Clock) -> list[int]:
        """The windows that the clock passes in this epoch, and that may have records in panes."""
        found: set[int] = set()
        oldest, newest = self.oldest_windows(panes), self.last_windows(panes)
        for low, high in zip(oldest.tolist(), newest.tolist(), strict=True):
            found.update(range(low, high + 1))
        return sorted(w for w in found if clock.before < self.bounds(w)[1] - 1 <= clock.last)

    def is_over(self, pane: int, clock: Clock) -> bool:
        """Whether no window will ask for a pane after this epoch."""
        last = int(self.last_windows(np.array([pane]))[0])
        return self.bounds(last)[1] - 1 <= clock.last
