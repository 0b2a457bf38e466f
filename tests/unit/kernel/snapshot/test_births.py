"""Stored order keys in a program in which operators have other depths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.kernel.records.order import BEFORE_ALL, Origin
from millstream.kernel.snapshot.births import Births, renumbered
from millstream.kernel.time.clock import Clock
from millstream.kernel.windows.contents import FIRST_REDUCED, ORDERED_ELEMENTS, VALUES
from tests.support.strategies import examples

CLOCK = Clock(before=0, after=100, now_ms=0)
DEPTHS = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 4))


def timer(uid: str, depth: int) -> tuple[int, int, int, int, int, bytes]:
    return Origin.of(uid, depth).timer(10, CLOCK, 5, 0, 0)


@examples(100)
@given(DEPTHS)
def test_depths_that_are_the_same_stay(depths: dict[str, int]) -> None:
    ranked = sorted(set(depths.values()))
    same = {uid: 1 + ranked.index(depth) for uid, depth in depths.items()}
    assert not Births(renumbered(same, same)).changes


@examples(100)
@given(DEPTHS, DEPTHS)
def test_the_order_of_stored_births_stays(stored: dict[str, int], now: dict[str, int]) -> None:
    found = renumbered(stored, now)
    assert sorted(found) == sorted(set(stored.values()))
    assert sorted(found.values()) == [found[depth] for depth in sorted(found)]
    assert len(set(found.values())) == len(found)


def test_an_operator_that_moved_takes_its_keys_along() -> None:
    births = Births(renumbered({"a": 1, "b": 2}, {"new": 1, "a": 2, "b": 3}))
    assert births.order(timer("a", 1)) == timer("a", 2)
    assert births.order(timer("b", 2)) == timer("b", 3)
    tick = Origin.of("b", 2).tick(3, 5, 0, 0)
    assert births.order(tick) == Origin.of("b", 3).tick(3, 5, 0, 0)
    assert births.order((1, 0, 2, 3, 4, b"x")) == (1, 0, 2, 3, 4, b"x")
    assert births.order((1, BEFORE_ALL, 0, 0, 4, b""))[1] == BEFORE_ALL


OLD = Births(origins={Origin.of(uid, depth).path: depth for uid, depth in (("a", 1), ("b", 2))})


@pytest.mark.parametrize(("uid", "depth"), [("a", 1), ("b", 2), ("gone", 1)])
def test_older_formats_are_read_by_the_uid_in_the_path(uid: str, depth: int) -> None:
    path = Origin.of(uid, 1).path + b"\x02\x02"
    assert OLD.order((9, 1, 5, 0, 0, path)) == (9, depth, 5, 0, 0, path)
    assert OLD.order((9, -1, 5, 0, 0, path)) == (9, -depth, 5, 0, 0, path)
    assert OLD.order((9, 0, 5, 0, 0, b"\x02")) == (9, 0, 5, 0, 0, b"\x02")
    assert OLD.order((9, -2, 0, 0, 0, b""))[1] == BEFORE_ALL
    births = OLD.column(np.array([1, 0, -1]), [path, b"\x02", path])
    assert births.tolist() == [depth, 0, -depth]


def test_windows_are_renumbered_as_they_are_made_up() -> None:
    births = Births({1: 2})
    before, after = timer("a", 1), timer("a", 2)
    assert births.content(ORDERED_ELEMENTS, [("v", 7, before)]) == [("v", 7, after)]
    assert births.content(FIRST_REDUCED, (before, "v")) == (after, "v")
    assert births.content(VALUES, ["v"]) == ["v"]
