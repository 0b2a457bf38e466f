"""The window operator: one for all assigners, triggers, evictors and window functions.

A record is assigned to windows; what is late is dropped or sent aside; the others' content grows, the
trigger says what to do, and a timer clears the window when it can no longer change. The state of a key
is a table of its windows, each with its content and the states of trigger and function in it.

Windows that merge fire and are cleared when the clock has passed their end, one instant later than
their last time: a record at the very end touches the window, and is not late before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from millstream.common.errors import PlanError
from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.common.time_domain import TimeDomain
from millstream.common.windows import TimestampedValue, TriggerResult
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo
from millstream.kernel.calls.policy import Saved
from millstream.kernel.keys.identity import shown
from millstream.kernel.operators.keyed import KeyedOperator
from millstream.kernel.operators.timers import add_timer, remove_timer
from millstream.kernel.records.buffers import NO_TIMESTAMP
from millstream.kernel.records.copying import frozen
from millstream.kernel.records.order import COLUMNS, Ints
from millstream.kernel.records.outputs import Emit, Outputs
from millstream.kernel.records.sorted_input import Incoming
from millstream.kernel.state.cells import Cursor
from millstream.kernel.state.info import StateInfo
from millstream.kernel.state.pages import PageStore, Timer
from millstream.kernel.time.clock import Clock, cleanup_time, is_late
from millstream.kernel.windows.contents import (
    WINDOWS,
    Contents,
    Elements,
    Entry,
    Order,
    contents_for,
    folded,
    merged,
)
from millstream.kernel.windows.contexts import (
    AssignerContext,
    Clocks,
    TriggerContext,
    WindowCells,
    WindowContext,
    no_timestamp,
)
from millstream.kernel.windows.merges import merges_of
from millstream.kernel.windows.spec import WindowSpec
from millstream.kernel.windows.undo import SavedFiring, SavedTable

END_OF_TIME = MAX_TIMESTAMP - 1
"""The last instant of a window without an end: only the end of the input brings it."""


class WindowOperator(KeyedOperator):
    """Runs a `WindowSpec`.

    ``in_order``: records come in the one order from epoch to epoch. ``two_inputs``: they come as pairs
    of the input's number, 0 or 1, and the value. ``by_channel``: the key is the record's channel.
    ``may_change``: a function can change the records themselves.

    A window function, and the function of a reduce or aggregate, has its records for itself: what it
    changes in them, no other window sees, no trigger, and the same window does not when it fires again.
    """

    own_states = ("windows",)
    keeps_windows = True

    def __init__(
        self,
        info: OperatorInfo,
        spec: WindowSpec,
        selector: Callable[[Any], Any],
        *,
        timed: bool,
        freeze: bool = True,
        in_order: bool = True,
        two_inputs: bool = False,
        by_channel: bool = False,
        may_change: bool = True,
    ) -> None:
        super().__init__(info, spec.function, selector, timed=timed, freeze=freeze)
        self.spec = spec
        self.has_two_inputs = two_inputs
        self._copies = may_change and not spec.are_used_once()
        self.copies_folded = may_change and not spec.is_folded_once()
        self.by_channel = by_channel
        self.event_time: bool = spec.assigner.is_event_time()
        self.merging = hasattr(spec.assigner, "merge_windows")
        # Of windows that become one, each is in order, but not one behind the other.
        in_order = in_order and not self.merging
        self.contents: Contents = contents_for(
            spec.fold, in_order=in_order, evicting=spec.evictor is not None
        )
        self.window_cursor = Cursor()
        self.window: Any = None
        self.trigger_context = TriggerContext(self)
        self.evictor_context = Clocks(self)
        self.assigner_context = AssignerContext(self)
        self.window_context = WindowContext(self)
        self.limits: Ints = np.empty(0, np.int64)
        self.saved_table: SavedTable | None = None
        self._outputs: Outputs | None = None
        self._orders: dict[int, Order] = {}
        self.needs_timestamps = getattr(spec.assigner, "needs_timestamps", self.event_time)
        if self.needs_timestamps and not timed:
            raise self.plan_error(
                "NO_TIMESTAMPS",
                "event-time windows need timestamps, but not all inputs have them",
                "call assign_timestamps_and_watermarks(...) on every source before window(...)",
            )

    @property
    def fires_by_time_alone(self) -> bool:
        """Whether no trigger and no evictor of the user's decides when windows fire."""
        return self.spec.alignment is not None or self.spec.session_gap is not None

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        super().open(make_context)
        self._say_layout()
        self._late = self.runtime_context().counts.late

    def _say_layout(self) -> None:
        self.runtime_context().infos["windows"] = StateInfo.own("windows", self.contents.layout)

    def with_order(self) -> Contents:
        """How windows are made up if records do not come in order."""
        return contents_for(self.spec.fold, in_order=False, evicting=self.spec.evictor is not None)

    def take_over(self, stored: Mapping[str, Mapping[str, Any]]) -> None:
        """Go on with the places of records in the order, if the stored windows have them.

        Records may still come that precede those, though from now on all come in order.
        """
        layout = stored.get("windows", {}).get("layout")
        kept = self.with_order()
        if layout == kept.layout != self.contents.layout:
            self.contents = kept
            self._say_layout()

    def trigger_watermark(self) -> int:
        """The clock as triggers see it: windows that merge are over one instant later than others."""
        clock = self.watermark()
        shifted = self.merging and self.event_time and MIN_TIMESTAMP < clock < MAX_TIMESTAMP
        return clock - 1 if shifted else clock

    def runtime_context(self) -> KernelRuntimeContext:
        assert self.opened is not None
        return self.opened

    def plan_error(self, code: str, message: str, hint: str) -> PlanError:
        """An error of this operator, at the user's line."""
        message = f"operator {self.info.name!r}: {message}"
        return PlanError(code, message, location=self.info.location, hint=hint)

    # -- records ---------------------------------------------------------------------------------

    def run(self, records: Incoming | None, pages: PageStore, clock: Clock, emit: Emit) -> None:
        if records is not None and self.event_time:
            wait = int(self.merging)
            self.limits = clock.limits(records.keys.stamp, self.spec.lateness, wait)
        super().run(records, pages, clock, emit)

    def _process(self, records: Incoming, rows: Ints, outputs: Outputs) -> None:
        self._outputs = outputs
        self.window_cursor.now_ms = self.cursor.now_ms
        if self.contents.needs_order:
            self._orders = dict(zip(rows.tolist(), self._orders_of(records, rows), strict=True))
        super()._process(records, rows, outputs)

    def _orders_of(self, records: Incoming, rows: Ints) -> list[Order]:
        """The places of some records in the one order."""
        keys = records.keys
        columns = [getattr(keys, name)[rows].tolist() for name in COLUMNS]
        path = keys.path
        paths = [path] * len(rows) if isinstance(path, bytes) else path[rows].tolist()
        return list(zip(*columns, paths, strict=True))

    def keys_of(self, records: Incoming, rows: Ints, values: list[Any]) -> list[Any]:
        if not self.by_channel:
            return super().keys_of(records, rows, values)
        channels: list[Any] = records.keys.channel[rows].tolist()
        return channels

    def element_call(self) -> Callable[[Any, Any], Any]:
        return self.process_element

    def process_element(self, value: Any, context: Any) -> None:
        """One record: into its windows, or aside."""
        ts = self.timestamp()
        if self.needs_timestamps and ts == NO_TIMESTAMP:
            raise no_timestamp(self, value)
        given = None if ts == NO_TIMESTAMP else ts
        windows = self.spec.assigner.assign_windows(value, given, self.assigner_context)
        skipped = True
        for window in windows:
            found = self._merged(window) if self.merging else self._unless_late(window)
            if found is not None:
                skipped = False
                self._add(found, value, ts)
        if skipped and (windows or self._is_behind(ts)):
            self._late_element(value)

    def _add(self, window: Any, value: Any, ts: int) -> None:
        row = self.row
        entry = self._enter_window(window)
        order = self._orders[row] if self.contents.needs_order else None
        own = frozen(value) if self.copies_folded else value
        entry[0] = self.contents.add(entry[0], own, ts, order)
        given = None if ts == NO_TIMESTAMP else ts
        result = self.spec.trigger.on_element(value, given, window, self.trigger_context)
        assert self._outputs is not None
        if result is not TriggerResult.CONTINUE:
            if result.is_fire() and entry[0] is not None:
                self._outputs.branch(row, window.max_timestamp())
            self._react(result, entry, self._outputs)
        self._register_cleanup(window)
        self._leave_window(entry)

    def _late_element(self, value: Any) -> None:
        number, record = value if self.has_two_inputs else (0, value)
        tag = self.spec.second_late_tag if number else self.spec.late_tag
        if tag is None:
            self._late.inc()
            return
        assert self._outputs is not None
        self._outputs.side(self.row, tag.tag_id, record)

    def _unless_late(self, window: Any) -> Any:
        return None if self._is_late(window) else window

    def _is_late(self, window: Any) -> bool:
        """Whether a window can no longer change for the record at hand."""
        return self.event_time and bool(is_late(self._cleanup_time(window), self.limits[self.row]))

    def _is_behind(self, ts: int) -> bool:
        """Whether the record at hand, which is in no window, would be late in any."""
        cleanup = cleanup_time(ts, self.spec.allowed_lateness_ms)
        return self.event_time and bool(is_late(cleanup, self.limits[self.row]))

    def _is_over(self, end: int, clock: int) -> bool:
        """Whether the clock has cleared windows that end then."""
        return end < clock if self.merging else end <= clock

    # -- one window ------------------------------------------------------------------------------

    def _enter_window(self, window: Any) -> Entry:
        """Make a window the current one; it is there from now on."""
        if self.saved_table is not None:
            self.saved_table.touch(window)
        cells = self.cursor.cells
        if cells[WINDOWS] is None:
            cells[WINDOWS] = {}
        entry: Entry | None = cells[WINDOWS].get(window)
        if entry is None:
            entry = cells[WINDOWS][window] = [None, None]
        self._point_at(window, entry)
        return entry

    def _point_at(self, window: Any, entry: Entry) -> None:
        self.window = window
        self.window_cursor.cells = WindowCells() if entry[1] is None else entry[1]

    def _leave_window(self, entry: Entry) -> None:
        """Keep what has become of the current window; nothing at all if nothing is left of it."""
        cells = self.window_cursor.cells
        entry[1] = None if cells.is_empty() else cells
        if entry[0] is None and entry[1] is None and not self.merging:
            self._forget_window()

    def _forget_window(self) -> None:
        table = self.cursor.cells[WINDOWS]
        if table is not None:
            table.pop(self.window, None)
            if not table:
                self.cursor.cells[WINDOWS] = None

    def _react(self, result: TriggerResult, entry: Entry, outputs: Outputs) -> None:
        """Do what the trigger wants; what is emitted belongs to the outputs' current row."""
        if result.is_fire() and entry[0] is not None:
            self._fire(entry, outputs)
        if result.is_purge():
            entry[0] = None

    def _fire(self, entry: Entry, outputs: Outputs) -> None:
        if not self.policy.skips:
            self._call_function(entry, outputs)
            return
        call = partial(self._call_function, entry, outputs)
        skipped = shown(self.key), self.window
        self.policy.attempt(call, skipped, outputs, lambda: SavedFiring(self, entry))

    def _call_function(self, entry: Entry, outputs: Outputs) -> None:
        if self.spec.evictor is None:
            self._emit(self.own(self.contents.elements(entry[0])), outputs)
            return
        assert isinstance(self.contents, Elements)
        kept = [_evictable(element) for element in self.contents.sorted(entry[0])]
        context, evictor = self.evictor_context, self.spec.evictor
        evictor.evict_before(kept, len(kept), self.window, context)
        values = self.own([element.value for element in kept])
        fold = self.spec.fold
        self._emit(values if fold is None else folded(fold, values), outputs)
        evictor.evict_after(kept, len(kept), self.window, context)
        entry[0] = [_stored(element) for element in kept] or None

    def own(self, elements: list[Any]) -> list[Any]:
        """Records that a function may change: copies, if somebody else is to have them too."""
        return [frozen(element) for element in elements] if self._copies else elements

    def _emit(self, elements: list[Any], outputs: Outputs) -> None:
        results = self.function.process(shown(self.key), self.window_context, elements)
        if results is not None:
            outputs.extend(results)

    # -- timers ----------------------------------------------------------------------------------

    def on_timer(self, timer: Timer, outputs: Outputs) -> None:
        _, window, time = timer
        if self.merging and window not in (self.cursor.cells[WINDOWS] or {}):
            return
        entry = self._enter_window(window)
        is_event = self.time_domain is TimeDomain.EVENT_TIME
        call = self.spec.trigger.on_event_time if is_event else self.spec.trigger.on_processing_time
        self._react(call(time, window, self.trigger_context), entry, outputs)
        if self._is_cleanup(timer):
            self._clear(window, entry)
        else:
            self._leave_window(entry)

    def _is_cleanup(self, timer: Timer) -> bool:
        """Whether the timer that fires now ends the life of its window."""
        _, window, time = timer
        is_event = self.time_domain is TimeDomain.EVENT_TIME
        domain_ends = is_event == self.event_time or time >= END_OF_TIME
        return domain_ends and bool(time == self._cleanup_time(window))

    def _clear(self, window: Any, entry: Entry) -> None:
        """Forget all about a window."""
        entry[0] = None
        self.spec.trigger.clear(window, self.trigger_context)
        self.function.clear(self.window_context)
        self._forget_window()

    # -- failures --------------------------------------------------------------------------------

    def saved(self) -> Saved:
        return SavedTable(self)

    def skipped_timer(self, timer: Timer) -> Any:
        return shown(self.key), timer[1]

    def give_up(self, timer: Timer) -> None:
        """Remove a window whose time is over, even if its trigger fails."""
        if not self._is_cleanup(timer):
            return
        self.window = timer[1]
        self._forget_window()
        for timers in (self.page.event_timers, self.page.tick_timers):
            times = [other for other in timers.pop(self.key, ()) if other[1] != self.window]
            if times:
                timers[self.key] = times

    # -- cleaning up -----------------------------------------------------------------------------

    def _cleanup_time(self, window: Any) -> int:
        lateness = self.spec.allowed_lateness_ms if self.event_time else 0
        return cleanup_time(window.max_timestamp(), lateness)

    def _register_cleanup(self, window: Any) -> None:
        time = self._cleanup_time(window)
        if time < MAX_TIMESTAMP:
            self._cleanup_timer(add_timer, window, time)

    def _cleanup_timer(self, change: Callable[..., None], window: Any, time: int) -> None:
        timers = self.page.event_timers if self.event_time else self.page.tick_timers
        change(timers, self.key, (self._due(window, time), window, time))

    def _due(self, window: Any, time: int) -> int:
        if not self.merging or not self.event_time or time == MAX_TIMESTAMP:
            return time
        is_end = time == window.max_timestamp() or time == self._cleanup_time(window)
        return time + 1 if is_end else time

    def timers_of(self, window: Any, clock: int) -> list[Timer]:
        """The timers of a window that fires by the time alone; none if it is over by a clock."""
        end, cleanup = window.max_timestamp(), self._cleanup_time(window)
        if self._is_over(cleanup, clock):
            return []
        times = [time for time in sorted({end, cleanup}) if not self._is_over(time, clock)]
        return [(self._due(window, time), window, time) for time in times]

    def register_event_timer(self, time: int) -> None:
        if not self.timed and time < END_OF_TIME:
            raise self.plan_error(
                "NO_TIMESTAMPS",
                "its trigger registers an event-time timer, but not all inputs have timestamps",
                "call assign_timestamps_and_watermarks(...) on every source before window(...)",
            )
        timer = (self._due(self.window, time), self.window, time)
        add_timer(self.page.event_timers, self.key, timer)

    def delete_event_timer(self, time: int) -> None:
        timer = (self._due(self.window, time), self.window, time)
        remove_timer(self.page.event_timers, self.key, timer)

    def register_tick_timer(self, time: int) -> None:
        add_timer(self.page.tick_timers, self.key, (time, self.window, time))

    def delete_tick_timer(self, time: int) -> None:
        remove_timer(self.page.tick_timers, self.key, (time, self.window, time))

    def ts_of(self, timer: Timer, usual: int) -> int:
        ts: int = timer[1].max_timestamp()
        return ts

    def position_of(self, timer: Timer) -> int:
        window = timer[1]
        return window[0] if isinstance(window, tuple) and window else 0

    # -- windows that merge ----------------------------------------------------------------------

    def _merged(self, window: Any) -> Any:
        """The window that a new one becomes with those that are there; None if that is late.

        Nothing is merged before it is known that the result is not late.
        """
        table = self.cursor.cells[WINDOWS] or {}
        merges = merges_of(self.spec.assigner, [*table, window])
        result = next((merge.result for merge in merges if window in merge.windows), window)
        if self._is_late(result) and not any(merge.shrinks for merge in merges):
            return None
        for merge in merges:
            olds = [old for old in dict.fromkeys(merge.windows) if old in table]
            if olds and olds != [merge.result]:
                self._refuse_past(merge.result)
                self._merge(merge.result, olds, table)
        return result

    def _refuse_past(self, result: Any) -> None:
        clock = self._clock_before(self.row) if self.event_time else self.cursor.now_ms
        if self._is_over(self._cleanup_time(result), clock):
            raise self.plan_error(
                "MERGED_INTO_THE_PAST",
                f"merging windows gave {result!r}, which has ended: the clock is at {clock}",
                "let merge_windows return windows that end no earlier than what they merge",
            )

    def _merge(self, result: Any, olds: Sequence[Any], table: dict[Any, Entry]) -> None:
        trigger, context = self.spec.trigger, self.trigger_context
        if self.saved_table is not None:
            for old in olds:
                self.saved_table.touch(old)
        entries = [table.pop(old) for old in olds]
        entry: Entry = [merged(self.contents, (old[0] for old in entries)), None]
        table[result] = entry
        self._point_at(result, entry)
        context.merging = [WindowCells() if old[1] is None else old[1] for old in entries]
        try:
            trigger.on_merge(result, context)
        finally:
            context.merging = None
        self._leave_window(entry)
        for old, entry in zip(olds, entries, strict=True):
            if old != result:
                self._point_at(old, entry)
                trigger.clear(old, context)
                self._cleanup_timer(remove_timer, old, self._cleanup_time(old))


def _evictable(element: tuple[Any, int, Order | None]) -> TimestampedValue:
    value, ts, order = element
    return TimestampedValue(value, None if ts == NO_TIMESTAMP else ts, order)


def _stored(element: TimestampedValue) -> tuple[Any, int, Any]:
    ts = NO_TIMESTAMP if element.timestamp is None else element.timestamp
    return element.value, ts, element.order
