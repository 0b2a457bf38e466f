"""Interval joins: pairs of records of one key whose event times are near each other.

Each side of a key keeps its records sorted by time, and a record looks for its partners among those of
the other side. With bounds ``lower <= right - left <= upper`` a left record can be of use as long as a
right one with ``ts <= left + upper`` may come that is not late, which is while the clock is not past
that time; a right record likewise with ``left <= right - lower``.

An expired record can match no record on time, so it does not matter when it is
removed: when its key is touched, or at the latest when nothing of the key is of use any more.

Where a side grows long its oldest records move out of the page, into segments that are written once.
"""

from __future__ import annotations

import pickle
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from millstream.common.errors import MillstreamError, PlanError
from millstream.common.pickling import dumps
from millstream.common.time import MIN_TIMESTAMP
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo
from millstream.kernel.calls.policy import Saved
from millstream.kernel.operators.keyed import KeyedOperator
from millstream.kernel.operators.two_inputs.connected import PairKey
from millstream.kernel.operators.two_inputs.specs import IntervalJoinSpec
from millstream.kernel.records.buffers import NO_TIMESTAMP, Records
from millstream.kernel.records.copying import frozen
from millstream.kernel.records.order import Ints, run_ordinals
from millstream.kernel.records.outputs import FLUSH, MAIN, Emit, Outputs
from millstream.kernel.records.side_outputs import is_for_side, side_result
from millstream.kernel.records.sorted_input import Incoming
from millstream.kernel.state.large import LargeCell, cell_id
from millstream.kernel.state.pages import PageStore
from millstream.kernel.state.undo import SavedKey
from millstream.kernel.time.clock import Clock

CELLS = ("left times", "left", "right times", "right", "older left", "older right")
"""Of each key: for each side the sorted event times, the records beside them, and its segments."""
OLDER = 4
SEGMENT = 2_048
LEFT = 0


class JoinContext:
    """The times of the pair at hand."""

    __slots__ = ("left", "right")

    def __init__(self) -> None:
        self.left = self.right = NO_TIMESTAMP

    def get_left_timestamp(self) -> int:
        return self.left

    def get_right_timestamp(self) -> int:
        return self.right

    def get_timestamp(self) -> int:
        return max(self.left, self.right)


class Segments(LargeCell):
    """The oldest records of a long side: sorted runs, each in a store value that never changes."""

    def __init__(self, cell: str, runs: Iterable[tuple[int, int, int]] = (), end: int = 0) -> None:
        super().__init__(cell)
        # First time, last time, and number of each.
        self._runs = list(runs)
        self._end = end
        self._gone: list[int] = []
        self._loaded: dict[int, tuple[list[int], list[Any]]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Segments, (self._cell, self._runs, self._end)

    def __len__(self) -> int:
        return len(self._runs)

    def add(self, times: list[int], values: list[Any]) -> None:
        """Write a new segment."""
        self._store.put(self._name(str(self._end)), dumps((times, values)))
        self._runs.append((times[0], times[-1], self._end))
        self._end += 1

    def between(self, low: int, high: int) -> list[tuple[int, Any]]:
        """The records of a span, with their times."""
        found: list[tuple[int, Any]] = []
        for first, last, number in self._runs:
            if first <= high and last >= low:
                times, values = self._segment(number)
                start, end = bisect_left(times, low), bisect_right(times, high)
                found += zip(times[start:end], values[start:end], strict=True)
        return found

    def _segment(self, number: int) -> tuple[list[int], list[Any]]:
        if number not in self._loaded:
            self._loaded[number] = pickle.loads(self._get(str(number)))
        return self._loaded[number]

    def latest(self) -> int:
        """The last time of all."""
        return max(last for _, last, _ in self._runs)

    def forget(self, before: int | None) -> None:
        """Remove the segments that lie before a time; None: all."""
        kept = [before is not None and last >= before for _, last, _ in self._runs]
        self._gone += [run[2] for run, is_kept in zip(self._runs, kept, strict=True) if not is_kept]
        self._runs = [run for run, is_kept in zip(self._runs, kept, strict=True) if is_kept]

    def flush(self) -> None:
        for number in self._gone:
            self._store.remove(self._name(str(number)))
        self._gone = []
        self._loaded = {}

    def drop(self) -> None:
        self.forget(None)
        self.flush()


class _Results:
    """Emissions of a join: values, each with an event time, and the row of the record that found it.

    ``row`` and ``ts``: those of what is emitted now.
    """

    def __init__(self, emit: Emit, records: Incoming, freeze: bool) -> None:
        self._emit = emit
        self._records = records
        self._freeze = freeze
        self.values: list[Any] = []
        self.times: list[int] = []
        self.rows: list[int] = []
        self._aside: dict[str, list[int]] = {}
        self.row, self.ts = 0, NO_TIMESTAMP

    def extend(self, results: Iterable[Any]) -> None:
        """Take the values that the function gave for a pair."""
        values, times, rows, freeze = self.values, self.times, self.rows, self._freeze
        row, ts = self.row, self.ts
        for value in results:
            if is_for_side(value):
                self.aside(*side_result(value))
            else:
                values.append(frozen(value) if freeze else value)
                times.append(ts)
                rows.append(row)

    def aside(self, tag: str, value: Any) -> None:
        """Take a value for a side output."""
        self._aside.setdefault(tag, []).append(len(self.values))
        self.values.append(frozen(value))
        self.times.append(self.ts)
        self.rows.append(self.row)

    def begin(self, row: int) -> None:
        """Make the row of a record the current one."""
        self.row, self.ts = row, int(self._records.ts[row])

    def mark(self) -> int:
        """Mark the present state, to return to it."""
        return len(self.values)

    def undo(self, mark: int) -> None:
        """Take back all since a mark."""
        del self.values[mark:], self.times[mark:], self.rows[mark:]
        for places in self._aside.values():
            while places and places[-1] >= mark:
                places.pop()

    def time(self) -> int:
        """The event time of what is emitted now."""
        return self.ts

    def dead_letter(self, tag: str, letter: Any) -> None:
        """Take the dead letter of a record or a pair."""
        self.aside(tag, letter)

    def flush(self) -> None:
        """Send on what has gathered; never between two results of one row."""
        if not self.values:
            return
        rows = np.array(self.rows, np.int64)
        keys = self._records.keys.take(rows).extended(run_ordinals(rows))
        results = Records(self.values, np.array(self.times, np.int64), keys)
        if not self._aside:
            self._emit(MAIN, results)
        else:
            on_main = np.ones(len(results), np.bool_)
            for tag, places in self._aside.items():
                if not places:
                    continue
                on_main[places] = False
                self._emit(tag, results.take(np.array(places, np.int64)))
            if on_main.any():
                self._emit(MAIN, results.take(np.flatnonzero(on_main)))
        self.values, self.times, self.rows, self._aside = [], [], [], {}


class IntervalJoinOperator(KeyedOperator):
    """Runs an `IntervalJoinSpec`; its selector is a `PairKey`.

    ``may_change``: a function can change the records. It has copies then: the records wait for others.
    """

    has_two_inputs = True
    own_states = CELLS

    def __init__(
        self,
        info: OperatorInfo,
        spec: IntervalJoinSpec,
        selector: PairKey,
        *,
        timed: bool,
        freeze: bool = True,
        may_change: bool = True,
    ) -> None:
        super().__init__(info, spec.function, selector, timed=timed, freeze=freeze)
        self._copies = may_change
        if not timed:
            raise PlanError(
                "NO_TIMESTAMPS",
                f"operator {info.name!r} joins by event time, but not all of its inputs have "
                "timestamps",
                location=info.location,
                hint="call assign_timestamps_and_watermarks(...) on every source before it",
            )
        self.spec = spec
        # For each side, where the times of partners lie, and how long a record is of use.
        self._ranges = ((spec.lower_ms, spec.upper_ms), (-spec.upper_ms, -spec.lower_ms))
        self._reaches = (spec.upper_ms, -spec.lower_ms)
        self.pair = JoinContext()
        self._results: _Results | None = None
        self._pages: PageStore | None = None
        self._limits: Ints = np.empty(0, np.int64)

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        super().open(make_context)
        assert self.opened is not None
        self._dropped = self.opened.counts.late

    def run(self, records: Incoming | None, pages: PageStore, clock: Clock, emit: Emit) -> None:
        self._results, self._pages = None, pages
        if records is not None:
            self._results = _Results(emit, records, self.freeze)
            self._limits = clock.limits(records.keys.stamp, self.spec.lateness)
        super().run(records, pages, clock, emit)
        if self._results is not None:
            self._results.flush()

    def keys_of(self, records: Incoming, rows: Ints, values: list[Any]) -> list[Any]:
        given = records.selected_at(rows)
        return self.policy.keys(
            given, self.selector, values, lambda e, pair: self._failure(e, pair[1])
        )

    def run_page(self, records: Incoming | None, rows: Ints, outputs: Outputs) -> None:
        timers, clock = self.page.event_timers, self.clock
        if len(rows):
            assert records is not None
            self._process(records, rows, outputs)
        for key in [k for k, due in timers.items() if clock.ends or due[0][0] <= clock.after]:
            self._forget(key)

    # -- records ---------------------------------------------------------------------------------

    def _process(self, records: Incoming, rows: Ints, outputs: Outputs) -> None:
        assert self._results is not None
        entries, cursor, results = self.page.entries, self.cursor, self._results
        join = self._join_carefully if self.policy.skips else self._join
        rows, keys, pairs = self.with_keys(records, rows, results)
        times = records.ts[rows]
        # As in Flink: a record has an instant more than a window that ends at its time.
        late = times < self._limits[rows]
        self._check_times(times, pairs)
        for row, key, (number, value), ts, is_late in zip(
            rows.tolist(), keys, pairs, times.tolist(), late.tolist(), strict=True
        ):
            if is_late:
                self._late(number, value, row)
                continue
            cells = entries.get(key)
            if cells is None:
                cells = entries[key] = [[], [], [], [], *[None] * (len(self.names) - OLDER)]
            self.key, cursor.cells = key, cells
            if number == LEFT:
                own_times, own, other_times, other = cells[0], cells[1], cells[2], cells[3]
            else:
                own_times, own, other_times, other = cells[2], cells[3], cells[0], cells[1]
            if not own_times or own_times[-1] <= ts:
                own_times.append(ts)
                own.append(value)
            else:
                place = bisect_right(own_times, ts)
                own_times.insert(place, ts)
                own.insert(place, value)
            first, last = self._ranges[number]
            start = bisect_left(other_times, ts + first)
            end = bisect_right(other_times, ts + last, start)
            partners: list[tuple[int, Any]] = []
            if start < end:
                partners += zip(other_times[start:end], other[start:end], strict=True)
            older = cells[OLDER + 1 - number]
            if older is not None:
                # Equal times stay in the order in which they have come.
                partners = older.between(ts + first, ts + last) + partners
                partners.sort(key=itemgetter(0))
            if partners:
                results.row = row
                join(number, value, ts, partners)
                if len(results.values) >= FLUSH:
                    results.flush()
        for key in set(keys):
            self._forget(key)

    def _join(self, number: int, value: Any, ts: int, partners: Iterable[tuple[int, Any]]) -> None:
        """Call the function with a record and each of its partners."""
        assert self._results is not None
        pair, call, freeze, results = (
            self.pair,
            self.function.process_element,
            self.freeze,
            self._results,
        )
        values, times, rows, row = results.values, results.times, results.rows, results.row
        copies = self._copies
        left = right = value
        try:
            for other_ts, other in partners:
                if number == LEFT:
                    left, right, pair.left, pair.right = value, other, ts, other_ts
                else:
                    left, right, pair.left, pair.right = other, value, other_ts, ts
                if copies:
                    left, right = frozen(left), frozen(right)
                emitted = call(left, right, pair)
                if emitted is None:
                    continue
                at = results.ts = ts if ts >= other_ts else other_ts
                for out in emitted:
                    # What `_Results.extend` does, in line.
                    if is_for_side(out):
                        results.aside(*side_result(out))
                    else:
                        values.append(frozen(out) if freeze else out)
                        times.append(at)
                        rows.append(row)
        except MillstreamError:
            raise
        except Exception as error:
            raise self._failure(error, (left, right)) from error

    def _join_carefully(
        self, number: int, value: Any, ts: int, partners: Iterable[tuple[int, Any]]
    ) -> None:
        """Call the function with each pair by itself: a record may have other partners."""
        assert self._results is not None
        for other_ts, other in partners:
            if number == LEFT:
                left, right, self.pair.left, self.pair.right = value, other, ts, other_ts
            else:
                left, right, self.pair.left, self.pair.right = other, value, other_ts, ts
            self._results.ts = max(ts, other_ts)
            original = self.policy.original((left, right))
            self.attempt(partial(self._call, left, right), original, self._results)

    def _call(self, left: Any, right: Any) -> Any:
        if self._copies:
            left, right = frozen(left), frozen(right)
        return self.function.process_element(left, right, self.pair)

    def saved(self) -> Saved:
        # The records of both sides are changed by no function.
        return SavedKey(self.page, self.key, self.cursor.cells, len(CELLS))

    def _late(self, number: int, value: Any, row: int) -> None:
        assert self._results is not None
        tag = self.spec.late_tags[number]
        if tag is None:
            self._dropped.inc()
        else:
            self._results.begin(row)
            self._results.aside(tag.tag_id, value)

    def _check_times(self, times: Ints, pairs: list[Any]) -> None:
        missing = np.flatnonzero(times == NO_TIMESTAMP)
        if len(missing):
            raise PlanError(
                "NO_TIMESTAMP",
                f"operator {self.info.name!r} joins by event time, and the record "
                f"{pairs[int(missing[0])][1]!r:.200} has none",
                location=self.info.location,
                hint="add with_timestamp_assigner(...) to the watermark strategy",
            )

    # -- what is of use --------------------------------------------------------------------------

    def _forget(self, key: Any) -> None:
        """Remove what is of no use any more; come back when that is so for all of the key."""
        page, clock = self.page, self.clock
        cells = page.entries.get(key)
        if cells is None:
            return
        due = []
        for side, reach in enumerate(self._reaches):
            times, values, older = cells[2 * side], cells[2 * side + 1], cells[OLDER + side]
            before = None if clock.ends else clock.after - reach
            gone = len(times) if before is None else bisect_left(times, before)
            if gone:
                del times[:gone], values[:gone]
            if older is not None:
                older.forget(before)
            latest = times[-1:] + ([older.latest()] if older else [])
            if latest:
                due.append(max(max(latest) + reach, MIN_TIMESTAMP) + 1)
                self._shorten(key, cells, side)
            else:
                cells[OLDER + side] = None
        if due:
            page.event_timers[key] = [(max(due), None)]
            return
        page.event_timers.pop(key, None)
        if all(cell is None for cell in cells[OLDER:]):
            del page.entries[key]

    def _shorten(self, key: Any, cells: list[Any], side: int) -> None:
        """Write the oldest records of a long side into segments."""
        times, values = cells[2 * side], cells[2 * side + 1]
        while len(times) >= 2 * SEGMENT:
            if cells[OLDER + side] is None:
                assert self._pages is not None
                cells[OLDER + side] = older = Segments(cell_id(key, CELLS[OLDER + side]))
                older.bind(self._pages.store, self._pages.uid)
                self.page.large.setdefault(key, []).append(older)
            cells[OLDER + side].add(times[:SEGMENT], values[:SEGMENT])
            del times[:SEGMENT], values[:SEGMENT]
