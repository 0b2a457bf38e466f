"""Evictors: which records leave a window before or after its function is called."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, Self

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.time import to_millis
from millstream.common.type_aliases import DurationLike
from millstream.common.type_variables import IN, WINDOW
from millstream.common.windows import TimestampedValue
from millstream.datastream.windowing.delta_trigger import (
    DeltaFunction,
    checked_delta,
    checked_threshold,
)
from millstream.metrics import MetricGroup

__all__ = ["CountEvictor", "DeltaEvictor", "Evictor", "TimeEvictor"]


class Evictor(ABC, Generic[IN, WINDOW]):
    """Takes records out of a window when its trigger fires.

    Both methods get the records of the window in the order they came in, and change that list.
    With an evictor a window keeps all its records, also for ``reduce`` and ``aggregate``.

    Examples
    --------
    >>> class DropNegative(Evictor):
    ...     def evict_before(self, elements, size, window, ctx):
    ...         elements[:] = [element for element in elements if element.value >= 0]
    ...
    ...     def evict_after(self, elements, size, window, ctx):
    ...         pass
    >>> elements = [TimestampedValue(3, None), TimestampedValue(-1, None)]
    >>> DropNegative().evict_before(elements, 2, None, None)
    >>> [element.value for element in elements]
    [3]
    """

    class EvictorContext(ABC):
        """The clocks, and a place for metrics."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the processing time."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Return the watermark."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Return where the evictor's metrics are made."""

    @abstractmethod
    def evict_before(
        self,
        elements: list[TimestampedValue[IN]],
        size: int,
        window: WINDOW,
        ctx: Evictor.EvictorContext,
    ) -> None:
        """Remove records before the function sees them.

        Parameters
        ----------
        elements : list of TimestampedValue
            The records; what is removed from the list leaves the window.
        size : int
            How many there are.
        window
            The window.
        ctx : EvictorContext
            The clocks.
        """

    @abstractmethod
    def evict_after(
        self,
        elements: list[TimestampedValue[IN]],
        size: int,
        window: WINDOW,
        ctx: Evictor.EvictorContext,
    ) -> None:
        """Remove records after the function has seen them."""


class _OneSidedEvictor(Evictor[Any, Any]):
    """Evicts either before or after the function."""

    do_evict_after: bool

    @abstractmethod
    def _evict(self, elements: list[TimestampedValue]) -> None:
        """Remove records."""

    def evict_before(
        self, elements: list[TimestampedValue], size: int, window: Any, ctx: Evictor.EvictorContext
    ) -> None:
        if not self.do_evict_after:
            self._evict(elements)

    def evict_after(
        self, elements: list[TimestampedValue], size: int, window: Any, ctx: Evictor.EvictorContext
    ) -> None:
        if self.do_evict_after:
            self._evict(elements)

    def _describe(self, argument: object) -> str:
        after = ", do_evict_after=True" if self.do_evict_after else ""
        return f"{type(self).__name__}({argument}{after})"


class CountEvictor(_OneSidedEvictor):
    """Keeps the last records of a window.

    Parameters
    ----------
    max_count : int
        How many records stay.
    do_evict_after : bool
        Evict after the function instead of before it.

    Examples
    --------
    >>> elements = [TimestampedValue(number, None) for number in range(5)]
    >>> CountEvictor.of(2).evict_before(elements, 5, None, None)
    >>> [element.value for element in elements]
    [3, 4]
    """

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        if not isinstance(max_count, int) or isinstance(max_count, bool) or max_count < 0:
            raise PlanError(
                "BAD_NUMBER",
                f"the count of CountEvictor must be a whole number, got {short_repr(max_count)}",
                location=user_location(),
                hint="give how many records stay in the window; 0 keeps none",
            )
        self.max_count = max_count
        self.do_evict_after = do_evict_after

    @classmethod
    def of(cls, max_count: int, do_evict_after: bool = False) -> Self:
        """Return an evictor that keeps the last ``max_count`` records."""
        return cls(max_count, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        del elements[: max(len(elements) - self.max_count, 0)]

    def __repr__(self) -> str:
        return self._describe(self.max_count)


class TimeEvictor(_OneSidedEvictor):
    """Keeps the records that are not much older than the newest one of the window.

    Records without event time stay.

    Parameters
    ----------
    window_size : span of time
        A record leaves if it is this much older than the newest one, or more.
    do_evict_after : bool
        Evict after the function instead of before it.

    Examples
    --------
    >>> elements = [TimestampedValue("a", 0), TimestampedValue("b", 4_000)]
    >>> TimeEvictor.of("3 s").evict_before(elements, 2, None, None)
    >>> [element.value for element in elements]
    ['b']
    """

    def __init__(self, window_size: DurationLike, do_evict_after: bool = False) -> None:
        self.window_size = to_millis(window_size, "the window size of TimeEvictor")
        self.do_evict_after = do_evict_after

    @classmethod
    def of(cls, window_size: DurationLike, do_evict_after: bool = False) -> Self:
        """Return an evictor that keeps the records of the last ``window_size``."""
        return cls(window_size, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        times = [element.timestamp for element in elements if element.timestamp is not None]
        if times:
            limit = max(times) - self.window_size
            elements[:] = [
                kept for kept in elements if kept.timestamp is None or kept.timestamp > limit
            ]

    def __repr__(self) -> str:
        return self._describe(self.window_size)


class DeltaEvictor(_OneSidedEvictor):
    """Keeps the records that are near the last one of the window.

    Parameters
    ----------
    threshold : float
        A record leaves if its delta to the last record is this, or more.
    delta_function : callable or DeltaFunction
        A function of (record, last record) that returns how far they are apart.
    do_evict_after : bool
        Evict after the function instead of before it.

    Examples
    --------
    >>> elements = [TimestampedValue(number, None) for number in (1, 9, 10)]
    >>> DeltaEvictor.of(5, lambda old, new: new - old).evict_before(elements, 3, None, None)
    >>> [element.value for element in elements]
    [9, 10]
    """

    def __init__(
        self,
        threshold: float,
        delta_function: Callable[[Any, Any], float] | DeltaFunction,
        do_evict_after: bool = False,
    ) -> None:
        self.threshold = checked_threshold(threshold, "DeltaEvictor")
        self.delta = checked_delta(delta_function, "DeltaEvictor.of")
        self.do_evict_after = do_evict_after

    @classmethod
    def of(
        cls,
        threshold: float,
        delta_function: Callable[[Any, Any], float] | DeltaFunction,
        do_evict_after: bool = False,
    ) -> Self:
        """Return an evictor that keeps the records near the last one."""
        return cls(threshold, delta_function, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        if elements:
            last = elements[-1].value
            # Not `<`: a delta that is not a number evicts nothing, as in Flink.
            elements[:] = [
                kept for kept in elements if not self.delta(kept.value, last) >= self.threshold
            ]

    def __repr__(self) -> str:
        return self._describe(self.threshold)
