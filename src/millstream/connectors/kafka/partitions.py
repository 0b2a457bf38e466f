"""Topics and partitions that a source reads, and their names as channels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["Subscription", "TopicPartition", "channel_of", "partition_of"]

TopicPartition = tuple[str, int]
"""The topic and the number of a partition."""
_INTERNAL = {
    "__cluster_metadata",
    "__consumer_offsets",
    "__share_group_state",
    "__transaction_state",
}
"""Kafka's own topics, which no pattern means."""


def channel_of(partition: TopicPartition) -> str:
    """The name of a partition's channel.

    Examples
    --------
    >>> channel_of(("orders-2", 7))
    'orders-2-7'
    """
    topic, number = partition
    return f"{topic}-{number}"


def partition_of(channel: str) -> TopicPartition:
    """The partition of a channel: what follows the last dash is the number, whatever the topic is.

    Examples
    --------
    >>> partition_of("orders-2-7")
    ('orders-2', 7)
    """
    topic, _, number = channel.rpartition("-")
    return topic, int(number)


@dataclass(frozen=True)
class Subscription:
    """All partitions of some topics, those of a pattern, or some partitions.

    Examples
    --------
    >>> found = {"orders": 2, "clicks-1": 1, "__consumer_offsets": 50}
    >>> Subscription(pattern="clicks-.*").partitions(found)
    [('clicks-1', 0)]
    """

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    chosen: tuple[TopicPartition, ...] = ()

    def partitions(self, found: Mapping[str, int]) -> list[TopicPartition]:
        """The partitions that are there, given the number of partitions of each topic."""
        if self.chosen:
            return [(t, n) for t, n in self.chosen if n < found.get(t, 0)]
        return [(topic, number) for topic in self._topics(found) for number in range(found[topic])]

    def _topics(self, found: Mapping[str, int]) -> list[str]:
        if self.pattern is not None:
            wanted = re.compile(self.pattern)
            return sorted(t for t in found if wanted.fullmatch(t) and t not in _INTERNAL)
        return [topic for topic in self.topics if topic in found]

    def missing(self, found: Mapping[str, int]) -> list[str]:
        """The names of topics and partitions that are asked for by name, and are not there."""
        there = {*self.partitions(found)}
        gone = [topic for topic in self.topics if topic not in found]
        return [*gone, *(channel_of(chosen) for chosen in self.chosen if chosen not in there)]

    @property
    def named_topics(self) -> Iterable[str] | None:
        """The topics, if they are known without asking a broker."""
        if self.pattern is not None:
            return None
        return dict.fromkeys([*self.topics, *(topic for topic, _ in self.chosen)])

    def __str__(self) -> str:
        if self.pattern is not None:
            return f"topics like {self.pattern!r}"
        if self.chosen:
            return "partitions " + ", ".join(map(channel_of, self.chosen))
        return f"topic{'s' if len(self.topics) > 1 else ''} {', '.join(self.topics)}"
