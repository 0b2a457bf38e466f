"""PyFlink: an endless running count per key, which goes on from its checkpoint when started again.

    python benchmarks/baselines/pyflink_recovery.py FOLDER [--mode MODE]

The same program as `jobs/recovery.py`, and it leaves the same files. PyFlink has no source with a
rate of its own, so a map holds the numbers of `NumberSequenceSource` back. It runs in the task of the
source, before the exchange: no checkpoint waits behind buffers full of records that are held back.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import flink_common as flink
from pyflink.common import Encoder, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, MapFunction, RuntimeContext
from pyflink.datastream.connectors.file_system import BucketAssigner, FileSink, RollingPolicy
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor

from contract import PARALLELISM

CHECKPOINT_INTERVAL = "1 s"
# A sequence has to have an end, but no run comes that far.
NUMBERS = 10**12
# Looking at the clock and going to sleep for each record would be the slowest part of the job.
TOGETHER = 10


class KeyAtRate(MapFunction):
    """The key of a number, not sooner than the rate allows."""

    def __init__(self, keys: int, per_second: float, together: int) -> None:
        self.keys = keys
        self.seconds = together / per_second
        self.together = together

    def open(self, runtime_context: RuntimeContext) -> None:
        self.left = self.together
        self.next = time.monotonic()

    def map(self, value):
        self.left -= 1
        if self.left == 0:
            self.left = self.together
            now = time.monotonic()
            # What was not used in time is not made up for: the rate is a limit.
            self.next = max(self.next + self.seconds, now)
            time.sleep(self.next - now)
        return value % self.keys


class RunningCount(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.state.value() or 0) + 1
        self.state.update(count)
        yield f"{value} {count}"


def settings(folder: Path, mode: str, backend: str) -> dict[str, str]:
    chosen = flink.settings(folder, backend) | {
        "python.execution-mode": "thread" if mode == "thread" else "process",
        "execution.checkpointing.interval": CHECKPOINT_INTERVAL,
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    }
    newest = newest_checkpoint(folder / "checkpoints")
    return chosen | ({"execution.state-recovery.path": newest.as_uri()} if newest else {})


def newest_checkpoint(folder: Path) -> Path | None:
    """The last checkpoint that was completed: a checkpoint without metadata was not."""
    found = sorted(folder.glob("*/chk-*/_metadata"), key=lambda path: path.stat().st_mtime_ns)
    return found[-1].parent if found else None


def build(env, folder: Path, keys: int, rate: int) -> None:
    # Each reader has one half, and with half the keys more the second begins at the middle key.
    source = NumberSequenceSource(0, NUMBERS + keys - 1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    held_back = KeyAtRate(keys, rate / PARALLELISM, TOGETHER)
    records = numbers.map(held_back, Types.LONG()).uid("keys")
    counts = records.key_by(lambda key: key, Types.LONG()).process(RunningCount(), Types.STRING())
    sink = (
        FileSink.for_row_format(str(folder / "out"), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        .build()
    )
    counts.uid("count").sink_to(sink).uid("files")


def main() -> int:
    marks = {"imports": time.time()}
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", type=Path)
    options.add_argument("--keys", type=int, default=10_000)
    options.add_argument("--rate", type=int, default=500, help="records a second")
    options.add_argument("--mode", choices=("process", "thread", "loopback"), default="process")
    options.add_argument("--backend", choices=("hashmap", "rocksdb"), default="hashmap")
    arguments = options.parse_args()
    folder = arguments.folder
    for part in ("checkpoints", "log", "tmp"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    os.environ["FLINK_LOG_DIR"] = str(folder / "log")
    if arguments.mode != "loopback":
        # Without this a local job runs its functions as threads of this very process.
        os.environ[flink.WORKER_MODE_VARIABLE] = "process"
    env = flink.environment(settings(folder, arguments.mode, arguments.backend))
    marks["session"] = time.time()
    build(env, folder, arguments.keys, arguments.rate)
    client = env.execute_async("recovery")
    marks["submit"] = time.time()
    (folder / "marks.json").write_text(json.dumps(marks))
    client.get_job_execution_result().result()
    return 0


if __name__ == "__main__":
    sys.exit(main())
