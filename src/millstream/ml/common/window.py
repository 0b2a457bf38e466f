"""How online algorithms put records together: the windows of flink-ml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from millstream.common.time import Time
from millstream.ml.errors import ml_value_error

__all__ = [
    "CountTumblingWindows",
    "EventTimeSessionWindows",
    "EventTimeTumblingWindows",
    "GlobalWindows",
    "ProcessingTimeSessionWindows",
    "ProcessingTimeTumblingWindows",
    "Windows",
]


@dataclass(frozen=True)
class Windows:
    """The base of all windows."""

    _classes: ClassVar[dict[str, type[Windows]]] = {}

    def __init_subclass__(cls) -> None:
        Windows._classes[cls.__name__] = cls

    def to_dict(self) -> dict[str, Any]:
        """The windows as JSON values."""
        return {"windows": type(self).__name__, **asdict(self)}

    @staticmethod
    def of_dict(data: Mapping[str, Any]) -> Windows:
        """The windows that `to_dict` described."""
        rest = {key: value for key, value in data.items() if key != "windows"}
        return Windows._classes[data["windows"]](**rest)


@dataclass(frozen=True)
class GlobalWindows(Windows):
    """One window of all records; it ends with the input."""


@dataclass(frozen=True)
class CountTumblingWindows(Windows):
    """Windows of so many records.

    Examples
    --------
    >>> CountTumblingWindows.of(100)
    CountTumblingWindows(size=100)
    """

    size: int

    @staticmethod
    def of(size: int) -> CountTumblingWindows:
        """Windows of ``size`` records."""
        return CountTumblingWindows(_positive(size))


@dataclass(frozen=True)
class _TimeWindows(Windows):
    size_ms: int

    @property
    def size(self) -> Time:
        """The length."""
        return Time.milliseconds(self.size_ms)


@dataclass(frozen=True)
class EventTimeTumblingWindows(_TimeWindows):
    """Windows of event time of a fixed length."""

    @staticmethod
    def of(size: Time) -> EventTimeTumblingWindows:
        """Windows of a length."""
        return EventTimeTumblingWindows(_positive(size.to_milliseconds()))


@dataclass(frozen=True)
class ProcessingTimeTumblingWindows(_TimeWindows):
    """Windows of processing time of a fixed length."""

    @staticmethod
    def of(size: Time) -> ProcessingTimeTumblingWindows:
        """Windows of a length."""
        return ProcessingTimeTumblingWindows(_positive(size.to_milliseconds()))


@dataclass(frozen=True)
class _SessionWindows(Windows):
    gap_ms: int

    @property
    def gap(self) -> Time:
        """The time without records that ends a window."""
        return Time.milliseconds(self.gap_ms)


@dataclass(frozen=True)
class EventTimeSessionWindows(_SessionWindows):
    """Windows of event time that end when no record comes for a while."""

    @staticmethod
    def with_gap(gap: Time) -> EventTimeSessionWindows:
        """Windows that end after a gap."""
        return EventTimeSessionWindows(_positive(gap.to_milliseconds()))


@dataclass(frozen=True)
class ProcessingTimeSessionWindows(_SessionWindows):
    """Windows of processing time that end when no record comes for a while."""

    @staticmethod
    def with_gap(gap: Time) -> ProcessingTimeSessionWindows:
        """Windows that end after a gap."""
        return ProcessingTimeSessionWindows(_positive(gap.to_milliseconds()))


def _positive(size: int) -> int:
    if size <= 0:
        raise ml_value_error("ML_PARAM_VALUE", f"a window has a size above 0, got {size}")
    return size
