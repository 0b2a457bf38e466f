"""Where partitions begin and end."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from millstream.connectors.kafka.offsets import EARLIEST, LATEST, Offsets, OffsetsMissingError
from millstream.connectors.kafka.partitions import TopicPartition

A, B = ("t", 0), ("t", 1)
Found = dict[TopicPartition, int]


class Answers:
    """Partition A has a committed offset and a record at 500; B has neither."""

    def earliest(self, partitions: Iterable[TopicPartition]) -> Found:
        return dict.fromkeys(partitions, 10)

    def latest(self, partitions: Iterable[TopicPartition]) -> Found:
        return dict.fromkeys(partitions, 90)

    def at_time(self, partitions: Iterable[TopicPartition], timestamp_ms: int) -> Found:
        return {one: 50 for one in partitions if one == A and timestamp_ms <= 500}

    def committed(self, partitions: Iterable[TopicPartition]) -> Found:
        return {one: 30 for one in partitions if one == A}


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        (EARLIEST, (10, 10)),
        (LATEST, (90, 90)),
        (Offsets("timestamp", 500, reset="latest"), (50, 90)),
        (Offsets("timestamp", 501, reset="earliest"), (90, 90)),
        (Offsets("committed", reset="earliest"), (30, 10)),
        (Offsets("committed", reset="latest"), (30, 90)),
        (Offsets("offsets", given=((B, 7),), reset="latest"), (90, 7)),
        (Offsets("offsets", given=((A, -1), (B, -2))), (90, 10)),
        (Offsets("offsets", given=((A, -3), (B, -3))), (30, 10)),
    ],
)
def test_each_partition_gets_an_offset(way: Offsets, expected: tuple[int, int]) -> None:
    assert way.found(Answers(), [A, B]) == dict(zip([A, B], expected, strict=True))


@pytest.mark.parametrize("kind", ["committed", "offsets"])
def test_without_a_strategy_a_partition_without_an_offset_is_an_error(kind: str) -> None:
    way = Offsets(kind, given=((A, 3),), reset="none")  # type: ignore[arg-type]
    with pytest.raises(OffsetsMissingError, match=r"^t-1$"):
        way.found(Answers(), [A, B])
