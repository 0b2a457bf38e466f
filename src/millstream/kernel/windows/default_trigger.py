"""Windows that fire when the clock passes their end, and by nothing else.

With `EventTimeTrigger` and no evictor there is nothing to ask the trigger: a page's records are added,
and then what is due fires, in one loop. How records are added is the matter of subclasses.
"""

from __future__ import annotations

from typing import Any

from millstream.common.errors import MillstreamError
from millstream.common.windows import TimeWindow
from millstream.kernel.keys.hashing import stable_hash, tie_breaker
from millstream.kernel.records.order import Ints
from millstream.kernel.records.outputs import Outputs
from millstream.kernel.records.sorted_input import Incoming
from millstream.kernel.windows.contents import WINDOWS
from millstream.kernel.windows.operator import WindowOperator


class DefaultTriggerOperator(WindowOperator):
    """Runs a `WindowSpec` of time windows with `EventTimeTrigger` and no evictor."""

    def run_page(self, records: Incoming | None, rows: Ints, outputs: Outputs) -> None:
        if len(rows):
            assert records is not None
            self._process(records, rows, outputs)
        if self.page.event_timers:
            for goal in self.clock.goals:
                self._fire_page(goal, outputs)

    def _fire_page(self, goal: int, outputs: Outputs) -> None:
        """Fire and clear what is due until the clock is at its goal, as the default trigger does it."""
        timers = self.page.event_timers
        window: Any = None
        try:
            for key in [key for key, times in timers.items() if times[0][0] <= goal]:
                self._enter(key)
                # All timers of a key share this much of their place in the order.
                place = stable_hash(key), tie_breaker(key)
                times = timers[key]
                while times and times[0][0] <= goal:
                    due, window, time = times.pop(0)
                    self.timer = due, self.clock.at_firing(due)
                    order = self.origin.timer(due, self.clock, *place, window[0])
                    outputs.add_row(order, window[1] - 1)
                    self._fire_window(window, time, outputs)
                if not times:
                    del timers[key]
                self._leave(key)
        except MillstreamError:
            raise
        except Exception as error:
            raise self._failure(error, f"{window!r} of key {self.key!r}") from error

    def _fire_window(self, window: TimeWindow, time: int, outputs: Outputs) -> None:
        entry = self.cursor.cells[WINDOWS][window]
        self._point_at(window, entry)
        if time == window[1] - 1:
            self._emit(self.own(self.contents.elements(entry[0])), outputs)
        if self.spec.allowed_lateness_ms and time != self._cleanup_time(window):
            self._leave_window(entry)
            return
        self.function.clear(self.window_context)
        self._forget_window()
