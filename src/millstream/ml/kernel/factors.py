"""Factors of users and items by alternating least squares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from millstream.ml.kernel.java_random import JavaRandom

__all__ = ["Factorization", "least_squares_above_zero"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
BLOCK = 1 << 22
"""How many numbers of products are in memory at a time."""


@dataclass(frozen=True)
class Factorization:
    """The parameters. Each row of ratings weighs ``reg`` in the penalty of its user and its item.

    Examples
    --------
    >>> users, items = np.array([1, 1, 2]), np.array([5, 6, 5])
    >>> found = Factorization(rank=2).learn(users, items, np.array([1.0, 2.0, 3.0]))
    >>> mine, theirs = dict(zip(*found[0])), dict(zip(*found[1]))
    >>> bool(abs(mine[1] @ theirs[6] - 2.0) < 0.2)
    True
    """

    rank: int = 10
    max_iter: int = 10
    reg: float = 0.1
    alpha: float = 1.0
    implicit: bool = False
    above_zero: bool = False
    seed: int = 0
    """A change of the first factors; 0 are flink-ml's."""

    def learn(
        self, users: Ints, items: Ints, ratings: Floats
    ) -> tuple[tuple[list[int], Floats], tuple[list[int], Floats]]:
        """The ids and factors of users, and of items. The first factors are random by the ids."""
        user_ids, own = np.unique(users, return_inverse=True)
        item_ids, theirs = np.unique(items, return_inverse=True)
        sides = (
            _Side(own.ravel(), theirs.ravel(), ratings, len(user_ids)),
            _Side(theirs.ravel(), own.ravel(), ratings, len(item_ids)),
        )
        shift = 1_000_003 * self.seed
        item_factors = self._random([2 * each + 1 + shift for each in item_ids.tolist()])
        user_factors = np.zeros((len(user_ids), self.rank))
        for _ in range(self.max_iter):
            user_factors = self._solved(sides[0], item_factors)
            item_factors = self._solved(sides[1], user_factors)
        return (user_ids.tolist(), user_factors), (item_ids.tolist(), item_factors)

    def _random(self, seeds: list[int]) -> Floats:
        """The first factors of flink-ml: by Java's generator, with a seed of each id."""
        generators = map(JavaRandom, seeds)
        return np.array([[each.next_double() for _ in range(self.rank)] for each in generators])

    def _solved(self, side: _Side, others: Floats) -> Floats:
        """The factors of one side, the best for those of the other one."""
        found = np.empty((side.count, self.rank))
        whole = others.T @ others if self.implicit else np.zeros((self.rank, self.rank))
        for ids, rows, starts in side.blocks(self.rank):
            near = others[side.others[rows]]
            ratings = side.ratings[rows]
            if self.implicit:
                known = ratings > 0
                trust = self.alpha * np.where(known, ratings, 0.0)
                wanted = np.where(known, 1.0 + trust, 0.0)
                counts = np.maximum(np.add.reduceat(known.astype(np.float64), starts), 1.0)
            else:
                trust, wanted = np.ones(len(ratings)), ratings
                counts = np.diff([*starts, len(ratings)]).astype(np.float64)
            grams = np.add.reduceat((near * trust[:, None])[:, :, None] * near[:, None, :], starts)
            grams += whole + (self.reg * counts)[:, None, None] * np.eye(self.rank)
            found[ids] = self._best(grams, np.add.reduceat(near * wanted[:, None], starts))
        return found

    def _best(self, grams: Floats, moments: Floats) -> Floats:
        try:
            found = np.linalg.solve(grams, moments[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:
            # Without a penalty, fewer ratings than factors have many solutions: the smallest one.
            found = (np.linalg.pinv(grams) @ moments[:, :, None])[:, :, 0]
        if self.above_zero:
            for at in np.flatnonzero((found < 0).any(axis=1)):
                found[at] = least_squares_above_zero(grams[at], moments[at])
        return np.asarray(found)


class _Side:
    """The ratings of users, or of items, in the order of their ids."""

    def __init__(self, own: Ints, others: Ints, ratings: Floats, count: int) -> None:
        order = np.argsort(own, kind="stable")
        self.count = count
        self.others, self.ratings = others[order], ratings[order]
        self._starts = np.searchsorted(own[order], np.arange(count + 1))

    def blocks(self, rank: int) -> Iterator[tuple[slice, slice, Ints]]:
        """Ids, their ratings, and where those of each id start among these."""
        size = max(1, BLOCK // (rank * rank))
        first = 0
        while first < self.count:
            limit = self._starts[first] + size
            last = max(first + 1, int(np.searchsorted(self._starts, limit, "right")) - 1)
            begin, end = self._starts[first], self._starts[last]
            yield slice(first, last), slice(begin, end), self._starts[first:last] - begin
            first = last


def least_squares_above_zero(gram: Floats, moment: Floats) -> Floats:
    """The smallest ``x'Gx/2 - m'x`` with no element below 0, by Lawson and Hanson.

    Examples
    --------
    >>> least_squares_above_zero(np.eye(2), np.array([1.0, -1.0])).tolist()
    [1.0, 0.0]
    """
    found = np.zeros(len(moment))
    free = np.zeros(len(moment), bool)
    room = 1e-14 * (1.0 + np.abs(moment).max(initial=0.0))
    for _ in range(10 * len(moment)):
        slope = moment - gram @ found
        slope[free] = -np.inf
        if slope.max() <= room:
            break
        free[slope.argmax()] = True
        while free.any():
            wanted = np.zeros(len(moment))
            wanted[free] = np.linalg.solve(gram[np.ix_(free, free)], moment[free])
            below = free & (wanted <= 0)
            if not below.any():
                found = wanted
                break
            share = (found[below] / (found[below] - wanted[below])).min()
            found = found + share * (wanted - found)
            free &= found > 1e-15
            found[~free] = 0.0
    return found
