"""Keyed operators: one epoch of records and timers, page by page.

Within an epoch the clock before a record depends on that record's stamp alone (and on the clock the
epoch began with), so what happens to one key is independent of all others: the records of a page can
run together, in order-key order, and a page is loaded once however its records lie. Everything
emitted carries its order key, by which the next stage brings all of it into the one order again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from millstream.common.errors import MillstreamError, PlanError, user_code_error
from millstream.common.output_tag import OutputTag
from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.common.time_domain import TimeDomain
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo
from millstream.kernel.calls.policy import FAILING, Emissions, Policy, Saved, Unkeyed
from millstream.kernel.keys.hashing import stable_hash, tie_breaker
from millstream.kernel.keys.identity import KeyForm, shown
from millstream.kernel.operators.contexts import Context
from millstream.kernel.operators.stage_member import StageMember
from millstream.kernel.records.buffers import NO_TIMESTAMP
from millstream.kernel.records.copying import frozen
from millstream.kernel.records.order import Ints, Origin
from millstream.kernel.records.outputs import FLUSH, Emit, Outputs
from millstream.kernel.records.side_outputs import side_result
from millstream.kernel.records.sorted_input import Incoming
from millstream.kernel.state.cells import Cursor, sweep
from millstream.kernel.state.pages import Directory, Page, PageStore, Timer, Timers
from millstream.kernel.state.undo import SavedKey
from millstream.kernel.time.clock import Clock

NO_ROW = -1
_NOTHING = np.empty(0, np.int64)
SWEPT_PAGES = 4


class KeyedOperator(StageMember):
    """Runs a `KeyedProcessFunction`; subclasses run other things on the same pages and clock.

    ``policy``: what happens when its function fails; it is given to the operator when that is made.
    """

    policy: Policy = FAILING

    def __init__(
        self,
        info: OperatorInfo,
        function: Any,
        selector: Callable[[Any], Any],
        *,
        timed: bool,
        freeze: bool = True,
    ) -> None:
        self.info = info
        self.function = function
        self.selector = selector
        self.timed = timed
        self.freeze = freeze
        self.cursor = Cursor()
        self.context = Context(self)
        self.names: list[str] = []
        self.opened: KernelRuntimeContext | None = None
        self.key: Any = None
        self.page = Page(0, 0)
        self.clock = Clock(MIN_TIMESTAMP, MIN_TIMESTAMP, 0)
        self.row = NO_ROW
        self.timer: tuple[int, int] = (NO_TIMESTAMP, MIN_TIMESTAMP)
        self.time_domain = TimeDomain.EVENT_TIME
        self.origin = Origin.of(info.uid, info.depth)
        self._moments: tuple[Ints, Ints | None] = (_NOTHING, None)

    # -- life ------------------------------------------------------------------------------------

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        """Open the function once; ``make_context`` knows task and job."""
        context = make_context(self.info, self.cursor)
        context.names.extend(self.own_states)
        context.reserved = frozenset(self.own_states)
        context.on_new_state = self._widen
        self.names = context.names
        self._guarded(lambda: _call_if_there(self.function, "open", context), None)
        context.infos = {name: replace(i, opened=True) for name, i in context.infos.items()}
        self.policy.open(lambda: context.counts)
        self.opened = context

    def _widen(self) -> None:
        """A state asked for late gets a cell in loaded pages; others are widened when they load."""
        width = len(self.names)
        for cells in [self.cursor.cells, *self.page.entries.values()]:
            cells.extend([None] * (width - len(cells)))

    def close(self) -> None:
        if self.opened is not None:
            self.opened = None
            self._guarded(lambda: _call_if_there(self.function, "close"), None)

    def _guarded(self, call: Callable[[], Any], record: Any) -> Any:
        try:
            return call()
        except MillstreamError:
            raise
        except Exception as error:
            raise self._failure(error, record) from error

    def _failure(self, error: BaseException, record: Any) -> MillstreamError:
        return user_code_error(
            error, self.info.name, self.info.uid, record, location=self.info.location
        )

    def timestamp(self) -> int:
        """Event time of the record or timer at hand."""
        return self.timer[0] if self.row == NO_ROW else int(self._moments[0][self.row])

    def watermark(self) -> int:
        """The clock as the callback at hand sees it."""
        return self.timer[1] if self.row == NO_ROW else self._clock_before(self.row)

    # -- one epoch -------------------------------------------------------------------------------

    def run(self, records: Incoming | None, pages: PageStore, clock: Clock, emit: Emit) -> None:
        """Process the records of an epoch, sorted by order key, and all timers that fall due."""
        assert self.opened is not None
        self.clock = clock
        self.cursor.now_ms = clock.now_ms
        pages.names = self.names
        pages.growing = self.cursor.growing
        outputs = Outputs(emit, records, self.freeze)
        if records is not None:
            clocks = clock.at(records.keys.stamp) if self.timed else None
            self._moments = records.ts, clocks
        for bucket, rows in self._visits(records, pages):
            self.page = pages.load(bucket)
            self.run_page(records, rows, outputs)
            self._sweep(self.page)
            pages.write(self.page)
            outputs.flush(FLUSH)
        outputs.flush()

    def _visits(self, records: Incoming | None, pages: PageStore) -> Iterator[tuple[int, Ints]]:
        """The pages this epoch touches, each with its records in order."""
        directory = pages.directory
        groups: dict[int, Ints] = {}
        if records is not None and len(records):
            assert records.hashes is not None
            pages.prepare(records.hashes)
            buckets = directory.buckets(records.hashes)
            order = np.argsort(buckets, kind="stable")
            firsts, starts = np.unique(buckets[order], return_index=True)
            ends = [*starts[1:].tolist(), len(order)]
            for first, start, end in zip(firsts.tolist(), starts.tolist(), ends, strict=True):
                groups[first] = order[start:end]
        for bucket in self._due_pages(directory):
            groups.setdefault(bucket, _NOTHING)
        # Buckets are renumbered when the directory doubles; the lowest hash of a page is not.
        lowest = [(bucket << (32 - directory.depth), rows) for bucket, rows in groups.items()]
        for low, rows in lowest:
            yield low >> (32 - directory.depth), rows

    def _due_pages(self, directory: Directory) -> list[int]:
        """The pages with a timer to fire in this epoch, and those whose turn it is to be swept."""
        due = directory.due(self.clock.after, self.clock.now_ms)
        found = directory.with_timers() if self.clock.ends else due
        if self.opened is not None and self.opened.expiring:
            found = [*found, *directory.next_to_sweep(SWEPT_PAGES)]
        return found

    def run_page(self, records: Incoming | None, rows: Ints, outputs: Outputs) -> None:
        """Due processing-time timers, the page's records with the timers between them, the rest."""
        page = self.page
        if page.tick_timers:
            self._fire_ticks(outputs)
        if len(rows):
            assert records is not None
            self._process(records, rows, outputs)
        if page.event_timers:
            goals = self.clock.goals
            for key in list(page.event_timers):
                self._enter(key)
                for goal in goals:
                    self._fire_until(goal, outputs)
                self._leave(key)
        self._drop_ticks(page)

    def _drop_ticks(self, page: Page) -> None:
        """Forget processing-time timers at the end of the input: they do not fire there."""
        if self.clock.ends:
            page.tick_timers.clear()

    def _process(self, records: Incoming, rows: Ints, outputs: Outputs) -> None:
        """The records of a page, with the timers between them."""
        process = self._process_carefully if self.policy.skips else self._process_quickly
        process(records, rows, outputs)

    def _process_quickly(self, records: Incoming, rows: Ints, outputs: Outputs) -> None:
        """One handler around all calls: what fails is not undone."""
        page, cursor, context = self.page, self.cursor, self.context
        entries, event_timers, tick_timers = page.entries, page.event_timers, page.tick_timers
        process, freeze = self.element_call(), self.freeze
        emit_value, emit_row = outputs.main()
        values = records.values_at(rows)
        keys = self.keys_of(records, rows, values)
        names = self.names
        value: Any = None
        try:
            found = zip(rows.tolist(), self.in_turn(keys, rows, outputs), values, strict=True)
            for row, key, value in found:
                self.key = key
                cells = entries.get(key)
                if new := cells is None:
                    cells = [None] * len(names)
                cursor.cells = cells
                if event_timers and key in event_timers:
                    self._fire_until(self._clock_before(row), outputs)
                self.row = row
                results = process(value, context)
                if results is not None:
                    # What `Outputs.extend` does, in line: this loop is where a job's time goes.
                    for out in results:
                        kind = out.__class__
                        if kind is OutputTag or (
                            kind is tuple and out and out[0].__class__ is OutputTag
                        ):
                            outputs.side(row, *side_result(out))
                        else:
                            emit_value(frozen(out) if freeze else out)
                            emit_row(row)
                if (event_timers and key in event_timers) or (tick_timers and key in tick_timers):
                    self._fire_overdue(row, self._clock_before(row), outputs)
                if new:
                    entries[key] = cells
                if not cells or cells[0] is None:
                    self._leave(key)
        except MillstreamError:
            raise
        except Exception as error:
            raise self._failure(error, value) from error
        finally:
            self.row = NO_ROW

    def _process_carefully(self, records: Incoming, rows: Ints, outputs: Outputs) -> None:
        """A handler around each call: what fails is undone and skipped."""
        rows, keys, values = self.with_keys(records, rows, outputs)
        try:
            found = zip(rows.tolist(), self.in_turn(keys, rows, outputs), values, strict=True)
            for row, key, value in found:
                self.take(row, key, value, outputs)
        finally:
            self.row = NO_ROW

    def with_keys(
        self, records: Incoming, rows: Ints, outputs: Emissions
    ) -> tuple[Ints, list[Any], list[Any]]:
        """Rows, keys and values of the records that have a key; the others are skipped."""
        values = records.values_at(rows)
        keys = self.keys_of(records, rows, values)
        if Unkeyed not in set(map(type, keys)):
            return rows, keys, values
        for row, key, value in zip(rows.tolist(), keys, values, strict=True):
            if key.__class__ is Unkeyed:
                outputs.begin(row)
                self.policy.skip(key.error, self.policy.original(self.record_of(value)), outputs)
        good = [place for place, key in enumerate(keys) if key.__class__ is not Unkeyed]
        return rows[good], [keys[place] for place in good], [values[place] for place in good]

    def take(self, row: int, key: Any, value: Any, outputs: Outputs) -> None:
        """One record of a key, with the timers before it; the function may fail."""
        self._enter(key)
        if key in self.page.event_timers:
            self._fire_until(self._clock_before(row), outputs)
        self.row = row
        outputs.begin(row)
        call = partial(self.element_call(), value, self.context)
        self.attempt(call, self.policy.original(self.record_of(value)), outputs)
        self._fire_overdue(row, self._clock_before(row), outputs)
        self._leave(key)

    def attempt(self, call: Callable[[], Any], value: Any, outputs: Emissions) -> bool:
        """Run a callback of the current row, and say whether it has succeeded.

        ``value``: what is skipped if it has not.
        """
        return self.policy.attempt(call, value, outputs, self.saved)

    def saved(self) -> Saved:
        """Note all that a callback can change: the state of the current key."""
        return SavedKey(self.page, self.key, self.cursor.cells)

    def record_of(self, value: Any) -> Any:
        """A record as its stream had it."""
        return value[1] if self.has_two_inputs else value

    def element_call(self) -> Callable[[Any, Any], Any]:
        """The method that is called with each record and the context."""
        call: Callable[[Any, Any], Any] = self.function.process_element
        return call

    def _clock_before(self, row: int) -> int:
        clocks = self._moments[1]
        return self.clock.before if clocks is None else int(clocks[row])

    def keys_of(self, records: Incoming, rows: Ints, values: list[Any]) -> list[Any]:
        """The identities of the keys of records, in the forms that their selector gives them.

        `Unkeyed` stands where the selector fails, if such records are skipped.
        """
        given = records.selected_at(rows)
        return self.policy.keys(given, self.selector, values, self._failure)

    def in_turn(self, keys: list[Any], rows: Ints, outputs: Outputs) -> Iterable[Any]:
        """Keys as they were first seen; each is to be asked for when its record has its turn."""
        if not self.page.forms and KeyForm not in set(map(type, keys)):
            return keys
        return self._first_forms(keys, rows, outputs)

    def _first_forms(self, keys: list[Any], rows: Ints, outputs: Outputs) -> Iterator[Any]:
        page = self.page
        for row, own in zip(rows.tolist(), keys, strict=True):
            key = page.first_form(own)
            if key in page.event_timers:
                # A key whose last timer fires before its next record is then seen for the first time.
                self._enter(key)
                self._fire_until(self._clock_before(row), outputs)
                self._leave(key)
                key = page.first_form(own)
            yield key

    def _enter(self, key: Any) -> None:
        self.key = key
        cells = self.page.entries.get(key)
        if cells is None:
            cells = self.page.entries[key] = [None] * len(self.names)
        self.cursor.cells = cells

    def _leave(self, key: Any) -> None:
        """Forget a key without state."""
        page = self.page
        cells = page.entries.get(key)
        if cells is not None and all(cell is None for cell in cells):
            del page.entries[key]
        if page.forms:
            page.forget_form(key)

    # -- timers ----------------------------------------------------------------------------------

    def timer_at(self, timestamp: Any) -> int:
        """When a timer is due, if that is a time."""
        time = int(timestamp)
        if MIN_TIMESTAMP <= time <= MAX_TIMESTAMP:
            return time
        raise PlanError(
            "BAD_TIMER",
            f"operator {self.info.name!r}: there is no time {time} for a timer: times are whole "
            f"numbers of milliseconds from {MIN_TIMESTAMP} to {MAX_TIMESTAMP}",
            location=self.info.location,
            hint="give milliseconds since 1970; a timer at the last time fires at the end of the input",
        )

    def _fire_until(self, clock: int, outputs: Outputs) -> None:
        """Fire the current key's event-time timers up to the clock, as if it passed every instant."""
        timers = self.page.event_timers
        while (times := timers.get(self.key)) and times[0][0] <= clock:
            timer, time_ms = times[0], times[0][0]
            place = (*self._key_order(), self.position_of(timer))
            order = self.origin.timer(time_ms, self.clock, *place)
            outputs.timer_row(order, self.ts_of(timer, time_ms))
            row = outputs.row
            self._fire_first(timers, self.clock.at_firing(time_ms), outputs)
            self._fire_overdue(row, time_ms, outputs)

    def _fire_overdue(self, row: int, clock: int, outputs: Outputs) -> None:
        """Fire what a callback has registered at or before the clock, as a part of that callback.

        What it emits keeps the callback's place in the order: with an order key of its own it would
        come before records that the next stage may have seen already, and results would depend on
        the cut. Its event time is the timer's, or none in processing time.
        """
        page, now_ms = self.page, self.clock.now_ms
        reading = self.clock.at_firing(clock)
        while True:
            if (times := page.event_timers.get(self.key)) and times[0][0] <= clock:
                outputs.branch(row, self.ts_of(times[0], times[0][0]))
                self._fire_first(page.event_timers, reading, outputs)
            elif (times := page.tick_timers.get(self.key)) and times[0][0] <= now_ms:
                outputs.branch(row, self.ts_of(times[0], NO_TIMESTAMP))
                self._fire_first(page.tick_timers, reading, outputs)
            else:
                return

    def _fire_ticks(self, outputs: Outputs) -> None:
        """Fire all processing-time timers of the page that are due; they come before the data."""
        timers, now_ms, before = self.page.tick_timers, self.clock.now_ms, self.clock.before
        for key in [key for key, times in timers.items() if times[0][0] <= now_ms]:
            self._enter(key)
            while (times := timers.get(key)) and times[0][0] <= now_ms:
                place = (*self._key_order(), times[0][0])
                order = self.origin.tick(self.clock.stamp_before, *place)
                outputs.timer_row(order, self.ts_of(times[0], NO_TIMESTAMP))
                row = outputs.row
                self._fire_first(timers, before, outputs)
                self._fire_overdue(row, before, outputs)
            self._leave(key)

    def _key_order(self) -> tuple[int, int]:
        return stable_hash(self.key), tie_breaker(self.key)

    def _fire_first(self, timers: Timers, watermark: int, outputs: Outputs) -> None:
        times = timers[self.key]
        timer = times.pop(0)
        if not times:
            del timers[self.key]
        self.row, self.timer = NO_ROW, (timer[0], watermark)
        is_event = timers is self.page.event_timers
        self.time_domain = TimeDomain.EVENT_TIME if is_event else TimeDomain.PROCESSING_TIME
        self.fire(timer, outputs)

    def fire(self, timer: Timer, outputs: Outputs) -> None:
        """Call what is due, and say which timer it was if that fails."""
        call = partial(self.on_timer, timer, outputs)
        if not self.policy.skips:
            self._guarded(call, f"timer at {timer[0]}")
        elif not self.attempt(call, self.skipped_timer(timer), outputs):
            self.give_up(timer)

    def skipped_timer(self, timer: Timer) -> Any:
        """The value of the dead letter of a timer."""
        return "timer", timer[0], shown(self.key)

    def give_up(self, timer: Timer) -> None:
        """Do what has to be done though a timer has failed."""

    def on_timer(self, timer: Timer, outputs: Outputs) -> None:
        """Do what is due."""
        results = self.function.on_timer(timer[0], self.context)
        if results is not None:
            outputs.extend(results)

    def ts_of(self, timer: Timer, usual: int) -> int:
        """The event time of what a timer emits."""
        return usual

    def position_of(self, timer: Timer) -> int:
        """The place of a timer among those of one instant and key."""
        return 0

    # -- time to live ----------------------------------------------------------------------------

    def _sweep(self, page: Page) -> None:
        """Remove expired state from a page that is loaded."""
        assert self.opened is not None
        if self.opened.expiring:
            kinds = self.opened.expiring
            for key in [k for k, cells in page.entries.items() if sweep(cells, kinds)]:
                del page.entries[key]


def _call_if_there(function: Any, method: str, *arguments: Any) -> None:
    call = getattr(function, method, None)
    if call is not None:
        call(*arguments)
