"""Topics for tests: each has a name of its own on the broker that the tests share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

_NUMBERS = count()
PATIENCE_SECONDS = 60.0


def until(what: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
    """Ask again and again until the answer is something true."""
    end = time.monotonic() + seconds
    while not (found := what()):
        if time.monotonic() > end:
            raise TimeoutError(f"not within {seconds} s: {what}")
        time.sleep(0.05)  # noqa: TID251 - servers give no sign
    return found


class Topics:
    """A broker, as tests write to it."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        # Tests that fail must not wait for librdkafka's log.
        self.common = {"bootstrap.servers": servers, "log_level": 0}
        self.admin = AdminClient(self.common)
        self.producer = Producer(self.common)

    def new(self, partitions: int = 1, name: str | None = None, **config: str) -> str:
        """Make a topic."""
        topic = name or f"topic-{next(_NUMBERS)}-{time.time_ns()}"
        # Records of 1970 are too old for the usual retention.
        settings = {"retention.ms": "-1"}
        settings |= {key.replace("_", "."): value for key, value in config.items()}
        made = self.admin.create_topics([NewTopic(topic, partitions, 1, config=settings)])
        made[topic].result(PATIENCE_SECONDS)
        until(lambda: self._is_ready(topic, partitions))
        return topic

    def _is_ready(self, topic: str, partitions: int) -> bool:
        found = self.admin.list_topics(topic, timeout=10).topics[topic]
        return len(found.partitions) == partitions and all(
            one.leader >= 0 for one in found.partitions.values()
        )

    def grow(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions."""
        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(10)
        until(lambda: self._is_ready(topic, partitions))
        self.producer.list_topics(topic, timeout=10)

    def write(self, topic: str, values: Iterable[Any], partition: int = 0, **more: Any) -> None:
        """Append values: bytes, texts, None, or pairs of a value and its time."""
        for value in values:
            own, ts = value if isinstance(value, tuple) else (value, None)
            timed = {} if ts is None else {"timestamp": ts}
            self.producer.produce(topic, own, partition=partition, **timed, **more)
        assert self.producer.flush(PATIENCE_SECONDS) == 0

    def transaction(self, topic: str, values: Iterable[Any], *, commit: bool = True) -> None:
        """Append values in a transaction, or abort it."""
        name = f"tx-{next(_NUMBERS)}-{time.time_ns()}"
        producer = Producer({**self.common, "transactional.id": name})
        producer.init_transactions(PATIENCE_SECONDS)
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, partition=0)
        producer.flush(PATIENCE_SECONDS)
        if commit:
            producer.commit_transaction(PATIENCE_SECONDS)
        else:
            producer.abort_transaction(PATIENCE_SECONDS)

    def open_transaction(self, topic: str, values: Iterable[Any]) -> Producer:
        """Append values in a transaction that stays open."""
        producer = Producer({**self.common, "transactional.id": f"open-{time.time_ns()}"})
        producer.init_transactions(PATIENCE_SECONDS)
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, partition=0)
        producer.flush(PATIENCE_SECONDS)
        return producer

    def delete_before(self, topic: str, offset: int, partition: int = 0) -> None:
        """Delete the records before an offset, as retention does."""
        wanted = [TopicPartition(topic, partition, offset)]
        for done in self.admin.delete_records(wanted).values():
            done.result(PATIENCE_SECONDS)

    def committed(self, group: str, topic: str, partition: int = 0) -> int:
        """The offset of a consumer group."""
        consumer = Consumer({**self.common, "group.id": group})
        try:
            (found,) = consumer.committed([TopicPartition(topic, partition)], timeout=10)
            return int(found.offset)
        finally:
            consumer.close()

    def commit(self, group: str, topic: str, offset: int, partition: int = 0) -> None:
        """Set the offset of a consumer group."""
        consumer = Consumer({**self.common, "group.id": group})
        consumer.commit(offsets=[TopicPartition(topic, partition, offset)], asynchronous=False)
        consumer.close()

    def first(self, topic: str, partition: int = 0) -> int:
        """The first offset that is there."""
        consumer = Consumer({**self.common, "group.id": "first"})
        try:
            low, _ = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=10)
            return int(low)
        finally:
            consumer.close()
