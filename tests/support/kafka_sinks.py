"""Topics to write to, and what a reader finds in them."""

from __future__ import annotations

import itertools
import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from millstream.connectors.kafka.serialization import KafkaProducerRecord
from millstream.connectors.kafka.sink import KafkaSink
from millstream.connectors.kafka.sink_builder import KafkaSinkBuilder
from millstream.connectors.sink import DeliveryGuarantee

ONCE, AT_LEAST_ONCE = DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE

MADE_JUST_NOW = (
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
)
"""What a broker says of a topic that was made a moment ago."""

LONGEST_WAIT = 120
"""Seconds without an answer after which a topic cannot be read: 30 were too few on a busy machine."""


class Output:
    """Topics of one broker, made and read by a test."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self.admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        self.known: set[str] = set()
        self.consumer: Consumer | None = None
        self.numbers = itertools.count()

    def new(self, partitions: int = 1, **config: str) -> str:
        """Make a topic with a name of its own."""
        return self.make(f"out-{uuid.uuid4().hex[:8]}-{next(self.numbers)}", partitions, **config)

    def make(self, topic: str, partitions: int = 1, **config: str) -> str:
        if topic not in self.known:
            # Records of 1970 are too old for the usual retention.
            settings = {"retention.ms": "-1"}
            settings |= {name.replace("_", "."): value for name, value in config.items()}
            wanted = NewTopic(topic, partitions, 1, config=settings)
            self.admin.create_topics([wanted])[topic].result()
            self.known.add(topic)
        return topic

    def wait_for_transactions(self, topic: str) -> None:
        """Wait until all transactions have ended: a commit returns a moment before it can be seen."""
        until = time.monotonic() + 60
        while self._ends(topic, True) != self._ends(topic, False):
            assert time.monotonic() < until, f"a transaction of {topic} does not end"

    def _ends(self, topic: str, committed: bool) -> list[int]:
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        partitions = self.admin.list_topics(topic, timeout=20).topics[topic].partitions
        asked = {TopicPartition(topic, number): OffsetSpec.latest() for number in partitions}
        while True:
            answers = self.admin.list_offsets(asked, isolation_level=level)
            try:
                return [answer.result().offset for answer in answers.values()]
            except KafkaException as error:
                if not (error.args[0].retriable() or error.args[0].code() in MADE_JUST_NOW):
                    raise

    def messages(self, topic: str) -> list[Any]:
        """All messages of a topic, after its transactions have ended."""
        self.wait_for_transactions(topic)
        return self.now(topic)

    def now(self, topic: str, level: str = "read_committed") -> list[Any]:
        """All messages of a topic that a consumer can read at this moment."""
        if level == "read_committed":
            self.consumer = consumer = self.consumer or self._consumer(level)
        else:
            consumer = self._consumer(level)
        partitions = consumer.list_topics(topic, timeout=20).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        found, ended = [], 0
        while ended < len(partitions):
            message = consumer.poll(LONGEST_WAIT)
            assert message is not None, f"{topic} cannot be read to its end"
            if message.error() is None:
                found.append(message)
            elif message.error().name() == "_PARTITION_EOF":
                ended += 1
            else:
                raise KafkaException(message.error())
        consumer.unassign()
        return found

    def _consumer(self, level: str) -> Consumer:
        settings = {
            "bootstrap.servers": self.servers,
            "group.id": uuid.uuid4().hex,
            "isolation.level": level,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 10,
            "log_level": 0,
        }
        return Consumer(settings)

    def values(self, topic: str) -> list[Any]:
        """The values of all messages, which are JSON; pairs come back as tuples."""
        read = (json.loads(message.value()) for message in self.messages(topic))
        return [tuple(value) if isinstance(value, list) else value for value in read]

    # -- for the contract kit --------------------------------------------------------------------

    def sink_of(self, guarantee: DeliveryGuarantee) -> Callable[[Path], KafkaSink]:
        """A function that makes sinks, as the kit wants it."""
        return lambda folder: self.sink(self.make(folder.name), guarantee)

    def read(self, folder: Path) -> list[Any]:
        return self.values(self.make(folder.name))

    def sink(self, topic: str, guarantee: DeliveryGuarantee = ONCE, **properties: Any) -> KafkaSink:
        return self.builder(topic, guarantee, **properties).build()

    def builder(
        self, topic: str, guarantee: DeliveryGuarantee = ONCE, **properties: Any
    ) -> KafkaSinkBuilder:
        """A sink of pairs, whose keys are their first fields."""
        builder = KafkaSink.builder().set_bootstrap_servers(self.servers)
        builder.set_record_serializer(Pairs(topic)).set_delivery_guarantee(guarantee)
        for name, value in properties.items():
            builder.set_property(name.replace("_", "."), value)
        return builder.set_transactional_id_prefix(f"of {topic}")


@dataclass(frozen=True)
class Pairs:
    """Values as JSON, with the first field as the key."""

    topic: str

    def __call__(self, value: Any) -> KafkaProducerRecord:
        return KafkaProducerRecord(self.topic, json.dumps(value).encode(), str(value[0]).encode())
