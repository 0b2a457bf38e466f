"""Places in Kafka's topics, and messages, by the names of Spark's helper for Kafka."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from millstream.common.errors import PlanError, user_location

__all__ = [
    "KafkaMessageAndMetadata",
    "OffsetRange",
    "TopicAndPartition",
    "utf8_decoder",
]


def utf8_decoder(s: bytes | None) -> str | None:
    """The text of bytes in UTF-8; None stays None.

    Examples
    --------
    >>> utf8_decoder(b"to be"), utf8_decoder(None)
    ('to be', None)
    """
    return None if s is None else s.decode("utf-8")


@dataclass(frozen=True)
class TopicAndPartition:
    """A partition of a topic.

    Examples
    --------
    >>> {TopicAndPartition("orders", 0): 17}
    {TopicAndPartition(topic='orders', partition=0): 17}
    """

    topic: str
    partition: int


@dataclass(frozen=True)
class OffsetRange:
    """A range of offsets of a partition, without the last one.

    Examples
    --------
    >>> OffsetRange("orders", 0, 10, 15).count()
    5
    """

    topic: str
    partition: int
    fromOffset: int
    untilOffset: int

    def __post_init__(self) -> None:
        if self.fromOffset < 0 or self.untilOffset < self.fromOffset:
            raise PlanError(
                "KAFKA_OFFSETS",
                f"a range cannot reach from offset {self.fromOffset} to {self.untilOffset}",
                location=user_location(),
                hint="offsets begin at 0, and a range ends where it begins, or later",
            )

    def topicAndPartition(self) -> TopicAndPartition:
        """The partition."""
        return TopicAndPartition(self.topic, self.partition)

    def count(self) -> int:
        """How many offsets the range has. Markers of transactions and deleted records count, too."""
        return self.untilOffset - self.fromOffset


@dataclass(frozen=True)
class KafkaMessageAndMetadata:
    """A message, and where it is.

    Parameters
    ----------
    topic, partition, offset
        Where it is.
    rawKey, rawMessage
        Bytes, or None.
    timestamp
        Its time in milliseconds; None if it has none.
    keyDecoder, messageDecoder
        What `key` and `message` make of the bytes.
    """

    topic: str
    partition: int
    offset: int
    rawKey: bytes | None
    rawMessage: bytes | None
    timestamp: int | None = None
    keyDecoder: Callable[[bytes | None], Any] = field(default=utf8_decoder, repr=False)
    messageDecoder: Callable[[bytes | None], Any] = field(default=utf8_decoder, repr=False)

    @property
    def key(self) -> Any:
        """The decoded key."""
        return self.keyDecoder(self.rawKey)

    @property
    def message(self) -> Any:
        """The decoded message."""
        return self.messageDecoder(self.rawMessage)
