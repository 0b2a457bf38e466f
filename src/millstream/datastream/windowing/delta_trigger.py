"""How far apart two records are, and the trigger that fires when it is far enough."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.state import ValueStateDescriptor
from millstream.common.typeinfo import TypeInformation
from millstream.common.windows import TriggerResult
from millstream.datastream.functions.checks import FunctionKind, check_function
from millstream.datastream.windowing.triggers import QuietTrigger, Trigger

__all__ = ["DeltaFunction", "DeltaTrigger", "checked_delta", "checked_threshold"]


class DeltaFunction(ABC):
    """Returns how far apart two records are, for `DeltaTrigger` and `DeltaEvictor`.

    Examples
    --------
    >>> class Distance(DeltaFunction):
    ...     def get_delta(self, old_data_point, new_data_point):
    ...         return abs(new_data_point - old_data_point)
    >>> Distance().get_delta(3, 10)
    7
    """

    @abstractmethod
    def get_delta(self, old_data_point: Any, new_data_point: Any) -> float:
        """Return how far the new record is from the old one."""


def checked_delta(
    function: Callable[[Any, Any], float] | DeltaFunction, place: str
) -> Callable[[Any, Any], float]:
    """Return what computes a delta, or raise a `PlanError` at the user's line."""
    arguments = ("old_data_point", "new_data_point")
    check_function(function, FunctionKind(place, DeltaFunction, "get_delta", arguments))
    return function.get_delta if isinstance(function, DeltaFunction) else function


def checked_threshold(threshold: Any, place: str) -> float:
    """Return the threshold of a delta, or raise a `PlanError` at the user's line."""
    # A NaN is the one number that does not equal itself; no delta would ever reach it.
    is_number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
    if not is_number or threshold != threshold:
        raise PlanError(
            "BAD_NUMBER",
            f"the threshold of {place} must be a number, got {short_repr(threshold)}",
            location=user_location(),
            hint="give the delta from which on it acts",
        )
    return threshold  # type: ignore[no-any-return]


class DeltaTrigger(QuietTrigger):
    """Fires when a record is further than a threshold from the one that fired last.

    The first record of a window never fires: the next ones are measured from it.

    Parameters
    ----------
    threshold : float
        A delta above it fires.
    delta_function : callable or DeltaFunction
        A function of (old record, new record) that returns how far they are apart.
    state_type : TypeInformation, optional
        The type of the records; without one the record in state is pickled.

    Examples
    --------
    >>> DeltaTrigger.of(50.0, lambda old, new: new[1] - old[1])
    DeltaTrigger(50.0)
    """

    def __init__(
        self,
        threshold: float,
        delta_function: Callable[[Any, Any], float] | DeltaFunction,
        state_type: TypeInformation | None = None,
    ) -> None:
        self.threshold = checked_threshold(threshold, "DeltaTrigger")
        self.delta = checked_delta(delta_function, "DeltaTrigger.of")
        self._last = ValueStateDescriptor("last-element", state_type)

    @classmethod
    def of(
        cls,
        threshold: float,
        delta_function: Callable[[Any, Any], float] | DeltaFunction,
        state_type: TypeInformation | None = None,
    ) -> Self:
        """Return a trigger that fires when records move by more than a threshold."""
        return cls(threshold, delta_function, state_type)

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        last = ctx.get_partitioned_state(self._last)
        before = last.value()
        if before is None:
            last.update(element)
            return TriggerResult.CONTINUE
        if self.delta(before, element) > self.threshold:
            last.update(element)
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self._last).clear()

    def _arguments(self) -> tuple[object, ...]:
        return (self.threshold,)
