"""On Spark: keyed operators that share a stage give what they give apart, also beyond a savepoint."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millstream.datastream.connectors import FileSink
from millstream.datastream.connectors.data_generator import (
    DataGeneratorSource,
    RateLimiterStrategy,
)
from millstream.datastream.state import ValueStateDescriptor
from millstream.testing import run_local
from tests.support.spark.savepoint_programs import lines
from tests.support.spark.spark_support import wait_for_job

pytestmark = pytest.mark.spark

COUNT, PER_EPOCH = 600, 60
RECORD = Types.TUPLE([Types.STRING(), Types.LONG()])


def record(number: int) -> tuple[str, int]:
    return f"k{number % 17}", number


class Counting(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value[0], value[1] + self.count.value()


def upper(value: Any) -> str:
    text: str = value[0].upper()
    return text


def program(env: StreamExecutionEnvironment) -> Any:
    limit = RateLimiterStrategy.per_checkpoint(PER_EPOCH)
    source = DataGeneratorSource(record, COUNT, limit, RECORD)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    first = stream.key_by(upper).process(Counting(), RECORD).uid("first")
    second = first.reinterpret_as_keyed_stream(upper).process(Counting(), RECORD).uid("second")
    return second.key_by(0).max(1).uid("third").map(str, output_type=str)


def started(spark: Any, folder: Path, out: Path, *, chained: bool) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    env.set_parallelism(2).set_slots(3).set_runtime_mode("STREAMING")
    if not chained:
        env.disable_operator_chaining()
    env.set_checkpoint_directory(str(folder))
    program(env).sink_to(FileSink.text(str(out))).uid("lines")
    return env


@pytest.mark.parametrize("chained", [True, False])
def test_a_savepoint_of_one_way_goes_on_in_the_other(
    spark: Any, tmp_path: Path, chained: bool
) -> None:
    expected = run_local(program(StreamExecutionEnvironment.get_execution_environment())).values()
    out = tmp_path / "out"
    client = started(spark, tmp_path / "one", out, chained=chained).execute_async()
    wait_for_job(lambda: client.metrics().epoch >= 3, client, "epoch 3")
    path = client.stop_with_savepoint(str(tmp_path / "saved"))
    assert 0 < len(lines(out)) < COUNT
    later = started(spark, tmp_path / "two", out, chained=not chained)
    later.restore_from_savepoint(path).execute()
    assert lines(out) == sorted(expected)
