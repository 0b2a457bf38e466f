"""Millstream: count per key from one topic into another, one message for each record.

With `--endless` it goes on until it is stopped, and adds a line with its metrics to a file every 250 ms.
With `--timings` each part of an exactly-once sink tells in a file how long its transaction took.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import common  # noqa: F401  puts benchmarks/ on the path

from contract import PARALLELISM
from millstream.common import JobClient, SimpleStringSchema, Types, WatermarkStrategy
from millstream.connectors import IdempotentSink, IdempotentWriter
from millstream.datastream import (
    KeyedProcessFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from millstream.datastream.connectors import DeliveryGuarantee
from millstream.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from millstream.datastream.state import ValueStateDescriptor


class RunningCount(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.state.value() or 0) + 1
        self.state.update(count)
        yield f"{ctx.get_current_key()},{count}"


class TimedSink(IdempotentSink):
    """The exactly-once sink, which tells what each part of each epoch has cost."""

    def __init__(self, timed: Any, path: Path) -> None:
        self.timed, self.path = timed, path
        self.changelog = timed.changelog

    def validate(self) -> None:
        self.timed.validate()

    def start(self, context: Any) -> None:
        self.timed.start(context)

    def last_markers(self, context: Any) -> Any:
        return self.timed.last_markers(context)

    def open_part(self, context: Any) -> IdempotentWriter:
        return TimedWriter(self, context)

    def close(self) -> None:
        self.timed.close()


class TimedWriter(IdempotentWriter):
    """A part: how many producers it has made, and milliseconds of its calls."""

    def __init__(self, sink: TimedSink, context: Any) -> None:
        self.told = {"epoch": context.epoch, "part": context.part, "process": os.getpid()}
        self.made, self.records, self.path = 0, 0, sink.path
        usual = type(sink.timed).begun

        def begun(name: str) -> Any:
            self.made += 1
            return usual(sink.timed, name)

        # The sink is frozen, and its writer asks it for a producer.
        vars(sink.timed)["begun"] = begun
        self.writer = self.call("opened", lambda: sink.timed.open_part(context))

    def call(self, name: str, function: Any) -> Any:
        began = time.perf_counter()
        try:
            return function()
        finally:
            self.told[f"{name}_ms"] = 1e3 * (time.perf_counter() - began)

    def begin(self) -> str | None:
        return self.call("begin", self.writer.begin)

    def write(self, batch: list[Any]) -> None:
        self.records += len(batch)
        self.writer.write(batch)

    def write_timed(self, batch: list[Any], times: Any) -> None:
        self.records += len(batch)
        self.writer.write_timed(batch, times)

    def finish(self) -> None:
        self.call("finish", self.writer.finish)

    def close(self) -> None:
        self.call("close", self.writer.close)
        told = {**self.told, "made": self.made, "records": self.records}
        with self.path.open("a") as file:
            file.write(json.dumps(told) + "\n")


def write_metrics(client: JobClient, path: Path) -> None:
    """Tell what the job says of itself, until it ends."""
    with path.open("a") as file:
        while not client.get_job_status().result().is_terminal_state():
            time.sleep(0.25)
            told = {"at": time.time(), **client.metrics().to_dict()}
            file.write(json.dumps(told) + "\n")
            file.flush()


def source(arguments: argparse.Namespace) -> KafkaSource:
    builder = (
        KafkaSource.builder()
        .set_bootstrap_servers(arguments.bootstrap)
        .set_topics(arguments.input)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(SimpleStringSchema())
        .set_max_records_per_epoch(arguments.per_epoch)
    )
    if arguments.endless is None:
        builder.set_bounded(KafkaOffsetsInitializer.latest())
    return builder.build()


def sink(arguments: argparse.Namespace) -> Any:
    values = KafkaRecordSerializationSchema.builder().set_topic(arguments.output)
    values.set_value_serialization_schema(SimpleStringSchema())
    builder = (
        KafkaSink.builder()
        .set_bootstrap_servers(arguments.bootstrap)
        .set_record_serializer(values.build())
        .set_delivery_guarantee(DeliveryGuarantee[arguments.guarantee])
    )
    made = builder.set_transactional_id_prefix("count").build()
    return made if arguments.timings is None else TimedSink(made, arguments.timings)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--bootstrap", required=True)
    options.add_argument("--input", required=True)
    options.add_argument("--output", required=True)
    options.add_argument("--per-epoch", type=int, default=250_000, help="records per partition")
    options.add_argument("--endless", type=Path, metavar="FILE", help="go on; metrics go to FILE")
    options.add_argument("--timings", type=Path, metavar="FILE", help="of an exactly-once sink")
    options.add_argument("--checkpoint", help="the checkpoint directory")
    options.add_argument(
        "--guarantee", choices=("AT_LEAST_ONCE", "EXACTLY_ONCE"), default="AT_LEAST_ONCE"
    )
    arguments = options.parse_args()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(PARALLELISM)
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    if arguments.checkpoint is not None:
        env.set_checkpoint_directory(arguments.checkpoint)
    lines = env.from_source(source(arguments), WatermarkStrategy.no_watermarks(), "lines")
    counts = lines.key_by(lambda line: line.split(",")[0], Types.STRING()).process(
        RunningCount(), Types.STRING()
    )
    counts.sink_to(sink(arguments))
    client = env.execute_async("count from Kafka to Kafka")
    if arguments.endless is not None:
        write_metrics(client, arguments.endless)
    client.get_job_execution_result().result()
    return 0


if __name__ == "__main__":
    sys.exit(main())
