"""How records get timestamps, and how far event time has come."""

from __future__ import annotations

import inspect
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

from millstream.common._logging import accepted_without_effect
from millstream.common.absent import missing_name
from millstream.common.errors import PlanError, TypeMismatchError, short_repr, user_location
from millstream.common.time import (
    MAX_TIMESTAMP,
    MAX_WATERMARK,
    MIN_TIMESTAMP,
    positive_millis,
    to_millis,
)
from millstream.common.type_aliases import DurationLike

__all__ = [
    "AssignerWatermarks",
    "TimestampAssigner",
    "Watermark",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]

StrategyKind = Literal["bounded", "monotonous", "none", "custom"]


@dataclass(frozen=True, order=True)
class Watermark:
    """Says that no record with this timestamp or an earlier one is still to come.

    Parameters
    ----------
    timestamp : int
        Milliseconds since 1970-01-01 UTC.

    Examples
    --------
    >>> Watermark(5) < Watermark.MAX_WATERMARK
    True
    """

    timestamp: int
    MAX_WATERMARK: ClassVar[Watermark]


Watermark.MAX_WATERMARK = Watermark(MAX_WATERMARK)


@runtime_checkable
class WatermarkOutput(Protocol):
    """Where a generator sends its watermarks.

    Examples
    --------
    >>> class Log:
    ...     def emit_watermark(self, watermark): print(watermark)
    ...     def mark_idle(self): print("idle")
    ...     def mark_active(self): print("active")
    >>> isinstance(Log(), WatermarkOutput)
    True
    """

    def emit_watermark(self, watermark: Watermark) -> None:
        """Move event time forward; a watermark behind the last one changes nothing."""

    def mark_idle(self) -> None:
        """Let other inputs move event time forward without this one."""

    def mark_active(self) -> None:
        """Take part in event time again."""


class TimestampAssigner(ABC):
    """Gives each record its timestamp.

    Examples
    --------
    >>> class Second(TimestampAssigner):
    ...     def extract_timestamp(self, value, record_timestamp):
    ...         return value[1] * 1000
    >>> Second().extract_timestamp(("a", 2), -1)
    2000
    """

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The timestamp of a record.

        Parameters
        ----------
        value : object
            The record.
        record_timestamp : int
            The timestamp it has already, from its source; ``MIN_TIMESTAMP`` if none.

        Returns
        -------
        int
            Milliseconds since 1970-01-01 UTC.
        """


class WatermarkGenerator(ABC):
    """Makes watermarks out of the records that come by, one generator per input channel.

    Examples
    --------
    >>> class OnMarker(WatermarkGenerator):
    ...     def on_event(self, event, timestamp, output):
    ...         if event == "marker":
    ...             output.emit_watermark(Watermark(timestamp))
    ...     def on_periodic_emit(self, output):
    ...         pass
    >>> WatermarkStrategy.for_generator(OnMarker).kind
    'custom'
    """

    @abstractmethod
    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        """Look at a record; a watermark may be sent at once."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Send a watermark, or not; called after each record or at the interval configured."""


class _FunctionAssigner(TimestampAssigner):
    def __init__(self, function: Callable[[Any, int], int]) -> None:
        self._function = function

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return self._function(value, record_timestamp)


class _BoundedGenerator(WatermarkGenerator):
    def __init__(self, out_of_orderness_ms: int) -> None:
        self._delay = out_of_orderness_ms + 1
        self._latest = MIN_TIMESTAMP

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        if timestamp > self._latest:
            self._latest = timestamp

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(max(MIN_TIMESTAMP, self._latest - self._delay)))


class _SilentGenerator(WatermarkGenerator):
    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        pass

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


@dataclass(frozen=True)
class WatermarkStrategy:
    """How a stream gets its timestamps and watermarks. The ``with_`` methods return copies.

    Attributes
    ----------
    kind : {"bounded", "monotonous", "none", "custom"}
        How watermarks come about.
    out_of_orderness_ms : int
        How much later than its successors a record may come.
    assigner : TimestampAssigner or None
        Gives timestamps; None keeps those of the source.
    idleness_ms : int or None
        How long an input may be silent before event time goes on without it.
    generator_factory : callable or None
        Makes the generator of a ``custom`` strategy.

    Examples
    --------
    >>> from millstream.common.time import Duration
    >>> strategy = (
    ...     WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2))
    ...     .with_timestamp_assigner(lambda value, record_timestamp: value[1])
    ...     .with_idleness("1 min")
    ... )
    >>> strategy.kind, strategy.out_of_orderness_ms, strategy.idleness_ms
    ('bounded', 2000, 60000)
    """

    kind: StrategyKind
    out_of_orderness_ms: int = 0
    assigner: TimestampAssigner | None = None
    idleness_ms: int | None = None
    generator_factory: Callable[[], WatermarkGenerator] | None = field(default=None)

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """For inputs whose timestamps never go back."""
        return WatermarkStrategy("monotonous")

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: DurationLike) -> WatermarkStrategy:
        """For inputs whose records come at most this much later than newer ones.

        Parameters
        ----------
        max_out_of_orderness : Duration or other span
            The bound; records that come later than that are late.
        """
        bound = to_millis(max_out_of_orderness, "max_out_of_orderness")
        return WatermarkStrategy("bounded", bound)

    @staticmethod
    def for_generator(supplier: Callable[[], WatermarkGenerator]) -> WatermarkStrategy:
        """For inputs whose watermarks the user generates.

        Parameters
        ----------
        supplier : callable
            A `WatermarkGenerator` class, or a function that returns a new generator.
        """
        if not callable(supplier) or isinstance(supplier, WatermarkGenerator):
            raise PlanError(
                "INVALID_WATERMARK_GENERATOR",
                f"for_generator needs a function that makes generators, got {short_repr(supplier)}",
                location=user_location(),
                hint="pass the class itself or a lambda: each input channel needs its own one",
            )
        return WatermarkStrategy("custom", generator_factory=supplier)

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """For streams that do not use event time."""
        return WatermarkStrategy("none")

    def with_timestamp_assigner(
        self, timestamp_assigner: TimestampAssigner | Callable[[Any, int], int]
    ) -> WatermarkStrategy:
        """Take timestamps from the records.

        Parameters
        ----------
        timestamp_assigner : TimestampAssigner or callable
            The assigner, or a function of a record and the timestamp it has.
        """
        return replace(self, assigner=_as_assigner(timestamp_assigner))

    def with_idleness(self, idle_timeout: DurationLike) -> WatermarkStrategy:
        """Let event time go on without an input that has been silent for this long.

        Parameters
        ----------
        idle_timeout : Duration or other span
            Longer than zero.
        """
        hint = "leave with_idleness out to wait for silent inputs"
        millis = positive_millis(idle_timeout, "idle_timeout", hint)
        return replace(self, idleness_ms=millis)

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: DurationLike,
        update_interval: DurationLike | None = None,
    ) -> WatermarkStrategy:
        """Accepted for Flink's sake: sources here cannot run away from each other.

        All inputs are read together, a bounded piece of each at a time.
        """
        to_millis(max_allowed_watermark_drift, "max_allowed_watermark_drift")
        if update_interval is not None:
            to_millis(update_interval, "update_interval")
        accepted_without_effect(
            "watermark alignment", "all inputs are read together, a bounded piece at a time"
        )
        return self

    def create_generator(self) -> WatermarkGenerator:
        """A new generator, for one input channel."""
        if self.generator_factory is not None:
            return self.generator_factory()
        if self.kind == "none":
            return _SilentGenerator()
        return _BoundedGenerator(self.out_of_orderness_ms)


def _as_assigner(assigner: object) -> TimestampAssigner:
    if isinstance(assigner, TimestampAssigner):
        return assigner
    function = getattr(assigner, "extract_timestamp", assigner)
    if callable(function) and not isinstance(assigner, type) and _takes_two(function):
        return _FunctionAssigner(function)
    raise PlanError(
        "INVALID_TIMESTAMP_ASSIGNER",
        f"cannot take timestamps from {short_repr(assigner)}",
        location=user_location(),
        hint="pass a TimestampAssigner object, or a function of (value, record_timestamp)",
    )


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(None, 0)
    except TypeError:
        return False
    except ValueError:
        return True  # Some builtins do not tell their signature.
    return True


class AssignerWatermarks:
    """The timestamps and watermarks of one input channel, as its strategy wants them.

    Parameters
    ----------
    strategy : WatermarkStrategy
        Where assigner and generator come from.

    Examples
    --------
    >>> strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    ...     lambda value, record_timestamp: value
    ... )
    >>> AssignerWatermarks(strategy).timestamp_of(7)
    7
    """

    __slots__ = ("_assigner", "_generator")

    def __init__(self, strategy: WatermarkStrategy) -> None:
        self._assigner = strategy.assigner
        self._generator = strategy.create_generator()

    def timestamp_of(self, value: Any, record_timestamp: int = MIN_TIMESTAMP) -> int:
        """The timestamp of a record; the one it has if the strategy assigns none."""
        if self._assigner is None:
            return record_timestamp
        timestamp = self._assigner.extract_timestamp(value, record_timestamp)
        if type(timestamp) is int and MIN_TIMESTAMP <= timestamp <= MAX_TIMESTAMP:
            return timestamp
        return _checked_timestamp(timestamp, value)

    def on_event(self, value: Any, timestamp: int, output: WatermarkOutput) -> None:
        """Show a record to the generator."""
        self._generator.on_event(value, timestamp, output)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Ask the generator for its watermark."""
        self._generator.on_periodic_emit(output)


def _checked_timestamp(timestamp: object, value: object) -> int:
    # Integers of numpy and the like are as good as int.
    if hasattr(timestamp, "__index__") and not isinstance(timestamp, bool):
        number = operator.index(timestamp)
        if MIN_TIMESTAMP <= number <= MAX_TIMESTAMP:
            return number
    raise TypeMismatchError(
        "INVALID_TIMESTAMP",
        f"the timestamp assigner returned {short_repr(timestamp)} for {short_repr(value)}",
        parameters={"timestamp": short_repr(timestamp), "value": short_repr(value)},
        hint="return an int: milliseconds since 1970-01-01 UTC, within 64 bits",
    )


if not TYPE_CHECKING:
    __getattr__ = missing_name(__name__)
