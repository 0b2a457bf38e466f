"""Ids of vertices: distinct ones, where they stand, and what cannot be one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.errors import MillstreamError
from millstream.graph.kernel.ids import IdIndex, distinct_ids, id_column, id_type, merged_ids
from tests.support.strategies import examples

NEAR = st.lists(st.integers(-20, 20))
FAR = st.lists(st.integers(-(1 << 63), (1 << 63) - 1))
TEXTS = st.lists(st.text(max_size=3))


def column(values: list[Any]) -> Any:
    texts = bool(values) and isinstance(values[0], str)
    return id_column(pa.array(values, pa.string() if texts else pa.int64()))


@examples(100)
@given(NEAR | FAR | TEXTS)
def test_distinct_ids_are_in_order_and_name_all_places(values: list[Any]) -> None:
    found, places = distinct_ids(column(values))
    assert found.tolist() == sorted(set(values))
    assert [found.tolist()[place] for place in places] == values


@examples(100)
@given(st.tuples(NEAR, NEAR) | st.tuples(FAR, FAR) | st.tuples(TEXTS, TEXTS))
def test_an_index_finds_its_ids_and_no_others(pair: tuple[list[Any], list[Any]]) -> None:
    known, asked = pair
    if not known or not asked:
        return
    ids = distinct_ids(column(known))[0]
    index = IdIndex(ids)
    order = ids.tolist()
    expected = [order.index(value) if value in order else -1 for value in asked]
    assert index.find(column(asked)).tolist() == expected
    assert [index.place_of(value) for value in asked] == expected


@pytest.mark.parametrize("value", [True, 1.0, "1", None, b"1", 1 << 64])
def test_values_of_other_types_are_no_ids(value: object) -> None:
    assert IdIndex(np.array([0, 1])).place_of(value) == -1


def test_a_number_is_not_the_text_of_it() -> None:
    assert IdIndex(pa.array(["1"])).place_of(1) == -1


def test_ids_that_are_far_apart_need_no_table_of_their_range() -> None:
    ids = np.array([-(1 << 62), 0, 1 << 62])
    assert IdIndex(ids).find(ids).tolist() == [0, 1, 2]
    assert merged_ids([ids, ids]).tolist() == ids.tolist()


@pytest.mark.parametrize("kind", [pa.float64(), pa.bool_(), pa.uint64(), pa.list_(pa.int64())])
def test_other_types_cannot_be_ids(kind: pa.DataType) -> None:
    with pytest.raises(MillstreamError) as error:
        id_type(kind)
    assert error.value.code == "GRAPH_ID_TYPE"


def test_null_is_no_id() -> None:
    with pytest.raises(MillstreamError) as error:
        id_column(pa.array([1, None]))
    assert error.value.code == "GRAPH_ID_NULL"


def test_dictionaries_and_chunks_are_columns_of_ids() -> None:
    chunks = pa.chunked_array([["a"], ["b", "a"]]).dictionary_encode()
    assert id_column(chunks).to_pylist() == ["a", "b", "a"]
