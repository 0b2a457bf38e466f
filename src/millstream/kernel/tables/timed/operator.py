"""The base of operators of tables that follow the clock: rows wait in pages until their time comes.

The operators here take all rows of an epoch first and fire then what the clock has passed. That is
exact, because a row says itself, by its stamp, whether a time was over when it came (`Clock.limits`).
When the next row of a page is due stands in the directory of pages: an epoch in which nothing is due
touches no page.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from millstream.common.typeinfo import RowTypeInfo
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.keys.hashing import Hashes
from millstream.kernel.records.buffers import NO_TIMESTAMP, Records
from millstream.kernel.records.columns import Columns
from millstream.kernel.records.order import Ints, OrderKeys, distinct, run_ordinals
from millstream.kernel.records.outputs import MAIN, Emit
from millstream.kernel.records.sorted_input import Incoming
from millstream.kernel.state.pages import NEVER, Directory, PageStore
from millstream.kernel.tables.expiry import Expiry
from millstream.kernel.tables.operator import (
    Delta,
    Emission,
    TableOperator,
    _nothing,
    limits_of,
)
from millstream.kernel.tables.rows import Rows
from millstream.kernel.tables.sections import SectionArrangement, SectionForm, SectionVisit
from millstream.kernel.tables.spec import TableSpec
from millstream.kernel.time.clock import Clock

__all__ = ["Firing", "TimedOperator", "concat_deltas", "section"]


def section(name: str, row: RowTypeInfo) -> SectionForm:
    """A table of an operator's state."""
    return SectionForm(name, row)


class Firing:
    """The emissions of an epoch, at the places of its records or of timers.

    ``limits``: for each record of the epoch, by its cause, the time that is over for it.
    """

    def __init__(
        self, operator: TimedOperator, records: Incoming | None, clock: Clock, emit: Emit
    ) -> None:
        self._operator = operator
        self._emit = emit
        self._type_info = operator.spec.output
        self.clock = clock
        self.limits = limits_of(records, clock)
        self._records = records
        self._now: Emission | None = None

    @property
    def goal(self) -> int:
        """All that is due until then fires."""
        return self.clock.now_ms if self._operator.in_processing_time else self.clock.last

    @property
    def now(self) -> Emission:
        """Emits at the places of records."""
        assert self._records is not None
        if self._now is None:
            self._now = Emission(self._records, self._type_info, self._emit)
        return self._now

    def fire(
        self,
        arrays: Sequence[pa.Array],
        weights: Ints,
        times: Ints,
        hashes: Hashes,
        ts: Ints | None = None,
    ) -> None:
        """Emit rows that timers of their keys make at some times, in the order of rows at one time.

        ``ts``: the event times of the rows; None: those of the timers.
        """
        if not len(weights):
            return
        numbers = hashes.astype(np.int64)
        order = np.lexsort((numbers, times))
        places = pa.array(order)
        due, hashed = times[order], numbers[order]
        change = np.ones(len(order), np.bool_)
        change[1:] = (due[1:] != due[:-1]) | (hashed[1:] != hashed[:-1])
        keys = self._keys(due, hashed).extended(run_ordinals(np.cumsum(change)))
        values = Columns(self._type_info, [array.take(places) for array in arrays])
        sent = weights[order]
        own = None if (sent == 1).all() else sent
        moments = self._moments(due) if ts is None else ts[order]
        self._emit(MAIN, Records(values, moments, keys, weights=own))

    def _moments(self, due: Ints) -> Ints:
        if self._operator.in_processing_time:
            return np.full(len(due), NO_TIMESTAMP, np.int64)
        return due

    def _keys(self, due: Ints, hashed: Ints) -> OrderKeys:
        origin, nothing = self._operator.origin, np.zeros(len(due), np.int64)
        if not self._operator.in_processing_time:
            return origin.timers(due, self.clock, hashed, nothing, nothing)
        stamps = np.full(len(due), self.clock.stamp_before, np.int64)
        births = np.full(len(due), -origin.depth, np.int64)
        return OrderKeys(stamps, births, hashed, nothing, due, origin.path)


class TimedOperator(TableOperator):
    """An operator whose rows wait for a time. Subclasses say what becomes of a visit's rows.

    ``in_processing_time``: it waits for the time of the epoch, else for its clock.
    """

    in_processing_time = False

    def __init__(self, info: OperatorInfo, spec: TableSpec, forms: Sequence[SectionForm]) -> None:
        super().__init__(info, spec, forms)
        self.timed = True

    def run(self, records: Incoming | None, pages: PageStore, clock: Clock, emit: Emit) -> None:
        self.clock = clock
        if records is not None and not len(records):
            records = None
        hashes = self._visited(records, pages.directory)
        if not len(hashes):
            return
        deltas = (
            [_nothing(kind) for kind in self.spec.inputs]
            if records is None
            else self._deltas(records)
        )
        firing = Firing(self, records, clock, emit)
        arrangement = SectionArrangement(pages, self.form, self.page_bytes)
        for visit in arrangement.section_visits(hashes):
            mine = [delta.only(visit.within(delta.hashes)) for delta in deltas]
            sections = self.pass_time(visit.sections, mine, firing)
            self._forget_dues(pages.directory, _within(visit, hashes))
            arrangement.put(visit, sections)
            self.note_dues(pages.directory, sections)

    def expire(self, expiry: Expiry) -> None:
        """Keep all rows: they go when their time is over."""

    def _visited(self, records: Incoming | None, directory: Directory) -> Hashes:
        """A hash in each page that has records or something that is due."""
        clock = self.clock
        due = directory.with_timers() if clock.ends else directory.due(clock.after, clock.now_ms)
        lows = (np.array(due, np.int64) << (32 - directory.depth)).astype(np.uint32)
        if records is None:
            return lows
        assert records.hashes is not None
        return np.concatenate([records.hashes, lows])

    def visit(self, visit: SectionVisit, deltas: list[Delta], emission: Emission) -> Sequence[Rows]:
        raise NotImplementedError("operators that follow the clock pass time")

    @abstractmethod
    def pass_time(
        self, sections: list[Rows], deltas: list[Delta], firing: Firing
    ) -> Sequence[Rows]:
        """The rows of each section after an epoch; emits what has become due, and what is new."""

    @abstractmethod
    def dues(self, sections: Sequence[Rows]) -> Sequence[tuple[Hashes, Ints]]:
        """When stored rows are due: the hashes of their keys, and the times."""

    def _forget_dues(self, directory: Directory, hashes: Hashes) -> None:
        """Forget when the rows of these pages were due: the pages are about to be written."""
        field = directory.tick_due if self.in_processing_time else directory.event_due
        for bucket in distinct(directory.buckets(hashes)).tolist():
            field[directory.span(*directory.locate(bucket))] = NEVER

    def note_dues(self, directory: Directory, sections: Sequence[Rows]) -> None:
        """Write into the directory when rows are due, beside those that are there already."""
        shift = 32 - directory.depth
        field = directory.tick_due if self.in_processing_time else directory.event_due
        for hashes, times in self.dues(sections):
            np.minimum.at(field, hashes.astype(np.int64) >> shift, np.minimum(times, NEVER - 1))

    def count_late(self, number: int) -> None:
        """Count rows that came too late and are dropped."""
        if number and self.opened is not None:
            self.opened.counts.late.inc(number)


def _within(visit: SectionVisit, hashes: Hashes) -> Hashes:
    places = visit.within(hashes)
    return hashes if places is None else hashes[places]


def concat_deltas(stored: Rows, delta: Delta) -> Rows:
    """Stored rows, and the rows of a difference with their weights as the last column."""
    arrays = [*delta.arrays, pa.array(delta.weights)]
    if not len(stored):
        return Rows(arrays, delta.hashes)
    both = [pa.concat_arrays([a, b]) for a, b in zip(stored.arrays, arrays, strict=True)]
    return Rows(both, np.concatenate([stored.hashes, delta.hashes]))
