"""What `make check` takes of the choices that `make test` takes all of."""

from __future__ import annotations

from itertools import product

import pytest

from tests.support.strategies import (
    crossed,
    examples,
    in_one_way,
    sampled,
    scaled,
    schedules,
    thinned,
)

CASES, WAYS = "abcde", ("x", "y")


@pytest.mark.parametrize("factor", ["1", "20"])
def test_make_test_takes_all(monkeypatch: pytest.MonkeyPatch, factor: str) -> None:
    monkeypatch.setenv("MILLSTREAM_EXAMPLES", factor)
    assert crossed(CASES, WAYS) == [(case, way) for case in CASES for way in WAYS]
    assert sampled(WAYS, "seed") == WAYS
    assert thinned(CASES, "seed") == list(CASES)
    assert examples(40).max_examples == scaled(40) == 40 * int(factor)
    assert schedules(slots=(1, 3)) == {"slots": (1, 3)}
    assert in_one_way([2, 3]) == [0, 1, 2, 3, 4, 5]


def test_make_check_takes_every_case_and_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLSTREAM_EXAMPLES", "0.05")
    assert crossed(CASES, WAYS) == [("a", "x"), ("b", "y"), ("c", "x"), ("d", "y"), ("e", "x")]
    assert {way for n in range(20) for way in sampled(WAYS, str(n))} == set(WAYS)
    assert sampled(WAYS, "seed") == sampled(WAYS, "seed")
    parts = {tuple(thinned("abcdefg", str(n))) for n in range(20)}
    assert parts == {("a", "d", "g"), ("b", "e"), ("c", "f")}
    assert thinned(CASES, "seed", one_in=2) in (["a", "c", "e"], ["b", "d"])
    assert in_one_way([5]) == [0, 1, 2, 3, 4] and in_one_way([]) == [0]
    cases = list(product("ab", "xyz"))
    assert [cases[n] for n in in_one_way([2, 3])] == [("a", "x"), ("a", "z"), ("b", "y")]
    # Never more than a test asks for.
    assert [examples(n).max_examples for n in (2, 40, 200)] == [2, 2, 10]
    assert [scaled(n, fewest=1) for n in (2, 20, 200)] == [1, 1, 10]
    assert schedules(slots=(1, 3), cuts=(1, "all")) == {
        "cuts": (1, "all"),
        "slots": (3,),
        "parallelism": (2,),
        "seeds": (0,),
    }
