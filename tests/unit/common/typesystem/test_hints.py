"""Types from type hints and from values."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Annotated, Any, Dict, List, NamedTuple, NewType, Optional, Tuple, Union  # noqa: UP035

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.time import Instant
from millstream.common.typeinfo import (
    TypeInformation,
    Types,
    infer_from_values,
    infer_return_type,
    infer_type,
)
from millstream.common.types import Row, RowKind
from tests.support.strategies import examples
from tests.support.type_strategies import anything, typed_values

BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
PICKLED = Types.PICKLED_BYTE_ARRAY()
UserId = NewType("UserId", int)


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Person:
    name: str


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (int, Types.LONG()),
        (float, Types.DOUBLE()),
        (str, Types.STRING()),
        (bool, Types.BOOLEAN()),
        (bytes, BYTES),
        (Decimal, Types.BIG_DEC()),
        (datetime, Types.SQL_TIMESTAMP()),
        (date, Types.SQL_DATE()),
        (time, Types.SQL_TIME()),
        (Instant, Types.INSTANT()),
        (tuple[str, int], PAIR),
        (Tuple[str, int], PAIR),  # noqa: UP006
        (list[int], Types.LIST(Types.LONG())),
        (List[int], Types.LIST(Types.LONG())),  # noqa: UP006
        (dict[str, tuple[str, int]], Types.MAP(Types.STRING(), PAIR)),
        (Dict[str, int], Types.MAP(Types.STRING(), Types.LONG())),  # noqa: UP006
        (int | None, Types.LONG()),
        (Optional[int], Types.LONG()),  # noqa: UP045
        (Union[None, str], Types.STRING()),  # noqa: UP007
        (Annotated[int, "id"], Types.LONG()),
        (UserId, Types.LONG()),
        (tuple[str, UserId | None], PAIR),
    ],
)
def test_hints_with_a_type(hint: object, expected: TypeInformation) -> None:
    assert infer_type(hint) == expected


@pytest.mark.parametrize(
    "hint",
    [
        Any, object, None, type(None), int | str, Point, Person, Row, list, tuple, dict, set[int],
        tuple[int, ...], tuple[()], list[Any], tuple[str, Person], dict[str, Any], "int", [], 3,
        Iterator[int],
    ],
)  # fmt: skip
def test_hints_without_a_type(hint: object) -> None:
    assert infer_type(hint) is None


def to_pair(word: str) -> tuple[str, int]:
    return word, 1


def unannotated(word):  # type: ignore[no-untyped-def]
    return word


def unresolvable(word: str) -> NoSuchName:  # type: ignore[name-defined]  # noqa: F821
    return word


class Callback:
    def __call__(self, word: str) -> int:
        return len(word)

    def method(self, word: str) -> str:
        return word


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (to_pair, PAIR),
        (functools.partial(to_pair, "a"), PAIR),
        (Callback(), Types.LONG()),
        (Callback().method, Types.STRING()),
        (str, Types.STRING()),
        (int, Types.LONG()),
        (unannotated, None),
        (unresolvable, None),
        (lambda word: word, None),
        (len, None),
        (Person, None),
        (3, None),
    ],
)
def test_return_types(function: Any, expected: TypeInformation | None) -> None:
    assert infer_return_type(function) == expected


def iterator(line: str) -> Iterator[tuple[str, int]]:
    yield line, 1


def iterable(line: str) -> Iterable[tuple[str, int]]:
    return [(line, 1)]


def generator(line: str) -> Generator[tuple[str, int], None, None]:
    yield line, 1


def listing(line: str) -> list[tuple[str, int]] | None:
    return [(line, 1)]


def many(line: str) -> tuple[tuple[str, int], ...]:
    return ((line, 1),)


@pytest.mark.parametrize("function", [iterator, iterable, generator, listing, many])
def test_element_types(function: Any) -> None:
    assert infer_return_type(function, elements=True) == PAIR


@pytest.mark.parametrize("function", [to_pair, unannotated, str, len])
def test_no_element_types(function: Any) -> None:
    assert infer_return_type(function, elements=True) is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], Types.LONG()),
        ([1, None], Types.LONG()),
        ([True], Types.BOOLEAN()),
        ([1.5], Types.DOUBLE()),
        (["a"], Types.STRING()),
        ([b"a"], BYTES),
        ([Decimal(1)], Types.BIG_DEC()),
        ([datetime(2020, 1, 1)], Types.SQL_TIMESTAMP()),
        ([date(2020, 1, 1)], Types.SQL_DATE()),
        ([time(1)], Types.SQL_TIME()),
        ([Instant(0, 0)], Types.INSTANT()),
        ([("a", 1), None, ("b", None)], PAIR),
        ([[1], [], None], Types.LIST(Types.LONG())),
        ([[]], Types.LIST(PICKLED)),
        ([{"a": 1}, {}], Types.MAP(Types.STRING(), Types.LONG())),
        ([Row("a", 1)], Types.ROW([Types.STRING(), Types.LONG()])),
        ([Row(a="x"), Row(a=None)], Types.ROW_NAMED(["a"], [Types.STRING()])),
        ([("a", 1), ("b", 1.5)], Types.TUPLE([Types.STRING(), PICKLED])),
    ],
)
def test_types_of_values(values: list[Any], expected: TypeInformation) -> None:
    assert infer_from_values(values) == expected


@pytest.mark.parametrize(
    "values",
    [
        [], [None], [1, 2.5], [1, True], ["a", b"a"], [(1,), (1, 2)], [()], [Row()],
        [Row(a=1), Row(b=1)], [Row(1), Row(a=1)], [Row.of_kind(RowKind.DELETE, 1)],
        [2**63], ["\ud800"], [datetime(2020, 1, 1, tzinfo=UTC)], [Instant(0, 1)],
        [date(2020, 1, 1), datetime(2020, 1, 1)], [Point(1, 2)], [Person("a")], [{None: 1}],
        [OrderedDict(a=1)], [{1}], [(1,), [1]],
    ],
)  # fmt: skip
def test_values_without_a_common_type_are_pickled(values: list[Any]) -> None:
    assert infer_from_values(values) == PICKLED


@examples(100)
@given(typed_values())
def test_inferred_types_give_typed_values_back(pair: tuple[TypeInformation, list[Any]]) -> None:
    _, values = pair
    inferred = infer_from_values(values)
    assert inferred.from_arrow_arrays(inferred.to_arrow_arrays(values)) == values


def without_numbers(value: Any) -> Any:
    """The value with rows that do not show numbers for names: they equal those that do."""
    if isinstance(value, list):
        return [without_numbers(item) for item in value]
    if isinstance(value, tuple):
        return tuple(map(without_numbers, value))
    if isinstance(value, dict):
        return {without_numbers(key): without_numbers(item) for key, item in value.items()}
    if isinstance(value, Row):
        row = Row(*map(without_numbers, value))
        if value._fields is not None:
            row.set_field_names(value._fields)
        return row
    return value


@examples(100)
@given(st.lists(anything(), max_size=4))
def test_inferred_types_give_any_values_back(values: list[Any]) -> None:
    inferred = infer_from_values(values)
    back = inferred.from_arrow_arrays(inferred.to_arrow_arrays(values))
    # NaN is not equal to itself, but its text is.
    assert repr(without_numbers(back)) == repr(values)
