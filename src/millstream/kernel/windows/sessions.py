"""Sessions with a fixed gap and the default trigger.

A record that is ahead of its channel and of the clock cannot be late, and touches no session that is
over by then: so such records are all added first, and what is due fires afterwards. Any other record
goes the way of the general operator. Many typed records that are ahead are made into fewer beforehand,
see `session_runs`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.common.errors import MillstreamError
from millstream.common.time import MAX_TIMESTAMP
from millstream.common.windows import TimeWindow
from millstream.kernel.operators.timers import add_timer, remove_timer
from millstream.kernel.records.order import Ints
from millstream.kernel.records.outputs import Emit, Outputs
from millstream.kernel.records.sorted_input import Arrivals, Incoming
from millstream.kernel.state.pages import PageStore
from millstream.kernel.time.clock import Clock
from millstream.kernel.windows.aggregates import PaneAggregate
from millstream.kernel.windows.contents import WINDOWS, Entry, Order, merged
from millstream.kernel.windows.default_trigger import DefaultTriggerOperator
from millstream.kernel.windows.session_runs import runs_of

_NONE = np.empty(0, np.bool_)
_NOTHING = np.empty(0, np.int64)


class SessionWindowOperator(DefaultTriggerOperator):
    """Runs a `WindowSpec` with a session gap, `EventTimeTrigger`, lateness 0 and no evictor."""

    def __init__(self, *args: Any, aggregate: PaneAggregate | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        assert self.spec.session_gap is not None
        self.gap = self.spec.session_gap
        self.aggregate = aggregate
        self.ahead, self.reach = _NONE, _NOTHING

    def run(self, records: Incoming | None, pages: PageStore, clock: Clock, emit: Emit) -> None:
        if records is not None:
            limits = clock.limits(records.keys.stamp)
            self.ahead = (records.ts > limits) & (records.ts < MAX_TIMESTAMP - self.gap - 1)
            self.reach = records.ts
            if self.aggregate is not None and isinstance(records, Arrivals):
                records = self._by_run(records, self.aggregate)
        super().run(records, pages, clock, emit)

    def _by_run(self, records: Arrivals, aggregate: PaneAggregate) -> Incoming:
        runs = runs_of(records, self.ahead, self.gap, aggregate)
        if runs is None:
            return records
        self.reach, self.ahead = runs.reach, runs.ahead
        return runs.records

    def _process(self, records: Incoming, rows: Ints, outputs: Outputs) -> None:
        ts, reach, ahead = records.ts[rows], self.reach[rows], self.ahead[rows]
        values = records.values_at(rows)
        keys = self.keys_of(records, rows, values)
        if not self.page.look_alike(keys):
            # In what form a key was first seen follows from what has fired before its record.
            super()._process(records, rows, outputs)
            return
        orders = self._orders_of(records, rows) if self.contents.needs_order else None
        value: Any = None
        try:
            spans = zip(ts.tolist(), reach.tolist(), ahead.tolist(), strict=True)
            for place, (first, last, plain) in enumerate(spans):
                value = values[place]
                if plain:
                    order = None if orders is None else orders[place]
                    self._add_ahead(keys[place], value, first, last + self.gap, order)
                else:
                    super()._process(records, rows[place : place + 1], outputs)
        except MillstreamError:
            raise
        except Exception as error:
            raise self._failure(error, value) from error

    def _add_ahead(self, key: Any, value: Any, ts: int, end: int, order: Order | None) -> None:
        entries = self.page.entries
        cells = entries.get(key)
        if cells is None:
            cells = entries[key] = [None] * len(self.names)
        table = cells[WINDOWS]
        if table is None:
            table = cells[WINDOWS] = {}
        touched = [window for window in table if window[0] <= end and ts <= window[1]]
        if len(touched) == 1 and touched[0][0] <= ts and end <= touched[0][1]:
            entry = table[touched[0]]
        else:
            entry = self._cover(key, TimeWindow(ts, end), touched, table)
        entry[0] = self.contents.add(entry[0], value, ts, order)

    def _cover(
        self, key: Any, window: TimeWindow, touched: list[TimeWindow], table: dict[Any, Entry]
    ) -> Entry:
        """The entry of the session that a window makes of those it touches, in the order of time."""
        timers = self.page.event_timers
        contents = []
        for old in sorted(touched):
            window = window.cover(old)
            contents.append(table.pop(old)[0])
            remove_timer(timers, key, (old[1], old, old[1] - 1))
        entry = table[window] = [merged(self.contents, contents), None]
        add_timer(timers, key, (window[1], window, window[1] - 1))
        return entry
