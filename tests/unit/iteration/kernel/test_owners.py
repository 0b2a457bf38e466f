"""The owner of a key is the same everywhere."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.errors import TypeMismatchError
from millstream.iteration.kernel.owners import hashed, hashed_numbers, owners
from millstream.spark.io.xxhash64 import xxhash64
from tests.support.strategies import examples

LONGS = st.integers(-(2**63), 2**63 - 1)


@examples(60)
@given(st.lists(LONGS))
def test_numbers_have_the_hash_of_their_eight_bytes(numbers: list[int]) -> None:
    expected = [xxhash64(n.to_bytes(8, "little", signed=True)) for n in numbers]
    assert hashed_numbers(np.array(numbers, np.int64)).tolist() == expected


def test_many_blocks_are_hashed_like_one() -> None:
    numbers = np.arange(-40_000, 40_000)
    apart = [int(hashed_numbers(numbers[at : at + 1])[0]) for at in range(0, 80_000, 7_919)]
    assert hashed_numbers(numbers)[::7_919].tolist() == apart


@pytest.mark.parametrize("tasks", [1, 2, 3, 7])
def test_owners_are_tasks_and_all_have_work(tasks: int) -> None:
    # Keys that are all even must not leave every second task without work.
    found = np.bincount(owners(np.arange(0, 20_000, 2), tasks), minlength=tasks)
    assert len(found) == tasks
    assert found.min() > 0.9 * 10_000 / tasks


def test_the_type_of_a_number_does_not_matter() -> None:
    wide = owners(np.arange(100), 5).tolist()
    for kind in (pa.int8(), pa.int16(), pa.int32(), pa.uint32()):
        assert owners(pa.array(range(100), kind), 5).tolist() == wide
    assert owners(np.arange(100, dtype=np.int32), 5).tolist() == wide
    assert owners(list(range(100)), 5).tolist() == wide


@examples(30)
@given(st.lists(st.text(), min_size=1))
def test_texts_have_one_owner_however_they_are_stored(texts: list[str]) -> None:
    expected = owners(texts, 7).tolist()
    column = pa.array(texts)
    for stored in (
        column.cast(pa.large_string()),
        column.cast(pa.binary()),
        column.dictionary_encode(),
        pa.chunked_array([column[:1], column[1:]]),
        pa.concat_arrays([pa.array(["before"]), column])[1:],
    ):
        assert owners(stored, 7).tolist() == expected
    assert owners(np.array(texts, object), 7).tolist() == expected


def test_no_keys_have_no_owners() -> None:
    assert owners([], 3).tolist() == []
    assert owners(pa.array([], pa.string()), 3).tolist() == []
    assert owners(np.array([], np.int64), 3).tolist() == []


def test_empty_texts_have_owners() -> None:
    assert len(set(owners(["", ""], 3).tolist())) == 1


def test_a_null_has_no_owner() -> None:
    with pytest.raises(TypeMismatchError, match=r"LOOP_KEY_NULL.*1 of 2 keys are null"):
        hashed(pa.array([1, None]))


@pytest.mark.parametrize("keys", [[0.5], [True], [(1, 2)], np.array([1], np.uint64)])
def test_other_types_are_refused(keys: object) -> None:
    with pytest.raises(TypeMismatchError, match="LOOP_KEY_TYPE"):
        hashed(keys)
