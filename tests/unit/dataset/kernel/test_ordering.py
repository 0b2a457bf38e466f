"""Bytes that sort as values do."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.errors import TypeMismatchError
from millstream.dataset.kernel.ordering import ordered
from tests.support.strategies import examples

NUMBERS = (
    st.integers(-(2**80), 2**80)
    | st.integers(-5, 5)
    | st.floats(allow_nan=False)
    | st.booleans()
    | st.decimals(allow_nan=False, allow_infinity=False, min_value=-1000, max_value=1000, places=3)
)
TEXTS = st.text(max_size=4)


@examples(300)
@given(NUMBERS, NUMBERS)
def test_numbers_of_all_classes_sort_by_value(left: Any, right: Any) -> None:
    assert (ordered(left) < ordered(right)) == (left < right)
    assert (ordered(left) == ordered(right)) == (left == right)


@examples(150)
@given(st.tuples(TEXTS, st.binary(max_size=3)), st.tuples(TEXTS, st.binary(max_size=3)))
def test_tuples_of_texts_and_bytes_sort_as_in_python(left: Any, right: Any) -> None:
    assert (ordered(left) < ordered(right)) == (left < right)


def test_none_comes_first_and_nan_last() -> None:
    values = [math.nan, math.inf, 2**70, 1, -math.inf, None]
    assert sorted(values, key=ordered) == [None, -math.inf, 1, 2**70, math.inf, values[0]]


def test_times_sort_in_order() -> None:
    days = [dt.date(2024, 1, 2), dt.date(1999, 12, 31)]
    zone = dt.timezone(dt.timedelta(hours=2))
    times = [dt.datetime(2024, 1, 1, 3, tzinfo=zone), dt.datetime(2024, 1, 1, 0, tzinfo=dt.UTC)]
    assert sorted(days, key=ordered) == days[::-1]
    assert sorted(times, key=ordered) == times[::-1]


@pytest.mark.parametrize("value", [object(), {1}, 10**400, {"a": 1}])
def test_what_has_no_order_is_refused(value: Any) -> None:
    with pytest.raises(TypeMismatchError, match="DATASET_ORDER"):
        ordered(value)


def test_decimals_sort_with_floats() -> None:
    assert ordered(Decimal("0.1")) != ordered(0.1)  # the float is a little more
    assert ordered(Decimal("0.1")) < ordered(0.1)
    assert ordered(Decimal(2)) == ordered(2.0) == ordered(2)
