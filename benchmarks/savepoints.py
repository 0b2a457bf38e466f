"""What a savepoint costs: seconds and MB/s, the job beside it, and restoring it at another parallelism.

    python benchmarks/savepoints.py [--cache FOLDER] [--keys N]

Writes a section for RESULTS.md to .bench/savepoints.md; `run.py` appends it. A job gives each of its
keys a value of about 200 bytes; started again with smaller epochs it goes on updating keys at random.
Some epochs are timed alone, then some beside savepoints that are taken one after another. The job is
stopped with a last one, and a job with four tasks instead of two goes on from that.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

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
from millstream.spark.session.session import get_session

PER_EPOCH_FILLING = 1_000_000
# Each record finds another page of state, so that an epoch rewrites a fifth of it.
PER_EPOCH = 20_000
# The epoch after a restore is to show what restoring costs, not what records do.
PER_EPOCH_RESTORED = 1_000
EPOCHS_MEASURED = 8
WIDER = 4
RECORD = Types.TUPLE([Types.LONG(), Types.LONG()])
VALUE = Types.TUPLE([Types.LONG(), Types.STRING()])
DIGITS = 182
# Its multiples are texts of that many digits without a pattern, so that files do not shrink to nothing.
FACTOR = 3**460
# A large odd number: its multiples visit all keys in no order that pages have.
STRIDE = 2_654_435_761


class Remember(KeyedProcessFunction):
    def open(self, runtime_context):
        self.value = runtime_context.get_state(ValueStateDescriptor("value", VALUE))

    def process_element(self, value, ctx):
        known = self.value.value()
        count = 1 if known is None else known[0] + 1
        self.value.update((count, text_of(value[0])))
        yield value[0], count


def text_of(key: int) -> str:
    return f"{(key + 1) * FACTOR % 16**DIGITS:0{DIGITS}x}"


def build(
    keys: int, parallelism: int, folder: Path, per_epoch: int = PER_EPOCH
) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism).set_runtime_mode(RuntimeExecutionMode.STREAMING)
    env.set_checkpoint_directory(str(folder))

    def record(number: int) -> tuple[int, int]:
        return (number if number < keys else number * STRIDE) % keys, number

    limit = RateLimiterStrategy.per_checkpoint(per_epoch)
    source = DataGeneratorSource(record, None, limit, RECORD, parts=2)
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "records").uid("records")
    values = records.key_by(lambda value: value[0]).process(Remember(), output_type=RECORD)
    values.uid("remember").sink_to(DiscardingSink()).uid("nowhere")
    return env


def read_by(client) -> int:
    return client.metrics().records_in


def rate(client, epochs: int) -> float:
    """Records a second of the next epochs, from the end of one to the end of another."""
    read = _after_change(client)
    began = time.monotonic()
    for _ in range(epochs):
        last = _after_change(client)
    return (last - read) / (time.monotonic() - began)


def _after_change(client) -> int:
    before = read_by(client)
    while (now := read_by(client)) == before:
        time.sleep(0.05)
    return now


class Savepoints(threading.Thread):
    """Takes savepoints one after another until it is told to stop."""

    def __init__(self, client, folder: Path) -> None:
        super().__init__(daemon=True)
        self.client = client
        self.folder = folder
        self.seconds: list[float] = []
        self.enough = threading.Event()

    def run(self) -> None:
        while not self.enough.is_set():
            began = time.monotonic()
            self.client.savepoint(str(self.folder / "beside"))
            self.seconds.append(time.monotonic() - began)


@dataclass
class Found:
    """What was measured."""

    keys: int
    size: int
    before: float
    during: float
    beside_seconds: list[float]
    stop_seconds: float
    restore_seconds: float
    first_epoch_seconds: float


def measure(keys: int, folder: Path) -> Found:
    # Both jobs run on it: with as many tasks at once as the wider one has, and one beside.
    get_session(None, WIDER, {}, spare_slots=1)
    client = build(keys, PARALLELISM, folder / "first", PER_EPOCH_FILLING).execute_async("fill")
    while read_by(client) < keys:
        time.sleep(0.5)
    client.cancel().result()
    client = build(keys, PARALLELISM, folder / "first").execute_async("update")
    rate(client, 2)
    before = rate(client, EPOCHS_MEASURED)
    savepoints = Savepoints(client, folder)
    savepoints.start()
    during = rate(client, EPOCHS_MEASURED)
    savepoints.enough.set()
    savepoints.join()
    moment = time.monotonic()
    saved = client.stop_with_savepoint(str(folder / "saved"))
    stop_seconds = time.monotonic() - moment
    savepoint = Savepoint.load(saved)
    moment = time.monotonic()
    env = build(keys, WIDER, folder / "second", PER_EPOCH_RESTORED).restore_from_savepoint(saved)
    client = env.execute_async("restored")
    restored = time.monotonic()
    while client.metrics().epoch <= savepoint.epoch:
        time.sleep(0.05)
    first = time.monotonic()
    client.cancel().result()
    return Found(
        keys,
        savepoint.size,
        before,
        during,
        savepoints.seconds,
        stop_seconds,
        restored - moment,
        first - restored,
    )


def row(what: str, megabytes: float, seconds: float) -> str:
    return f"| {what} | {seconds:.1f} | {megabytes / seconds:,.0f} |"


def section(found: Found) -> str:
    state = found.keys * (DIGITS + 24) / 1e6
    restored = f"restore with {WIDER} tasks instead of {PARALLELISM}"
    whole = found.restore_seconds + found.first_epoch_seconds
    lines = [
        "",
        "## Savepoints",
        "",
        f"{found.keys:,} keys with a value of about 200 bytes each: {state:,.0f} MB of state, "
        f"{found.size / 1e6:,.0f} MB of Parquet files (the values are hexadecimal digits). MB/s are of "
        "state.",
        "",
        "| What | Seconds | MB/s |",
        "| --- | ---: | ---: |",
        row(
            f"savepoint beside the running job, median of {len(found.beside_seconds)}",
            state,
            median(found.beside_seconds),
        ),
        row("stop with savepoint", state, found.stop_seconds),
        row(f"{restored}: values for the slots", state, found.restore_seconds),
        row("the same, to the end of the first epoch", state, whole),
        "",
        f"- The job over {EPOCHS_MEASURED} epochs of {PER_EPOCH:,} records: {found.before:,.0f} "
        f"records/s alone, {found.during:,.0f} beside savepoints one after another, "
        f"{1 - found.during / found.before:.0%} less.",
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
