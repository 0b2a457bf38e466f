"""Millstream: an endless running count per key, which goes on from its checkpoint when started again.

    python benchmarks/jobs/recovery.py FOLDER

Counts go to FOLDER/out as lines "key count". FOLDER/marks.json says when the program had come how
far: it is `benchmarks/recovery.py` that kills the program, starts it again, and reads both.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from contract import PARALLELISM
from millstream.common import Types, WatermarkStrategy
from millstream.datastream import (
    KeyedProcessFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from millstream.datastream.connectors.data_generator import (
    DataGeneratorSource,
    RateLimiterStrategy,
)
from millstream.datastream.connectors.file_system import FileSink
from millstream.datastream.state import ValueStateDescriptor
from millstream.spark.session.session import get_session

CHECKPOINT_INTERVAL = "1 s"


class RunningCount(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.state.value() or 0) + 1
        self.state.update(count)
        yield f"{value} {count}"


def build(env: StreamExecutionEnvironment, folder: Path, keys: int, rate: int) -> None:
    env.set_parallelism(PARALLELISM).set_runtime_mode(RuntimeExecutionMode.STREAMING)
    env.set_checkpoint_directory(str(folder / "checkpoints"))
    env.get_checkpoint_config().set_checkpoint_interval(CHECKPOINT_INTERVAL)

    def key(number: int) -> int:
        return number % keys

    limit = RateLimiterStrategy.per_second(rate)
    source = DataGeneratorSource(key, None, limit, Types.LONG(), parts=PARALLELISM)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "keys").uid("keys")
    counts = numbers.key_by(lambda key: key).process(RunningCount(), output_type=Types.STRING())
    counts.uid("count").sink_to(FileSink.text(str(folder / "out"))).uid("files")


def main() -> int:
    marks = {"imports": time.time()}
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", type=Path)
    options.add_argument("--keys", type=int, default=10_000)
    options.add_argument("--rate", type=int, default=500, help="records a second")
    arguments = options.parse_args()
    spark = get_session(None, PARALLELISM, {})
    marks["session"] = time.time()
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    build(env, arguments.folder, arguments.keys, arguments.rate)
    client = env.execute_async("recovery")
    marks["submit"] = time.time()
    (arguments.folder / "marks.json").write_text(json.dumps(marks))
    client.get_job_execution_result().result()
    return 0


if __name__ == "__main__":
    sys.exit(main())
