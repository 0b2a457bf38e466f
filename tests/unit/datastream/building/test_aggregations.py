"""Aggregations of a field: Flink's results, on every kind of record."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Row
from millstream.datastream.building.aggregations import (
    FieldMax,
    FieldMaxBy,
    FieldMin,
    FieldMinBy,
    FieldSum,
)
from millstream.datastream.building.fields import field_of, with_field
from tests.support.strategies import examples

ALL = [FieldSum, FieldMin, FieldMax, FieldMinBy, FieldMaxBy]


class Sale(NamedTuple):
    name: str
    amount: int


@dataclass(frozen=True)
class Order:
    name: str
    amount: int


@pytest.mark.parametrize(
    ("reducer", "expected"),
    [
        (FieldSum(1), ("a", 6, "x")),
        (FieldMin(1), ("a", 1, "x")),
        (FieldMax(1), ("a", 3, "x")),
        (FieldMinBy(1), ("b", 1, "y")),
        (FieldMaxBy(1), ("c", 3, "z")),
    ],
)
def test_other_fields_are_of_the_first_record_or_of_the_chosen_one(
    reducer: Any, expected: Any
) -> None:
    records = [("a", 2, "x"), ("b", 1, "y"), ("c", 3, "z")]
    assert reduce(reducer, records) == expected


@pytest.mark.parametrize("reducer", [FieldMin(1), FieldMax(1), FieldMinBy(1), FieldMaxBy(1)])
def test_of_equal_values_the_first_record_stays(reducer: Any) -> None:
    older = ("a", 1)
    assert reducer(older, ("b", 1)) is older


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda name, n: (name, n), 1),
        (lambda name, n: [name, n], 1),
        (lambda name, n: Row(name, n), 1),
        (lambda name, n: Row(name=name, amount=n), "amount"),
        (lambda name, n: Row(name=name, amount=n), 1),
        (lambda name, n: {"name": name, "amount": n}, "amount"),
        (Sale, 1),
        (Sale, "amount"),
        (Order, "amount"),
    ],
)
def test_every_kind_of_record(make: Callable[[str, int], Any], field: int | str) -> None:
    older, newer = make("a", 2), make("b", 1)
    assert FieldSum(field)(older, newer) == make("a", 3)
    assert FieldMin(field)(older, newer) == make("a", 1)
    assert FieldMax(field)(newer, older) == make("b", 2)
    assert FieldMinBy(field)(older, newer) == newer
    assert FieldMaxBy(field)(older, newer) == older
    assert type(FieldSum(field)(older, newer)) is type(older)
    assert older == make("a", 2), "the stored record must not change"


def test_plain_numbers() -> None:
    assert reduce(FieldSum(0), [1, 2, 3]) == 6
    assert reduce(FieldMin(0), [2, 1, 3]) == reduce(FieldMinBy(0), [2, 1, 3]) == 1
    assert reduce(FieldMax(0), [2, 3, 1]) == reduce(FieldMaxBy(0), [2, 3, 1]) == 3


@pytest.mark.parametrize(
    ("value", "field"), [(5, 1), (("a", 1), "n"), ("abc", 1), (Order("a", 1), 1)]
)
def test_field_that_is_not_there(value: Any, field: Any) -> None:
    with pytest.raises(TypeError, match="has no field"):
        field_of(value, field)


@pytest.mark.parametrize("reducer", ALL)
def test_reducers_are_plain_data(reducer: Any) -> None:
    one = reducer(1)
    assert pickle.loads(pickle.dumps(one)) == one
    assert one.kind in ("sum", "min", "max", "min_by", "max_by")


@examples(100)
@given(
    st.lists(st.integers(), min_size=1, max_size=5),
    st.data(),
    st.sampled_from([tuple, list, lambda values: Row(*values)]),
)
def test_with_field_changes_one_field(values: list[int], data: Any, make: Any) -> None:
    position = data.draw(st.integers(0, len(values) - 1))
    changed = with_field(make(values), position, "new")
    expected: list[Any] = [*values]
    expected[position] = "new"
    assert changed == make(expected)
