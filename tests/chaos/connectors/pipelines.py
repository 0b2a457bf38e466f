"""Pipelines whose output can be checked: from Kafka through keyed windows into a system.

A pipeline knows how to make its place, which sinks write there, and what readers find. To add one,
derive a class from `Pipeline` and put it into `PIPELINES`; everything else is shared.
"""

from __future__ import annotations

import json
import random
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
from deltalake import DeltaTable

from millstream.connectors.databases import DatabaseSink
from millstream.connectors.kafka.sink import KafkaSink
from millstream.connectors.lake.delta import DeltaSink
from millstream.connectors.sink import PartSink
from tests.chaos.connectors.marks import COMMITS, PARTS
from tests.support.kafka_sinks import ONCE, Output
from tools.servers import Postgres, Server

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
    """One way out of Kafka. The job calls `sinks`, the process that breaks it calls the others."""

    name: str
    servers: tuple[str, ...] = ("kafka",)
    """The servers that are started for it, and killed."""
    points: tuple[str, ...] = PARTS
    """The marks that its sinks leave, in the order in which they come."""

    @abstractmethod
    def prepare(self, place: Place, servers: dict[str, Server]) -> str:
        """Make the tables or topics; returns the address for `Place.target`."""

    @abstractmethod
    def sinks(self, place: Place) -> dict[str, PartSink]:
        """The sinks of the job by name; each gets all records, of type `Result`."""

    @abstractmethod
    def found(self, place: Place) -> dict[str, Counter[Any]]:
        """The records that readers find; each of them has to find everything once."""


class KafkaToKafka(Pipeline):
    """Exactly once into a topic, read by a consumer that reads committed records."""

    name = "kafka"

    def prepare(self, place: Place, servers: dict[str, Server]) -> str:
        return Output(place.servers).make(f"{place.topic}-out", 2)

    def sinks(self, place: Place) -> dict[str, PartSink]:
        return {"topic": Output(place.servers).sink(place.target, ONCE)}

    def found(self, place: Place) -> dict[str, Counter[Any]]:
        return {"topic": Counter(Output(place.servers).values(place.target))}


class KafkaToPostgres(Pipeline):
    """Upserts by key and window into one table, rows added to another one.

    An upsert that comes twice leaves the same row. So a trigger notes each write to a row in a third
    table, in the same transaction: a reader of that one sees what the first one hides.
    """

    name = "postgres"
    servers = ("kafka", "postgres")
    tables = ("upserts", "appends", "writes")

    def prepare(self, place: Place, servers: dict[str, Server]) -> str:
        server = servers["postgres"]
        assert isinstance(server, Postgres)
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(f'create schema "{place.topic}"')
            connection.execute(f'set search_path to "{place.topic}"')
            for table in self.tables:
                connection.execute(f'create table {table} (word text, "end" bigint, total bigint)')
            connection.execute(_TRIGGERS)
        return server.url

    def sinks(self, place: Place) -> dict[str, PartSink]:
        upserts, appends = ((place.topic, table) for table in self.tables[:2])
        key, columns = ["word", "end"], ["word", "end", "total"]
        return {
            "upserts": DatabaseSink.upsert(place.target, upserts, key=key, columns=columns),
            "appends": DatabaseSink.append(place.target, appends, columns=columns),
        }

    def found(self, place: Place) -> dict[str, Counter[Any]]:
        with psycopg.connect(place.target) as connection:
            return {
                table: Counter(connection.execute(f'table "{place.topic}".{table}').fetchall())
                for table in self.tables
            }


_TRIGGERS = """
    alter table upserts add primary key (word, "end");
    create function note() returns trigger language plpgsql set search_path from current as
        'begin insert into writes select new.*; return null; end';
    create trigger note after insert or update on upserts for each row execute function note();
    create function take_time() returns trigger language plpgsql as
        'begin perform pg_sleep(0.03); return null; end';
    create trigger take_time after insert or update on upserts execute function take_time();
    create trigger take_time after insert on appends execute function take_time();
"""
"""The note of each write; and time inside the transactions, so that breaks meet them there."""


class KafkaToDelta(Pipeline):
    """Rows added to a Delta table, which a reader finds in its newest version."""

    name = "delta"
    points = (*PARTS, *COMMITS)

    def prepare(self, place: Place, servers: dict[str, Server]) -> str:
        return str(place.folder / "table")

    def sinks(self, place: Place) -> dict[str, PartSink]:
        return {"table": DeltaSink.append(place.target)}

    def found(self, place: Place) -> dict[str, Counter[Any]]:
        table = pa.table(DeltaTable(place.target).to_pyarrow_table())
        return {"table": Counter(zip(*(column.to_pylist() for column in table), strict=True))}


PIPELINES: dict[str, Pipeline] = {
    pipeline.name: pipeline for pipeline in (KafkaToKafka(), KafkaToPostgres(), KafkaToDelta())
}


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
