"""Values come back from columns exactly as they were, whatever type was declared for them."""

from __future__ import annotations

import os
import pickle
from collections import OrderedDict, namedtuple
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.errors import CheckpointError
from millstream.common.time import Instant
from millstream.common.typeinfo import TypeInformation, Types
from millstream.common.types import Row, RowKind
from millstream.kernel.snapshot.fields import Field, fits_exactly, holds_pickles
from tests.support.strategies import examples

NAN, INF = float("nan"), float("inf")
Point = namedtuple("Point", "x")


class Colour(Enum):
    RED = 1


class Text(str):
    """Not a plain `str`."""


def table_of(field: Field, values: list[Any]) -> pa.Table:
    return pa.Table.from_arrays(field.encode(values), schema=pa.schema(field.schema()))


def told(value: Any) -> Any:
    """All there is to know of a value: equal values of different classes are different."""
    if isinstance(value, Row):
        return Row, value._fields, value._row_kind, [told(part) for part in value._values]
    if isinstance(value, list | tuple | set):
        return type(value), [told(part) for part in value]
    if isinstance(value, dict):
        return type(value), [(told(key), told(item)) for key, item in value.items()]
    if isinstance(value, int) and not isinstance(value, Enum):
        return type(value), int(value)
    return type(value), repr(value), getattr(value, "fold", None)


PAIR = Types.TUPLE([Types.LONG(), Types.TUPLE([Types.STRING()])])
NAMED = Types.ROW_NAMED(["x", "y"], [Types.LONG(), Types.STRING()])
CASES: list[tuple[TypeInformation | None, list[Any]]] = [
    (None, [1, "a", 2.5, None, True, 1 << 70, "\ud800", b"x", (1, 2), [1], NAN, -0.0, Text("t")]),
    (None, ["a", "\ud800"]),
    (None, ["a", ""]),
    (None, [1 << 63, 1]),
    (None, [1, None]),
    (None, [1.5, NAN]),
    (None, [np.int64(1), np.float64(2), Colour.RED, frozenset({1})]),
    (Types.PICKLED_BYTE_ARRAY(), [1, {2}, None, "a"]),
    (Types.LONG(), [1, True, 1 << 63, None, 1.0, "x", -(1 << 63), np.int64(3)]),
    (Types.INT(), [1 << 31, 5, -(1 << 31)]),
    (Types.SHORT(), [1, 40_000]),
    (Types.BYTE(), [1, 128, -128]),
    (Types.BOOLEAN(), [True, 1, None, False]),
    (Types.DOUBLE(), [1, 1.5, True, NAN, None, INF, -0.0, (1 << 60) + 1]),
    (Types.FLOAT(), [0.5, 0.1, NAN, 1e300, INF, None, -0.0, 1]),
    (Types.STRING(), ["a", "\ud800", "", "\0", None, 1, Text("t")]),
    (Types.CHAR(), ["a", "ab", "", "\ud800"]),
    (Types.BIG_INT(), [10**50, 10**5000, None, True, -1]),
    (
        Types.BIG_DEC(),
        [Decimal("1.50"), Decimal("1E+5"), Decimal("-0"), Decimal("nan"), None, Decimal("1E-900")],
    ),
    (Types.INSTANT(), [Instant(1, 0), Instant(-5, 999_999_999), Instant(1 << 60, 5), None]),
    (Types.INSTANT(), [Instant(3, 5_000), Instant(3, 2_000_000_000), Instant(-1, 1_000)]),
    (Types.SQL_DATE(), [date.min, date.max, None, datetime(2020, 1, 1)]),
    (Types.SQL_TIME(), [time.min, time.max, time(1, 2, 3, 4), None, time(1, tzinfo=UTC)]),
    (Types.SQL_TIME(), [time(1, fold=1)]),
    (Types.SQL_TIMESTAMP(), [datetime.min, datetime.max, datetime(2020, 1, 1, 2, 3, 4, 5), None]),
    (Types.SQL_TIMESTAMP(), [datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, fold=1)]),
    (
        Types.ROW([Types.LONG(), Types.STRING()]),
        [Row(1, "a"), Row(a=1, b="a"), None, Row(True, "a"), Row(1, None), (1, "a"), Row(1)],
    ),
    (Types.ROW([Types.LONG()]), [Row.of_kind(RowKind.DELETE, 1), Row(2)]),
    (NAMED, [Row(x=1, y="a"), Row(y="a", x=1), Row(1, "a"), None, {"x": 1, "y": "b"}]),
    (Types.ROW([]), [Row(), None]),
    (Types.TUPLE([]), [(), None]),
    (PAIR, [(1, ("a",)), (1, None), None, (True, ("a",)), [1, ("a",)], (None, (None,))]),
    (Types.TUPLE([Types.LONG()]), [Point(1), (1, 2), ()]),
    (Types.TUPLE([Types.LONG(), Types.PICKLED_BYTE_ARRAY()]), [(1, {2}), (1, None), None]),
    (Types.LIST(Types.LONG()), [[1, None], [], None, [True], (1,)]),
    (Types.LIST(Types.TUPLE([Types.LONG()])), [[(1,), None], [(None,)], []]),
    (
        Types.LIST(Types.ROW_NAMED(["a"], [Types.LIST(Types.STRING())])),
        [[Row(a=["x", None]), None]],
    ),
    (
        Types.MAP(Types.STRING(), Types.LONG()),
        [{"b": 1, "a": None}, {}, None, {None: 1}, {1: 1}, OrderedDict(a=1)],
    ),
    (Types.MAP(Types.STRING(), Types.LIST(Types.DOUBLE())), [{"b": [1.5], "a": [1]}]),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), [b"ab", b"", None, bytearray(b"a"), [1]]),
    (Types.PRIMITIVE_ARRAY(Types.LONG()), [[1, 2], [], [None], None]),
    (Types.BASIC_ARRAY(Types.STRING()), [["a", None], []]),
    (Types.OBJECT_ARRAY(Types.TUPLE([Types.LONG()])), [[(1,)], None]),
]


@pytest.mark.parametrize(("type_info", "values"), CASES, ids=[str(case[0]) for case in CASES])
def test_exactly_the_same_comes_back(type_info: TypeInformation | None, values: list[Any]) -> None:
    """All of them in one column, and each by itself, for a column is looked at as a whole."""
    field = Field.of("value", type_info)
    for column in (values, values * 2, *[[value] for value in values], []):
        table = table_of(field, column)
        assert list(map(told, field.decode(table))) == list(map(told, column))
        in_parts = pa.concat_tables([table.slice(0, 1), table.slice(1)])
        assert list(map(told, field.decode(in_parts))) == list(map(told, column))


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=3)
    | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.integers(), inner, max_size=3),
    max_leaves=6,
)


@examples(100)
@given(st.lists(ANYTHING, max_size=5), st.sampled_from([case[0] for case in CASES]))
def test_anything_may_be_in_a_state_of_any_type(
    values: list[Any], type_info: TypeInformation | None
) -> None:
    field = Field.of("value", type_info)
    assert list(map(told, field.decode(table_of(field, values)))) == list(map(told, values))


def test_what_fits_its_type_is_not_pickled() -> None:
    for type_info, value in [
        (Types.LONG(), 1),
        (Types.FLOAT(), 0.5),
        (Types.STRING(), "a"),
        (Types.INSTANT(), Instant(1, 5_000)),
        (Types.BASIC_ARRAY(Types.STRING()), ["a", None]),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"a"),
        (Types.MAP(Types.STRING(), NAMED), {"a": Row(x=1, y="b")}),
        (PAIR, (1, ("a",))),
        (None, "a"),
        (None, 1),
        (None, 1.5),
    ]:
        field = Field("value", type_info)
        assert field.encode([value])[-1].null_count == 1, type_info
        assert field.decode(table_of(field, [value]), trusted=False) == [value]


def test_a_wrong_value_does_not_make_the_others_unreadable() -> None:
    typed, pickled = Field("value", Types.LONG()).encode([1, True, 3])
    assert typed.to_pylist() == [1, None, 3]
    assert [data is not None for data in pickled.to_pylist()] == [False, True, False]


BANG = "MILLSTREAM_TEST_BANG"


class Bomb:
    """Runs code when it is read."""

    def __reduce__(self) -> Any:
        return exec, (f"import os; os.environ[{BANG!r}] = 'bang'",)


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BANG, "quiet")


@pytest.mark.parametrize(
    "type_info",
    [
        None,
        Types.LONG(),
        Types.PICKLED_BYTE_ARRAY(),
        Types.LIST(Types.PICKLED_BYTE_ARRAY()),
        Types.TUPLE([Types.LONG(), Types.PICKLED_BYTE_ARRAY()]),
        Types.MAP(Types.STRING(), Types.ROW([Types.PICKLED_BYTE_ARRAY()])),
        Types.OBJECT_ARRAY(Types.PICKLED_BYTE_ARRAY()),
    ],
    ids=str,
)
def test_nothing_is_unpickled_of_who_is_not_trusted(
    type_info: TypeInformation | None, quiet: None
) -> None:
    field = Field("value", type_info)
    table = table_of(field, [Bomb()])
    with pytest.raises(CheckpointError, match="UNTRUSTED_STATE"):
        field.decode(table, trusted=False)
    assert os.environ[BANG] == "quiet"
    field.decode(table)
    assert os.environ[BANG] == "bang"


def test_a_pickle_in_a_typed_column_is_not_read_either(quiet: None) -> None:
    """Nobody writes such a column here, but whoever is not trusted may."""
    field = Field("value", Types.TUPLE([Types.PICKLED_BYTE_ARRAY()]))
    typed = pa.array(
        [{"f0": pickle.dumps(Bomb())}], Types.TUPLE([Types.PICKLED_BYTE_ARRAY()]).to_arrow()
    )
    table = pa.Table.from_arrays(
        [typed, pa.nulls(1, pa.binary())], schema=pa.schema(field.schema())
    )
    with pytest.raises(CheckpointError, match="'value'"):
        field.decode(table, trusted=False)
    assert os.environ[BANG] == "quiet"


def test_types_with_pickles_in_them() -> None:
    pickled = Types.PICKLED_BYTE_ARRAY()
    assert holds_pickles(Types.MAP(Types.STRING(), Types.LIST(Types.TUPLE([pickled]))))
    assert not holds_pickles(Types.MAP(Types.STRING(), Types.LIST(PAIR)))


def test_none_fits_every_type() -> None:
    assert all(fits_exactly(t, [None, None]) for t, _ in CASES if t is not None)
