"""What it costs to read Kafka: processor time of the client for each record.

    python benchmarks/kafka.py --records 1000000

Starts a broker of its own, fills a topic, and reads it with the source of a job, without a job. Writes a
section for RESULTS.md to .bench/kafka.md; `run.py` appends it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from data import DEFAULT_CACHE
from millstream.common import SimpleStringSchema
from millstream.connectors.kafka.decoding import ValueDecoder
from millstream.connectors.kafka.source import KafkaChannels
from millstream.connectors.reading import Range, blocks
from millstream.datastream.connectors.kafka import KafkaSource
from millstream.kernel.records.columns import Columns, Values
from tools.servers import Kafka

TOPIC = "bench"
CHANNEL = f"{TOPIC}-0"
MOST_US = {"columns": 4.0, "values": 2.0}
"""Targets: microseconds of processor time for each record."""


def fill(servers: str, records: int, compression: str) -> None:
    """A partition of records with values of 30 bytes and 1,000 keys."""
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result()
    settings = {"linger.ms": 50, "queue.buffering.max.messages": 1_000_000}
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "compression.type": compression,
            **settings,
        }
    )
    for number in range(records):
        producer.produce(TOPIC, b"value-%024d" % number, b"key-%d" % (number % 1_000), 0)
        if number % 500_000 == 0:
            producer.flush()
    producer.flush()


def channels(servers: str) -> KafkaChannels:
    source = KafkaSource.builder().set_bootstrap_servers(servers).set_topics(TOPIC)
    (found,) = source.set_value_only_deserializer(SimpleStringSchema()).build().parts()
    return found


def us_per_record(work: Callable[[], int]) -> float:
    """Processor time of this process, the client's threads included."""
    began = time.process_time()
    records = work()
    return (time.process_time() - began) / records * 1e6


def into_columns(source: KafkaChannels, records: int) -> int:
    """All columns: value, key, offset, topic, partition, and the timestamps."""
    return sum(len(chunk) for chunk in source.read(CHANNEL, 0, records))


def into_values(source: KafkaChannels, records: int) -> int:
    """Values alone, as the client gives them: what the source cannot do without."""
    import pyarrow as pa

    from millstream.connectors.kafka.reader import Readers

    readers = Readers(source.settings, "bench", 60.0)
    found = 0
    for messages in readers.of((TOPIC, 0)).read(0, records):
        found += len(pa.array([message.value() for message in messages], pa.binary()))
    readers.close()
    return found


def into_texts(source: KafkaChannels, records: int) -> int:
    """What a job does with SimpleStringSchema: read, check, decode."""
    decoder, found = ValueDecoder(SimpleStringSchema()), 0
    for block in blocks(source, [Range(CHANNEL, 0, 0, records)]):
        assert block.ts is not None
        values: Values = decoder.decode(block.values, block.ts).values
        assert isinstance(values, Columns)
        found += len(values)
    return found


def rows(servers: str, records: int, repeats: int) -> list[tuple[str, float]]:
    works: dict[str, Callable[[KafkaChannels, int], int]] = {
        "values": into_values,
        "columns": into_columns,
        "texts": into_texts,
    }
    found = []
    for name, work in works.items():
        times = []
        for _ in range(repeats):
            source = channels(servers)
            times.append(us_per_record(lambda work=work, source=source: work(source, records)))
            source.close()
        found.append((name, median(times)))
    return found


NAMES = {
    "values": "values into an Arrow column",
    "columns": "value, key, timestamp, offset, topic and partition into Arrow columns",
    "texts": "the same, decoded as a job with `SimpleStringSchema` does it",
}


def section(found: list[tuple[str, float]], options: argparse.Namespace, load: float) -> str:
    lines = [
        "\n## Reading Kafka\n",
        f"{options.records:,} records of one partition, values of 30 bytes, compressed by "
        f"{options.compression}; the broker runs on the same machine. Processor time of the client with "
        f"its threads, median of {options.repeats} runs; the broker's is not in it.\n",
        "| What | us of processor time per record | at most |",
        "| --- | ---: | ---: |",
    ]
    for name, us in found:
        most = MOST_US.get(name)
        lines.append(f"| {NAMES[name]} | {us:.2f} | {'' if most is None else most} |")
    command = f"python benchmarks/kafka.py --records {options.records}"
    lines.append(f"\n- Command: `{command}`; load average before {load:.1f}")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--compression", default="lz4")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with Kafka() as server:
        fill(server.bootstrap, options.records, options.compression)
        found: list[tuple[str, Any]] = rows(server.bootstrap, options.records, options.repeats)
    text = section(found, options, load)
    DEFAULT_CACHE.mkdir(parents=True, exist_ok=True)
    (DEFAULT_CACHE / "kafka.md").write_text(text)
    print(text)
    missed = [name for name, us in found if us > MOST_US.get(name, us)]
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
