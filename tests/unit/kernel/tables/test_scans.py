"""Running aggregates within groups, compared with a loop."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.kernel.tables.scans import (
    FEW_GROUPS,
    best_places,
    comparable,
    float_sums,
    overflows,
    whole_sums,
)
from tests.support.strategies import examples

REALS = st.sampled_from((0.1, 0.2, -0.3, 1e300, -1e300, 0.0, -0.0, math.inf, math.nan, 7.5))


def laid_out(groups: list[list[Any]], dtype: Any) -> tuple[Any, Any, Any]:
    lengths = np.array([len(group) for group in groups], np.int64)
    numbers = np.array([value for group in groups for value in group], dtype)
    return numbers, np.cumsum(lengths) - lengths, lengths


def groups_of(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[list[Any]]]:
    return st.lists(st.lists(values, min_size=1, max_size=6), min_size=1, max_size=3 * FEW_GROUPS)


@given(groups_of(st.integers(-(2**40), 2**40)))
@examples(40)
def test_sums_of_whole_numbers(groups: list[list[int]]) -> None:
    expected = [sum(group[: i + 1]) for group in groups for i in range(len(group))]
    assert whole_sums(*laid_out(groups, np.int64)).tolist() == expected


@given(groups_of(REALS))
@examples(80)
def test_sums_of_floats_are_those_of_a_loop(groups: list[list[float]]) -> None:
    expected = []
    for group in groups:
        total = group[0]
        expected.append(total)
        for value in group[1:]:
            total += value
            expected.append(total)
    assert repr(float_sums(*laid_out(groups, np.float64)).tolist()) == repr(expected)


@given(groups_of(REALS) | groups_of(st.integers(-3, 3)), st.booleans())
@examples(120)
def test_the_first_of_the_best_ones_counts(groups: list[list[Any]], largest: bool) -> None:
    numbers, starts, lengths = laid_out(groups, None)
    expected = []
    for start, group in zip(starts.tolist(), groups, strict=True):
        best = 0
        for place, value in enumerate(group):
            if (value > group[best]) if largest else (value < group[best]):
                best = place
            expected.append(start + best)
    assert best_places(numbers, starts, lengths, largest=largest).tolist() == expected


def test_a_sum_that_may_be_too_large_is_found() -> None:
    numbers, starts, _ = laid_out([[1, 2], [2**62, 2**62], [5, -(2**63)]], np.int64)
    assert overflows(numbers, starts).tolist() == [False, True, True]


def test_text_is_compared_as_python_compares_it() -> None:
    texts = ["b", "a", "", "é", "￿", "\U0001f600", "a"]
    ranks = comparable(pa.array(texts)).tolist()
    pairs = [(one, other) for one in range(len(texts)) for other in range(len(texts))]
    assert all((ranks[a] < ranks[b]) == (texts[a] < texts[b]) for a, b in pairs)
