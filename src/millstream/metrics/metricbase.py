"""The interfaces of metrics. A function gets them from ``runtime_context.get_metrics_group()``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]


class Metric(ABC):  # noqa: B024  (a marker: what all metrics are)
    """Anything that a job reports about itself."""


class Counter(Metric):
    """A whole number that goes up and down; the job shows the sum over all tasks."""

    @abstractmethod
    def inc(self, n: int = 1) -> None:
        """Add ``n``."""

    @abstractmethod
    def dec(self, n: int = 1) -> None:
        """Take ``n`` away."""

    @abstractmethod
    def get_count(self) -> int:
        """Return what this task has counted."""


class Meter(Metric):
    """How often something happens: a count, shown as a rate."""

    @abstractmethod
    def mark_event(self, value: int = 1) -> None:
        """Note that it happened ``value`` times."""

    @abstractmethod
    def get_count(self) -> int:
        """Return how often it happened in this task."""


class Distribution(Metric):
    """Count, sum, smallest and largest of the numbers given to it."""

    @abstractmethod
    def update(self, value: int) -> None:
        """Take one more number."""


class MetricGroup(ABC):
    """Makes metrics and gives them a place in a tree of names.

    Asking twice for one name gives the same metric.

    Examples
    --------
    >>> from millstream.datastream.functions import MapFunction, RuntimeContext
    >>> class CountWords(MapFunction):
    ...     def open(self, runtime_context: RuntimeContext) -> None:
    ...         self.words = runtime_context.get_metrics_group().counter("words")
    ...
    ...     def map(self, value: str) -> str:
    ...         self.words.inc(len(value.split()))
    ...         return value
    """

    @abstractmethod
    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """Return the group below this one; with ``extra`` it is a key-value pair of names."""

    @abstractmethod
    def counter(self, name: str) -> Counter:
        """Return the counter with this name."""

    @abstractmethod
    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        """Report what ``obj()`` returns whenever metrics are read."""

    @abstractmethod
    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Return the meter with this name; its rate is over the time span."""

    @abstractmethod
    def distribution(self, name: str) -> Distribution:
        """Return the distribution with this name."""
