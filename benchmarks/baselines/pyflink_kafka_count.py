"""PyFlink: count per key from one topic into another, one message for each record."""

from __future__ import annotations

import sys

import flink_common as flink
from kafka_common import connector_jar, parser
from pyflink.common import SimpleStringSchema, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, RuntimeContext
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from pyflink.datastream.state import ValueStateDescriptor


class RunningCount(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.state.value() or 0) + 1
        self.state.update(count)
        yield f"{ctx.get_current_key()},{count}"


def main() -> int:
    arguments = parser(__doc__).parse_args()
    with flink.workspace() as folder:
        options = flink.settings(folder, "rocksdb")
        options |= {"python.execution-mode": arguments.mode}
        options |= {"pipeline.jars": connector_jar().as_uri()}
        env = flink.environment(options)
        builder = (
            KafkaSource.builder()
            .set_bootstrap_servers(arguments.bootstrap)
            .set_topics(arguments.input)
            .set_starting_offsets(KafkaOffsetsInitializer.earliest())
            .set_value_only_deserializer(SimpleStringSchema())
        )
        if not arguments.endless:
            builder.set_bounded(KafkaOffsetsInitializer.latest())
        source = builder.build()
        lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
        counts = lines.key_by(lambda line: line.split(",")[0], Types.STRING()).process(
            RunningCount(), Types.STRING()
        )
        values = KafkaRecordSerializationSchema.builder().set_topic(arguments.output)
        sink = (
            KafkaSink.builder()
            .set_bootstrap_servers(arguments.bootstrap)
            .set_record_serializer(
                values.set_value_serialization_schema(SimpleStringSchema()).build()
            )
            .set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
            .build()
        )
        counts.sink_to(sink)
        env.execute("count from Kafka to Kafka")
    return 0


if __name__ == "__main__":
    sys.exit(main())
