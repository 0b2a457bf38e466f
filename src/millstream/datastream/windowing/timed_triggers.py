"""Triggers that fire again and again, or after a time without enough records."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

from millstream.common.state import ReducingStateDescriptor, ValueStateDescriptor
from millstream.common.time import MAX_TIMESTAMP, MAX_WATERMARK, positive_millis
from millstream.common.type_aliases import DurationLike
from millstream.common.typeinfo import Types
from millstream.common.windows import TriggerResult
from millstream.datastream.windowing.triggers import QuietTrigger, Trigger, checked_trigger

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "ProcessingTimeoutTrigger",
]


class _ContinuousTrigger(QuietTrigger):
    """Fires at every multiple of an interval; the next one is kept in state."""

    def __init__(self, interval: DurationLike) -> None:
        self.interval = positive_millis(interval, f"the interval of {type(self).__name__}")
        # Of windows that merge, the one that would have fired first decides.
        self._fire_time = ReducingStateDescriptor("fire-time", min, Types.LONG())

    @classmethod
    def of(cls, interval: DurationLike) -> Self:
        """Return a trigger that fires at every multiple of an interval."""
        return cls(interval)

    @abstractmethod
    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None:
        """Set a timer on the trigger's clock."""

    @abstractmethod
    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None:
        """Forget a timer on the trigger's clock."""

    def _multiple_before(self, time: int) -> int:
        return time - time % self.interval

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._fire_time)
        time = ctx.get_partitioned_state(self._fire_time).get()
        if time is not None:
            self._register(time, ctx)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        fire_time = ctx.get_partitioned_state(self._fire_time)
        time = fire_time.get()
        if time is not None:
            self._delete(time, ctx)
            fire_time.clear()

    def register_next_fire_timestamp(
        self, time: int, window: Any, ctx: Trigger.TriggerContext, fire_timestamp_state: Any
    ) -> None:
        """Fire again an interval after ``time``, at the latest at the end of the window."""
        next_time = min(time + self.interval, window.max_timestamp())
        fire_timestamp_state.add(next_time)
        self._register(next_time, ctx)

    def _arguments(self) -> tuple[object, ...]:
        return (self.interval,)


class ContinuousEventTimeTrigger(_ContinuousTrigger):
    """Fires at every multiple of an interval of event time, and at the end of the window.

    When the input has ended, what is due fires once and the window's end does; the multiples
    between the two do not.

    Parameters
    ----------
    interval : span of time
        Anything that says how long: ``"10 s"``, a timedelta, a `Time`, milliseconds.

    Examples
    --------
    >>> ContinuousEventTimeTrigger.of("10 s")
    ContinuousEventTimeTrigger(10000)
    """

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        end = window.max_timestamp()
        if end <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(end)
        if ctx.get_partitioned_state(self._fire_time).get() is None:
            self._schedule(self._multiple_before(timestamp), window, ctx)
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        fire_time = ctx.get_partitioned_state(self._fire_time)
        if fire_time.get() != time:
            return TriggerResult.CONTINUE
        fire_time.clear()
        # The global window has no end: after the last watermark it would fire forever.
        if ctx.get_current_watermark() < MAX_WATERMARK:
            self._schedule(time, window, ctx)
        return TriggerResult.FIRE

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        super().clear(window, ctx)
        ctx.delete_event_time_timer(window.max_timestamp())

    def _schedule(self, after: int, window: Any, ctx: Trigger.TriggerContext) -> None:
        fire_time = ctx.get_partitioned_state(self._fire_time)
        self.register_next_fire_timestamp(after, window, ctx, fire_time)

    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_event_time_timer(time)

    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(time)


class ContinuousProcessingTimeTrigger(_ContinuousTrigger):
    """Fires at every multiple of an interval of processing time.

    It ignores event time: event-time windows get early results from it, and none at
    their end.

    Parameters
    ----------
    interval : span of time
        Anything that says how long: ``"10 s"``, a timedelta, a `Time`, milliseconds.

    Examples
    --------
    >>> ContinuousProcessingTimeTrigger.of("10 s")
    ContinuousProcessingTimeTrigger(10000)
    """

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if ctx.get_partitioned_state(self._fire_time).get() is None:
            now = ctx.get_current_processing_time()
            self._schedule(self._multiple_before(now), now, window, ctx)
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        fire_time = ctx.get_partitioned_state(self._fire_time)
        if fire_time.get() != time:
            return TriggerResult.CONTINUE
        fire_time.clear()
        self._schedule(time, time, window, ctx)
        return TriggerResult.FIRE

    def _schedule(self, after: int, now: int, window: Any, ctx: Trigger.TriggerContext) -> None:
        time = min(after + self.interval, MAX_TIMESTAMP)
        # An end that has passed is no time to wait for: event-time windows of old records have
        # theirs long before the processing time, and a timer there would fire forever.
        if now < window.max_timestamp() < time:
            time = window.max_timestamp()
        if time > now:
            ctx.get_partitioned_state(self._fire_time).add(time)
            ctx.register_processing_time_timer(time)

    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_processing_time_timer(time)

    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(time)


class ProcessingTimeoutTrigger(QuietTrigger):
    """Fires when another trigger does, or when that takes too long.

    The timeout begins with the first record, and again with the first one after the nested
    trigger fired. As in Flink, every timer fires the window, whether the timeout or the nested
    trigger set it; so does the end of an event-time window.

    Parameters
    ----------
    nested_trigger : Trigger
        The trigger that should fire first.
    timeout : span of time
        How long to wait for it, in processing time.
    reset_timer_on_new_record : bool
        Let every record restart the timeout.
    should_clear_on_timeout : bool
        Reset the nested trigger when a timer fires, and start a new timeout with the next record.

    Examples
    --------
    >>> from millstream.datastream.windowing.triggers import CountTrigger
    >>> ProcessingTimeoutTrigger.of(CountTrigger.of(100), "1 min")
    ProcessingTimeoutTrigger(CountTrigger(100), 60000)
    """

    def __init__(
        self,
        nested_trigger: Trigger[Any, Any],
        timeout: DurationLike,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> None:
        self.nested_trigger = checked_trigger(nested_trigger, "ProcessingTimeoutTrigger.of")
        self.timeout = positive_millis(timeout, "the timeout of ProcessingTimeoutTrigger")
        self.reset_timer_on_new_record = reset_timer_on_new_record
        self.should_clear_on_timeout = should_clear_on_timeout
        self._deadline = ValueStateDescriptor("timeout", Types.LONG())

    @classmethod
    def of(
        cls,
        nested_trigger: Trigger[Any, Any],
        timeout: DurationLike,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> Self:
        """Return a trigger that does not wait longer than a timeout for another one."""
        return cls(nested_trigger, timeout, reset_timer_on_new_record, should_clear_on_timeout)

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        result = self.nested_trigger.on_element(element, timestamp, window, ctx)
        if result.is_fire():
            self.clear(window, ctx)
            return result
        deadline = ctx.get_partitioned_state(self._deadline)
        before = deadline.value()
        if before is None or self.reset_timer_on_new_record:
            if before is not None:
                ctx.delete_processing_time_timer(before)
            time = min(ctx.get_current_processing_time() + self.timeout, MAX_TIMESTAMP)
            deadline.update(time)
            ctx.register_processing_time_timer(time)
        return result

    def on_processing_time(
        self, time: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        result = self.nested_trigger.on_processing_time(time, window, ctx)
        return self._timed_out(result, window, ctx)

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        result = self.nested_trigger.on_event_time(time, window, ctx)
        return self._timed_out(result, window, ctx)

    def _timed_out(
        self, result: TriggerResult, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if self.should_clear_on_timeout:
            self.clear(window, ctx)
        return TriggerResult.FIRE_AND_PURGE if result.is_purge() else TriggerResult.FIRE

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        deadline = ctx.get_partitioned_state(self._deadline)
        time = deadline.value()
        if time is not None:
            ctx.delete_processing_time_timer(time)
            deadline.clear()
        self.nested_trigger.clear(window, ctx)

    def _arguments(self) -> tuple[object, ...]:
        return (self.nested_trigger, self.timeout)
