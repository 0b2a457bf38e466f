"""Topics of the Kafka benchmarks: lines of key,number go in, lines of key,count come out."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

PARTITIONS = 4
PATIENCE_SECONDS = 60.0


def create(servers: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result()


def producer(servers: str, **settings: object) -> Producer:
    return Producer({"bootstrap.servers": servers, "linger.ms": 20, **settings})


def line(number: int, keys: int) -> str:
    """The record with a number. A key is in one partition only, if their number divides the keys'."""
    return f"{number % keys},{number}"


def write(to: Producer, topic: str, first: int, end: int, keys: int) -> None:
    """Write the records of some numbers."""
    for number in range(first, end):
        while True:
            try:
                to.produce(topic, line(number, keys), partition=number % PARTITIONS)
                break
            except BufferError:
                to.poll(0.05)
    to.poll(0)


def consumer(servers: str, topic: str, *, from_end: bool = False) -> Consumer:
    """A consumer of all partitions, from their beginning or end, without what was not committed."""
    found = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "benchmark",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    parts = [TopicPartition(topic, part, 0) for part in range(PARTITIONS)]
    if from_end:
        for part in parts:
            part.offset = found.get_watermark_offsets(part, PATIENCE_SECONDS)[1]
    found.assign(parts)
    return found


def counts(lines: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """The keys and the counts of some messages."""
    names = csv.ReadOptions(column_names=["key", "count"])
    types = csv.ConvertOptions(column_types={"key": pa.int64(), "count": pa.int64()})
    found = csv.read_csv(
        pa.BufferReader(b"\n".join(lines) + b"\n"), read_options=names, convert_options=types
    )
    return found["key"].to_numpy(), found["count"].to_numpy()


def check(servers: str, topic: str, records: int, keys: int) -> None:
    """Whether each key's counts came, from 1 to the number of its records, each once."""
    number, total, squares = (np.zeros(keys, np.int64) for _ in range(3))
    reader, read = consumer(servers, topic), 0
    while read < records:
        messages = reader.consume(20_000, PATIENCE_SECONDS / 4)
        if not messages:
            break
        found, count = counts([message.value() for message in messages])
        number += np.bincount(found, minlength=keys)
        # Whole numbers, which bincount with weights would not keep.
        np.add.at(total, found, count)
        np.add.at(squares, found, count * count)
        read += len(messages)
    more = reader.consume(1, 2.0)
    reader.close()
    wanted = np.full(keys, records // keys)
    wanted[: records % keys] += 1
    sums = wanted * (wanted + 1) // 2
    right = (
        not more
        and np.array_equal(number, wanted)
        and np.array_equal(total, sums)
        and np.array_equal(squares, sums * (2 * wanted + 1) // 3)
    )
    if not right:
        raise SystemExit(f"{topic}: {read} messages of {records}, or wrong counts")
