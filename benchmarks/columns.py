"""What it saves to leave records in columns: hashes of keys, and sums of windows in Parquet files.

    python benchmarks/columns.py [--before FOLDER]

Writes a section for RESULTS.md to .bench/columns.md; `run.py` appends it. Nothing starts a JVM: stages
run in memory, one after the other. ``--before``: the ``src`` folder of another version, whose sums are
measured in turn with those of this one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from data import DEFAULT_CACHE, open_cache

RECORDS, KEYS = 400_000, 200_000
PAIRS = 5
HASHED = 131_072


def sums_to_parquet() -> float:
    """Processor seconds per million results: a window of a sum per key, from its end to the file."""
    import pyarrow as pa

    import millstream.testing.engine.local as local
    from millstream.common import Types, WatermarkStrategy
    from millstream.connectors.sink import Sink
    from millstream.datastream.window import TumblingEventTimeWindows
    from millstream.kernel.records.buffers import decode_columns, merged
    from millstream.kernel.records.columns import record_batch
    from millstream.kernel.windows.columnar import ColumnarWindowOperator
    from millstream.plan.sinks import SinkDriver
    from millstream.plan.specs import FilesSinkSpec
    from millstream.spark.io.file_formats import FileEncoder
    from millstream.testing import run_local

    record = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
    result = Types.TUPLE([Types.STRING(), Types.LONG()])
    rows = [(f"k{i % KEYS:07d}", i % 1000, i) for i in range(RECORDS)]
    spent = {"from": 0.0, "to": 0.0, "results": 0}

    in_columns = hasattr(Sink, "prefers_columns")  # what Parquet files are written from

    def written(parts):
        values = merged(parts).values
        batch = record_batch(values, result) if in_columns else values
        FileEncoder(
            FilesSinkSpec(path="out", format="parquet"), result, pa.BufferOutputStream()
        ).write(batch)
        spent["results"] += len(values)
        spent["to"] = time.process_time()
        return []

    def build(env):
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda row, _: row[2]
        )
        timed = env.from_collection(rows, record).assign_timestamps_and_watermarks(strategy)
        keyed = timed.key_by(lambda row: row[0])
        sums = keyed.window(TumblingEventTimeWindows.of(RECORDS)).sum(1)
        return sums.map(lambda row: (row[0], row[1]), output_type=result)

    fire = ColumnarWindowOperator._emit

    def fired(self, *arguments):
        spent["from"] = spent["from"] or time.process_time()
        return fire(self, *arguments)

    local.in_order = written
    if in_columns:
        local.decode = decode_columns
    ColumnarWindowOperator._emit = fired
    pa.set_cpu_count(1)
    SinkDriver.deliver = lambda *arguments: None  # the program has the results, too
    run_local(build, epochs="all", slots=1)
    assert spent["results"] == KEYS
    return (spent["to"] - spent["from"]) / spent["results"] * 1e6


def sums_of(folder: Path) -> float:
    """The same in a process of its own, with the sources of a folder."""
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, __file__, "--sums"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def hashes() -> list[tuple[str, float, float]]:
    """Nanoseconds per key: by Python objects, with the time to make them, and by column."""
    import numpy as np
    import pyarrow as pa

    from millstream.common import Types
    from millstream.kernel.keys.hashing import stable_hashes
    from millstream.kernel.records.key_columns import KeyColumns

    rng = np.random.default_rng(0)
    small = pa.array(rng.integers(0, 100_000, HASHED))
    days = pa.array(rng.integers(0, 20_000, HASHED).astype("int32")).cast(pa.date32())
    columns = {
        "whole numbers up to 100,000": ([Types.LONG()], [small], True),
        "whole numbers of 64 bits": (
            [Types.LONG()],
            [pa.array(rng.integers(-(2**62), 2**62, HASHED))],
            True,
        ),
        "text of 6 to 10 letters": (
            [Types.STRING()],
            [pa.array([f"user-{n}" for n in small.to_pylist()])],
            True,
        ),
        "floats": ([Types.DOUBLE()], [pa.array(rng.random(HASHED))], True),
        "dates": ([Types.SQL_DATE()], [days], True),
        "pairs of a number and a text": (
            [Types.LONG(), Types.STRING()],
            [small, pa.array([f"user-{n % 1000}" for n in small.to_pylist()])],
            False,
        ),
    }
    found = []
    for name, (kinds, arrays, alone) in columns.items():
        key = KeyColumns(tuple(range(len(kinds))), tuple(kinds), alone)
        assert key.hashes(arrays).tolist() == stable_hashes(key.values(arrays))
        by_object = fastest(lambda k=key, a=arrays: stable_hashes(k.values(a)))
        by_column = fastest(lambda k=key, a=arrays: k.hashes(a))
        found.append((name, by_object, by_column))
    return found


def fastest(call) -> float:
    times = []
    for _ in range(5):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return min(times) / HASHED * 1e9


def section(before: Path | None) -> str:
    lines = [
        "## Columns",
        "",
        f"Stable hashes of {HASHED:,} keys, nanoseconds of processor time per key, the fastest of 5 "
        "runs. By object includes making the objects of the columns.",
        "",
        "| Keys | By object | By column | Times as fast |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, by_object, by_column in hashes():
        ratio = by_object / by_column
        lines.append(f"| {name} | {by_object:.0f} | {by_column:.0f} | {ratio:.1f} |")
    folders = {"this version": Path(__file__).resolve().parents[1] / "src"}
    if before is not None:
        folders["before"] = before
    measured: dict[str, list[float]] = {name: [] for name in folders}
    for _ in range(PAIRS):
        for name, folder in folders.items():
            measured[name].append(sums_of(folder))
    lines += [
        "",
        f"A tumbling sum of {RECORDS:,} records over {KEYS:,} keys, mapped to two of its fields, to a "
        "Parquet file: microseconds of processor time per result from the end of the window to the "
        f"bytes of the file, median of {PAIRS} runs in turn, with the least and the most.",
        "",
        "| Version | us per result |",
        "| --- | ---: |",
    ]
    for name, times in measured.items():
        middle = statistics.median(times)
        lines.append(f"| {name} | {middle:.2f} ({min(times):.2f} to {max(times):.2f}) |")
    if before is not None:
        ratio = statistics.median(measured["before"]) / statistics.median(measured["this version"])
        lines += ["", f"- {ratio:.1f} times as fast as before."]
    lines += ["- Command: `python benchmarks/columns.py --before FOLDER`", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE)
    parser.add_argument("--before", type=Path, default=None)
    parser.add_argument("--sums", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.sums:
        print(json.dumps(sums_to_parquet()))
        return
    text = section(arguments.before)
    cache = open_cache(arguments.cache)
    (cache / "columns.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
