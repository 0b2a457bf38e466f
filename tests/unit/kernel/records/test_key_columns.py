"""Keys that are columns: what they hold, and which rows have the same."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Types
from millstream.kernel.keys.encoding import encode_key
from millstream.kernel.keys.hashing import stable_hash
from millstream.kernel.records.key_columns import KeyColumns
from tests.support.strategies import examples

RECORD = Types.ROW_NAMED(["user", "item", "price"], [Types.STRING(), Types.LONG(), Types.DOUBLE()])
ROWS = st.lists(
    st.tuples(
        st.none() | st.sampled_from(["", "a", "b"]),
        st.none() | st.integers(0, 2),
        st.none() | st.sampled_from([0.0, -0.0, 1.0, 0.5, float("nan")]),
    ),
    min_size=1,
)


def key_of(*fields: int | str) -> KeyColumns:
    found = KeyColumns.of(fields, RECORD)
    assert found is not None
    return found


@examples(100)
@given(ROWS)
def test_rows_have_one_number_exactly_if_they_have_one_key(rows: list[Any]) -> None:
    arrays = [pa.array(column) for column in zip(*rows, strict=True)]
    arrays = [
        a.cast(t) for a, t in zip(arrays, (pa.string(), pa.int64(), pa.float64()), strict=True)
    ]
    key = key_of("user", "item", "price")
    codes, encoded = key.codes(arrays).tolist(), [encode_key(k) for k in key.values(arrays)]
    assert len(set(zip(codes, encoded, strict=True))) == len(set(codes)) == len(set(encoded))
    assert max(codes) < len(rows)
    assert key.hashes(arrays).tolist() == [stable_hash(k) for k in key.values(arrays)]


def test_a_key_of_one_column_is_its_value_or_a_tuple_of_it() -> None:
    arrays = RECORD.to_arrow_arrays([("a", 1, 0.5), ("b", None, 1.0)])
    alone, in_tuple = KeyColumns.of("user", RECORD), key_of("item")
    assert alone is not None
    assert alone.values(arrays) == ["a", "b"]
    assert in_tuple.values(arrays) == [(1,), (None,)]


def test_fields_that_records_do_not_have_are_no_key() -> None:
    assert KeyColumns.of(None, RECORD) is None
    assert KeyColumns.of("other", RECORD) is None
    assert KeyColumns.of(("user", 7), RECORD) is None
    assert KeyColumns.of(0, Types.LONG()) is None
    assert KeyColumns.of((0, 2), None) is None
