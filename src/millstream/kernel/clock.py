"""The clock of an operator within one epoch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from millstream.common.time import MIN_TIMESTAMP
from millstream.kernel.order import AT_END, Ints


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

    def at(self, stamps: Ints) -> Ints:
        """The clock before each of the records with these stamps."""
        return np.maximum(self.before, np.minimum(self.local(stamps), self.after))

    def passed(self, stamps: Ints) -> Ints:
        """The time that is over for each record, by its own channel or by the clock before it."""
        return np.maximum(self.local(stamps), self.before)

    @property
    def stamp_before(self) -> int:
        """The clock at the beginning of the epoch, as the channels count."""
        return self.before + self.lag if self.before > MIN_TIMESTAMP else self.before

    def local(self, stamps: Ints) -> Ints:
        """Sorted stamps as this clock counts; what was born at the end comes when all else is over."""
        times = lagging(stamps, self.lag)
        at_end = len(stamps) > 0 and stamps[-1] == AT_END
        return np.where(stamps == AT_END, self.after, times) if at_end else times


def lagging(times: Ints, lag: int) -> Ints:
    """Shift times back by `lag`; MIN_TIMESTAMP (no time) stays."""
    return np.maximum(times, MIN_TIMESTAMP + lag) - lag if lag else times
