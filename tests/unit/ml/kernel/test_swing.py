"""Swing, with the values of flink-ml's tests."""

from __future__ import annotations

import itertools

import pytest

from millstream.ml.kernel.java_random import java_hash
from millstream.ml.kernel.swing import Swings, listed, similar_items

PURCHASES = [
    (0, 10),
    (0, 11),
    (0, 12),
    (1, 13),
    (1, 12),
    (2, 10),
    (2, 11),
    (2, 12),
    (3, 13),
    (3, 12),
    (4, 12),
    (4, 10),
    (4, 11),
    (4, 12),
    (4, 13),
]


def test_values_of_flink_ml() -> None:
    found = similar_items(PURCHASES, Swings(min_behavior=2, max_behavior=3))
    assert {item: listed(scores) for item, scores in found.items()} == {
        10: "11,0.058845768947156235;12,0.058845768947156235",
        11: "10,0.058845768947156235;12,0.058845768947156235",
        12: "13,0.09134833828228624;10,0.058845768947156235;11,0.058845768947156235",
        13: "12,0.09134833828228624",
    }


def test_samples_of_users_follow_the_seed() -> None:
    """flink-ml's test: another seed leaves other users, so another number of items has similar ones."""
    name = "org.apache.flink.ml.recommendation.swing.Swing"
    sizes = [
        len(similar_items(PURCHASES, Swings(min_behavior=1, max_users_per_item=2, seed=seed)))
        for seed in (3, java_hash(name))
    ]
    assert sizes[0] != sizes[1]


def test_by_the_definition() -> None:
    """The sum over pairs of users of both items."""
    baskets: dict[int, set[int]] = {}
    for user, item in PURCHASES:
        baskets.setdefault(user, set()).add(item)
    found = similar_items(PURCHASES, Swings(min_behavior=1, alpha1=2, alpha2=1, beta=0.5))
    for item, scores in found.items():
        for other, score in scores:
            users = [user for user, items in baskets.items() if {item, other} <= items]
            expected = sum(
                (2 + len(baskets[u])) ** -0.5
                * (2 + len(baskets[v])) ** -0.5
                / (1 + len(baskets[u] & baskets[v]))
                for u, v in itertools.combinations(users, 2)
            )
            assert score == pytest.approx(expected)


def test_limits_and_k() -> None:
    assert similar_items([], Swings()) == {}
    assert similar_items(PURCHASES, Swings()) == {}
    found = similar_items(PURCHASES, Swings(min_behavior=2, max_behavior=3, k=1))
    assert [len(scores) for scores in found.values()] == [1, 1, 1, 1]
