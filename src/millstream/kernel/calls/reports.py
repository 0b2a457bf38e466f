"""Counts of the tasks of a job, and their reports to the driver.

A task reports what it has counted since its last report, operator by operator; `Totals` adds that up.
A report is small: it names no operator that has nothing to report.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from millstream.common.accumulators import Accumulator
from millstream.common.errors import MillstreamError, user_code_error
from millstream.common.time import MAX_TIMESTAMP
from millstream.kernel.state.slot import States
from millstream.metrics.job_metrics import Summary

if TYPE_CHECKING:
    from millstream.kernel.calls.context import OperatorInfo

# -- reports ---------------------------------------------------------------------------------------


class FunctionReport(NamedTuple):
    """The metrics that a function makes, by name.

    Counters and distributions have what is new; ``meters`` the new events and the time span in seconds;
    gauges are what they show now.
    """

    counters: dict[str, int]
    gauges: dict[str, int]
    meters: dict[str, tuple[int, int]]
    distributions: dict[str, Summary]


class OperatorReport(NamedTuple):
    """Changes of an operator in a task. ``watermark`` and ``state`` are the present ones.

    ``state``: the numbers of keys, timers and bytes.
    """

    records_in: int
    records_out: int
    late: int
    skipped: int
    watermark: int | None
    state: tuple[int, int, int] | None
    function: FunctionReport | None


class TaskReport(NamedTuple):
    """Report of a task after its part of an epoch.

    ``read``: the records read, by source; ``due_ms``: when its next processing-time timer is due;
    ``states``: the states that functions have asked for.
    """

    subtask: int
    operators: dict[str, OperatorReport] = {}
    read: dict[str, int] = {}
    accumulators: tuple[tuple[str, Accumulator[Any, Any]], ...] = ()
    due_ms: int = MAX_TIMESTAMP
    states: States = {}

    def to_bytes(self) -> bytes:
        """The report as it travels: plain tuples, which are small and fast to pickle."""
        operators = {uid: tuple(report) for uid, report in self.operators.items()}
        return pickle.dumps((self.subtask, operators, *self[2:]), protocol=5)

    @staticmethod
    def from_bytes(data: bytes) -> TaskReport:
        subtask, operators, *others = pickle.loads(data)
        found = {uid: OperatorReport._make(report) for uid, report in operators.items()}
        return TaskReport(subtask, found, *others)


# -- metrics of a function -------------------------------------------------------------------------


class KernelCounter:
    """A metrics counter."""

    def __init__(self) -> None:
        self._total = 0
        self._reported = 0

    def inc(self, n: int = 1) -> None:
        self._total += n

    def dec(self, n: int = 1) -> None:
        self._total -= n

    def get_count(self) -> int:
        return self._total

    def take(self) -> int:
        """The counts since the last time."""
        new, self._reported = self._total - self._reported, self._total
        return new


class KernelMeter:
    """A meter counts its events; the driver makes a rate of them."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        self.counter = KernelCounter()

    def mark_event(self, value: int = 1) -> None:
        self.counter.inc(value)

    def get_count(self) -> int:
        return self.counter.get_count()


class KernelDistribution:
    """A distribution keeps count, sum, smallest and largest since the last report."""

    def __init__(self) -> None:
        self._new: list[int] | None = None

    def update(self, value: int) -> None:
        new = self._new
        if new is None:
            self._new = [1, value, value, value]
            return
        new[0] += 1
        new[1] += value
        if value < new[2]:
            new[2] = value
        if value > new[3]:
            new[3] = value

    def take(self) -> Summary | None:
        """The changes since the last time."""
        new, self._new = self._new, None
        return None if new is None else Summary(*new)


class FunctionMetrics:
    """The metrics of one operator's function, by name; a name that is asked for again is the same."""

    def __init__(self, info: OperatorInfo) -> None:
        self._info = info
        self.counters: dict[str, KernelCounter] = {}
        self.meters: dict[str, KernelMeter] = {}
        self.distributions: dict[str, KernelDistribution] = {}
        self.gauges: dict[str, Callable[[], int]] = {}

    def take(self) -> FunctionReport | None:
        """The changes, if there are any."""
        if not (self.counters or self.meters or self.distributions or self.gauges):
            return None
        counters = {name: new for name, one in self.counters.items() if (new := one.take())}
        meters = {
            name: (new, one.seconds)
            for name, one in self.meters.items()
            if (new := one.counter.take())
        }
        distributions = {
            name: found for name, one in self.distributions.items() if (found := one.take())
        }
        gauges = {name: self._read(name, read) for name, read in self.gauges.items()}
        if counters or meters or distributions or gauges:
            return FunctionReport(counters, gauges, meters, distributions)
        return None

    def _read(self, name: str, read: Callable[[], int]) -> int:
        try:
            return int(read())
        except MillstreamError:
            raise
        except Exception as error:
            info = self._info
            raise user_code_error(
                error, info.name, info.uid, f"gauge {name!r}", location=info.location
            ) from error


class KernelMetricGroup:
    """Metrics of one operator; those of a group below it have the group's name in front."""

    def __init__(self, metrics: FunctionMetrics, scope: str = "") -> None:
        self._metrics = metrics
        self._scope = scope

    def add_group(self, name: str, extra: str | None = None) -> KernelMetricGroup:
        below = name if extra is None else f"{name}.{extra}"
        return KernelMetricGroup(self._metrics, f"{self._scope}{below}.")

    def counter(self, name: str) -> KernelCounter:
        return self._metrics.counters.setdefault(self._scope + name, KernelCounter())

    def meter(self, name: str, time_span_in_seconds: int = 60) -> KernelMeter:
        known = self._metrics.meters
        return known.setdefault(self._scope + name, KernelMeter(time_span_in_seconds))

    def distribution(self, name: str) -> KernelDistribution:
        return self._metrics.distributions.setdefault(self._scope + name, KernelDistribution())

    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        self._metrics.gauges[self._scope + name] = obj


# -- counting --------------------------------------------------------------------------------------


class OperatorCounts:
    """Counts of one operator in a task."""

    def __init__(self, info: OperatorInfo) -> None:
        self.records_in = 0
        self.records_out = 0
        self.skipped = 0
        self.late = KernelCounter()
        self.watermark: int | None = None
        self.state: tuple[int, int, int] | None = None
        self.function = FunctionMetrics(info)

    def take(self) -> OperatorReport | None:
        """The changes, if there are any; counting starts again from 0."""
        report = OperatorReport(
            self.records_in,
            self.records_out,
            self.late.take(),
            self.skipped,
            self.watermark,
            self.state,
            self.function.take(),
        )
        self.records_in = self.records_out = self.skipped = 0
        self.watermark = self.state = None
        return report if report != _NOTHING else None


_NOTHING = OperatorReport(0, 0, 0, 0, None, None, None)


@dataclass
class Reports:
    """Counts of the operators of a stage since the last report; merged on the driver."""

    operators: dict[str, OperatorCounts] = field(default_factory=dict)
    accumulators: list[tuple[str, Accumulator[Any, Any]]] = field(default_factory=list)

    def of(self, info: OperatorInfo) -> OperatorCounts:
        """The counts of an operator."""
        found = self.operators.get(info.uid)
        if found is None:
            found = self.operators[info.uid] = OperatorCounts(info)
        return found

    def take(self, subtask: int, **more: Any) -> TaskReport:
        """Return the counts and start again from 0. ``more``: other fields of the report."""
        found = {uid: counts.take() for uid, counts in self.operators.items()}
        operators = {uid: report for uid, report in found.items() if report is not None}
        accumulators = []
        for name, accumulator in self.accumulators:
            accumulators.append((name, accumulator.clone()))
            accumulator.reset_local()
        return TaskReport(subtask, operators, accumulators=tuple(accumulators), **more)

    def accumulator(self, name: str) -> Accumulator[Any, Any] | None:
        return next((found for known, found in self.accumulators if known == name), None)
