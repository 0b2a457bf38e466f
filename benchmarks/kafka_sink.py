"""What the Kafka sink costs: processor time per record, and time per transaction.

    python benchmarks/kafka_sink.py

Starts a broker of its own, and writes a section for RESULTS.md to .bench/kafka_sink.md; `run.py` appends
it. No JVM but the broker's: writers are called as a task calls them, in this process.
"""

from __future__ import annotations

import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from millstream.common import SimpleStringSchema
from millstream.connectors import PartContext
from millstream.connectors.kafka.serialization import KafkaRecordSerializationSchema
from millstream.connectors.kafka.sink import KafkaSink
from millstream.connectors.sink import DeliveryGuarantee
from tools.servers import Kafka

RECORDS = 400_000
SIZES = (1_000, 10_000, 100_000)
EPOCHS = 60
VALUE = "x" * 90
PART = PartContext(job_id="bench", sink="sink", epoch=0, part=0)


class Key(SimpleStringSchema):
    """The first ten letters of a record."""

    def serialize(self, value: str) -> bytes:
        return value[:10].encode()


def sink_to(servers: str, topic: str, guarantee: DeliveryGuarantee) -> KafkaSink:
    """A sink of keyed texts."""
    schema = KafkaRecordSerializationSchema.builder().set_topic(topic)
    schema.set_key_serialization_schema(Key()).set_value_serialization_schema(SimpleStringSchema())
    builder = KafkaSink.builder().set_bootstrap_servers(servers).set_delivery_guarantee(guarantee)
    builder.set_transactional_id_prefix(topic)
    return builder.set_record_serializer(schema.build()).build()


def write_epoch(sink: KafkaSink, epoch: int, records: list[str]) -> None:
    """Write one part, as a task does."""
    writer = sink.open_part(replace(PART, epoch=epoch, fingerprint=f"{len(records)}-{epoch}"))
    if hasattr(writer, "begin"):
        assert writer.begin() is None
    writer.write_timed(records, np.full(len(records), 1_700_000_000_000))
    writer.finish()
    writer.close()


def broker_seconds(kafka: Kafka) -> float:
    import psutil

    spent = psutil.Process(kafka.pid).cpu_times()
    return float(spent.user + spent.system)


def per_record(kafka: Kafka, topic: str, guarantee: DeliveryGuarantee, size: int) -> list[float]:
    """Microseconds of processor time per record: of the client with its threads, of the broker."""
    sink = sink_to(kafka.bootstrap, topic, guarantee)
    records = [f"key-{n % 500:06d} {VALUE}" for n in range(size)]
    for epoch in range(3):
        write_epoch(sink, epoch, records)
    broker, began = broker_seconds(kafka), time.process_time()
    epochs = max(RECORDS // size, 3)
    for epoch in range(3, 3 + epochs):
        write_epoch(sink, epoch, records)
    spent = [time.process_time() - began, broker_seconds(kafka) - broker]
    sink.close()
    return [1e6 * seconds / (epochs * size) for seconds in spent]


def per_transaction(kafka: Kafka, topic: str, *, kept: bool) -> tuple[list[float], float]:
    """Milliseconds per transaction of one record, with and without a pause; processor milliseconds."""
    sink = sink_to(kafka.bootstrap, topic, DeliveryGuarantee.EXACTLY_ONCE)
    write_epoch(sink, 0, ["warm"])
    times, spent = [], []
    for epoch in range(1, EPOCHS + 1):
        if not kept:
            sink.close()
        time.sleep(0.05)
        began, cpu = time.perf_counter(), time.process_time()
        write_epoch(sink, epoch, ["one record"])
        times.append(1e3 * (time.perf_counter() - began))
        spent.append(1e3 * (time.process_time() - cpu))
    sink.close()
    return times, statistics.median(spent)


def main() -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    lines = [
        "## Kafka sink",
        "",
        f"`python benchmarks/kafka_sink.py`: keyed texts of {len(VALUE) + 11} bytes with event times, "
        "one task, one broker on the same machine. Processor time in microseconds per record.",
        "",
        "| guarantee | records per epoch | client | broker |",
        "|---|---:|---:|---:|",
    ]
    with Kafka() as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        names = [f"bench-{n}" for n in range(8)]
        for made in admin.create_topics([NewTopic(name, 4, 1) for name in names]).values():
            made.result()
        for guarantee in (DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE):
            for size in SIZES:
                client, broker = per_record(kafka, names.pop(), guarantee, size)
                name = guarantee.name.lower().replace("_", " ")
                lines.append(f"| {name} | {size:,} | {client:.2f} | {broker:.2f} |")
        lines += ["", "| a transaction of one record | median ms | p90 ms | processor ms |"]
        lines += ["|---|---:|---:|---:|"]
        for kept in (True, False):
            times, spent = per_transaction(kafka, names.pop(), kept=kept)
            p90 = statistics.quantiles(times, n=10)[-1]
            name = "with the kept producer" if kept else "with a new producer"
            lines.append(f"| {name} | {statistics.median(times):.1f} | {p90:.1f} | {spent:.2f} |")
    text = "\n".join(lines) + "\n"
    out = Path(".bench") / "kafka_sink.md"
    out.parent.mkdir(exist_ok=True)
    out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
