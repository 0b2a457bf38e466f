"""Rows of keys in pages that split as they grow."""

from __future__ import annotations

import numpy as np
import pytest

from millstream.common import Types
from millstream.common.errors import CheckpointError
from millstream.kernel.records.key_columns import KeyColumns
from millstream.kernel.state.pages import Directory, MemoryStore, PageStore
from millstream.kernel.tables import arrangement as module
from millstream.kernel.tables.arrangement import PAGE_BYTES, PointArrangement
from millstream.kernel.tables.rows import RowForm, Rows, concat_rows

FORM = RowForm(Types.TUPLE([Types.LONG(), Types.LONG()]), KeyColumns((0,), (Types.LONG(),), True))


def rows(keys: range) -> Rows:
    return FORM.rows(list(keys), [(key, key * 2) for key in keys], [True] * len(keys))


class State:
    """The pages of an operator over several epochs."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.pages = PageStore(self.store, "op", Directory(), [])

    def add(self, new: Rows) -> int:
        """Put new rows beside those of their pages; gives how many visits that takes."""
        arranged, number = PointArrangement(self.pages, FORM), 0
        for visit in arranged.visits(new.hashes):
            mine = new if visit.places is None else new.take(visit.places)
            arranged.replace(visit, concat_rows([visit.rows, mine]))
            number += 1
        return number

    def found(self) -> list[tuple[int, int]]:
        pages = [FORM.decode(data, "op") for data in self.store.values()]
        return sorted(value for page in pages for value in FORM.values(page))


def test_rows_come_back_whatever_pages_they_are_in() -> None:
    state = State()
    for start in range(0, 20_000, 5_000):
        state.add(rows(range(start, start + 5_000)))
    assert state.found() == [(key, key * 2) for key in range(20_000)]
    sizes = list(map(len, state.store.values()))
    assert len(sizes) > 4
    assert max(sizes) <= PAGE_BYTES + 2_000
    assert state.pages.size == (20_000, 0, sum(sizes))


def test_only_the_pages_of_the_keys_are_loaded() -> None:
    state = State()
    state.add(rows(range(20_000)))
    one = rows(range(7, 8))
    (visit,) = PointArrangement(state.pages, FORM).visits(one.hashes)
    assert len(visit.loaded) == 1
    assert (7, 14) in FORM.values(visit.rows)
    assert len(visit.rows) < 4_000


def test_pages_that_do_not_change_are_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    state = State()
    state.add(rows(range(100)))
    written: list[str] = []
    monkeypatch.setattr(state.store, "put", lambda name, data: written.append(name))
    arranged = PointArrangement(state.pages, FORM)
    for visit in arranged.visits(rows(range(3)).hashes):
        arranged.replace(visit, visit.rows)
    assert written == []


def test_pages_without_rows_go() -> None:
    state = State()
    state.add(rows(range(20_000)))
    arranged = PointArrangement(state.pages, FORM)
    for visit in arranged.visits(rows(range(20_000)).hashes):
        arranged.replace(visit, FORM.nothing())
    assert dict(state.store) == {}
    assert state.pages.size == (0, 0, 0)
    assert not state.pages.directory.present.any()
    state.add(rows(range(5)))
    assert state.found() == [(key, key * 2) for key in range(5)]


def test_many_pages_are_visited_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "VISITED_BYTES", PAGE_BYTES)
    state = State()
    assert state.add(rows(range(20_000))) == 1
    assert state.add(rows(range(20_000, 40_000))) > 2
    assert state.found() == [(key, key * 2) for key in range(40_000)]


def test_a_few_large_rows_do_not_make_a_large_directory() -> None:
    form = RowForm(Types.TUPLE([Types.LONG(), Types.STRING()]), FORM.key)
    state, text = State(), "x" * PAGE_BYTES
    for _ in range(8):
        arranged = PointArrangement(state.pages, form)
        large = form.rows([1, 2, 3], [(key, text) for key in (1, 2, 3)], [True] * 3)
        for visit in arranged.visits(large.hashes):
            arranged.replace(visit, large)
    assert state.pages.directory.depth <= 8


def test_a_page_that_is_gone_is_an_error() -> None:
    state = State()
    state.add(rows(range(3)))
    state.store.clear()
    with pytest.raises(CheckpointError, match="MISSING_PAGE"):
        list(PointArrangement(state.pages, FORM).visits(np.array([5], np.uint32)))
