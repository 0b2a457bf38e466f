"""Triggers: when a window's function is called, and when its content is thrown away."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from typing import Any, Generic, Self

from millstream.common.arguments import positive_int
from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.state import ReducingStateDescriptor, StateDescriptor
from millstream.common.type_variables import IN, WINDOW
from millstream.common.typeinfo import Types
from millstream.common.windows import TriggerResult
from millstream.metrics import MetricGroup

__all__ = [
    "CountTrigger",
    "EndOfStreamTrigger",
    "EventTimeTrigger",
    "NeverTrigger",
    "ProcessingTimeTrigger",
    "PurgingTrigger",
    "QuietTrigger",
    "Trigger",
    "checked_trigger",
]


class Trigger(ABC, Generic[IN, WINDOW]):
    """Decides when the function of a window is called.

    One object serves all keys and windows, so it must not remember anything by itself: state per
    key and window comes from ``ctx.get_partitioned_state``. A trigger for session windows must
    return True from `can_merge` and have an `on_merge`.

    Examples
    --------
    >>> from millstream.common.windows import TriggerResult
    >>> class OnLargeSale(Trigger):
    ...     def on_element(self, element, timestamp, window, ctx):
    ...         ctx.register_event_time_timer(window.max_timestamp())
    ...         return TriggerResult.FIRE if element[1] > 1_000 else TriggerResult.CONTINUE
    ...
    ...     def on_processing_time(self, time, window, ctx):
    ...         return TriggerResult.CONTINUE
    ...
    ...     def on_event_time(self, time, window, ctx):
    ...         return TriggerResult.FIRE
    ...
    ...     def clear(self, window, ctx):
    ...         ctx.delete_event_time_timer(window.max_timestamp())
    >>> OnLargeSale().can_merge()
    False
    """

    class TriggerContext(ABC):
        """Clocks, timers and state of one key and window."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the processing time."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Return the watermark."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Return where the trigger's metrics are made."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Call `Trigger.on_event_time` when the watermark reaches a time."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Call `Trigger.on_processing_time` when the processing time reaches a time."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Forget a timer; nothing happens if there is none."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Forget a timer; nothing happens if there is none."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
            """Return state of the current key and window."""

    class OnMergeContext(TriggerContext):
        """Context of a trigger for a window that several others have merged into."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Put the state of the old windows together into that of the new one."""

    @abstractmethod
    def on_element(
        self, element: IN, timestamp: int, window: WINDOW, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Decide after a record was put into a window.

        Parameters
        ----------
        element
            The record.
        timestamp : int
            Its event time; None if it has none, which event-time windows do not take.
        window
            The window.
        ctx : TriggerContext
            Clocks, timers and state.
        """

    @abstractmethod
    def on_processing_time(
        self, time: int, window: WINDOW, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Decide when a processing-time timer fires."""

    @abstractmethod
    def on_event_time(
        self, time: int, window: WINDOW, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Decide when an event-time timer fires."""

    def can_merge(self) -> bool:
        """Return whether the trigger works with windows that merge, such as sessions."""
        return False

    def on_merge(self, window: WINDOW, ctx: Trigger.OnMergeContext) -> None:
        """Carry state and timers over to the window that several others have become."""
        raise PlanError(
            "TRIGGER_CANNOT_MERGE",
            f"{type(self).__name__} does not know what to do when windows merge",
            hint="give the trigger an on_merge method, and let can_merge return True",
        )

    @abstractmethod
    def clear(self, window: WINDOW, ctx: Trigger.TriggerContext) -> None:
        """Clear the state and the timers of a window that is removed."""


class QuietTrigger(Trigger[Any, Any]):
    """Never does anything; built-in triggers override the methods that they need."""

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        pass

    def _arguments(self) -> tuple[object, ...]:
        """Return what the trigger was made with, for its repr."""
        return ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self._arguments()))})"


class _PlainTrigger(QuietTrigger):
    """A trigger with nothing to choose."""

    @classmethod
    def create(cls) -> Self:
        """Return the trigger."""
        return cls()


class _EndTrigger(_PlainTrigger):
    """Fires when event time comes to the last instant of a window."""

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


class EventTimeTrigger(_EndTrigger):
    """Fires when the watermark passes the end of the window, and then for every late record.

    Examples
    --------
    >>> EventTimeTrigger.create()
    EventTimeTrigger()
    """

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        end = window.max_timestamp()
        if end <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(end)
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        end = window.max_timestamp()
        # A merge is followed by on_element, which fires at once if the window has ended.
        if end > ctx.get_current_watermark():
            ctx.register_event_time_timer(end)


class ProcessingTimeTrigger(_PlainTrigger):
    """Fires when the processing time passes the end of the window.

    Examples
    --------
    >>> ProcessingTimeTrigger.create()
    ProcessingTimeTrigger()
    """

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        ctx.register_processing_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        end = window.max_timestamp()
        if end > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(end)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(window.max_timestamp())


class EndOfStreamTrigger(_EndTrigger):
    """Fires once, when the input has ended: for windows without an end of their own.

    Examples
    --------
    >>> EndOfStreamTrigger.create()
    EndOfStreamTrigger()
    """

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        # The window's own last instant and not MAX_TIMESTAMP: the window is cleaned up after it.
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE


class NeverTrigger(_PlainTrigger):
    """Never fires; the default of `GlobalWindows`.

    Examples
    --------
    >>> NeverTrigger.create()
    NeverTrigger()
    """


class CountTrigger(QuietTrigger):
    """Fires at every n-th record of a window.

    The records stay in the window, so the next time the function sees them again; wrap the trigger
    into `PurgingTrigger` to start from 0.

    Parameters
    ----------
    window_size : int
        How many records.

    Examples
    --------
    >>> CountTrigger.of(100)
    CountTrigger(100)
    """

    def __init__(self, window_size: int) -> None:
        self.window_size = positive_int("the count of CountTrigger", window_size)
        self._count = ReducingStateDescriptor("count", operator.add, Types.LONG())

    @classmethod
    def of(cls, window_size: int) -> Self:
        """Return a trigger that fires at every ``window_size``-th record."""
        return cls(window_size)

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        count = ctx.get_partitioned_state(self._count)
        count.add(1)
        if count.get() < self.window_size:
            return TriggerResult.CONTINUE
        count.clear()
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._count)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self._count).clear()

    def _arguments(self) -> tuple[object, ...]:
        return (self.window_size,)


class PurgingTrigger(QuietTrigger):
    """Empties the window whenever another trigger fires.

    Parameters
    ----------
    nested_trigger : Trigger
        The trigger that decides when.

    Examples
    --------
    >>> PurgingTrigger.of(CountTrigger.of(100))
    PurgingTrigger(CountTrigger(100))
    """

    def __init__(self, nested_trigger: Trigger[Any, Any]) -> None:
        self.nested_trigger = checked_trigger(nested_trigger, "PurgingTrigger.of")

    @classmethod
    def of(cls, nested_trigger: Trigger[Any, Any]) -> Self:
        """Return a trigger that fires when another one does, and purges."""
        return cls(nested_trigger)

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_processing_time(
        self, time: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def can_merge(self) -> bool:
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        self.nested_trigger.clear(window, ctx)

    def _arguments(self) -> tuple[object, ...]:
        return (self.nested_trigger,)


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result


def checked_trigger(trigger: Any, place: str) -> Trigger[Any, Any]:
    """Return a trigger, or raise a `PlanError` at the user's line if it is none."""
    if isinstance(trigger, Trigger):
        return trigger
    raise PlanError(
        "NOT_A_TRIGGER",
        f"{place} needs a Trigger, got {short_repr(trigger)}",
        location=user_location(),
        hint="pass an object of a trigger class, such as CountTrigger.of(100)",
    )
