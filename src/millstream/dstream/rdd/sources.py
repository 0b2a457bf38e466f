"""The ways in which partitions of an RDD come about, as data: a runner can cut a job into stages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

__all__ = [
    "Each",
    "Gathered",
    "Given",
    "Need",
    "Part",
    "PartitionFunction",
    "Shuffled",
    "Source",
    "one_after_another",
    "same_partition",
]

PartitionFunction = Callable[[int, Iterable[Any]], Iterable[Any]]
Need = tuple[int, int]
"""A parent, by its place, and a partition of it."""
Part = Callable[[], Iterator[Any]]
"""A partition that can be read any number of times."""


@dataclass(frozen=True)
class Given:
    """Partitions that the driver has, or gets when one is needed first."""

    partition: Callable[[int], Iterable[Any]]


@dataclass(frozen=True)
class Each:
    """A function of each partition of the parent: ``function(split, values)``."""

    function: PartitionFunction


@dataclass(frozen=True)
class Gathered:
    """A function of partitions of any parents: ``function(split, parts)``.

    ``needs`` says, in the driver, which ones a partition is made of.
    """

    needs: Callable[[int], Sequence[Need]]
    function: Callable[[int, Sequence[Part]], Iterable[Any]]


@dataclass(frozen=True)
class Shuffled:
    """Values that come from any partition of the parent.

    ``target(split, values)`` gives them with the number of the partition that they go to.
    """

    target: Callable[[int, Iterable[Any]], Iterable[tuple[int, Any]]]


Source = Given | Each | Gathered | Shuffled


def same_partition(*parents: int) -> Callable[[int], list[Need]]:
    """The needs of a partition that is made of those with its number.

    Examples
    --------
    >>> same_partition(0, 1)(5)
    [(0, 5), (1, 5)]
    """
    return lambda split: [(parent, split) for parent in parents]


def one_after_another(_: int, parts: Sequence[Part]) -> Iterator[Any]:
    """The values of several partitions.

    Examples
    --------
    >>> list(one_after_another(0, [lambda: iter("ab"), lambda: iter("c")]))
    ['a', 'b', 'c']
    """
    return chain.from_iterable(part() for part in parts)
