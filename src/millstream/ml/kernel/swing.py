"""Swing: which items are bought by the same pairs of users."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from millstream.common.java_text import java_double
from millstream.ml.kernel.java_random import JavaRandom

__all__ = ["Swings", "listed", "similar_items"]


@dataclass(frozen=True)
class Swings:
    """The parameters of Swing, with flink-ml's values."""

    k: int = 100
    max_users_per_item: int = 1000
    min_behavior: int = 10
    max_behavior: int = 1000
    alpha1: int = 15
    alpha2: int = 0
    beta: float = 0.3
    seed: int = 0


def similar_items(
    purchases: Iterable[tuple[int, int]], parameters: Swings
) -> dict[int, list[tuple[int, float]]]:
    """Return for each item the most similar ones with their scores, from pairs of user and item.

    Users with fewer or more items than the limits count for nothing. An item with too many users takes a
    random sample of them, by the seed.

    Examples
    --------
    >>> purchases = [(0, 10), (0, 11), (1, 10), (1, 11)]
    >>> similar_items(purchases, Swings(min_behavior=1))
    {10: [(11, 0.091...)], 11: [(10, 0.091...)]}
    """
    baskets: dict[int, dict[int, None]] = {}
    for user, item in purchases:
        baskets.setdefault(user, {})[item] = None
    limits = range(parameters.min_behavior, parameters.max_behavior + 1)
    counted = {user: items for user, items in sorted(baskets.items()) if len(items) in limits}
    users = _users_of(counted, parameters)
    weights = {
        user: 1.0 / (parameters.alpha1 + len(items)) ** parameters.beta
        for user, items in counted.items()
    }
    found: dict[int, list[tuple[int, float]]] = {}
    for item in sorted(users):
        scores = _scores(item, users[item], counted, weights, parameters.alpha2)
        if scores:
            best = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
            found[item] = best[: parameters.k]
    return found


def _users_of(baskets: dict[int, dict[int, None]], parameters: Swings) -> dict[int, list[int]]:
    """Return the users of each item, or a sample of them by a reservoir."""
    random = JavaRandom(parameters.seed)
    users: dict[int, list[int]] = {}
    seen: dict[int, int] = {}
    for user, items in baskets.items():
        for item in items:
            own = users.setdefault(item, [])
            before = seen.get(item, 0)
            if len(own) < parameters.max_users_per_item:
                own.append(user)
            else:
                place = random.next_int(before)
                if place < parameters.max_users_per_item:
                    own[place] = user
            seen[item] = before + 1
    return users


def _scores(
    item: int,
    users: list[int],
    baskets: dict[int, dict[int, None]],
    weights: dict[int, float],
    alpha2: int,
) -> dict[int, float]:
    scores: dict[int, float] = {}
    for one, other in combinations(users, 2):
        common = baskets[one].keys() & baskets[other].keys()
        score = weights[one] * weights[other] / (alpha2 + len(common))
        for another in common:
            if another != item:
                scores[another] = scores.get(another, 0.0) + score
    return scores


def listed(items: Iterable[tuple[int, float]]) -> str:
    """Return items and scores as flink-ml writes them.

    Examples
    --------
    >>> listed([(11, 0.5), (12, 0.25)])
    '11,0.5;12,0.25'
    """
    return ";".join(f"{item},{java_double(score)}" for item, score in items)
