"""Results of windows before their end and after it, which are updated: ``table.exec.emit``.

After each epoch a window gives what its result is now, and takes back what it was. It needs no note of
which windows have given a result: of those that are there, all have if results come early, else those
whose end the clock had passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa

from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.keys.hashing import Hashes
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.key_columns import row_codes
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.operator import Delta, rows_equal
from millstream.kernel.tables.rows import Rows, concat_rows
from millstream.kernel.tables.timed.operator import Firing, TimedOperator
from millstream.kernel.tables.timed.window_aggregate import (
    WindowAggregateOperator,
    WindowAggregateSpec,
)
from millstream.kernel.time.clock import cleanup_times

__all__ = ["UpdatingWindowSpec"]


@dataclass(frozen=True)
class UpdatingWindowSpec(WindowAggregateSpec):
    """A window aggregate whose results are updated.

    Parameters
    ----------
    early
        Windows give results before their end.
    lateness
        For so many milliseconds after its end a window takes rows, and gives the new result.
    """

    early: bool = False
    lateness: int = 0

    @staticmethod
    def of(spec: WindowAggregateSpec, early: bool, lateness: int) -> UpdatingWindowSpec:
        """The same aggregate with updates."""
        own = {each.name: getattr(spec, each.name) for each in fields(spec)}
        return UpdatingWindowSpec(**own, early=early, lateness=lateness)

    @property
    def layout(self) -> str:
        return "states of windows that give updates"

    def describe(self) -> str:
        when = ["before the end"] * self.early
        when += [f"until {self.lateness} ms after it"] if self.lateness else []
        return f"{super().describe()}; updates {' and '.join(when)}"

    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TimedOperator:
        return UpdatingWindowOperator(info, self)


class UpdatingWindowOperator(WindowAggregateOperator):
    """Keeps a state for each key and window as long as a row can change it."""

    spec: UpdatingWindowSpec

    def dues(self, sections: Sequence[Rows]) -> Sequence[tuple[Hashes, Ints]]:
        (rows,) = sections
        lasts = self._lasts(rows.arrays[len(self._kept) - 1])
        goal = self.clock.now_ms if self.in_processing_time else self.clock.last
        return [(rows.hashes, np.where(lasts <= goal, self._overs(lasts), lasts))]

    def _overs(self, lasts: Ints) -> Ints:
        return cleanup_times(lasts, self.spec.lateness)

    def pass_time(
        self, sections: list[Rows], deltas: list[Delta], firing: Firing
    ) -> Sequence[Rows]:
        (stored,), (delta,) = sections, deltas
        delta = self._on_time(delta, firing)
        new = self._states(delta)
        table = concat_rows([stored, new]) if len(stored) else new
        if not len(table):
            return [table]
        width = len(self._kept)
        groups = Groups.of_codes(row_codes(table.arrays[:width]))
        own = [array.take(pa.array(groups.firsts)) for array in table.arrays[:width]]
        state = self.aggregates.fold(table.arrays[width:], groups)
        rows = Rows([*own, *state], table.hashes[groups.firsts])
        lasts = self._lasts(own[-1])
        causes = np.concatenate([np.full(len(stored), -1), delta.causes])
        self._give(stored, rows, lasts, groups, causes, firing)
        left = (self._overs(lasts) > firing.goal) & ~self.aggregates.is_empty(state)
        return [rows.take(np.flatnonzero(left))]

    def _give(
        self,
        stored: Rows,
        rows: Rows,
        lasts: Ints,
        groups: Groups,
        causes: Ints,
        firing: Firing,
    ) -> None:
        """Emit the results of windows that have ended, and of those that records have changed."""
        early, before = self.spec.early, lasts <= firing.clock.before
        # Stored windows all differ, so each is the first row of its group.
        was = groups.firsts < len(stored)
        gave = was & (early | before)
        touched = groups.lengths > was
        ended = lasts <= firing.goal
        fires = ended & ~before & ~gave & ~(touched & early)
        self._fire(rows.take(np.flatnonzero(fires)), lasts[fires], firing)
        changed = np.flatnonzero(touched & (ended | early) & ~fires)
        if not len(changed):
            return
        at = firing.now.last_of(groups, causes)[changed]
        had = gave[changed]
        old = stored.take(groups.firsts[changed[had]])
        self._replace(old, rows.take(changed), np.flatnonzero(had), lasts[changed], at, firing)

    def _replace(
        self, old: Rows, new: Rows, places: Ints, lasts: Ints, causes: Ints, firing: Firing
    ) -> None:
        """Take results back and give others. ``places``: where the windows of ``old`` are in ``new``."""
        width = len(self._kept)
        before, after = self._results(old, lasts[places]), self._results(new, lasts)
        gone = self.aggregates.numbers(old.arrays[width:]) > 0
        come = self.aggregates.numbers(new.arrays[width:]) > 0
        taken = pa.array(places)
        same = rows_equal(before, [array.take(taken) for array in after]) & gone & come[places]
        gone &= ~same
        come[places[same]] = False
        back, there = np.flatnonzero(gone), np.flatnonzero(come)
        arrays = [
            pa.concat_arrays([one.take(pa.array(back)), other.take(pa.array(there))])
            for one, other in zip(before, after, strict=True)
        ]
        weights = np.repeat(np.array([-1, 1]), [len(back), len(there)])
        firing.now.send(arrays, weights, causes[np.concatenate([places[back], there])])
