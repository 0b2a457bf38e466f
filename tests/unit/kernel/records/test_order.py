"""Order keys sort like the tuples they stand for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.kernel.records.order import (
    OrderKeys,
    Origin,
    arrival_step,
    concat,
    from_rows,
    ordinal_code,
    run_ordinals,
)
from millstream.kernel.time.clock import Clock
from tests.support.strategies import examples

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
    for ordinals in ([2, 0, 1], [2, 0, 300]):
        assert paths(keys.extended(np.array(ordinals))) == [
            encoded([*row[5], n + 1]) for row, n in zip(rows, ordinals, strict=True)
        ]
    assert paths(keys.through(encoded([4, 5]))) == [encoded([*row[5], 4, 5]) for row in rows]


def test_an_operator_is_done_with_a_record_before_its_effects_come() -> None:
    """J reads a record, and what P makes of it: J has its turn first, whatever the edges are."""
    j, p = 0, 1
    direct = [arrival_step(j, 4) + encoded([n]) for n in (1, 2, 300)]
    around = [arrival_step(p, None) + encoded([1]) + arrival_step(j, 0) + encoded([1])]
    assert direct[0] > b""
    assert [*direct, *around] == sorted([*around, *direct])


CLOCK = Clock(before=0, after=100, now_ms=0)


def test_timers_of_one_instant_go_by_depth_then_by_key_and_operator() -> None:
    shallow, deep = Origin.of("z", 1), Origin.of("a", 2)
    record = (9, 0, 99, 99, 99, b"\xf0")
    timers = [
        shallow.timer(10, CLOCK, 7, 0, 0),
        deep.timer(10, CLOCK, 3, 0, 0),
        deep.timer(11, CLOCK, 1, 0, 0),
    ]
    ticks = [deep.tick(9, 7, 0, 5), shallow.tick(9, 3, 0, 1)]
    assert sorted([*timers, record, *ticks]) == [*ticks, record, *timers]
    one, other = Origin.of("a", 1), Origin.of("b", 1)
    orders = [one.timer(10, CLOCK, 3, 0, 0), other.timer(10, CLOCK, 3, 0, 0)]
    assert orders[0] < orders[1] < one.timer(10, CLOCK, 4, 0, 0)


def test_at_the_end_timers_go_by_depth_then_by_time() -> None:
    shallow, deep = Origin.of("z", 1), Origin.of("a", 2)
    ended = Clock(before=0, after=20, now_ms=0, ends=True)
    orders = [
        deep.timer(20, ended, 9, 0, 0),
        shallow.timer(30, ended, 8, 0, 0),
        shallow.timer(40, ended, 7, 0, 0),
        deep.timer(21, ended, 6, 0, 0),
    ]
    assert orders == sorted(orders)


@pytest.mark.parametrize("lag", [0, 2])
def test_timers_by_column_are_as_one_by_one(lag: int) -> None:
    clock, origin = Clock(before=0, after=20, now_ms=0, ends=True, lag=lag), Origin.of("a", 3)
    rows = [(19, 7, 1, 10), (20, 6, 0, 15), (21, 5, 2, 20), (400, 4, 0, 30)]
    columns = [np.array(column, np.int64) for column in zip(*rows, strict=True)]
    whole = origin.timers(columns[0], clock, *columns[1:])
    expected = [origin.timer(row[0], clock, *row[1:]) for row in rows]
    assert as_tuples(whole) == [order[:5] for order in expected]
    assert paths(whole) == [order[5] for order in expected]


def test_a_clock_behind_its_channels_stamps_as_the_channels_do() -> None:
    clock = Clock(before=5, after=10, now_ms=0, lag=2)
    assert Origin.of("a", 1).timer(10, clock, 3, 0, 0)[0] == 11
    assert clock.stamp_before == 7
    assert Clock(before=MIN_TIMESTAMP, after=9, now_ms=0, lag=2).stamp_before == MIN_TIMESTAMP


def test_a_long_uid_counts_by_its_hash() -> None:
    long = ["x" * 40 + end for end in "ab"]
    assert len({Origin.of(uid, 1).path for uid in long}) == 2
    assert all(len(Origin.of(uid, 1).path) <= 33 for uid in long)


def test_keys_of_a_fragment_count_positions() -> None:
    keys = OrderKeys.of_fragment(np.array([3, 3, 8]), channel=9, frag=100, first_pos=102)
    assert as_tuples(keys) == [(3, 0, 9, 100, 102), (3, 0, 9, 100, 103), (8, 0, 9, 100, 104)]
    assert keys.argsort() is None


@examples(60)
@given(st.lists(st.integers(0, 3), max_size=10).map(sorted))
def test_run_ordinals_count_within_a_run(rows: list[int]) -> None:
    expected = [rows[:place].count(row) for place, row in enumerate(rows)]
    found = run_ordinals(np.array(rows, np.int64))
    assert ([0] * len(rows) if found is None else found.tolist()) == expected


def test_an_emission_follows_the_one_before_it_of_the_same_cause() -> None:
    causes = OrderKeys.of_fragment(np.zeros(2, np.int64), 0, 0, 0)
    emitted = causes.take(np.array([0, 0, 1])).extended(np.array([0, 1, 0]))
    arrived = emitted.through(arrival_step(3, None))
    one, other = np.array([0, 1, 0]), np.array([1, 2, 2])
    assert emitted.follow(one, other).tolist() == [True, False, False]
    assert arrived.follow(one, other, arrival_step(3, None)).tolist() == [True, False, False]
    again = arrived.extended(None)
    assert not again.follow(one, other).any()
