"""Contexts of functions with a key: the record or timer at hand, its key, timers and the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.common.errors import PlanError
from millstream.common.time_domain import TimeDomain
from millstream.kernel.keys.identity import shown
from millstream.kernel.operators.timers import add_timer, remove_timer
from millstream.kernel.records.buffers import NO_TIMESTAMP

if TYPE_CHECKING:
    from millstream.kernel.operators.keyed import KeyedOperator


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
