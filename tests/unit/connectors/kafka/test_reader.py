"""Ranges of a partition, with a consumer that a test makes up."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from confluent_kafka import KafkaError

from millstream.connectors.kafka import reader
from millstream.connectors.kafka.reader import (
    BrokerLostError,
    OffsetGoneError,
    PartitionReader,
    Readers,
)
from millstream.connectors.kafka.settings import KafkaSettings

PLACE = ("t", 0)


class Message:
    def __init__(self, offset: int, error: KafkaError | None = None) -> None:
        self._offset = offset
        self._error = error

    def offset(self) -> int:
        return self._offset

    def error(self) -> KafkaError | None:
        return self._error


def end_at(offset: int) -> Message:
    return Message(offset, KafkaError(KafkaError._PARTITION_EOF))


class Consumer:
    """Gives the messages of a log behind the place where it was assigned, and says the end once."""

    def __init__(self, log: list[Message], at_once: int = 100) -> None:
        self.log = log
        self.at_once = at_once
        self.rest: list[Message] = []
        self.assigned: list[int] = []
        self.is_closed = False

    def assign(self, partitions: list[Any]) -> None:
        (one,) = partitions
        self.assigned.append(one.offset)
        self.rest = [message for message in self.log if message.offset() >= one.offset]

    def consume(self, number: int, timeout: float) -> list[Message]:
        number = min(number, self.at_once)
        found, self.rest = self.rest[:number], self.rest[number:]
        return found

    def close(self) -> None:
        self.is_closed = True


# Offsets 2, 5 and 6 are markers of transactions, or records of an aborted transaction.
GAPS = [*map(Message, (0, 1, 3, 4)), end_at(7)]


def offsets(one: PartitionReader, start: int, stop: int) -> list[int]:
    return [message.offset() for found in one.read(start, stop) for message in found]


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_ranges_end_in_gaps(at_once: int) -> None:
    consumer = Consumer(GAPS, at_once)
    one = PartitionReader(consumer, PLACE, 1.0)
    assert offsets(one, 0, 7) == [0, 1, 3, 4]
    for cuts in ([0, 3, 7], [0, 2, 3, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7], [0, 6, 7]):
        consumer.assigned.clear()
        found = [offsets(one, a, b) for a, b in pairwise(cuts)]
        assert [offset for part in found for offset in part] == [0, 1, 3, 4]
        # What follows the last range is read without another fetch.
        assert consumer.assigned == [0]


def test_another_place_is_sought() -> None:
    consumer = Consumer([*map(Message, range(10)), end_at(10)])
    one = PartitionReader(consumer, PLACE, 1.0)
    assert offsets(one, 0, 3) == [0, 1, 2]
    assert offsets(one, 5, 7) == [5, 6]
    assert offsets(one, 5, 7) == [5, 6]
    assert offsets(one, 7, 10) == [7, 8, 9]
    assert consumer.assigned == [0, 5, 5]


def test_a_range_that_was_left_in_the_middle_is_sought_again() -> None:
    consumer = Consumer([*map(Message, range(10)), end_at(10)], at_once=2)
    one = PartitionReader(consumer, PLACE, 1.0)
    next(one.read(0, 9))
    assert offsets(one, 0, 4) == [0, 1, 2, 3]
    assert consumer.assigned == [0, 0]


def test_a_broker_that_says_nothing() -> None:
    with pytest.raises(BrokerLostError):
        offsets(PartitionReader(Consumer([Message(0)]), PLACE, 0.0), 0, 2)


def test_a_login_that_is_refused_does_not_wait() -> None:
    refused = Message(-1, KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    consumer = Consumer([])
    one = PartitionReader(consumer, PLACE, 1_000.0)
    consumer.assign = lambda _: consumer.rest.append(refused)  # type: ignore
    with pytest.raises(BrokerLostError):
        offsets(one, 0, 2)


def test_an_offset_that_is_gone() -> None:
    consumer = Consumer([Message(5, KafkaError(KafkaError._AUTO_OFFSET_RESET))])
    with pytest.raises(OffsetGoneError):
        offsets(PartitionReader(consumer, PLACE, 1.0), 0, 7)


def test_a_process_keeps_some_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MOST_READERS", 2)
    made: list[Consumer] = []

    def make(properties: dict[str, Any]) -> Consumer:
        assert properties["enable.partition.eof"] is True
        made.append(Consumer([]))
        return made[-1]

    readers = Readers(KafkaSettings("a:1"), "me", 1.0, make)
    first = readers.of(("t", 0))
    readers.of(("t", 1))
    assert readers.of(("t", 0)) is first
    readers.of(("t", 2))
    assert [one.is_closed for one in made] == [False, True, False]
    readers.close()
    assert all(one.is_closed for one in made)


def test_properties_of_the_program_win_over_how_much_is_fetched() -> None:
    seen: list[dict[str, Any]] = []

    def make(properties: dict[str, Any]) -> Consumer:
        seen.append(properties)
        return Consumer([])

    settings = KafkaSettings("a:1", {"fetch.max.wait.ms": 7, "enable.auto.commit": True})
    Readers(settings, "me", 1.0, make).of(PLACE)
    (found,) = seen
    assert found["fetch.wait.max.ms"] == 7
    assert found["queued.max.messages.kbytes"] == 16_384
    assert found["enable.auto.commit"] is False
