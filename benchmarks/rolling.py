"""Rolling sums in memory: by column and record by record, both stages, without Spark.

    python benchmarks/rolling.py

Writes a section for RESULTS.md to .bench/rolling.md; `run.py` appends it. Nothing starts a JVM: the
stages of a job run one after the other, with a dictionary as the state store.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from data import DEFAULT_CACHE, open_cache
from millstream.common import Types, WatermarkStrategy
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DiscardingSink
from millstream.kernel.records.columns import Columns
from millstream.kernel.stages.programs import Block
from millstream.kernel.state.pages import MemoryStore
from millstream.plan.compile import Compiler, Programs
from millstream.plan.options import JobOptions
from millstream.plan.planner import plan
from millstream.testing import TestSource

RECORDS, EPOCHS, SLOTS, RUNS = 200_000, 8, 2, 3
KEYS = (1_000, 100_000, 1_000_000)
RECORD = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])


def hidden(record) -> str:
    """A key that the planner cannot see through."""
    key: str = record[0]
    return key


def programs(by_column: bool) -> Programs:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.no_watermarks()
    stream = env.from_source(TestSource([]), strategy, "in", RECORD)
    stream.key_by(0 if by_column else hidden).sum(1).sink_to(DiscardingSink())
    options = JobOptions(parallelism=SLOTS, slots=SLOTS)
    (component,) = plan(env._job_graph(), options.configuration).components
    return Compiler(component, options, batch=False, wall_clock_ms=lambda: 0).compile()


def measured(by_column: bool, keys: int) -> tuple[float, float, int]:
    """Microseconds of processor time per record in both stages, and the bytes of the state."""
    made = programs(by_column)
    (source,), (stage,) = made.sources.values(), made.stages
    stores = [MemoryStore() for _ in range(SLOTS)]
    rng = np.random.default_rng(0)
    spent = [0.0, 0.0]
    for epoch in range(EPOCHS):
        names = pa.array([f"key-{n:07d}" for n in rng.integers(0, keys, RECORDS)])
        arrays = [names, pa.array(rng.integers(0, 100, RECORDS)), pa.array(np.arange(RECORDS))]
        block = Block(Columns(RECORD, arrays), None, 0, 0, epoch * RECORDS)
        begin = time.process_time()
        rows = list(source.run([block], 0))
        middle = time.process_time()
        for slot, store in enumerate(stores):
            for _ in stage.run(slot, [row for row in rows if row.slot == slot], store, 0):
                pass
        spent[0] += middle - begin
        spent[1] += time.process_time() - middle
    first, second = (seconds / RECORDS / EPOCHS * 1e6 for seconds in spent)
    return first, second, sum(len(data) for store in stores for data in store.values())


def section() -> str:
    lines = [
        "## Rolling sums",
        "",
        f"`key_by(0).sum(1)`, every update emitted, {EPOCHS} epochs of {RECORDS:,} records in memory: "
        "microseconds of processor time per record in the source stage (keys, buffers) and in the keyed "
        f"stage (state and output included), and bytes of state per key. Median of {RUNS} runs.",
        "",
        "| Keys | | Source stage | Keyed stage | Times as fast | State bytes per key |",
        "| ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for keys in KEYS:
        before = 0.0
        for by_column in (False, True):
            runs = [measured(by_column, keys) for _ in range(RUNS)]
            first, second = (statistics.median(run[i] for run in runs) for i in (0, 1))
            before = before or second
            name = "by column" if by_column else "record by record"
            size = runs[0][2] / min(keys, RECORDS * EPOCHS)
            costs = f"{first:.2f} | {second:.2f} | {before / second:.1f} | {size:.0f}"
            lines.append(f"| {keys:,} | {name} | {costs} |")
    lines += ["", "- Command: `python benchmarks/rolling.py`", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE)
    arguments = parser.parse_args()
    pa.set_cpu_count(1)
    text = section()
    (open_cache(arguments.cache) / "rolling.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
