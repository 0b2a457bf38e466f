"""What a savepoint costs: seconds and MB/s, the job beside it, and restoring it at another parallelism.

    python benchmarks/savepoints.py [--cache FOLDER] [--keys N]

Writes a section for RESULTS.md to .bench/savepoints.md; `run.py` appends it. A job gives each of its
keys a value of about 200 bytes, then goes on updating keys at random; a savepoint is taken meanwhile,
the job is stopped with another one, and a job with three tasks instead of two goes on from that.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from contract import PARALLELISM
from data import DEFAULT_CACHE, open_cache
from millstream.checkpoint.savepoints import Savepoint
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

PER_EPOCH = 250_000
WIDER = 3
SETTLE_SECONDS = 30
RECORD = Types.TUPLE([Types.LONG(), Types.LONG()])
VALUE = Types.TUPLE([Types.LONG(), Types.STRING()])
TEXT = "x" * 170
# A large odd number: its multiples visit all keys in no order that pages have.
STRIDE = 2_654_435_761


class Remember(KeyedProcessFunction):
    def open(self, runtime_context):
        self.value = runtime_context.get_state(ValueStateDescriptor("value", VALUE))

    def process_element(self, value, ctx):
        known = self.value.value()
        count = 1 if known is None else known[0] + 1
        self.value.update((count, f"{value[0]:012d}{TEXT}"))
        yield value[0], count


def build(keys: int, parallelism: int, folder: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism).set_runtime_mode(RuntimeExecutionMode.STREAMING)
    env.set_checkpoint_directory(str(folder))

    def record(number: int) -> tuple[int, int]:
        return (number if number < keys else number * STRIDE) % keys, number

    limit = RateLimiterStrategy.per_checkpoint(PER_EPOCH // 2)
    source = DataGeneratorSource(record, None, limit, RECORD, parts=2)
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "records").uid("records")
    values = records.key_by(lambda value: value[0]).process(Remember(), output_type=RECORD)
    values.uid("remember").sink_to(DiscardingSink()).uid("nowhere")
    return env


class Meter:
    """How many records a job has read, from time to time."""

    def __init__(self, client) -> None:
        self.client = client
        self.samples: list[tuple[float, int]] = []
        self.over = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while not self.over.wait(0.2):
            self.samples.append((time.monotonic(), self.client.metrics().get("read", 0)))

    def rate(self, since: float, until: float) -> float:
        """Records a second between two times, by the epochs that ended within."""
        inside = [s for s in self.samples if since <= s[0] <= until]
        steps = [b for a, b in pairwise(inside) if b[1] > a[1]]
        if len(steps) < 2:
            return 0.0
        (first, read), (last, more) = steps[0], steps[-1]
        return (more - read) / (last - first)


@dataclass
class Found:
    """What was measured."""

    keys: int
    size: int
    rows: int
    before: float
    during: float
    beside_seconds: float
    stop_seconds: float
    restore_seconds: float
    first_epoch_seconds: float


def measure(keys: int, folder: Path) -> Found:
    client = build(keys, PARALLELISM, folder / "first").execute_async("savepoint benchmark")
    meter = Meter(client)
    while client.metrics().get("read", 0) < keys + 2 * PER_EPOCH:
        time.sleep(0.5)
    settled = time.monotonic()
    time.sleep(SETTLE_SECONDS)
    began = time.monotonic()
    client.savepoint(str(folder / "beside"))
    ended = time.monotonic()
    before, during = meter.rate(settled, began), meter.rate(began - 5, ended + 5)
    moment = time.monotonic()
    saved = client.stop_with_savepoint(str(folder / "saved"))
    stop_seconds = time.monotonic() - moment
    meter.over.set()
    savepoint = Savepoint.load(saved)
    moment = time.monotonic()
    env = build(keys, WIDER, folder / "second").restore_from_savepoint(saved)
    client = env.execute_async("restored")
    restored = time.monotonic()
    while client.metrics()["epoch"] <= savepoint.epoch:
        time.sleep(0.05)
    first = time.monotonic()
    client.cancel().result()
    return Found(
        keys,
        savepoint.size,
        sum(table.rows for table in savepoint.tables),
        before,
        during,
        ended - began,
        stop_seconds,
        restored - moment,
        first - restored,
    )


def row(what: str, megabytes: float, seconds: float) -> str:
    return f"| {what} | {seconds:.1f} | {megabytes / seconds:,.0f} |"


def section(found: Found) -> str:
    state = found.keys * (12 + len(TEXT) + 24) / 1e6
    restored = f"restore with {WIDER} tasks instead of {PARALLELISM}"
    whole = found.restore_seconds + found.first_epoch_seconds
    lines = [
        "",
        "## Savepoints",
        "",
        f"{found.keys:,} keys with a value of about 200 bytes each: {state:,.0f} MB of state, "
        f"{found.size / 1e6:,.0f} MB of Parquet files (the values are alike, so that they compress "
        "well). MB/s are of state.",
        "",
        "| What | Seconds | MB/s |",
        "| --- | ---: | ---: |",
        row("savepoint beside the running job", state, found.beside_seconds),
        row("stop with savepoint", state, found.stop_seconds),
        row(f"{restored}: values for the slots", state, found.restore_seconds),
        row("the same, to the end of the first epoch", state, whole),
        "",
        f"- The job beside the savepoint: {found.before:,.0f} records/s before, "
        f"{found.during:,.0f} meanwhile, {1 - found.during / found.before:.0%} less.",
        f"- Command: `python benchmarks/savepoints.py --keys {found.keys}`",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="cache folder")
    parser.add_argument("--keys", type=int, default=5_000_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="savepoints-", ignore_cleanup_errors=True) as folder:
        text = section(measure(arguments.keys, Path(folder)))
    (open_cache(arguments.cache) / "savepoints.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
