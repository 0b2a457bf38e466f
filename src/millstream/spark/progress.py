"""What a running job tells: totals of its reports, and a line on the terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from millstream.checkpoint.folder import folder_bytes
from millstream.spark.writer import EpochReport

WATCH_SECONDS = 0.5


class Totals:
    """Counters and accumulators of a job over all its epochs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters: dict[str, int] = {}
        self._accumulators: dict[str, Any] = {}
        self._last: dict[int, int] = {}
        self.written = 0

    def add(self, component: int, epoch: int, report: EpochReport) -> None:
        """Take in what a component reported of an epoch.

        One that comes again was written, and its commit failed: it is counted already.
        """
        with self._lock:
            if epoch <= self._last.get(component, -1):
                return
            self._last[component] = epoch
            self.written += report.written
            for name, number in report.counters.items():
                if name.startswith("clock:"):
                    self._counters[name] = number
                elif name.startswith("due:"):
                    continue
                else:
                    self._counters[name] = self._counters.get(name, 0) + number
            for accumulators in report.accumulators:
                self._merge(accumulators)

    def _merge(self, accumulators: list[tuple[str, Any]]) -> None:
        for name, accumulator in accumulators:
            known = self._accumulators.get(name)
            if known is None:
                self._accumulators[name] = accumulator
            else:
                known.merge(accumulator)

    def last_epochs(self) -> dict[int, int]:
        """The last epoch that each component has written."""
        with self._lock:
            return dict(self._last)

    def snapshot(self) -> dict[str, int]:
        with self._lock:
            epoch = max(self._last.values(), default=-1)
            return {**self._counters, "epoch": epoch, "written": self.written}

    def accumulator_values(self) -> dict[str, Any]:
        with self._lock:
            return {name: acc.get_local_value() for name, acc in self._accumulators.items()}


@contextmanager
def watched(
    folder: str, expected: int, on_progress: Callable[[int, int], None] | None
) -> Iterator[None]:
    """Tell from time to time how much has been written to a folder, of about so many bytes."""
    if on_progress is None:
        yield
        return
    over = threading.Event()

    def watch() -> None:
        while not over.wait(WATCH_SECONDS):
            done = folder_bytes(folder)
            on_progress(done, max(done, expected))

    watcher = threading.Thread(target=watch, name="millstream-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
    done = folder_bytes(folder)
    on_progress(done, done)


class RestoreLine:
    """How much of a state is restored, on a terminal only."""

    def __init__(self, wanted: bool | None) -> None:
        self._on = sys.stderr.isatty() if wanted is None else wanted
        self._shown = False

    def show(self, done: int, total: int) -> None:
        """Refresh the line."""
        if self._on:
            self._shown = True
            share = f"{done / 1e6:,.1f} MB of about {total / 1e6:,.1f} MB"
            sys.stderr.write(f"\rrestoring state: {share}".ljust(60))
            sys.stderr.flush()

    def finish(self) -> None:
        """Leave the last state on the terminal."""
        if self._shown:
            sys.stderr.write("\n")


class ProgressLine:
    """Records, rate, watermark and epoch of a running job, on a terminal only."""

    EVERY_SECONDS = 0.25

    def __init__(self, totals: Totals, wanted: bool | None) -> None:
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
        counters = self._totals.snapshot()
        records = counters.get("read", 0)
        seconds = max(moment - self._began, 1e-9)
        clocks = [n for name, n in counters.items() if name.startswith("clock:")]
        watermark = _moment(min(clocks)) if clocks else "none"
        return (
            f"epoch {counters['epoch']}  {records:,} records in  {counters['written']:,} out  "
            f"{records / seconds:,.0f}/s  watermark {watermark}"
        )


def _moment(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return str(ms)
