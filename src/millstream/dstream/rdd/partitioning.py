"""Rules that say which value is in which partition: those of Spark."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

__all__ = ["Partitioner", "grouped_ranges", "sliced", "start_of_deal"]

T = TypeVar("T")
_BATCH = 1024
_LONG = (1 << 64) - 1
_INT = (1 << 32) - 1


class Partitioner:
    """The number of partitions and the function of the key that chooses one.

    Examples
    --------
    >>> Partitioner(4, hash)(7)
    3
    """

    def __init__(self, numPartitions: int, partitionFunc: Callable[[Any], int]) -> None:
        self.numPartitions = numPartitions
        self.partitionFunc = partitionFunc

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Partitioner)
            and self.numPartitions == other.numPartitions
            and self.partitionFunc == other.partitionFunc
        )

    def __hash__(self) -> int:
        return hash((self.numPartitions, self.partitionFunc))

    def __call__(self, k: Any) -> int:
        return self.partitionFunc(k) % self.numPartitions


def sliced(values: Sequence[T], slices: int) -> list[list[T]]:
    """The partitions of ``parallelize(values, slices)``: Spark spreads small batches, not single values.

    Examples
    --------
    >>> sliced([0, 1, 2, 3, 4, 5, 6], 3)
    [[0, 1], [2, 3], [4, 5, 6]]
    >>> sliced(range(7), 3)
    [[0, 1], [2, 3], [4, 5, 6]]
    >>> sliced(["a"], 2)
    [[], ['a']]
    """
    size = 1 if isinstance(values, range) else max(1, min(len(values) // slices, _BATCH))
    batches = [values[start : start + size] for start in range(0, len(values), size)]
    return [
        [value for batch in batches[first:end] for value in batch]
        for first, end in grouped_ranges(len(batches), slices)
    ]


def grouped_ranges(count: int, groups: int) -> list[tuple[int, int]]:
    """The ranges of ``count`` neighbours in that many groups of about the same size.

    Examples
    --------
    >>> grouped_ranges(5, 2)
    [(0, 2), (2, 5)]
    """
    return [(group * count // groups, (group + 1) * count // groups) for group in range(groups)]


def start_of_deal(partition: int, targets: int) -> int:
    """Where ``repartition`` begins to deal the batches of a partition: a random number of its index.

    It is the first ``nextInt(targets)`` of Spark's XORShiftRandom with that seed.

    Examples
    --------
    >>> start_of_deal(0, 4)
    0
    """
    seed = _seed_of(partition)

    def bits(count: int) -> int:
        nonlocal seed
        found = seed ^ (seed << 21) & _LONG
        found ^= found >> 35
        found ^= (found << 4) & _LONG
        seed = found
        return found & ((1 << count) - 1)

    drawn = bits(31)
    if targets & (targets - 1) == 0:
        return (targets * drawn) >> 31
    while drawn - drawn % targets + (targets - 1) >= 1 << 31:
        drawn = bits(31)
    return drawn % targets


def _seed_of(number: int) -> int:
    data = struct.pack(">q", number)
    low = _murmur(data, 0x3C074A61)
    return _murmur(data, low) << 32 | low


def _murmur(data: bytes, seed: int) -> int:
    """Scala's MurmurHash3.bytesHash of whole words."""
    found = seed
    for (word,) in struct.iter_unpack("<I", data):
        mixed = (word * 0xCC9E2D51) & _INT
        mixed = (mixed << 15 & _INT | mixed >> 17) * 0x1B873593 & _INT
        found ^= mixed
        found = (found << 13 & _INT | found >> 19) * 5 + 0xE6546B64 & _INT
    found ^= len(data)
    found = (found ^ found >> 16) * 0x85EBCA6B & _INT
    found = (found ^ found >> 13) * 0xC2B2AE35 & _INT
    return found ^ found >> 16
