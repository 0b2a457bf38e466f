"""Progress of a running job: totals of its reports, and a line on the terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from millstream.kernel.calls.totals import JobParts, Totals
from millstream.metrics import JobMetrics
from millstream.spark.io.writer import EpochReport


class EpochTotals:
    """The metrics and accumulators of a job on Spark, epoch by epoch of its queries."""

    def __init__(self, parts: JobParts | None = None) -> None:
        self._lock = threading.Lock()
        self._totals = Totals(parts)
        self._last: dict[int, int] = {}

    def add(self, query: int, epoch: int, report: EpochReport) -> None:
        """Take in what a query reported of an epoch.

        One that comes again was written, and its commit failed: it is counted already.
        """
        with self._lock:
            if epoch <= self._last.get(query, -1):
                return
            self._last[query] = epoch
            for task in report.tasks:
                self._totals.add(task)
            for uid, number in report.written.items():
                self._totals.add_written(uid, number)
            self._totals.end_epoch(query, epoch, **report.times_ms)

    def add_progress(self, query: int, epoch: int, durations_ms: Mapping[str, int]) -> None:
        """Take in the times that Spark has measured of an epoch, if it is the last one."""
        with self._lock:
            if self._last.get(query) == epoch:
                self._totals.end_epoch(query, epoch, **phases(durations_ms))

    def set_lags(self, uid: str, lags: Mapping[str, int]) -> None:
        """Note how many records of each channel of a source wait to be read."""
        with self._lock:
            self._totals.set_lags(uid, lags)

    def last_epochs(self) -> dict[int, int]:
        """The last epoch that each query has written."""
        with self._lock:
            return dict(self._last)

    def metrics(self) -> JobMetrics:
        """All that was measured so far."""
        with self._lock:
            return self._totals.metrics()

    def accumulators(self) -> dict[str, Any]:
        """The results of the accumulators, by name."""
        with self._lock:
            return self._totals.accumulators()


PHASES = {
    "total_ms": ("triggerExecution",),
    "offsets_ms": ("latestOffset",),
    "plan_ms": ("getBatch", "queryPlanning"),
    "log_ms": ("walCommit",),
    "commit_ms": ("commitOffsets", "commitBatch"),
}
"""The phases of `EpochMetrics` that Spark measures, and its names for their parts."""


def phases(durations_ms: Mapping[str, int]) -> dict[str, int]:
    """The times of an epoch by phase, as far as Spark tells them.

    Examples
    --------
    >>> phases({"getBatch": 1, "queryPlanning": 20, "walCommit": 5, "addBatch": 70})
    {'plan_ms': 21, 'log_ms': 5}
    """
    found = {
        phase: [durations_ms[name] for name in names if name in durations_ms]
        for phase, names in PHASES.items()
    }
    return {phase: sum(times) for phase, times in found.items() if times}


class ProgressLine:
    """Records, rate, watermark and epoch of a running job, on a terminal only."""

    EVERY_SECONDS = 0.25

    def __init__(self, totals: EpochTotals, wanted: bool | None) -> None:
        self._totals = totals
        self._on = sys.stderr.isatty() if wanted is None else wanted
        self._began = time.monotonic()
        self._shown = 0.0
        self._width = 0

    def show(self) -> None:
        """Refresh the line if it is time."""
        moment = time.monotonic()
        if self._on and moment - self._shown >= self.EVERY_SECONDS:
            self._shown = moment
            text = self._text(moment)
            sys.stderr.write("\r" + text.ljust(self._width))
            sys.stderr.flush()
            self._width = len(text)

    def finish(self) -> None:
        """Leave the last state on the terminal."""
        if self._on and self._width:
            sys.stderr.write("\r" + self._text(time.monotonic()).ljust(self._width) + "\n")
            sys.stderr.flush()

    def _text(self, moment: float) -> str:
        metrics = self._totals.metrics()
        seconds = max(moment - self._began, 1e-9)
        watermark = "none" if metrics.watermark is None else _moment(metrics.watermark)
        return (
            f"epoch {metrics.epoch}  {metrics.records_in:,} records in  "
            f"{metrics.records_out:,} out  {metrics.records_in / seconds:,.0f}/s  "
            f"watermark {watermark}"
        )


def _moment(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return str(ms)
