"""What it costs to write an epoch to a Delta or Iceberg table, and to read it again.

    python benchmarks/lake.py [--cache FOLDER] [--rows N] [--epochs N]

Writes a section for RESULTS.md to .bench/lake.md; `run.py` appends it. Needs no JVM: it calls the sinks
and sources as the tasks and the driver do, one task after the other, in a folder of the cache. Each case
runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

from data import DEFAULT_CACHE, open_cache
from millstream.common import Types
from millstream.connectors import ChannelSource, PartContext, SinkContext, TwoPhaseSink
from millstream.datastream.connectors import DeltaSink, DeltaSource, IcebergSink, IcebergSource

TYPE = Types.ROW_NAMED(
    ["id", "user", "amount", "name"], [Types.LONG(), Types.LONG(), Types.DOUBLE(), Types.STRING()]
)
PARTS = 2
SMALL = 1_000
CASES = ("Delta append", "Delta upsert of new keys", "Delta upsert of known keys", "Iceberg append")


def rows(first: int, count: int) -> pa.RecordBatch:
    ids = np.arange(first, first + count)
    columns = {
        "id": pa.array(ids),
        "user": pa.array(ids % 10_007),
        "amount": pa.array(ids * 0.01),
        "name": pa.array(np.char.add("name ", (ids % 1_000).astype(str))),
    }
    return pa.RecordBatch.from_pydict(columns)


def iceberg(folder: str) -> dict[str, Any]:
    properties = {
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog.db",
        "warehouse": f"file://{folder}/warehouse",
    }
    return {"catalog": "bench", "catalog_properties": properties}


class Job:
    """A job that writes epochs, and how long that takes."""

    def __init__(self, sink: TwoPhaseSink) -> None:
        self.sink = sink
        self.context = SinkContext(job_id="job", sink="out", attempt=1, type_info=TYPE)
        self.committer = sink.open_committer(self.context)
        self.committer.recover()
        self.next = 0

    def epoch(self, first: int, count: int) -> dict[str, float]:
        batches = [rows(first + part * count // PARTS, count // PARTS) for part in range(PARTS)]
        staged, written = measured(lambda: [self._part(p, b) for p, b in enumerate(batches)])
        _, committed = measured(lambda: self.committer.commit(self.next, staged))
        self.next += 1
        names = ("wall", "cpu")
        return {
            **{f"tasks_{name}": value for name, value in zip(names, written, strict=True)},
            **{f"commit_{name}": value for name, value in zip(names, committed, strict=True)},
        }

    def _part(self, part: int, batch: pa.RecordBatch) -> Any:
        context = PartContext(
            **vars(self.context), epoch=self.next, part=part, task_attempt=self.next * PARTS + part
        )
        writer = self.sink.open_part(context)
        writer.write(batch)
        return writer.finish()


def measured(action: Callable[[], Any]) -> tuple[Any, tuple[float, float]]:
    """What an action gives, its seconds and its processor seconds."""
    began, cpu = time.perf_counter(), time.process_time()
    found = action()
    return found, (time.perf_counter() - began, time.process_time() - cpu)


def read(source: ChannelSource) -> int:
    found = 0
    for channel, end in source.latest().items():
        found += sum(len(chunk) for chunk in source.read(channel, 0, end))
    return found


def run(case: str, count: int, epochs: int, folder: str) -> dict[str, float]:
    table = f"{folder}/table"
    if case == "Iceberg append":
        place = iceberg(folder)
        job = Job(IcebergSink.append("db.t", **place))
        source: ChannelSource = IcebergSource.of("db.t", **place)
    else:
        keyed = case != "Delta append"
        job = Job(DeltaSink.upsert(table, keys=["id"]) if keyed else DeltaSink.append(table))
        source = DeltaSource.of(table)
    job.epoch(0, SMALL)  # imports and first calls
    first = SMALL
    if case == "Delta upsert of known keys":
        job.epoch(first, count)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    large = job.epoch(first, count)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    small = [job.epoch(first + count + n * SMALL, SMALL) for n in range(epochs)]
    total, (_, cpu) = measured(lambda: read(source))
    assert total == SMALL + count + epochs * SMALL, total
    return {
        **large,
        "grown_mb": (after - before) / 1_024,
        "small_tasks": median(one["tasks_wall"] for one in small),
        "small_commit": median(one["commit_wall"] for one in small),
        "small_cpu": median(one["tasks_cpu"] + one["commit_cpu"] for one in small),
        "read_us": cpu * 1e6 / total,
    }


def section(found: dict[str, dict[str, float]], count: int, epochs: int, load: float) -> str:
    def row(case: str, one: dict[str, float]) -> str:
        cells = (
            f"{one['tasks_wall']:.2f}",
            f"{one['commit_wall']:.2f}",
            f"{(one['tasks_cpu'] + one['commit_cpu']) * 1e6 / count:.2f}",
            f"{one['grown_mb']:,.0f}",
            f"{one['small_tasks'] * 1e3:.0f} + {one['small_commit'] * 1e3:.0f}",
            f"{one['small_cpu'] * 1e3:.0f}",
            f"{one['read_us']:.2f}",
        )
        return f"| {case} | {' | '.join(cells)} |"

    lines = [
        "",
        "## Lake tables",
        "",
        f"An epoch of {count:,} rows (two numbers, an amount, a name) in {PARTS} parts, given as "
        f"columns; and medians of {epochs} epochs of {SMALL:,} rows after it. Tasks take turns here. An "
        "upsert of known keys replaces all rows of the large epoch.",
        "",
        "| | s tasks | s commit | us CPU per row | MB more at the peak "
        "| small epoch, ms tasks + commit | small epoch, ms CPU | read, us CPU per row |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(row(case, one) for case, one in found.items()),
        "",
        f"- Command: `python benchmarks/lake.py --rows {count} --epochs {epochs}`; load average before "
        f"{load:.1f}",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="cache folder")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    cache = open_cache(arguments.cache)
    if arguments.case is not None:
        with tempfile.TemporaryDirectory(prefix="lake-", dir=cache) as folder:
            print(json.dumps(run(arguments.case, arguments.rows, arguments.epochs, folder)))
        return 0
    load = os.getloadavg()[0]
    found = {}
    for case in CASES:
        command = [sys.executable, __file__, *sys.argv[1:], "--case", case]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found[case] = json.loads(said.splitlines()[-1])
    text = section(found, arguments.rows, arguments.epochs, load)
    (cache / "lake.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
