"""Lists and maps of any size, cut into epochs anywhere: they behave like Python's own."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.state import ListStateDescriptor, MapStateDescriptor, StateTtlConfig
from millstream.kernel.keys.hashing import stable_hash
from millstream.kernel.state import large, pages
from millstream.kernel.state.cells import Cursor, bind, sweep
from millstream.kernel.state.large import BigMap, LongList
from millstream.kernel.state.pages import Directory, MemoryStore, Page, PageStore
from tests.support.strategies import examples

TTL_MS = 100
NAMES = ["list", "map"]


@contextmanager
def tiny() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, size in (("LARGE_BYTES", 50), ("SEGMENT_BYTES", 40), ("PART_BYTES", 60)):
            patch.setattr(large, name, size)
        patch.setattr(pages, "SPLIT_BYTES", 60)
        yield


ELEMENTS = st.integers(-3, 300) | st.text(max_size=12)
MAP_KEYS = st.integers(0, 25) | st.sampled_from(("a", 1.0, None, (1, "x"), 2.5, b"b"))
LIST_CALL = st.one_of(
    st.tuples(st.just("add"), ELEMENTS),
    st.tuples(st.just("add_all"), st.lists(ELEMENTS, max_size=40)),
    st.tuples(st.just("update"), st.lists(ELEMENTS, max_size=20)),
    st.tuples(st.just("get")),
    st.tuples(st.just("clear")),
)
MAP_CALL = st.one_of(
    st.tuples(st.just("put"), MAP_KEYS, ELEMENTS | st.lists(ELEMENTS, max_size=3)),
    st.tuples(st.just("change in place"), MAP_KEYS),
    st.tuples(st.just("put_all"), st.dictionaries(MAP_KEYS, ELEMENTS, max_size=20)),
    st.tuples(st.just("remove"), MAP_KEYS),
    st.tuples(st.just("get"), MAP_KEYS),
    st.tuples(st.just("contains"), MAP_KEYS),
    st.tuples(st.sampled_from(("items", "keys", "values", "is_empty", "clear"))),
)
CALLS = st.lists(st.tuples(st.just(0), LIST_CALL) | st.tuples(st.just(1), MAP_CALL), max_size=8)
VISITS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from((0, 0, 10, 40)), CALLS), max_size=15
)
"""In each epoch a key, how far the clock moves, and what is done with the key's states."""


class ListModel:
    """A list of pairs (value, last use)."""

    def __init__(self, on_read: bool) -> None:
        self.on_read = on_read
        self.now = 0
        self.pairs: list[tuple[Any, int]] = []

    def at(self, now: int) -> ListModel:
        self.now = now
        self.pairs = [pair for pair in self.pairs if pair[1] + TTL_MS > now]
        return self

    def get(self) -> list[Any]:
        if self.on_read:
            self.pairs = [(value, self.now) for value, _ in self.pairs]
        return [value for value, _ in self.pairs]

    def add(self, value: Any) -> None:
        self.pairs.append((value, self.now))

    def add_all(self, values: list[Any]) -> None:
        self.pairs += [(value, self.now) for value in values]

    def update(self, values: list[Any]) -> None:
        self.pairs = [(value, self.now) for value in values]

    def clear(self) -> None:
        self.pairs = []


class MapModel:
    """A dict of pairs (value, last use)."""

    def __init__(self, on_read: bool) -> None:
        self.on_read = on_read
        self.now = 0
        self.pairs: dict[Any, tuple[Any, int]] = {}

    def at(self, now: int) -> MapModel:
        self.now = now
        self.pairs = {key: pair for key, pair in self.pairs.items() if pair[1] + TTL_MS > now}
        return self

    def get(self, key: Any) -> Any:
        if self.on_read and key in self.pairs:
            self.pairs[key] = self.pairs[key][0], self.now
        return self.pairs.get(key, (None,))[0]

    def contains(self, key: Any) -> bool:
        self.get(key)
        return key in self.pairs

    def put(self, key: Any, value: Any) -> None:
        self.pairs[key] = value, self.now

    def put_all(self, content: dict[Any, Any]) -> None:
        for key, value in content.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        self.pairs.pop(key, None)

    def keys(self) -> list[Any]:
        return list(self.pairs)

    def items(self) -> list[Any]:
        return [(key, self.get(key)) for key in self.pairs]

    def values(self) -> list[Any]:
        return [self.get(key) for key in self.pairs]

    def is_empty(self) -> bool:
        return not self.pairs

    def clear(self) -> None:
        self.pairs = {}


class Job:
    """A list and a map state of one operator; all that outlives an epoch passes through bytes."""

    def __init__(self, ttl: StateTtlConfig | None) -> None:
        self.store = MemoryStore()
        self.saved = pickle.dumps(Directory())
        self.cursor = Cursor()
        self.states: list[Any] = []
        for descriptor in (ListStateDescriptor("list"), MapStateDescriptor("map")):
            if ttl is not None:
                descriptor.enable_time_to_live(ttl)
            self.states.append(bind(descriptor, self.cursor, len(self.states)))
        kinds = [(0, "list"), (1, "map")]
        self.expiring = [(i, kind, self.states[i]._ttl) for i, kind in kinds if ttl is not None]

    def visit(self, key: str, now: int, calls: list[Any]) -> list[Any]:
        """What the calls of an epoch return."""
        self.cursor.now_ms = now
        page_store = self.open()
        hashes = np.array([stable_hash(key)], np.uint32)
        page = page_store.load(int(page_store.directory.buckets(hashes)[0]))
        self.cursor.cells = page.entries.setdefault(key, [None, None])
        results = [call(self.states[index], *wanted) for index, wanted in calls]
        for each in [k for k, cells in page.entries.items() if sweep(cells, self.expiring)]:
            del page.entries[each]
        page_store.write(page)
        self.saved = pickle.dumps(page_store.directory)
        return results

    def open(self) -> PageStore:
        page_store = PageStore(self.store, "op", pickle.loads(self.saved), list(NAMES))
        page_store.growing = self.cursor.growing
        return page_store

    def check_names(self) -> bool:
        """The store holds what pages and handles refer to, no more; True if there are handles."""
        found = list(self.open().scan())
        names = {f"op/{page.depth}.{page.prefix}" for page in found}
        cells = [cell for page in found for key in page.entries for cell in page.entries[key]]
        handles = [cell for cell in cells if isinstance(cell, LongList | BigMap)]
        assert set(self.store) == names.union(*map(names_of, handles))
        assert all(set(page.large) == with_handles(page) for page in found)
        return bool(handles)


def call(target: Any, method: str, *arguments: Any) -> Any:
    if method == "change in place":
        value = target.get(*arguments)
        return value.append("more") if isinstance(value, list) else None
    # A copy: state and model must not share a value that changes.
    result = getattr(target, method)(*deepcopy(arguments))
    return deepcopy(list(result) if isinstance(result, Iterator) else result)


def names_of(cell: LongList | BigMap) -> set[str]:
    if isinstance(cell, LongList):
        return {f"op/{cell._cell}/{number}" for number in range(cell._first, cell._end)}
    parts = [cell._buckets.locate(bucket) for bucket in cell._buckets.all_present()]
    return {f"op/{cell._cell}/{depth}-{prefix}" for depth, prefix in parts}


def with_handles(page: Page) -> set[Any]:
    return {
        key
        for key, cells in page.entries.items()
        if any(isinstance(cell, LongList | BigMap) for cell in cells)
    }


def check(visits: list[Any], *, expires: bool, on_read: bool) -> None:
    ttl = None
    if expires:
        builder = StateTtlConfig.new_builder(TTL_MS)
        ttl = (builder.update_ttl_on_read_and_write() if on_read else builder).build()
    job, now = Job(ttl), 0
    models: dict[str, Any] = {key: (ListModel(on_read), MapModel(on_read)) for key in "abcd"}
    with tiny():
        for key, step, calls in visits:
            now += step if expires else 0
            expected = [call(models[key][i].at(now), *wanted) for i, wanted in calls]
            assert job.visit(key, now, calls) == expected
            job.check_names()
        for key, (elements, entries) in models.items():
            seen = job.visit(key, now, [(0, ("get",)), (1, ("items",))])
            assert seen == [elements.at(now).get(), entries.at(now).items()]
            assert job.visit(key, now, [(0, ("clear",)), (1, ("clear",))]) == [None, None]
    assert not job.store


@examples(150)
@given(VISITS)
def test_states_behave_like_a_list_and_a_dict(visits: list[Any]) -> None:
    check(visits, expires=False, on_read=False)


@examples(150)
@given(VISITS, st.booleans())
def test_expiring_states_behave_like_a_list_and_a_dict_of_pairs(
    visits: list[Any], on_read: bool
) -> None:
    check(visits, expires=True, on_read=on_read)


def test_the_calls_above_do_make_large_cells() -> None:
    for index, wanted in enumerate((("add_all", range(40)), ("put_all", dict.fromkeys(range(20))))):
        job = Job(None)
        with tiny():
            job.visit("a", 0, [(index, wanted)])
            assert job.check_names()
