"""What it saves to run keyed operators in the stage of the operator before them.

    python benchmarks/chaining.py [--operators 2 3] [--epochs 10000 200000] [--pairs N]

Running counts per key, one behind the other, each with a state of its own. The same program runs with
operator chaining and without it, in turn, in one session; a first run of each does not count. Adds its
measurements to .bench/chaining.json, so that it may be called once for each row of the table, and writes
the section of RESULTS.md, .bench/chaining.md; `run.py` appends it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import threading
import time
from pathlib import Path

from contract import PARALLELISM
from data import DEFAULT_CACHE, open_cache
from millstream.common import Types, WatermarkStrategy
from millstream.datastream import (
    KeyedProcessFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from millstream.datastream.connectors.data_generator import (
    DataGeneratorSource,
    RateLimiterStrategy,
)
from millstream.datastream.connectors.print import DiscardingSink
from millstream.datastream.state import ValueStateDescriptor
from millstream.spark.session.session import get_session
from process_tree import sample_all

KEYS = 10_000
RECORD = Types.TUPLE([Types.STRING(), Types.LONG()])
RECORDS = {10_000: 200_000, 200_000: 1_000_000}
"""How many records a run has, by those of an epoch."""
INTERVAL_SECONDS = 0.2


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.state = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.state.value() or 0) + 1
        self.state.update(count)
        yield value[0], count


def record(number: int) -> tuple[str, int]:
    return f"k{number * 7919 % KEYS:07d}", number


class Processor:
    """The processor seconds of this process and all that it has started, if they have ended too."""

    def __init__(self) -> None:
        self._seconds: dict[tuple[int, float], float] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Processor:
        self._look()
        self._before = sum(self._seconds.values())
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()
        self._look()
        self.seconds = sum(self._seconds.values()) - self._before

    def _watch(self) -> None:
        while not self._done.wait(INTERVAL_SECONDS):
            self._look()

    def _look(self) -> None:
        samples = sample_all()
        for sample in samples.values():
            if self._is_ours(sample, samples):
                self._seconds[sample.identity] = sample.cpu

    def _is_ours(self, sample, samples) -> bool:
        while sample is not None and sample.pid != os.getpid():
            sample = samples.get(sample.parent)
        return sample is not None


def run(spark, operators: int, epoch: int, chained: bool) -> dict[str, float]:
    """Processor and wall seconds of one job."""
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    env.set_parallelism(PARALLELISM).set_runtime_mode(RuntimeExecutionMode.STREAMING)
    if not chained:
        env.disable_operator_chaining()
    limit = RateLimiterStrategy.per_checkpoint(epoch)
    source = DataGeneratorSource(record, RECORDS[epoch], limit, RECORD)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
    stream = stream.key_by(0).process(Count(), RECORD)
    for _ in range(operators - 1):
        stream = stream.reinterpret_as_keyed_stream(0).process(Count(), RECORD)
    stream.sink_to(DiscardingSink())
    began = time.perf_counter()
    with Processor() as processor:
        env.execute("chaining")
    return {"cpu": processor.seconds, "wall": time.perf_counter() - began}


def measure(spark, operators: int, epoch: int, pairs: int) -> dict[str, list[dict[str, float]]]:
    found: dict[str, list[dict[str, float]]] = {"chained": [], "apart": []}
    for number in range(pairs + 1):
        for name in found:
            measured = run(spark, operators, epoch, chained=name == "chained")
            if number:
                found[name].append(measured)
            print(operators, epoch, name, measured, flush=True)
    return found


def row(case: str, found: dict[str, list[dict[str, float]]]) -> str:
    operators, epoch = case.split()
    cells = [operators, f"{int(epoch):,}", str(len(found["apart"]))]
    for what in ("cpu", "wall"):
        medians = [statistics.median(one[what] for one in found[way]) for way in found]
        ratios = [
            one[what] / other[what]
            for one, other in zip(found["chained"], found["apart"], strict=True)
        ]
        cells += [f"{median:.1f}" for median in medians]
        cells.append(f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    return "| " + " | ".join(cells) + " |"


def section(measured: dict[str, dict[str, list[dict[str, float]]]]) -> str:
    lines = [
        "",
        "## Chained operators",
        "",
        f"Running counts of {KEYS:,} keys one behind the other, in one stage and with an exchange "
        "before each: the same program with and without `disable_operator_chaining()`. A job has "
        f"{RECORDS[10_000]:,} records in epochs of 10,000, and {RECORDS[200_000]:,} in epochs of "
        "200,000; its start counts. Medians, and the ratio of each pair of runs, chained to apart: "
        "the median, the least and the most.",
        "",
        "| Operators | Records per epoch | Pairs | CPU s chained | apart | ratio "
        "| Wall s chained | apart | ratio |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *[row(case, measured[case]) for case in sorted(measured)],
        "",
        "- Command: `python benchmarks/chaining.py --pairs 5`",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="cache folder")
    parser.add_argument("--operators", type=int, nargs="*", default=[2, 3])
    parser.add_argument("--epochs", type=int, nargs="*", default=sorted(RECORDS), choices=RECORDS)
    parser.add_argument("--pairs", type=int, default=5)
    arguments = parser.parse_args()
    cache = open_cache(arguments.cache)
    known = cache / "chaining.json"
    measured = json.loads(known.read_text()) if known.exists() else {}
    spark = get_session(None, PARALLELISM, {})
    for operators in arguments.operators:
        for epoch in arguments.epochs:
            measured[f"{operators} {epoch}"] = measure(spark, operators, epoch, arguments.pairs)
            known.write_text(json.dumps(measured))
    text = section(measured)
    (cache / "chaining.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
