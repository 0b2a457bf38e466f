"""Millstream: count per key from one topic into another, one message for each record."""

from __future__ import annotations

import argparse
import sys

import common  # noqa: F401  puts benchmarks/ on the path

from contract import PARALLELISM
from millstream.common import SimpleStringSchema, Types, WatermarkStrategy
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


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--bootstrap", required=True)
    options.add_argument("--input", required=True)
    options.add_argument("--output", required=True)
    options.add_argument("--per-epoch", type=int, default=250_000, help="records per partition")
    arguments = options.parse_args()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(PARALLELISM)
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(arguments.bootstrap)
        .set_topics(arguments.input)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .set_max_records_per_epoch(arguments.per_epoch)
        .build()
    )
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    counts = lines.key_by(lambda line: line.split(",")[0], Types.STRING()).process(
        RunningCount(), Types.STRING()
    )
    values = KafkaRecordSerializationSchema.builder().set_topic(arguments.output)
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(arguments.bootstrap)
        .set_record_serializer(values.set_value_serialization_schema(SimpleStringSchema()).build())
        .set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
        .build()
    )
    counts.sink_to(sink)
    env.execute("count from Kafka to Kafka")
    return 0


if __name__ == "__main__":
    sys.exit(main())
