"""How much the operator for aligned windows gains over the general one, without Spark.

    python benchmarks/window_operators.py [--cache FOLDER] [--pairs N]

Writes a section for RESULTS.md to .bench/window_operators.md; `run.py` appends it. Both operators run
the same windows over the same records, in turn and in one process: undeclared records, so that nothing
can be computed by column. An epoch has 20,000 records, ten of them per millisecond.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from data import DEFAULT_CACHE, open_cache
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.functions import AggregateFunction
from millstream.datastream.functions.windowed import ProcessWindowFunction
from millstream.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo
from millstream.kernel.calls.reports import Reports
from millstream.kernel.keys.hashing import stable_hash
from millstream.kernel.records.buffers import Records
from millstream.kernel.records.order import OrderKeys
from millstream.kernel.state.pages import Directory, MemoryStore, PageStore
from millstream.kernel.time.clock import Clock
from millstream.kernel.windows.aligned import AlignedWindowOperator
from millstream.kernel.windows.operator import WindowOperator
from millstream.kernel.windows.spec import WindowSpec

EPOCHS, PER_EPOCH, PER_MS = 4, 20_000, 10
KEYS = (10, 1_000, 100_000)
INFO = OperatorInfo("window", "window")


class Sum(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value[1]

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a + b


class Total(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, sum(element[1] for element in elements)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "reduce": lambda windows: windows.reduce(lambda a, b: (a[0], a[1] + b[1])),
    "aggregate": lambda windows: windows.aggregate(Sum()),
    "process": lambda windows: windows.process(Total()),
}
WINDOWS: dict[str, Any] = {
    "tumbling 1 s": TumblingEventTimeWindows.of("1 s"),
    "sliding 2 s by 500 ms": SlidingEventTimeWindows.of("2 s", "500 ms"),
}


def spec_of(windows: Any, function: Callable[[Any], Any]) -> WindowSpec:
    """The specification of a window as the API makes it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([("a", 1)]).key_by(lambda record: record[0]).window(windows)
    spec: WindowSpec = function(stream)._node.function
    return spec


def epochs_of(keys: int) -> list[Records]:
    """Records in the order of their times, with their keys in turn."""
    names = [f"key {number}" for number in range(keys)]
    hashes = np.array([stable_hash(name) for name in names], np.uint32)
    epochs = []
    for epoch in range(EPOCHS):
        numbers = np.arange(epoch * PER_EPOCH, (epoch + 1) * PER_EPOCH)
        # Neighbours in time have keys far apart, and each key comes equally often.
        owners = numbers * 7_919 % keys
        ts = numbers // PER_MS
        order = OrderKeys.of_fragment(ts - 1, 0, 0, epoch * PER_EPOCH)
        values = [(names[owner], 1) for owner in owners.tolist()]
        epochs.append(Records(values, ts, order, hashes[owners]))
    return epochs


def run(kind: type[WindowOperator], spec: WindowSpec, epochs: list[Records]) -> tuple[float, int]:
    """CPU seconds of all epochs and the end, and the number of results."""
    operator = kind(INFO, spec, lambda record: record[0], timed=True, freeze=False)
    reports = Reports()
    operator.open(lambda info, cursor: KernelRuntimeContext(info, reports, 0, 1, cursor))
    pages = PageStore(MemoryStore(), INFO.uid, Directory(), [])
    results = 0

    def emit(tag: str, records: Records) -> None:
        nonlocal results
        results += len(records)

    gc.collect()
    began, before = time.process_time(), -1
    for number, records in enumerate(epochs, start=1):
        after = int(records.ts[-1]) - 1
        operator.run(records, pages, Clock(before, after, 0, number == len(epochs)), emit)
        before = after
    return time.process_time() - began, results


def ratios(spec: WindowSpec, epochs: list[Records], pairs: int) -> list[float]:
    """CPU time of the general operator over that of the aligned one, pair by pair."""
    found = []
    for _ in range(pairs):
        general, aligned = (
            run(WindowOperator, spec, epochs),
            run(AlignedWindowOperator, spec, epochs),
        )
        assert general[1] == aligned[1] > 0, "the operators do not agree"
        found.append(general[0] / aligned[0])
    return found


def table(pairs: int) -> list[str]:
    inputs = [epochs_of(keys) for keys in KEYS]
    lines = [
        "| Windows | Function | " + " | ".join(f"{keys:,} keys" for keys in KEYS) + " |",
        "| --- | --- |" + " ---: |" * len(KEYS),
    ]
    for windows, assigner in WINDOWS.items():
        for name, function in FUNCTIONS.items():
            spec = spec_of(assigner, function)
            found = [ratios(spec, epochs, pairs) for epochs in inputs]
            cells = [f"{statistics.median(r):.1f} ({min(r):.1f} to {max(r):.1f})" for r in found]
            lines.append(f"| {windows} | {name} | " + " | ".join(cells) + " |")
    return lines


def section(pairs: int, load: float) -> str:
    lines = [
        "",
        "## Window operators",
        "",
        "CPU time of the general window operator over that of the one for aligned windows, with the "
        f"same records that cannot be computed by column: medians of {pairs} pairs that alternate in "
        f"one process, in parentheses the least and the most. {EPOCHS} epochs of {PER_EPOCH:,} records, "
        "without Spark.",
        "",
        *table(pairs),
        "",
        f"- Command: `python benchmarks/window_operators.py --pairs {pairs}`; load average before "
        f"{load:.1f}",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="cache folder")
    parser.add_argument("--pairs", type=int, default=5, help="of runs")
    arguments = parser.parse_args()
    text = section(arguments.pairs, os.getloadavg()[0])
    (open_cache(arguments.cache) / "window_operators.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
