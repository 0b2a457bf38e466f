"""Order keys sort like the tuples they stand for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.kernel.order import OrderKeys, concat, from_rows, ordinal_code, run_ordinals
from strategies import examples

SMALL = st.integers(-2, 2)
ANY = st.sampled_from((MIN_TIMESTAMP, MAX_TIMESTAMP)) | SMALL
ORDINALS = st.integers(0, 2**40) | st.sampled_from((0, 1, 238, 239, 240, 1023, 1024))
PATHS = st.lists(st.sampled_from((0, 1, 238, 239, 300)), max_size=3)
ROWS = st.tuples(ANY, st.sampled_from((-1, 0, 1)), SMALL, SMALL, SMALL, PATHS)

Row = tuple[int, int, int, int, int, list[int]]


def encoded(path: list[int]) -> bytes:
    return b"".join(map(ordinal_code, path))


def keys_of(rows: list[Row]) -> OrderKeys:
    return from_rows([(*row[:5], encoded(row[5])) for row in rows])


def as_tuples(keys: OrderKeys) -> list[tuple[int, ...]]:
    columns = (keys.stamp, keys.born, keys.channel, keys.frag, keys.pos)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@examples(150)
@given(st.lists(ORDINALS, min_size=2))
def test_codes_of_ordinals_keep_their_order(numbers: list[int]) -> None:
    assert sorted(numbers) == sorted(numbers, key=ordinal_code)
    for one, other in pairwise(sorted(set(numbers))):
        assert ordinal_code(one) < ordinal_code(other)


@examples(100)
@given(ORDINALS, ORDINALS)
def test_codes_of_ordinals_are_prefix_free_and_without_zero_bytes(one: int, other: int) -> None:
    assert 0 not in ordinal_code(one)
    assert one == other or not ordinal_code(other).startswith(ordinal_code(one))


@examples(150)
@given(st.lists(ROWS, min_size=1, max_size=12))
def test_sorting_keys_is_sorting_tuples(rows: list[Row]) -> None:
    order = keys_of(rows).argsort()
    places = range(len(rows)) if order is None else order.tolist()
    assert [rows[place] for place in places] == sorted(rows)


@examples(60)
@given(st.lists(st.lists(ROWS, min_size=1, max_size=5), min_size=1, max_size=4))
def test_concat_keeps_rows_and_paths(parts: list[list[Row]]) -> None:
    """Blocks whose path is one value for all rows meet blocks with a path per row."""
    whole = concat([keys_of(part) for part in parts])
    rows = [row for part in parts for row in part]
    assert as_tuples(whole) == [row[:5] for row in rows]
    assert paths(whole) == [encoded(row[5]) for row in rows]


def paths(keys: OrderKeys) -> list[bytes]:
    return [keys.path] * len(keys) if isinstance(keys.path, bytes) else keys.path.tolist()


@pytest.mark.parametrize("shared", [True, False])
def test_emissions_extend_the_path(shared: bool) -> None:
    rows: list[Row] = [(5, 0, 1, 0, n, [7] if shared else [n]) for n in range(3)]
    keys = keys_of(rows)
    assert paths(keys.extended(None)) == [encoded([*row[5], 1]) for row in rows]
    assert paths(keys.extended([2, 0, 300])) == [
        encoded([*row[5], n + 1]) for row, n in zip(rows, [2, 0, 300], strict=True)
    ]
    assert paths(keys.through(4)) == [encoded([*row[5], 4]) for row in rows]


def test_keys_of_a_fragment_count_positions() -> None:
    keys = OrderKeys.of_fragment(np.array([3, 3, 8]), channel=9, frag=100, first_pos=102)
    assert as_tuples(keys) == [(3, 0, 9, 100, 102), (3, 0, 9, 100, 103), (8, 0, 9, 100, 104)]
    assert keys.argsort() is None


@examples(60)
@given(st.lists(st.integers(0, 3), max_size=10).map(sorted))
def test_run_ordinals_count_within_a_run(rows: list[int]) -> None:
    expected = [rows[:place].count(row) for place, row in enumerate(rows)]
    assert (run_ordinals(np.array(rows, np.int64)) or [0] * len(rows)) == expected
