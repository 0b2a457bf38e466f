"""Conditions: what is left out cannot fulfil them."""

from __future__ import annotations

import operator
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.connectors.conditions import (
    Bounds,
    Comparison,
    Operator,
    conditions_text,
    may_hold,
)
from tests.support.strategies import examples

CHECKS: dict[str, Any] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
small = st.integers(-3, 3)


def is_true(comparison: Comparison, value: int | None) -> bool:
    """What SQL says: NULL fulfils no comparison."""
    if not comparison.values:
        return (value is None) == (comparison.operator == "IS NULL")
    check = CHECKS[comparison.operator]
    return value is not None and any(check(value, each) for each in comparison.values)


@given(
    st.sampled_from(get_args(Operator)),
    small,
    st.lists(st.none() | small, min_size=1, max_size=4),
)
@examples(300)
def test_bounds_of_values_decide_as_the_values(
    sign: Operator, constant: int, values: list[int | None]
) -> None:
    comparison = Comparison("n", sign, () if sign.startswith("IS") else (constant,))
    there = [each for each in values if each is not None]
    bounds = Bounds(
        min(there, default=None),
        max(there, default=None),
        has_nulls=None in values,
        has_values=bool(there),
    )
    fits = any(is_true(comparison, each) for each in values)
    assert comparison.may_hold(bounds) or not fits
    if len(set(values)) == 1:
        assert comparison.may_hold(Bounds.of(values[0])) == fits


@pytest.mark.parametrize("bounds", [Bounds(), Bounds("a", "b"), Bounds(True, True)])
def test_what_is_not_known_or_of_another_type_may_hold(bounds: Bounds) -> None:
    assert Comparison("n", "=", (7,)).may_hold(bounds)


def test_one_group_has_to_hold_as_a_whole() -> None:
    low, high, other = (
        Comparison(*c) for c in (("a", ">", (1,)), ("a", "<", (5,)), ("b", "=", (0,)))
    )
    bounds = {"a": Bounds(7, 9), "b": Bounds(0, 0)}
    assert may_hold((), bounds)
    assert not may_hold(((low, high),), bounds)
    assert may_hold(((low, high), (other,)), bounds)
    assert may_hold(((low, Comparison("c", "=", (1,))),), bounds), "c may be anything"
    assert conditions_text(((low, high), (other,))) == "a > 1 AND a < 5 OR b = 0"
