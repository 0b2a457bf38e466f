"""What it costs to have an epoch on the disk before it counts: the file sink with and without syncs.

    python benchmarks/durability.py [--cache FOLDER] [--epochs N]

Writes a section for RESULTS.md to .bench/durability.md; `run.py` appends it. Needs no JVM: it calls the
file sink as the tasks and the driver do, one task after the other, in a folder of the cache, so that it
measures the disk that the cache is on. Both ways take turns, epoch by epoch.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from data import DEFAULT_CACHE, open_cache
from millstream.checkpoint import durable
from millstream.checkpoint.lease import Lease
from millstream.plan.specs import FilesSinkSpec
from millstream.spark.io.file_sink import FileSink

LINE = "x" * 99
LINES = 1_000
PARTS = (1, 2, 8)


def without_sync(path: str, flags: int) -> None:
    """Do nothing instead of a sync."""


def milliseconds(sink: FileSink, epoch: int, parts: int) -> float:
    """Write an epoch as the tasks and the driver do."""
    values = [LINE] * LINES
    began = time.perf_counter()
    files = [sink.stage(values, epoch, part, part) for part in range(parts)]
    for file in files:
        sink.sync(file)
    sink.commit(epoch, files)
    return (time.perf_counter() - began) * 1_000


def measure(folder: Path, parts: int, epochs: int) -> dict[bool, list[float]]:
    found: dict[bool, list[float]] = {True: [], False: []}
    sinks = {}
    for synced in found:
        spec = FilesSinkSpec(path=f"{folder}/{parts}-{synced}", format="text")
        sinks[synced] = FileSink(spec, None, "job", "lines", attempt=1)
        sinks[synced].open()
    sync = durable._sync
    for epoch in range(epochs):
        for synced, times in found.items():
            durable._sync = sync if synced else without_sync
            times.append(milliseconds(sinks[synced], epoch, parts))
    durable._sync = sync
    return found


def of_a_check(folder: Path, count: int) -> float:
    """Milliseconds that it takes to ask whether a lease is still held."""
    lease = Lease.take(f"{folder}/checkpoint", "benchmark")
    began = time.perf_counter()
    for _ in range(count):
        lease.fence.check()
    return (time.perf_counter() - began) * 1_000 / count


def section(rows: list[str], check: float, epochs: int, load: float) -> str:
    lines = [
        "",
        "## What it costs to be on the disk",
        "",
        f"An epoch of the file sink, {LINES * (len(LINE) + 1) / 1e3:,.0f} KB of text in each file, from "
        "the first staged byte to the last published name; tasks, which run side by side, take turns "
        f"here. Medians of {epochs} epochs, in parentheses the slowest of twenty.",
        "",
        "| Files | Syncs | ms with syncs | ms without |",
        "| ---: | ---: | ---: | ---: |",
        *rows,
        "",
        f"- To ask whether the lease is still held, which is done before each sink: {check:.2f} ms.",
        f"- Command: `python benchmarks/durability.py --epochs {epochs}`; load average before "
        f"{load:.1f}",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="cache folder")
    parser.add_argument("--epochs", type=int, default=200)
    arguments = parser.parse_args()
    cache = open_cache(arguments.cache)
    load = os.getloadavg()[0]
    rows = []
    with tempfile.TemporaryDirectory(prefix="durability-", dir=cache) as folder:
        check = of_a_check(Path(folder), 1_000)
        for parts in PARTS:
            found = measure(Path(folder), parts, arguments.epochs)
            cells = [
                f"{median(times):.1f} ({quantiles(times, n=20)[-1]:.1f})"
                for times in found.values()
            ]
            rows.append(f"| {parts} | {parts + 4} | {' | '.join(cells)} |")
    text = section(rows, check, arguments.epochs, load)
    (cache / "durability.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
