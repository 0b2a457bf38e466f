"""Jobs of lines, Python functions and keys in memory: this version and another one, in turn.

    python benchmarks/keyed_functions.py --before FOLDER

The running counts of `jobs/count.py` from lines of text to a sink that discards them, without Spark: the
stages run one after the other, with a dictionary as the state store. ``--before``: the checkout of
another version, and what both emit is compared. Writes a section for RESULTS.md to
.bench/keyed_functions.md.
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
from typing import Any

HERE = Path(__file__).resolve().parent
RECORDS, KEYS, BLOCK, SLOTS, RUNS = 400_000, 100_000, 32_768, 2, 3
JOBS = {False: "count by a `KeyedProcessFunction`", True: "`key_by(0).sum(1)`"}


def blocks() -> list[Any]:
    """Lines as a source reads them, with the keys of `data.py`."""
    import numpy as np
    import pyarrow as pa

    keys = np.random.default_rng(0).integers(0, KEYS, RECORDS).tolist()
    lines = pa.array([f"k{key:07d},{n % 1_000_000},{n}" for n, key in enumerate(keys)])
    return [lines.slice(start, BLOCK) for start in range(0, RECORDS, BLOCK)]


def measured(declarative: bool) -> dict[str, Any]:
    """Microseconds of processor time per record in both stages, and the hash of what comes out."""
    sys.path.append(str(HERE / "jobs"))
    import common
    import pyarrow as pa
    from count import results

    from millstream.common import Types, WatermarkStrategy
    from millstream.datastream import StreamExecutionEnvironment
    from millstream.datastream.connectors import DiscardingSink
    from millstream.kernel.records.buffers import DATA, decode
    from millstream.kernel.records.columns import Columns
    from millstream.kernel.stages.programs import Block
    from millstream.kernel.state.pages import MemoryStore
    from millstream.plan.compile import Compiler
    from millstream.plan.options import JobOptions
    from millstream.plan.planner import plan
    from millstream.testing import TestSource

    pa.set_cpu_count(1)
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.no_watermarks()
    lines = env.from_source(TestSource([]), strategy, "lines", Types.STRING())
    results(lines.map(common.parse), declarative=declarative).sink_to(DiscardingSink())
    options = JobOptions(parallelism=SLOTS, slots=SLOTS)
    (component,) = plan(env._job_graph(), options.configuration).components
    made = Compiler(component, options, batch=False, wall_clock_ms=lambda: 0).compile()
    (source,), (stage,), (edge,) = made.sources.values(), made.stages, made.sink_edges
    read = [
        Block(Columns(Types.STRING(), [block]), None, 0, 0, number * BLOCK)
        for number, block in enumerate(blocks())
    ]
    begin = time.process_time()
    rows = list(source.run(read, 0))
    middle = time.process_time()
    out = []
    for slot in range(SLOTS):
        out += stage.run(slot, [row for row in rows if row.slot == slot], MemoryStore(), 0)
    end = time.process_time()
    codec = made.stages[0].operators[0].outputs[""].edges[0].codec
    found = [decode(row.header, row.payload, codec) for row in out if row.kind == DATA]
    assert edge.tag in {row.tag for row in out}
    values = sorted(value for records in found for value in records.values)
    total = hash(tuple(values))
    return {
        "source": (middle - begin) / RECORDS * 1e6,
        "keyed": (end - middle) / RECORDS * 1e6,
        "hash": total,
    }


def run(folder: Path, declarative: bool) -> dict[str, Any]:
    """A run of some version, in a process of its own."""
    path = os.pathsep.join([str(folder / "src"), str(HERE)])
    variables = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}
    command = [sys.executable, __file__, "--measure", str(int(declarative))]
    text = subprocess.run(command, env=variables, check=True, capture_output=True, text=True).stdout
    found: dict[str, Any] = json.loads(text.splitlines()[-1])
    return found


def section(before: Path) -> str:
    lines = [
        "## Python functions and keys",
        "",
        f"{RECORDS:,} lines of {KEYS:,} keys, parsed by a Python function without a declared type, in "
        "one epoch in memory: microseconds of processor time per record in the source stage and in the "
        f"keyed stage, medians of {RUNS} runs in turn, with the least and the most of the sum.",
        "",
        "| Job | | Source stage | Keyed stage | Both | Times as fast |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for declarative, name in JOBS.items():
        runs: dict[str, list[dict[str, Any]]] = {"before": [], "this version": []}
        for _ in range(RUNS):
            for version, folder in (("before", before), ("this version", HERE.parent)):
                runs[version].append(run(folder, declarative))
        assert len({one["hash"] for found in runs.values() for one in found}) == 1
        first = 0.0
        for version, found in runs.items():
            sums = [one["source"] + one["keyed"] for one in found]
            middle = statistics.median(sums)
            first = first or middle
            source, keyed = (
                statistics.median(one[s] for one in found) for s in ("source", "keyed")
            )
            lines.append(
                f"| {name} | {version} | {source:.2f} | {keyed:.2f} | {middle:.2f} ({min(sums):.2f} to "
                f"{max(sums):.2f}) | {first / middle:.2f} |"
            )
    lines += ["", "- Command: `python benchmarks/keyed_functions.py --before FOLDER`", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path)
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure is not None:
        print(json.dumps(measured(bool(arguments.measure))))
        return
    from data import DEFAULT_CACHE, open_cache

    text = section(arguments.before)
    (open_cache(DEFAULT_CACHE) / "keyed_functions.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
