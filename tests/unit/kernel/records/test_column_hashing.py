"""Hashes of columns: for every type, those of the same keys as Python objects."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Row
from millstream.common.time import Instant
from millstream.common.typeinfo import TypeInformation, Types
from millstream.kernel.keys.encoding import KeyEncodingError
from millstream.kernel.keys.hashing import stable_hash
from millstream.kernel.records import column_hashing
from millstream.kernel.records.column_hashing import hash_column, hash_tuples
from tests.support.strategies import examples


def _integers(bits: int) -> st.SearchStrategy[int]:
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    edges = [e for n in range(bits) for e in (2**n, -(2**n), 2**n - 1, -(2**n) - 1)]
    fitting = [edge for edge in edges if low <= edge <= high]
    return st.sampled_from(fitting) | st.integers(low, high)


_FLOATS = st.floats() | st.sampled_from([0.0, -0.0, 1e300, -(2.0**63), 2.0**62, 0.5, float("inf")])
_NAIVE = st.datetimes() | st.datetimes().map(lambda moment: moment.replace(microsecond=0))
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
KINDS: dict[str, tuple[TypeInformation, st.SearchStrategy[Any]]] = {
    "byte": (Types.BYTE(), _integers(8)),
    "short": (Types.SHORT(), _integers(16)),
    "int": (Types.INT(), _integers(32)),
    "long": (Types.LONG(), _integers(64)),
    "big int": (Types.BIG_INT(), st.integers()),
    "bool": (Types.BOOLEAN(), st.booleans()),
    "string": (Types.STRING(), _TEXT | st.just("x" * 200)),
    "char": (Types.CHAR(), st.characters(exclude_categories=["Cs"])),
    "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), st.binary(max_size=10)),
    "float": (Types.FLOAT(), st.floats(width=32)),
    "double": (Types.DOUBLE(), _FLOATS),
    "decimal": (Types.BIG_DEC(), st.decimals(allow_nan=False, places=3)),
    "date": (Types.SQL_DATE(), st.dates()),
    "time": (Types.SQL_TIME(), st.times()),
    "timestamp": (Types.SQL_TIMESTAMP(), _NAIVE),
    "instant": (
        Types.INSTANT(),
        st.integers(-(10**9), 10**9).map(lambda seconds: Instant(seconds, 5_000)),
    ),
    "list": (Types.LIST(Types.LONG()), st.lists(st.integers(0, 3), max_size=2)),
    "pair": (
        Types.TUPLE([Types.STRING(), Types.LONG()]),
        st.tuples(_TEXT, st.none() | st.integers(0, 3)),
    ),
    "tuple of one": (Types.TUPLE([Types.LONG()]), st.tuples(st.none() | st.integers(0, 3))),
    "row": (
        Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.TUPLE([Types.STRING()])]),
        st.builds(lambda a, b: Row(a=a, b=(b,)), st.integers(0, 3), _TEXT),
    ),
}


def column_of(kind: TypeInformation, values: list[Any]) -> pa.Array:
    """The values as a field of records, where each type has one column."""
    return Types.TUPLE([kind]).to_arrow_arrays([(value,) for value in values])[0]


def values_of(kind: TypeInformation, column: pa.Array) -> list[Any]:
    return [value for (value,) in Types.TUPLE([kind]).from_arrow_arrays([column])]


@st.composite
def _columns(draw: st.DrawFn) -> tuple[list[TypeInformation], list[tuple[Any, ...]]]:
    names = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3))
    parts = [st.none() | KINDS[name][1] for name in names]
    rows = draw(st.lists(st.tuples(*parts), min_size=1, max_size=20))
    return [KINDS[name][0] for name in names], rows


@pytest.mark.parametrize("name", sorted(KINDS))
@examples(40)
@given(data=st.data())
def test_a_column_has_the_hashes_of_its_values(name: str, data: st.DataObject) -> None:
    kind, values = KINDS[name]
    keys = data.draw(st.lists(values, min_size=1, max_size=30))
    column = column_of(kind, keys)
    seen = values_of(kind, column)
    assert hash_column(kind, column).tolist() == [stable_hash(key) for key in seen]


@examples(150)
@given(_columns())
def test_columns_have_the_hashes_of_tuples(
    drawn: tuple[list[TypeInformation], list[tuple[Any, ...]]],
) -> None:
    kinds, rows = drawn
    columns = [column_of(kind, [row[place] for row in rows]) for place, kind in enumerate(kinds)]
    seen = zip(*map(values_of, kinds, columns), strict=True)
    assert hash_tuples(kinds, columns).tolist() == [stable_hash(key) for key in seen]


def test_slices_have_the_hashes_of_their_own_values() -> None:
    text, numbers = pa.array(["a", "bc", None, "def"]), pa.array([1, None, 300, -5])
    found = hash_tuples([Types.STRING(), Types.LONG()], [text.slice(1, 3), numbers.slice(1, 3)])
    assert found.tolist() == [stable_hash(key) for key in [("bc", None), (None, 300), ("def", -5)]]


def test_more_rows_than_are_computed_at_once() -> None:
    n = 2 * column_hashing.ROWS + 5
    numbers = np.arange(n) * 7919 - n
    found = hash_column(Types.LONG(), pa.array(numbers))
    assert found.tolist() == [stable_hash(number) for number in numbers.tolist()]


OTHER_ARROW_TYPES = [
    (Types.LONG(), pa.array([1, 2**32 - 1], pa.uint32())),
    (Types.BIG_INT(), pa.array([1, 2**64 - 1], pa.uint64())),
    (Types.STRING(), pa.array(["a", "long"], pa.large_string())),
    (Types.STRING(), pa.array(["a", "b", "a"]).dictionary_encode()),
    (Types.BIG_DEC(), pa.array([Decimal("1.50"), Decimal("2.00")], pa.decimal128(10, 2))),
    (Types.SQL_TIMESTAMP(), pa.array([dt.datetime(2024, 2, 29, 12)], pa.timestamp("ms"))),
    (Types.SQL_DATE(), pa.array([dt.date(2024, 2, 29)], pa.date64())),
]


@pytest.mark.parametrize(("kind", "column"), OTHER_ARROW_TYPES, ids=str)
def test_a_source_may_have_columns_of_other_arrow_types(
    kind: TypeInformation, column: pa.Array
) -> None:
    keys = kind.from_arrow_arrays([column])
    assert hash_column(kind, column).tolist() == [stable_hash(key) for key in keys]


def test_a_missing_value_is_no_key_but_a_part_of_one() -> None:
    column = pa.array([1, None])
    with pytest.raises(KeyEncodingError, match="NULL_KEY"):
        hash_column(Types.LONG(), column)
    assert hash_tuples([Types.LONG()], [column]).tolist() == [
        stable_hash((1,)),
        stable_hash((None,)),
    ]


def test_no_rows_have_no_hashes() -> None:
    for kind, _ in KINDS.values():
        empty = pa.array([], kind.to_arrow())
        assert hash_column(kind, empty).tolist() == hash_tuples([kind], [empty]).tolist() == []
