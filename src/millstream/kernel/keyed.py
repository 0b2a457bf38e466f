"""Keyed operators: one epoch of records and timers, page by page.

Within an epoch the clock before a record depends on that record's stamp alone (and on the clock the
epoch began with), so what happens to one key is independent of all others: the records of a page can
run together, in order-key order, and a page is loaded once however its records lie. Everything
emitted carries its order key, by which the next stage brings all of it into the one order again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from millstream.common.errors import MillstreamError, PlanError, user_code_error
from millstream.common.output_tag import OutputTag
from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.common.time_domain import TimeDomain
from millstream.kernel.arrivals import Incoming
from millstream.kernel.buffers import NO_TIMESTAMP
from millstream.kernel.clock import Clock
from millstream.kernel.copying import frozen
from millstream.kernel.hashing import stable_hash, tie_breaker
from millstream.kernel.keys import KeyForm, shown
from millstream.kernel.order import Ints, Origin
from millstream.kernel.outputs import FLUSH, Emit, Outputs
from millstream.kernel.pages import Directory, Page, PageStore, Timer, Timers
from millstream.kernel.runtime import KernelRuntimeContext, OperatorInfo
from millstream.kernel.selected import keys_given
from millstream.kernel.side_outputs import side_result
from millstream.kernel.stage_member import StageMember
from millstream.kernel.state import Cursor, sweep

NO_ROW = -1
_NOTHING = np.empty(0, np.int64)
SWEPT_PAGES = 4


class TimerService:
    """Timers of the current key, and the clock."""

    def __init__(self, operator: KeyedOperator) -> None:
        self._operator = operator

    def current_processing_time(self) -> int:
        return self._operator.cursor.now_ms

    def current_watermark(self) -> int:
        return self._operator.watermark()

    def register_event_time_timer(self, timestamp: int) -> None:
        operator = self._operator
        if not operator.timed:
            raise PlanError(
                "NO_TIMESTAMPS",
                f"operator {operator.info.name!r} registers an event-time timer, but not all of its "
                "inputs have timestamps",
                location=operator.info.location,
                hint="call assign_timestamps_and_watermarks(...) on every source before it",
            )
        timer = (operator.timer_at(timestamp), None)
        add_timer(operator.page.event_timers, operator.key, timer)

    def register_processing_time_timer(self, timestamp: int) -> None:
        operator = self._operator
        timer = (operator.timer_at(timestamp), None)
        add_timer(operator.page.tick_timers, operator.key, timer)

    def delete_event_time_timer(self, timestamp: int) -> None:
        operator = self._operator
        timer = (operator.timer_at(timestamp), None)
        remove_timer(operator.page.event_timers, operator.key, timer)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        operator = self._operator
        timer = (operator.timer_at(timestamp), None)
        remove_timer(operator.page.tick_timers, operator.key, timer)


def add_timer(timers: Timers, key: Any, timer: Timer) -> None:
    """Register a timer of a key, once."""
    times = timers.get(key)
    if times is None:
        timers[key] = [timer]
    elif _firing_order(timer) > _firing_order(times[-1]):
        times.append(timer)
    else:
        place, found = _place_of(times, timer)
        if not found:
            times.insert(place, timer)


def remove_timer(timers: Timers, key: Any, timer: Timer) -> None:
    """Delete a timer of a key, if it is there."""
    times = timers.get(key)
    if times is not None:
        place, found = _place_of(times, timer)
        if found:
            del times[place]
        if not times:
            del timers[key]


def _place_of(times: list[Timer], timer: Timer) -> tuple[int, bool]:
    """Where a timer is, or where it belongs: a key may have a million of them."""
    order = _firing_order(timer)
    first = bisect_left(times, order, key=_firing_order)
    last = bisect_right(times, order, first, key=_firing_order)
    same = times[first:last]
    return (first + same.index(timer), True) if timer in same else (last, False)


def _firing_order(timer: Timer) -> tuple[Any, ...]:
    """By time, then by namespace where namespaces have an order; else as they were registered."""
    namespace = timer[1]
    return (timer[0], namespace) if isinstance(namespace, tuple) else (timer[0],)


class Context:
    """The context of ``process_element`` and ``on_timer``."""

    def __init__(self, operator: KeyedOperator) -> None:
        self._operator = operator
        self._timers = TimerService(operator)

    def get_current_key(self) -> Any:
        return shown(self._operator.key)

    def timestamp(self) -> int | None:
        ts = self._operator.timestamp()
        return None if ts == NO_TIMESTAMP else ts

    def timer_service(self) -> TimerService:
        return self._timers

    def time_domain(self) -> TimeDomain:
        return self._operator.time_domain


class KeyedOperator(StageMember):
    """Runs a `KeyedProcessFunction`; subclasses run other things on the same pages and clock."""

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
        page, clock = self.page, self.clock
        if page.tick_timers:
            self._fire_ticks(outputs)
        if len(rows):
            assert records is not None
            self._process(records, rows, outputs)
        if page.event_timers:
            for key in list(page.event_timers):
                self._enter(key)
                self._fire_until(clock.after, outputs)
                if clock.ends:
                    self._fire_until(MAX_TIMESTAMP, outputs)
                self._leave(key)
        if clock.ends:
            page.tick_timers.clear()

    def _process(self, records: Incoming, rows: Ints, outputs: Outputs) -> None:
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

    def element_call(self) -> Callable[[Any, Any], Any]:
        """The method that is called with each record and the context."""
        call: Callable[[Any, Any], Any] = self.function.process_element
        return call

    def _clock_before(self, row: int) -> int:
        clocks = self._moments[1]
        return self.clock.before if clocks is None else int(clocks[row])

    def keys_of(self, records: Incoming, rows: Ints, values: list[Any]) -> list[Any]:
        """The identities of the keys of records, in the forms that their selector gives them."""
        found = records.selected_at(rows)
        return keys_given(found, self.selector, values, self._failure)

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
            watermark = MAX_TIMESTAMP if clock == MAX_TIMESTAMP else time_ms
            place = (*self._key_order(), self.position_of(timer))
            order = self.origin.timer(time_ms, self.clock, *place)
            outputs.timer_row(order, self.ts_of(timer, time_ms))
            row = outputs.row
            self._fire_first(timers, watermark, outputs)
            self._fire_overdue(row, time_ms, outputs, watermark)

    def _fire_overdue(
        self, row: int, clock: int, outputs: Outputs, watermark: int | None = None
    ) -> None:
        """Fire what a callback has registered at or before the clock, as a part of that callback.

        What it emits keeps the callback's place in the order: with an order key of its own it would
        come before records that the next stage may have seen already, and results would depend on
        the cut. Its event time is the timer's, or none in processing time.
        """
        page, now_ms = self.page, self.clock.now_ms
        reading = clock if watermark is None else watermark
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
        self._guarded(lambda: self.on_timer(timer, outputs), f"timer at {timer[0]}")

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
