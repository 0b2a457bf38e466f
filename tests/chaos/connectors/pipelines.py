"""Pipelines whose output can be checked: from Kafka through keyed windows into a system.

A pipeline knows how to make its place, which sink writes there, and what a reader finds. To add one,
derive a class from `Pipeline` and put it into `PIPELINES`; everything else is shared.
"""

from __future__ import annotations

import json
import random
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream.connectors import IdempotentWriter, PartContext, Sink
from millstream.connectors.kafka.sink import KafkaSink
from millstream.connectors.kafka.transactions import ExactlyOnceKafkaSink
from tests.support.kafka_sinks import ONCE, Output

if TYPE_CHECKING:
    from tools.servers import Server

KEYS = "abcdefghij"
WIDTH, BOUND, PARTITIONS = 100, 40, 3
Event = tuple[str, int, int]
"""key, number, event time"""

Result = tuple[str, int, int]
"""key, end of the window, sum of the numbers"""


def event(number: int) -> Event:
    """A record of the input: out of order by less than `BOUND`. The same in every attempt."""
    scatter = number * 7_919 % 37
    return KEYS[scatter % len(KEYS)], number + 1, number * 5 - scatter


def expected(records: int) -> Counter[Result]:
    """What must be there: each window once, with all its records."""
    sums: Counter[tuple[str, int]] = Counter()
    for key, number, time in map(event, range(records)):
        sums[key, (time // WIDTH + 1) * WIDTH] += number
    return Counter((key, end, total) for (key, end), total in sums.items())


@dataclass(frozen=True)
class Place:
    """Where a pipeline reads and writes: broker, topic, and what the pipeline needs besides."""

    servers: str
    topic: str
    folder: Path
    target: str = ""


class Pipeline(ABC):
    """One way out of Kafka. The job calls `sink`, the process that breaks it calls the others."""

    name: str
    servers: tuple[str, ...] = ("kafka",)
    """The servers that are started for it, and killed."""

    @abstractmethod
    def prepare(self, place: Place, servers: dict[str, Server]) -> str:
        """Make the table or topic; returns its address for `Place.target`."""

    @abstractmethod
    def sink(self, place: Place) -> Sink:
        """The sink of the job, for records of type `Result`."""

    @abstractmethod
    def found(self, place: Place) -> Counter[Any]:
        """The records that a reader finds."""


class KafkaToKafka(Pipeline):
    """Exactly once into a topic, read by a consumer that reads committed records."""

    name = "kafka"

    def prepare(self, place: Place, servers: dict[str, Server]) -> str:
        return Output(place.servers).make(f"{place.topic}-out", 2)

    def sink(self, place: Place) -> Sink:
        made: Any = Output(place.servers).sink(place.target, ONCE)
        return MarkedSink(made.settings, made.serializer, made.prefix, str(place.folder / "marks"))

    def found(self, place: Place) -> Counter[Any]:
        return Counter(Output(place.servers).values(place.target))


PIPELINES: dict[str, Pipeline] = {pipeline.name: pipeline for pipeline in (KafkaToKafka(),)}


@dataclass(frozen=True)
class MarkedSink(ExactlyOnceKafkaSink):
    """The sink, with a file for each point that its writers have come to: by it a run is broken."""

    marks: str = ""

    def open_part(self, context: PartContext) -> IdempotentWriter:
        return _MarkedWriter(super().open_part(context), Path(self.marks), context)


class _MarkedWriter(IdempotentWriter):
    def __init__(self, writer: IdempotentWriter, marks: Path, context: PartContext) -> None:
        self.writer, self.marks = writer, marks
        self.part = f"{context.epoch:04d}-{context.part}"
        self.mark("opened")

    def mark(self, point: str) -> None:
        self.marks.mkdir(parents=True, exist_ok=True)
        (self.marks / f"{point}-{self.part}").touch()

    def begin(self) -> str | None:
        return self.writer.begin()

    def write(self, batch: Any) -> None:
        raise NotImplementedError("event times come with records")

    def write_timed(self, batch: Any, times: Any) -> None:
        self.writer.write_timed(batch, times)

    def finish(self) -> None:
        self.mark("finishing")
        self.writer.finish()
        self.mark("finished")

    def close(self) -> None:
        self.writer.close()


def fill(place: Place, records: int, dice: random.Random) -> None:
    """Write the input, each record into a partition by chance."""
    output = Output(place.servers)
    output.make(place.topic, PARTITIONS)
    made: KafkaSink = output.sink(place.topic, acks="all")
    producer = replace(made).producing
    from confluent_kafka import Producer

    client = Producer(producer.configuration())
    for number in range(records):
        value = json.dumps(event(number)).encode()
        client.produce(place.topic, value, partition=dice.randrange(PARTITIONS))
    assert client.flush(60) == 0
