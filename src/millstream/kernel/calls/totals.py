"""The metrics of a job: what its tasks report, added up.

The only place that makes `JobMetrics`. Counts add up over tasks and epochs; watermarks, gauges and the
size of state are what they were when a task last reported them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

from millstream.common.accumulators import Accumulator
from millstream.kernel.calls.reports import FunctionReport, OperatorReport, TaskReport
from millstream.metrics.job_metrics import (
    EpochMetrics,
    JobMetrics,
    MeterMetrics,
    OperatorMetrics,
    SinkMetrics,
    SourceMetrics,
    StateMetrics,
    Summary,
)

RATE_SECONDS = 60
"""The rate of a source is over so many seconds."""


@dataclass(frozen=True)
class JobParts:
    """The sources, operators and sinks of a job: their names by uid."""

    sources: Mapping[str, str] = field(default_factory=dict)
    operators: Mapping[str, str] = field(default_factory=dict)
    sinks: Mapping[str, str] = field(default_factory=dict)


class Rate:
    """A count, and how fast it grows over a time span."""

    def __init__(self, seconds: float, now: Callable[[], float]) -> None:
        self.count = 0
        self._seconds = seconds
        self._now = now
        self._began = now()
        self._seen: deque[tuple[float, int]] = deque()

    def add(self, number: int) -> None:
        """Count more."""
        self._forget()
        self.count += number
        self._seen.append((self._now(), number))

    def per_second(self) -> float:
        """How many per second, in the time span or since the count began."""
        self._forget()
        passed = min(self._now() - self._began, self._seconds)
        return sum(number for _, number in self._seen) / passed if passed > 0 else 0.0

    def _forget(self) -> None:
        oldest = self._now() - self._seconds
        while self._seen and self._seen[0][0] < oldest:
            self._seen.popleft()


class _Function:
    """The metrics that a function has made."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._counters: dict[str, int] = {}
        self._meters: dict[str, Rate] = {}
        self._distributions: dict[str, Summary] = {}
        self._gauges: dict[str, dict[int, int]] = {}

    def add(self, subtask: int, report: FunctionReport) -> None:
        for name, number in report.counters.items():
            self._counters[name] = self._counters.get(name, 0) + number
        for name, (number, seconds) in report.meters.items():
            if name not in self._meters:
                self._meters[name] = Rate(seconds, self._now)
            self._meters[name].add(number)
        for name, new in report.distributions.items():
            known = self._distributions.get(name)
            self._distributions[name] = new if known is None else known + new
        for name, value in report.gauges.items():
            self._gauges.setdefault(name, {})[subtask] = value

    def shown(self) -> dict[str, Any]:
        """The fields that they are in the metrics of an operator or sink."""
        return {
            "counters": dict(self._counters),
            "meters": {
                name: MeterMetrics(rate.count, rate.per_second())
                for name, rate in self._meters.items()
            },
            "distributions": dict(self._distributions),
            "gauges": {name: _summary(values) for name, values in self._gauges.items()},
        }


def _summary(values: Mapping[int, int]) -> Summary:
    numbers = values.values()
    return Summary(len(numbers), sum(numbers), min(numbers), max(numbers))


class _Operator:
    """The totals of one operator, or of the function of a sink."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.records_in = self.records_out = self.late = self.skipped = 0
        self.watermark: int | None = None
        self.states: dict[int, StateMetrics] = {}
        self.function = _Function(now)

    def add(self, subtask: int, report: OperatorReport) -> None:
        self.records_in += report.records_in
        self.records_out += report.records_out
        self.late += report.late
        self.skipped += report.skipped
        if report.watermark is not None:
            self.watermark = report.watermark
        if report.state is not None:
            self.states[subtask] = StateMetrics(*report.state)
        if report.function is not None:
            self.function.add(subtask, report.function)

    def shown(self, uid: str, name: str) -> OperatorMetrics:
        return OperatorMetrics(
            uid=uid,
            name=name,
            records_in=self.records_in,
            records_out=self.records_out,
            late=self.late,
            skipped=self.skipped,
            watermark=self.watermark,
            state=reduce(add, self.states.values()) if self.states else None,
            **self.function.shown(),
        )


class Totals:
    """Metrics and accumulators of a job over all its committed epochs.

    Parameters
    ----------
    parts
        The parts of the job. All of them have metrics from the beginning.
    now
        A clock in seconds, for rates.
    """

    def __init__(
        self, parts: JobParts | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._parts = parts or JobParts()
        self._now = now
        self._read = {uid: Rate(RATE_SECONDS, now) for uid in self._parts.sources}
        self._lags: dict[str, dict[str, int]] = {}
        self._undecoded = dict.fromkeys(self._parts.sources, 0)
        self._written = dict.fromkeys(self._parts.sinks, 0)
        functions = [*self._parts.operators, *self._parts.sinks]
        self._operators = {uid: _Operator(now) for uid in functions}
        self._epochs: dict[int, EpochMetrics] = {}
        self._accumulators: dict[str, Accumulator[Any, Any]] = {}

    def add(self, report: TaskReport) -> None:
        """Take in what a task reports."""
        for uid, number in report.read.items():
            self._read[uid].add(number)
        for uid, of_operator in report.operators.items():
            # An operator that only passes records on has no metrics.
            if uid in self._operators:
                self._operators[uid].add(report.subtask, of_operator)
            elif uid in self._undecoded:
                self._undecoded[uid] += of_operator.skipped
        for name, accumulator in report.accumulators:
            known = self._accumulators.get(name)
            if known is None:
                self._accumulators[name] = accumulator.clone()
            else:
                known.merge(accumulator)

    def add_written(self, uid: str, number: int) -> None:
        """Take in how many records a sink has got."""
        self._written[uid] += number

    def set_lags(self, uid: str, lags: Mapping[str, int]) -> None:
        """Note how many records of each channel of a source wait to be read."""
        self._lags[uid] = dict(lags)

    def end_epoch(self, query: int, number: int, **times_ms: int) -> None:
        """Note the last epoch of a query, and what is known of its times."""
        known = self._epochs.get(query)
        if known is None or known.number != number:
            known = EpochMetrics(query=query, number=number)
        self._epochs[query] = replace(known, **times_ms)

    def metrics(self) -> JobMetrics:
        """All that was measured so far."""
        parts = self._parts
        sources = {
            uid: SourceMetrics(
                uid=uid,
                name=name,
                read=self._read[uid].count,
                rate=self._read[uid].per_second(),
                backlog=sum(self._lags[uid].values()) if uid in self._lags else None,
                lag=self._lags.get(uid, {}),
                skipped=self._undecoded[uid],
            )
            for uid, name in parts.sources.items()
        }
        sinks = {
            uid: SinkMetrics(
                uid=uid,
                name=name,
                written=self._written[uid],
                **self._operators[uid].function.shown(),
            )
            for uid, name in parts.sinks.items()
        }
        return JobMetrics(
            sources=sources,
            operators={
                uid: self._operators[uid].shown(uid, name) for uid, name in parts.operators.items()
            },
            sinks=sinks,
            epochs=tuple(self._epochs[query] for query in sorted(self._epochs)),
        )

    def accumulators(self) -> dict[str, Any]:
        """The results of the accumulators, by name."""
        return {name: found.get_local_value() for name, found in self._accumulators.items()}
