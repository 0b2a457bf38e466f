"""Ranges of partitions, read in a task."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from millstream.connectors.kafka.cluster import consumer_properties
from millstream.connectors.kafka.partitions import TopicPartition
from millstream.connectors.kafka.properties import translated
from millstream.connectors.kafka.settings import KafkaSettings, confluent

__all__ = ["PartitionReader", "Readers"]

MOST_READERS = 8
"""Partitions of which a process keeps what was fetched ahead."""
CHUNK = 10_000
WAIT_SECONDS = 0.05
"""How long one call waits for records. A range with gaps at its end takes as long to end."""
_FETCHES = {
    "queued.max.messages.kbytes": 16_384,
    # A broker says that there is no more when a fetch has waited so long: only then does a range end
    # whose last offset is the marker of a transaction.
    "fetch.wait.max.ms": 100,
}


class OffsetGoneError(Exception):
    """The broker does not have the offset at which a range begins."""


class BrokerLostError(Exception):
    """No record and no news for too long; has what librdkafka has said."""


class PartitionReader:
    """A consumer of one partition, which goes on where it stands without fetching again.

    librdkafka throws away what it has fetched ahead when the assignment changes, so a partition keeps
    its consumer.
    """

    def __init__(self, consumer: Any, partition: TopicPartition, patience_seconds: float) -> None:
        self._module = confluent()
        self._consumer = consumer
        self._partition = partition
        self._patience = patience_seconds
        self._next: int | None = None
        self._ahead: list[Any] = []
        """Records behind the last range, which came with its own."""
        self._all_before = 0
        """Everything before this offset was delivered, as the broker has said: it says so only once."""

    def read(self, start: int, stop: int) -> Iterator[list[Any]]:
        """The messages of a range, in lists of at most some thousand."""
        if start != self._next:
            self._seek(start)
        at, quiet_since = start, time.monotonic()
        # A task that stops in the middle leaves the reader at no known place.
        self._next = None
        told: list[Any] = []
        while at < stop:
            found, self._ahead = self._ahead, []
            if not found and self._all_before < stop:
                found, told = self._consume(min(stop - at, CHUNK), told)
            # Markers of transactions and records of aborted ones are never delivered.
            ended = self._all_before >= stop
            if found or ended:
                quiet_since = time.monotonic()
            elif time.monotonic() - quiet_since > self._patience:
                raise BrokerLostError(told)
            within = found
            if found and found[-1].offset() >= stop:
                within = [message for message in found if message.offset() < stop]
                self._ahead = found[len(within) :]
                ended = True
            if within:
                at = within[-1].offset() + 1
                yield within
            if ended:
                break
        self._next = stop

    def _seek(self, start: int) -> None:
        self._ahead, self._all_before = [], 0
        self._consumer.assign([self._module.TopicPartition(*self._partition, start)])

    def _consume(self, number: int, told: list[Any]) -> tuple[list[Any], list[Any]]:
        """Messages, and what has gone wrong."""
        found = self._consumer.consume(number, WAIT_SECONDS)
        news = [message for message in found if message.error() is not None]
        if not news:
            return found, told
        for message in news:
            error = message.error()
            if error.code() == self._module.KafkaError._PARTITION_EOF:
                self._all_before = message.offset()
            elif error.code() in self._gone():
                raise OffsetGoneError(error.str())
            else:
                told = [*told[-9:], error]
                if not error.retriable() and error.code() in self._fatal():
                    raise BrokerLostError(told)
        return [message for message in found if message.error() is None], told

    def _gone(self) -> set[int]:
        errors = self._module.KafkaError
        return {errors._AUTO_OFFSET_RESET, errors.OFFSET_OUT_OF_RANGE}

    def _fatal(self) -> set[int]:
        errors = self._module.KafkaError
        return {
            errors._AUTHENTICATION,
            errors.SASL_AUTHENTICATION_FAILED,
            errors.TOPIC_AUTHORIZATION_FAILED,
            errors.GROUP_AUTHORIZATION_FAILED,
        }

    def close(self) -> None:
        self._consumer.close()


class Readers:
    """The readers of a process, by partition; the least recently used one is dropped first."""

    def __init__(
        self,
        settings: KafkaSettings,
        client_id: str,
        patience_seconds: float,
        make: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self._make = make or confluent().Consumer
        own = translated(settings.properties)
        self._properties = settings.configuration(
            {
                **{name: value for name, value in _FETCHES.items() if name not in own},
                **consumer_properties(None),
                "client.id": client_id,
                "enable.partition.eof": True,
            }
        )
        self._patience = patience_seconds
        self._readers: OrderedDict[TopicPartition, PartitionReader] = OrderedDict()

    def of(self, partition: TopicPartition) -> PartitionReader:
        """The reader of a partition."""
        found = self._readers.pop(partition, None)
        if found is None:
            while len(self._readers) >= MOST_READERS:
                self._readers.popitem(last=False)[1].close()
            found = PartitionReader(self._make(self._properties), partition, self._patience)
        self._readers[partition] = found
        return found

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()
