"""Sessions with a fixed gap and the default trigger.

A record that is ahead of its channel and of the clock cannot be late, and touches no session that is
over by then: so such records are all added first, and what is due fires afterwards. Any other record
goes the way of the general operator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream.common.errors import MillstreamError
from millstream.common.time import MAX_TIMESTAMP
from millstream.common.windows import TimeWindow
from millstream.kernel.arrivals import Incoming
from millstream.kernel.keyed import add_timer, remove_timer
from millstream.kernel.order import Ints
from millstream.kernel.outputs import Outputs
from millstream.kernel.windows.contents import Order, merged
from millstream.kernel.windows.default_trigger import DefaultTriggerOperator
from millstream.kernel.windows.operator import WINDOWS, Entry


class SessionWindowOperator(DefaultTriggerOperator):
    """Runs a `WindowSpec` with a session gap, `EventTimeTrigger`, lateness 0 and no evictor."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        assert self.spec.session_gap is not None
        self.gap = self.spec.session_gap

    def _process(self, records: Incoming, rows: Ints, outputs: Outputs) -> None:
        ts, clocks = records.ts[rows], self._moments[1]
        assert clocks is not None
        behind = np.maximum(self.clock.local(records.keys.stamp[rows]), clocks[rows])
        ahead = (ts > behind) & (ts < MAX_TIMESTAMP - self.gap - 1)
        values = records.values_at(rows)
        keys = self.keys_of(records, rows, values)
        orders = self._orders_of(records, rows) if self.contents.needs_order else None
        value: Any = None
        try:
            for place, (time, plain) in enumerate(zip(ts.tolist(), ahead.tolist(), strict=True)):
                value = values[place]
                if plain:
                    order = None if orders is None else orders[place]
                    self._add_ahead(keys[place], value, time, order)
                else:
                    super()._process(records, rows[place : place + 1], outputs)
        except MillstreamError:
            raise
        except Exception as error:
            raise self._failure(error, value) from error

    def _add_ahead(self, key: Any, value: Any, ts: int, order: Order | None) -> None:
        entries, end = self.page.entries, ts + self.gap
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
        """The entry of the session that a window makes of those it touches."""
        timers = self.page.event_timers
        contents = []
        for old in touched:
            window = window.cover(old)
            contents.append(table.pop(old)[0])
            remove_timer(timers, key, (old[1], old, old[1] - 1))
        entry = table[window] = [merged(self.contents, contents), None]
        add_timer(timers, key, (window[1], window, window[1] - 1))
        return entry
