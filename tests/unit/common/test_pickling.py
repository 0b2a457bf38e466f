"""Records of no declared type come back as they were, and apart from each other."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from millstream.common.errors import TypeMismatchError
from millstream.common.pickling import dumps, dumps_apart, loads_apart
from millstream.common.types import Row, RowKind


@pytest.mark.parametrize(
    "values",
    [
        [],
        [1, "a", None],
        [(1, 2), (3, 4)],
        [Row(a=1, b="x"), Row(a=2, b=None)],
        [Row(1, 2), Row(3, 4)],
        [Row(a=1), Row(b=1)],
        [Row(a=1), Row(1)],
        [Row(a=1), (1,)],
        [Row.of_kind(RowKind.DELETE, 1), Row(1)],
        [Row(a=Row(b=1))],
    ],
    ids=repr,
)
def test_values_come_back_as_they_were(values: list[Any]) -> None:
    found = loads_apart(dumps_apart(values))
    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]


def test_rows_share_nothing_that_they_could_change() -> None:
    shared = [1]
    one, other = loads_apart(dumps_apart([Row(a=shared), Row(a=shared)]))
    one["a"].append(2)
    assert other["a"] == [1]


def test_rows_of_one_shape_name_their_fields_once() -> None:
    many = [Row(a_long_name=number) for number in range(100)]
    assert dumps_apart(many).count(b"a_long_name") == 1


class Holder:
    def __init__(self, held: Any) -> None:
        self.held = held


@pytest.mark.parametrize(
    "around",
    [
        lambda lock: lock,
        lambda lock: [1, (2, {"a": lock})],
        lambda lock: Row(a=1, b=lock),
        lambda lock: Holder([lock]),
    ],
    ids=["itself", "nested", "row", "object"],
)
def test_what_cannot_be_pickled_is_named(around: Any) -> None:
    with pytest.raises(TypeMismatchError, match=r"^\[UNPICKLABLE_VALUE\] <unlocked _thread\.lock"):
        dumps(around(threading.Lock()))


def test_a_value_that_contains_itself_and_cannot_be_pickled_ends() -> None:
    value: list[Any] = [threading.Lock()]
    value.insert(0, value)
    with pytest.raises(TypeMismatchError, match=r"_thread\.lock"):
        dumps(value)
