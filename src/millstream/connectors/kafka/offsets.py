"""Where partitions begin and end: the rules behind `KafkaOffsetsInitializer`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from millstream.connectors.kafka.partitions import TopicPartition, channel_of

__all__ = ["EARLIEST", "LATEST", "Brokers", "Offsets", "OffsetsMissingError", "Reset"]

Kind = Literal["earliest", "latest", "committed", "timestamp", "offsets"]
Reset = Literal["earliest", "latest", "none"]
"""What holds for a partition without an offset of its own; none: it is an error."""
Found = dict[TopicPartition, int]


class Brokers(Protocol):
    """Answers of brokers, of which offsets are made."""

    def earliest(self, partitions: Iterable[TopicPartition]) -> Found:
        """The offset of the first record that is still there."""

    def latest(self, partitions: Iterable[TopicPartition]) -> Found:
        """The offset behind the last record that can be read."""

    def at_time(self, partitions: Iterable[TopicPartition], timestamp_ms: int) -> Found:
        """The offset of the first record at or after a time, where there is one."""

    def committed(self, partitions: Iterable[TopicPartition]) -> Found:
        """The offsets of the consumer group, where it has committed one."""


class OffsetsMissingError(Exception):
    """Partitions without an offset, and no strategy that gives them one."""

    def __init__(self, partitions: list[TopicPartition]) -> None:
        super().__init__(", ".join(map(channel_of, sorted(partitions))))


@dataclass(frozen=True)
class Offsets:
    """A way to find an offset of each partition.

    Parameters
    ----------
    kind
        The way.
    timestamp_ms
        For ``"timestamp"``.
    given
        For ``"offsets"``; partitions that are not in it follow ``reset``.
    reset
        For partitions without an offset of their own. A negative one of ``given`` means what Kafka means
        by it: -1 the end, -2 the beginning, -3 what the group has committed.
    """

    kind: Kind
    timestamp_ms: int = 0
    given: tuple[tuple[TopicPartition, int], ...] = field(default=())
    reset: Reset = "earliest"

    def found(self, brokers: Brokers, partitions: Iterable[TopicPartition]) -> Found:
        """The offset of each partition."""
        wanted = list(partitions)
        known = self._known(brokers, wanted)
        rest = [partition for partition in wanted if partition not in known]
        if rest:
            known |= self._reset(brokers, rest)
        return {partition: known[partition] for partition in wanted}

    def _known(self, brokers: Brokers, wanted: list[TopicPartition]) -> Found:
        match self.kind:
            case "earliest":
                return brokers.earliest(wanted)
            case "latest":
                return brokers.latest(wanted)
            case "committed":
                return brokers.committed(wanted)
            case "timestamp":
                return brokers.at_time(wanted, self.timestamp_ms)
        given = dict(self.given)
        own = {partition: given[partition] for partition in wanted if partition in given}
        found = {partition: offset for partition, offset in own.items() if offset >= 0}
        for mark, ask in ((-1, brokers.latest), (-2, brokers.earliest), (-3, brokers.committed)):
            marked = [partition for partition, offset in own.items() if offset == mark]
            if marked:
                found |= ask(marked)
        return found

    def _reset(self, brokers: Brokers, rest: list[TopicPartition]) -> Found:
        # A time behind the last record is the end, whatever else is said.
        if self.kind == "timestamp" or self.reset == "latest":
            return brokers.latest(rest)
        if self.reset == "none":
            raise OffsetsMissingError(rest)
        return brokers.earliest(rest)

    def __str__(self) -> str:
        match self.kind:
            case "timestamp":
                return f"timestamp {self.timestamp_ms}"
            case "committed":
                return f"committed offsets, else {self.reset}"
            case "offsets":
                return f"given offsets, else {self.reset}"
        return self.kind


EARLIEST = Offsets("earliest")
LATEST = Offsets("latest", reset="latest")
