"""What the functions of a job have counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from millstream.common.accumulators import Accumulator

__all__ = ["Totals"]


class Totals:
    """Counters and accumulators over all committed epochs."""

    def __init__(self) -> None:
        self.counters: dict[str, int] = {}
        self._accumulators: dict[str, Accumulator[Any, Any]] = {}

    def add(
        self,
        counters: Mapping[str, int],
        accumulators: Iterable[tuple[str, Accumulator[Any, Any]]],
    ) -> None:
        """Take in what a task reports. A clock is where it stands, all else is added up."""
        for name, number in counters.items():
            if name.startswith("due:"):
                continue  # A message to the runtime: when the next timer is due.
            before = 0 if name.startswith("clock:") else self.counters.get(name, 0)
            self.counters[name] = before + number
        for name, accumulator in accumulators:
            known = self._accumulators.get(name)
            if known is None:
                self._accumulators[name] = accumulator.clone()
            else:
                known.merge(accumulator)

    def merge(self, other: Totals) -> None:
        """Take in the totals of another part of the job."""
        self.add(other.counters, other._accumulators.items())

    def accumulators(self) -> dict[str, Any]:
        """What the accumulators came to, by name."""
        return {name: found.get_local_value() for name, found in self._accumulators.items()}
