"""Pages of state: a dictionary that grows in parts, and knows when its timers are due."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.errors import CheckpointError
from millstream.kernel.keys.hashing import stable_hash
from millstream.kernel.state import pages
from millstream.kernel.state.pages import NEVER, Directory, MemoryStore, Page, PageStore
from tests.support.strategies import examples

NAMES = ["count", "note"]


@contextmanager
def tiny_pages(split_bytes: int = 150, split_keys: int = 3) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "SPLIT_BYTES", split_bytes)
        patch.setattr(pages, "SPLIT_KEYS", split_keys)
        yield


class CountingStore(MemoryStore):
    """Notes what is written and removed."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[str] = []

    def put(self, name: str, value: bytes) -> None:
        self.log.append(f"put {name}")
        super().put(name, value)

    def remove(self, name: str) -> None:
        self.log.append(f"remove {name}")
        super().remove(name)


class Epochs:
    """A store with its directory, which passes through bytes between epochs as in a checkpoint."""

    def __init__(self, names: list[str] | None = None) -> None:
        self.store = CountingStore()
        self.saved = pickle.dumps(Directory())
        self.names = NAMES if names is None else names

    @contextmanager
    def open(self) -> Iterator[PageStore]:
        page_store = PageStore(self.store, "op", pickle.loads(self.saved), list(self.names))
        yield page_store
        self.saved = pickle.dumps(page_store.directory)


def bucket_of(page_store: PageStore, key: Any) -> int:
    return int(page_store.directory.buckets(np.array([stable_hash(key)], np.uint32))[0])


@contextmanager
def page_with(page_store: PageStore, key: Any) -> Iterator[Page]:
    page = page_store.load(bucket_of(page_store, key))
    yield page
    page_store.write(page)


def put(page_store: PageStore, key: Any, *cells: Any) -> None:
    with page_with(page_store, key) as page:
        page.entries[key] = list(cells)


KEYS = st.integers(0, 40) | st.text(max_size=2)
CELLS = st.tuples(st.integers(), st.text(max_size=30))
TIMES = st.integers(-5, 5)
CHANGE = st.one_of(
    st.tuples(st.just("put"), KEYS, CELLS),
    st.tuples(st.just("remove"), KEYS, st.none()),
    st.tuples(st.just("event_timers"), KEYS, TIMES),
    st.tuples(st.just("tick_timers"), KEYS, TIMES),
    st.tuples(st.just("cancel"), KEYS, st.none()),
)


def change(target: Any, what: str, key: Any, argument: Any) -> None:
    """One change to a page; the model has the same fields."""
    if what == "put":
        target.entries[key] = list(argument)
    elif what == "remove":
        target.entries.pop(key, None)
    elif what == "cancel":
        target.event_timers.pop(key, None)
        target.tick_timers.pop(key, None)
    else:
        times = getattr(target, what).setdefault(key, [])
        times[:] = sorted({*times, (argument, None)})


@examples(60)
@given(st.lists(st.lists(CHANGE, max_size=25), max_size=4), st.integers(0, 2_000))
def test_pages_behave_like_one_dictionary(epochs: list[list[Any]], size: int) -> None:
    model, kept = Page(0, 0), Epochs()
    with tiny_pages():
        for changes in epochs:
            with kept.open() as page_store:
                keys = [key for _, key, _ in changes]
                page_store.prepare(np.array([stable_hash(key) for key in keys], np.uint32), size)
                for what, key, argument in changes:
                    with page_with(page_store, key) as page:
                        change(page, what, key, argument)
                    change(model, what, key, argument)
            check(kept, model)


def check(kept: Epochs, model: Page) -> None:
    with kept.open() as page_store:
        found = list(page_store.scan())
        for name in ("entries", "event_timers", "tick_timers"):
            content = [item for page in found for item in getattr(page, name).items()]
            assert len(content) == len(dict(content))
            assert dict(content) == getattr(model, name)
        assert not any(page.is_empty() for page in found)
        assert set(kept.store) == {f"op/{page.depth}.{page.prefix}" for page in found}
        for now in range(-6, 7):
            assert due(page_store, event=now) == {
                k for k, t in first_times(model.event_timers, now)
            }
            assert due(page_store, tick=now) == {k for k, t in first_times(model.tick_timers, now)}


def first_times(timers: dict[Any, Any], now: int) -> list[tuple[Any, int]]:
    return [(key, times[0][0]) for key, times in timers.items() if times[0][0] <= now]


def due(page_store: PageStore, event: int = -NEVER, tick: int = -NEVER) -> set[Any]:
    """The keys with due timers, on the pages that the directory calls due and no others."""
    found = set()
    for bucket in page_store.directory.due(event, tick):
        page = page_store.load(bucket)
        here = first_times(page.event_timers, event) + first_times(page.tick_timers, tick)
        assert here, "a page without due timers was visited"
        found |= {key for key, _ in here}
    return found


def test_page_that_grows_splits_and_leaves_no_old_page_behind() -> None:
    kept = Epochs()
    with tiny_pages(500):
        for key in range(60):
            with kept.open() as page_store:
                put(page_store, key, key, f"{key:020}")
    assert len(kept.store) >= 4
    assert all(len(data) <= 500 for data in kept.store.values())


def test_page_with_nothing_but_timers_splits_too() -> None:
    kept = Epochs()
    with tiny_pages(500):
        for key in range(200):
            with kept.open() as page_store, page_with(page_store, key) as page:
                page.event_timers[key] = [(key, None)]
    assert all(len(data) <= 500 for data in kept.store.values())


def test_directory_grows_with_the_number_of_keys_not_with_the_size_of_values() -> None:
    kept = Epochs()
    with kept.open() as page_store:
        for key in range(1_000):
            put(page_store, key, b"x" * 9_000, None)
    assert len(kept.saved) < 1_000_000


def test_pages_that_are_prepared_for_the_size_of_their_keys_do_not_split_again() -> None:
    kept = Epochs()
    keys = list(range(4_000))
    with kept.open() as page_store:
        page_store.prepare(np.array([stable_hash(key) for key in keys], np.uint32), 200 * len(keys))
        depths = set(page_store.directory.depths.tolist())
        by_page: dict[int, list[int]] = {}
        for key in keys:
            by_page.setdefault(bucket_of(page_store, key), []).append(key)
        for bucket, members in by_page.items():
            page = page_store.load(bucket)
            page.entries.update((key, [key, f"{key:0190}"]) for key in members)
            page_store.write(page)
        assert set(page_store.directory.depths.tolist()) == depths
    sizes = [len(data) for data in kept.store.values()]
    assert len(sizes) == len(kept.store.log)
    assert min(sizes) > pages.SPLIT_BYTES / 4
    assert max(sizes) <= pages.SPLIT_BYTES


def test_few_keys_with_large_values_are_prepared_for_a_page_each_and_no_more() -> None:
    with Epochs().open() as page_store:
        page_store.prepare(np.array([stable_hash(key) for key in range(10)], np.uint32), 10**9)
        assert page_store.directory.depth == 3


def test_unchanged_page_is_not_written_again() -> None:
    kept = Epochs()
    with kept.open() as page_store:
        put(page_store, "a", 1, ["some"])
    kept.store.log.clear()
    with kept.open() as page_store:
        page_store.write(page_store.load(bucket_of(page_store, "a")))
    assert kept.store.log == []


def test_every_page_has_its_turn_to_be_swept() -> None:
    kept = Epochs()
    with tiny_pages():
        with kept.open() as page_store:
            for key in range(40):
                put(page_store, key, key, f"{key:020}")
        with kept.open() as page_store:
            everything = page_store.directory.all_present()
            turns = [page_store.directory.next_to_sweep(4) for _ in range(len(everything))]
    assert len(everything) > 8
    assert {bucket for turn in turns for bucket in turn} == set(everything)


def test_value_changed_in_place_is_written() -> None:
    kept = Epochs()
    with kept.open() as page_store:
        put(page_store, "a", 1, ["some"])
    with kept.open() as page_store, page_with(page_store, "a") as page:
        page.entries["a"][1].append("more")
    with kept.open() as page_store:
        assert page_store.load(0).entries == {"a": [1, ["some", "more"]]}


def test_page_without_content_is_removed_and_costs_no_read() -> None:
    kept = Epochs()
    with kept.open() as page_store:
        put(page_store, "a", 1, "")
    with kept.open() as page_store, page_with(page_store, "a") as page:
        page.entries.clear()
    assert kept.store.log == ["put op/0.0", "remove op/0.0"]
    with kept.open() as page_store:
        assert page_store.load(0).is_empty()


def test_missing_page_is_an_error_that_names_operator_and_page() -> None:
    kept = Epochs()
    with kept.open() as page_store:
        put(page_store, "a", 1, "")
    kept.store.clear()
    with kept.open() as page_store, pytest.raises(CheckpointError) as caught:
        page_store.load(0)
    assert caught.value.code == "MISSING_PAGE"
    assert "'op'" in caught.value.message
    assert "0.0" in caught.value.message


def test_page_of_another_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Epochs()
    with kept.open() as page_store:
        put(page_store, "a", 1, "")
    monkeypatch.setattr(pages, "FORMAT", 99)
    with kept.open() as page_store, pytest.raises(CheckpointError) as caught:
        page_store.load(0)
    assert caught.value.code == "PAGE_FORMAT"


def test_states_are_found_by_name_when_the_program_has_changed() -> None:
    kept = Epochs(["count", "note"])
    with kept.open() as page_store:
        put(page_store, "a", 1, "x")
    kept.names = ["new", "count"]
    with kept.open() as page_store:
        page = page_store.load(0)
        assert page_store.names == ["new", "count", "note"]
        assert page.entries == {"a": [None, 1, "x"]}
