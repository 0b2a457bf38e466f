"""Random samples of partitions, with the draws of PySpark: the same seed takes the same values."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

__all__ = ["fraction_for", "in_range", "sampled", "sampled_by_key", "seed_or_random"]

T = TypeVar("T")
_SMALL_MEAN = 20.0


def seed_or_random(seed: int | None) -> int:
    """The seed, or a random one: all partitions, and all times they are computed, have the same.

    Examples
    --------
    >>> seed_or_random(7)
    7
    """
    return random.randint(0, sys.maxsize) if seed is None else seed


def _generator(seed: int, partition: int) -> random.Random:
    found = random.Random(seed ^ partition)
    for _ in range(10):  # PySpark throws the first draws away.
        found.randint(0, 1)
    return found


def _poisson(draw: random.Random, mean: float) -> int:
    count = 0
    if mean < _SMALL_MEAN:
        limit, product = math.exp(-mean), draw.random()
        while product > limit:
            count += 1
            product *= draw.random()
        return count
    waited = draw.expovariate(mean)
    while waited < 1.0:
        count += 1
        waited += draw.expovariate(mean)
    return count


def _taken(draw: random.Random, replace: bool, fraction: float) -> int:
    return _poisson(draw, fraction) if replace else int(draw.random() < fraction)


def sampled(replace: bool, fraction: float, seed: int) -> Callable[[int, Iterable[T]], Iterator[T]]:
    """A function of partitions that keeps each value with a probability.

    Examples
    --------
    >>> len(list(sampled(False, 0.5, 1)(0, range(1000))))
    491
    """

    def keep(partition: int, values: Iterable[T]) -> Iterator[T]:
        draw = _generator(seed, partition)
        for value in values:
            for _ in range(_taken(draw, replace, fraction)):
                yield value

    return keep


def sampled_by_key(
    replace: bool, fractions: Mapping[Any, float], seed: int
) -> Callable[[int, Iterable[tuple[Any, T]]], Iterator[tuple[Any, T]]]:
    """A function of partitions that keeps each pair with the probability of its key."""

    def keep(partition: int, pairs: Iterable[tuple[Any, T]]) -> Iterator[tuple[Any, T]]:
        draw = _generator(seed, partition)
        for key, value in pairs:
            for _ in range(_taken(draw, replace, fractions[key])):
                yield key, value

    return keep


def in_range(lower: float, upper: float, seed: int) -> Callable[[int, Iterable[T]], Iterator[T]]:
    """A function of partitions that keeps values whose random number is in a range."""

    def keep(partition: int, values: Iterable[T]) -> Iterator[T]:
        draw = _generator(seed, partition)
        return (value for value in values if lower <= draw.random() < upper)

    return keep


def fraction_for(wanted: int, total: int, replace: bool) -> float:
    """The fraction that gives at least ``wanted`` of ``total`` values in 9,999 of 10,000 samples.

    Examples
    --------
    >>> fraction_for(5, 10, False)
    1
    """
    fraction = wanted / total
    if replace:
        deviations = 9 if wanted < 12 else 5
        return fraction + deviations * math.sqrt(fraction / total)
    gamma = -math.log(0.00005) / total
    return min(1, fraction + gamma + math.sqrt(gamma * gamma + 2 * gamma * fraction))
