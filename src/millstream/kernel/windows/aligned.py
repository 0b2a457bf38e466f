"""Windows that follow from the time alone, with the default trigger: all records of a page at once.

Tumbling and sliding event-time windows fire when the clock passes their end. A record that is not late
comes before that, so an epoch's records can all be added first, and what is due fires then: which
windows they belong to and which of them are late is computed for the whole page. Where a record makes a
window fire again, or time comes to its ends, the general operator adds the page's records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from millstream.common.errors import MillstreamError
from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.common.windows import TimeWindow
from millstream.kernel.operators.keyed import NO_ROW
from millstream.kernel.operators.timers import add_timer
from millstream.kernel.records.copying import frozen
from millstream.kernel.records.order import Ints
from millstream.kernel.records.outputs import Outputs
from millstream.kernel.records.sorted_input import Incoming
from millstream.kernel.time.clock import cleanup_times, is_late
from millstream.kernel.windows.contents import WINDOWS, Order, Values
from millstream.kernel.windows.default_trigger import DefaultTriggerOperator


@dataclass
class _Sorted:
    """Records of a page: their places, their windows, and which are late for all of their windows."""

    places: Ints
    starts: Ints
    late: Ints


class AlignedWindowOperator(DefaultTriggerOperator):
    """Runs a `WindowSpec` with aligned windows, `EventTimeTrigger` and no evictor."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        assert self.spec.alignment is not None
        self.alignment = self.spec.alignment
        self._windows: dict[int, TimeWindow] = {}

    def _process(self, records: Incoming, rows: Ints, outputs: Outputs) -> None:
        found = self._sort_out(records, rows)
        values = records.values_at(rows) if found is not None else []
        keys = self.keys_of(records, rows, values)
        if found is None or not self.page.look_alike(keys):
            # In what form a key was first seen follows from what has fired before its record.
            super()._process(records, rows, outputs)
            return
        self._outputs = outputs
        orders = self._orders_of(records, rows) if self.contents.needs_order else None
        ts = records.ts[rows].tolist()
        self._add_all(found.places.tolist(), found.starts.tolist(), keys, values, ts, orders)
        for place in found.late.tolist():
            self.row = int(rows[place])
            self._late_element(values[place])
        self.row = NO_ROW

    def _sort_out(self, records: Incoming, rows: Ints) -> _Sorted | None:
        """The windows of the records; None if the general operator is needed."""
        align, lateness = self.alignment, self.spec.allowed_lateness_ms
        ts, clocks = records.ts[rows], self._moments[1]
        assert clocks is not None
        room = align.size + align.slide + lateness + 1
        if ts.min() < MIN_TIMESTAMP + room or ts.max() > MAX_TIMESTAMP - room:
            return None
        clock, limit = clocks[rows], self.limits[rows]
        newest = align.newest_starts(ts)
        kept = np.zeros(len(ts), np.bool_)
        places, starts = [], []
        for back in range(align.overlap):
            start = newest - back * align.slide
            end = start + align.size - 1
            mine = (end >= ts) & ~is_late(cleanup_times(end, lateness), limit)
            if lateness and (mine & (end <= clock)).any():
                return None
            kept |= mine
            places.append(np.flatnonzero(mine))
            starts.append(start[mine])
        # A slide longer than the size leaves gaps; a record in one may be late all the same.
        behind = is_late(cleanup_times(ts, lateness), limit)
        late = np.flatnonzero(~kept & ((newest + align.size > ts) | behind))
        if len(places) == 1:
            return _Sorted(places[0], starts[0], late)
        # The records of each window, in their order.
        order = np.argsort(np.concatenate(places), kind="stable")
        return _Sorted(np.concatenate(places)[order], np.concatenate(starts)[order], late)

    def _add_all(
        self,
        places: list[int],
        starts: list[int],
        keys: list[Any],
        values: list[Any],
        ts: list[int],
        orders: list[Order] | None,
    ) -> None:
        entries, width, windows = self.page.entries, len(self.names), self._windows
        add, is_list = self.contents.add, isinstance(self.contents, Values)
        copied = self.copies_folded
        value: Any = None
        try:
            for place, start in zip(places, starts, strict=True):
                key, value = keys[place], values[place]
                cells = entries.get(key)
                if cells is None:
                    cells = entries[key] = [None] * width
                table = cells[WINDOWS]
                if table is None:
                    table = cells[WINDOWS] = {}
                window = windows.get(start)
                if window is None:
                    window = self._window(start)
                entry = table.get(window)
                if entry is None:
                    entry = table[window] = [None, None]
                    self._register(key, window)
                elif is_list and entry[0] is not None:
                    entry[0].append(value)
                    continue
                order = None if orders is None else orders[place]
                own = frozen(value) if copied else value
                entry[0] = add(entry[0], own, ts[place], order)
        except MillstreamError:
            raise
        except Exception as error:
            raise self._failure(error, value) from error

    def _window(self, start: int) -> TimeWindow:
        if len(self._windows) > 10_000:
            self._windows.clear()
        window = self._windows[start] = TimeWindow(start, start + self.alignment.size)
        return window

    def _register(self, key: Any, window: TimeWindow) -> None:
        timers, end = self.page.event_timers, window.max_timestamp()
        add_timer(timers, key, (end, window, end))
        if self.spec.allowed_lateness_ms:
            cleanup = self._cleanup_time(window)
            add_timer(timers, key, (cleanup, window, cleanup))
