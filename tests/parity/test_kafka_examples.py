"""The Kafka examples that PyFlink ships run on Spark, with `millstream` for `pyflink`.

Four write to a topic and then read it without an end; the fifth only writes.
"""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.spark.spark_support import PATIENCE_SECONDS, program_env

if TYPE_CHECKING:
    from tools.servers import Kafka

pytestmark = pytest.mark.parity

BROKER = "localhost:9092"
PAIRS = [(1, "hi"), (2, "hello"), (3, "hi"), (4, "hello"), (5, "hi"), (6, "hello"), (6, "hello")]
COUNTRIES = [(1, "USA"), (2, "Canada"), (3, "Germany")]
AVRO = {
    "type": "record",
    "name": "TestRecord",
    "fields": [{"name": "id", "type": "int"}, {"name": "name", "type": "string"}],
}


@dataclass(frozen=True)
class Example:
    """What an example writes to its topic, and what it prints when it reads it.

    ``decode``: makes something that can be compared of a key and a value.
    """

    topic: str
    written: Iterable[Any]
    decode: Callable[[bytes | None, bytes], Any]
    printed: Iterable[str] = ()


def from_avro(_: bytes | None, value: bytes) -> Any:
    import fastavro

    record: Any = fastavro.schemaless_reader(io.BytesIO(value), AVRO)
    return tuple(record.values())


def from_csv(_: bytes | None, value: bytes) -> Any:
    ((number, name),) = csv.reader([value.decode()])
    return int(number), name


def from_json(_: bytes | None, value: bytes) -> Any:
    return tuple(json.loads(value).values())


def event(key: bytes | None, value: bytes) -> Any:
    return (key or b"").decode(), tuple(json.loads(value).values())


ROWS = [f"+I[{number},{name}]" for number, name in PAIRS]
EXAMPLES = {
    "kafka_avro_format.py": Example("test_avro_topic", PAIRS, from_avro, ROWS),
    "kafka_bytearray_format.py": Example(
        "test_bytearray_topic",
        COUNTRIES,
        from_json,
        [json.dumps({"id": number, "country": name}) for number, name in COUNTRIES],
    ),
    "kafka_csv_format.py": Example("test_csv_topic", PAIRS, from_csv, ROWS),
    "kafka_json_format.py": Example("test_json_topic", PAIRS, from_json, ROWS),
    "kafka_row_field_extractor_example.py": Example(
        "row-extractor-example",
        [
            ("user-001", ("purchase", "laptop", 999.99)),
            ("user-002", ("view", "phone", "2024-01-07T10:30:00")),
            ("user-001", ("add_to_cart", "mouse", 2)),
            ("user-003", ("purchase", "keyboard", 79.99)),
        ],
        event,
    ),
}


def test_these_are_all(examples: Path) -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in examples.rglob("*.py")}
    assert {name for name, text in texts.items() if "connectors.kafka" in text} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str, examples: Path, kafka: Kafka, tmp_path: Path) -> None:
    from tests.support.kafka import Topics

    example = EXAMPLES[name]
    Topics(kafka.bootstrap).new(3, example.topic)
    text = (examples / "connectors" / name).read_text(encoding="utf-8")
    ported = tmp_path / name
    text = re.sub(r"\bpyflink\b", "millstream", text).replace(BROKER, kafka.bootstrap)
    ported.write_text(text, encoding="utf-8")
    with started(ported) as process:
        assert process.stdout is not None
        missing = Counter(example.printed)
        told = []
        while missing and (line := process.stdout.readline()):
            told.append(line)
            # Where several tasks print, the number of the task comes first.
            missing -= Counter([re.sub(r"^\d+> ", "", line.rstrip("\n"))])
        assert not missing, "".join(told)
        if example.printed:
            # The reader has no end.
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert bool(process.wait(PATIENCE_SECONDS)) == bool(example.printed), "".join(told)
    found = [example.decode(*record) for record in records(kafka, example.topic)]
    assert Counter(found) == Counter(example.written)


@contextmanager
def started(script: Path) -> Iterator[subprocess.Popen[str]]:
    """A program, with its errors in its output; it is killed when it takes too long."""
    with subprocess.Popen(
        [sys.executable, script.name],
        cwd=script.parent,
        env=program_env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        limit = threading.Timer(PATIENCE_SECONDS, process.kill)
        limit.start()
        try:
            yield process
        finally:
            limit.cancel()
            process.kill()


def records(kafka: Kafka, topic: str) -> Iterator[tuple[bytes | None, bytes]]:
    """The keys and values of a topic."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": "check",
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    places = [TopicPartition(topic, partition, 0) for partition in range(3)]
    consumer.assign(places)
    ended = 0
    while ended < len(places):
        message = consumer.poll(PATIENCE_SECONDS)
        assert message is not None, "the broker does not answer"
        ended += message.error() is not None
        if message.error() is None:
            yield message.key(), message.value()
    consumer.close()
