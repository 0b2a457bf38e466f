"""Sets that are asked for many numbers, and ranges of work."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from millstream.graph.kernel.triangles import Members, chunks
from tests.support.strategies import examples

NUMBERS = st.lists(st.integers(0, (1 << 64) - 1))


@examples(60)
@given(NUMBERS, NUMBERS)
def test_a_set_knows_its_members_only(members: list[int], others: list[int]) -> None:
    known = np.unique(np.array(members, np.uint64))
    asked = np.array([*members, *others], np.uint64)
    expected = [np.flatnonzero(known == x)[0] if x in known else -1 for x in asked]
    assert Members(known).find(asked).tolist() == expected


@examples(60)
@given(st.lists(st.integers(0, 9)), st.integers(1, 12))
def test_chunks_have_all_entries_and_are_not_too_large(sizes: list[int], limit: int) -> None:
    found = chunks(np.array(sizes, np.int64), limit)
    assert [place for low, high in found for place in range(low, high)] == list(range(len(sizes)))
    assert all(sum(sizes[low:high]) <= limit or high == low + 1 for low, high in found)
