"""Contexts of triggers, evictors, assigners and window functions, and the state of one window."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from millstream.common.errors import PlanError
from millstream.common.state import (
    AggregatingStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from millstream.kernel.state.cells import Cursor, bind

if TYPE_CHECKING:
    from millstream.kernel.windows.operator import WindowOperator


class WindowCells(dict[str, Any]):
    """The states of one window, by name; what was never set is None."""

    def __missing__(self, name: str) -> None:
        return None

    def is_empty(self) -> bool:
        return all(cell is None for cell in self.values())


class WindowStates:
    """State objects over the cells of the current window; ``scope`` keeps owners apart."""

    def __init__(self, cursor: Cursor, scope: str) -> None:
        self._cursor = cursor
        self._scope = scope
        self._states: dict[str, Any] = {}

    def get(self, descriptor: StateDescriptor) -> Any:
        name = self.cell_name(descriptor)
        if name not in self._states:
            self._states[name] = bind(descriptor, self._cursor, name)
        return self._states[name]

    def cell_name(self, descriptor: StateDescriptor) -> str:
        return f"{self._scope}/{descriptor.name}"


class Clocks:
    """The two clocks and the metrics of an operator, as evictors see them."""

    def __init__(self, operator: WindowOperator) -> None:
        self._operator = operator

    def get_current_processing_time(self) -> int:
        return self._operator.cursor.now_ms

    def get_current_watermark(self) -> int:
        return self._operator.watermark()

    def get_metric_group(self) -> Any:
        return self._operator.runtime_context().get_metrics_group()


class AssignerContext:
    """The context of an assigner."""

    def __init__(self, operator: WindowOperator) -> None:
        self._operator = operator

    def get_current_processing_time(self) -> int:
        return self._operator.cursor.now_ms

    def get_runtime_context(self) -> Any:
        return self._operator.runtime_context()


class TriggerContext(Clocks):
    """Timers and state of the current window. ``merging``: in ``on_merge``, the cells of the others."""

    def __init__(self, operator: WindowOperator) -> None:
        super().__init__(operator)
        self._states = WindowStates(operator.window_cursor, "trigger")
        self.merging: list[WindowCells] | None = None

    def get_current_watermark(self) -> int:
        return self._operator.trigger_watermark()

    def register_event_time_timer(self, time: int) -> None:
        self._operator.register_event_timer(self._operator.timer_at(time))

    def register_processing_time_timer(self, time: int) -> None:
        self._operator.register_tick_timer(self._operator.timer_at(time))

    def delete_event_time_timer(self, time: int) -> None:
        self._operator.delete_event_timer(self._operator.timer_at(time))

    def delete_processing_time_timer(self, time: int) -> None:
        self._operator.delete_tick_timer(self._operator.timer_at(time))

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        return self._states.get(state_descriptor)

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        """Bring together a state of the windows that have become this one."""
        if self.merging is None:
            raise self._operator.plan_error(
                "NOT_MERGING",
                "merge_partitioned_state was called outside of on_merge",
                "call it in on_merge only: elsewhere there is nothing to merge",
            )
        name = self._states.cell_name(state_descriptor)
        found = [cells[name] for cells in self.merging]
        found = [cell for cell in found if cell is not None]
        if found:
            self._operator.window_cursor.cells[name] = self._merged(state_descriptor, found)

    def _merged(self, descriptor: StateDescriptor, found: list[Any]) -> Any:
        if isinstance(descriptor, ReducingStateDescriptor):
            function = descriptor.get_reduce_function()
            return reduce(getattr(function, "reduce", function), found)
        if isinstance(descriptor, AggregatingStateDescriptor):
            return reduce(descriptor.get_agg_function().merge, found)
        if descriptor.kind == "list":
            return [element for cell in found for element in cell]
        raise self._operator.plan_error(
            "STATE_CANNOT_MERGE",
            f"state {descriptor.name!r} is a {descriptor.kind} state, which cannot be merged",
            "use reducing, aggregating or list state in a trigger of merging windows",
        )


class WindowStateStore:
    """State of the current window and key, for window functions."""

    def __init__(self, operator: WindowOperator) -> None:
        self._operator = operator
        self._states = WindowStates(operator.window_cursor, "window")

    def get_state(self, state_descriptor: StateDescriptor) -> Any:
        return self._get(state_descriptor)

    def get_list_state(self, state_descriptor: StateDescriptor) -> Any:
        return self._get(state_descriptor)

    def get_map_state(self, state_descriptor: StateDescriptor) -> Any:
        return self._get(state_descriptor)

    def get_reducing_state(self, state_descriptor: StateDescriptor) -> Any:
        return self._get(state_descriptor)

    def get_aggregating_state(self, state_descriptor: StateDescriptor) -> Any:
        return self._get(state_descriptor)

    def _get(self, descriptor: StateDescriptor) -> Any:
        if self._operator.merging:
            raise self._operator.plan_error(
                "STATE_OF_MERGING_WINDOW",
                "per-window state was asked for, but these windows merge",
                "use context.global_state(), or windows that do not merge",
            )
        return self._states.get(descriptor)


class WindowContext:
    """The context of a window function."""

    def __init__(self, operator: WindowOperator) -> None:
        self._operator = operator
        self._window_state = WindowStateStore(operator)

    def window(self) -> Any:
        return self._operator.window

    def current_processing_time(self) -> int:
        return self._operator.cursor.now_ms

    def current_watermark(self) -> int:
        return self._operator.watermark()

    def window_state(self) -> WindowStateStore:
        return self._window_state

    def global_state(self) -> Any:
        return self._operator.runtime_context()


def no_timestamp(operator: WindowOperator, value: Any) -> PlanError:
    """The error of a record without event time on its way into an event-time window."""
    return operator.plan_error(
        "NO_TIMESTAMP",
        f"the record {value!r:.200} has no timestamp, but event-time windows need one",
        "call assign_timestamps_and_watermarks(...) before window(...), with a timestamp assigner",
    )
