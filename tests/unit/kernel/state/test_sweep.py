"""The order in which a sweep visits keys."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import millstream.kernel.state.sweep as module
from millstream.kernel.keys.hashing import tie_breaker
from millstream.kernel.state.pages import Page
from millstream.kernel.state.sweep import in_key_order, key_order
from tests.support.strategies import examples

KEYS = st.one_of(
    st.integers(), st.text(max_size=3), st.tuples(st.integers(0, 3), st.text(max_size=1))
)


@examples(60)
@given(st.lists(st.lists(KEYS, unique_by=repr, max_size=8), max_size=4))
def test_keys_come_by_hash_and_then_by_the_second_hash(groups: list[list[Any]]) -> None:
    pages, known = [], set()
    for number, keys in enumerate(groups):
        page = Page(2, number)
        for key in keys:
            if repr(key) not in known:
                known.add(repr(key))
                page.entries[key] = [None, key] if len(page.entries) % 3 else [None, None]
        pages.append(page)
    expected = [
        (key, page) for page in pages for key, cells in page.entries.items() if cells[1] is not None
    ]
    expected.sort(key=lambda found: key_order(found[0]))
    assert [(k, id(p)) for k, p in in_key_order(pages, 1)] == [(k, id(p)) for k, p in expected]


def test_keys_of_one_hash_come_by_the_second_hash(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "stable_hashes", lambda keys: [key % 2 for key in keys])
    page = Page(0, 0)
    page.entries.update((key, [key]) for key in range(1, 12))
    found = [key for key, _ in in_key_order([page], 0)]
    even, odd = [k for k in found if k % 2 == 0], [k for k in found if k % 2]
    assert found == even + odd
    for part in (even, odd):
        assert part == sorted(part, key=tie_breaker)
