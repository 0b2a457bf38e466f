"""Large cells: lists in segments and maps in parts, and how they leave and find their page."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from itertools import islice
from typing import Any

import numpy as np
import pytest

from millstream.common.errors import CheckpointError
from millstream.common.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millstream.kernel.keys.hashing import stable_hash
from millstream.kernel.state import large, pages
from millstream.kernel.state.buckets import Buckets
from millstream.kernel.state.cells import Cursor, bind, sweep
from millstream.kernel.state.large import BigMap, LongList, cell_id
from millstream.kernel.state.pages import Directory, MemoryStore, Page, PageStore
from tests.support.kernel_support import Function, keyed_job, values


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is large."""
    for name in ("LARGE_BYTES", "SEGMENT_BYTES", "PART_BYTES"):
        monkeypatch.setattr(large, name, 60)
    monkeypatch.setattr(pages, "SPLIT_BYTES", 120)


class CountingStore(MemoryStore):
    """Counts reads and the bytes written."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[str] = []
        self.written = 0

    def get(self, name: str) -> bytes | None:  # type: ignore[override]
        self.reads.append(name)
        return super().get(name)

    def put(self, name: str, value: bytes) -> None:
        self.written += len(value)
        super().put(name, value)


class Rig:
    """A list, a map and a value state of one operator, in pages that pass through bytes."""

    NAMES = ("list", "map", "value")

    def __init__(self, ttl: StateTtlConfig | None = None) -> None:
        self.store = CountingStore()
        self.directory = Directory()
        self.cursor = Cursor()
        descriptors = [
            ListStateDescriptor("list"),
            MapStateDescriptor("map"),
            ValueStateDescriptor("value"),
        ]
        for descriptor in descriptors[:2]:
            if ttl is not None:
                descriptor.enable_time_to_live(ttl)
        states: list[Any] = [bind(wanted, self.cursor, i) for i, wanted in enumerate(descriptors)]
        self.list, self.map, self.value = states

    def page_store(self) -> PageStore:
        directory = pickle.loads(pickle.dumps(self.directory))
        page_store = PageStore(self.store, "op", directory, list(self.NAMES))
        page_store.growing = self.cursor.growing
        return page_store

    @contextmanager
    def key(self, key: Any = "k", *, now_ms: int = 0) -> Iterator[Page]:
        """An epoch in which one key is touched."""
        page_store = self.page_store()
        hashes = np.array([stable_hash(key)], np.uint32)
        page = page_store.load(int(page_store.directory.buckets(hashes)[0]))
        self.cursor.now_ms = now_ms
        self.cursor.cells = cells = page.entries.setdefault(key, [None] * len(self.NAMES))
        yield page
        if all(cell is None for cell in cells):
            del page.entries[key]
        page_store.write(page)
        self.directory = page_store.directory

    def cells(self, key: Any = "k") -> list[Any]:
        with self.key(key) as page:
            return page.entries[key]

    def content(self, key: Any = "k") -> tuple[list[Any], list[Any]]:
        with self.key(key):
            return list(self.list.get()), list(self.map.items())

    def values_of_cells(self) -> set[str]:
        return {name for name in self.store if name.count("/") == 2}


class TestLongList:
    def test_list_that_outgrows_its_page_moves_out_and_reads_the_same(self, tiny: None) -> None:
        rig = Rig()
        with rig.key():
            rig.list.add_all(range(100))
        assert isinstance(rig.cells()[0], LongList)
        assert rig.content()[0] == list(range(100))

    def test_appending_leaves_what_was_sealed_alone(self, tiny: None) -> None:
        rig = Rig()
        with rig.key():
            rig.list.add_all(range(100))
        before = {name: rig.store[name] for name in rig.values_of_cells()}
        for start in range(100, 300, 20):
            with rig.key():
                rig.list.add_all(range(start, start + 20))
        assert before.items() <= rig.store.items()
        assert len(rig.values_of_cells()) > len(before)
        assert rig.content()[0] == list(range(300))

    def test_segments_are_read_one_by_one(self, tiny: None) -> None:
        rig = Rig()
        with rig.key():
            rig.list.add_all(range(200))
        with rig.key():
            rig.store.reads.clear()
            assert next(iter(rig.list.get())) == 0
        assert len(rig.store.reads) == 1

    @pytest.mark.parametrize("count", [3, 100])
    def test_iterator_sees_what_was_there_when_it_was_made(self, tiny: None, count: int) -> None:
        rig = Rig()
        with rig.key():
            rig.list.add_all(range(count))
        with rig.key():
            elements = rig.list.get()
            rig.list.add("before the first")
            seen = []
            # Bounded: without a snapshot this would never end.
            for element in islice(elements, 2 * count):
                rig.list.add("more")
                seen.append(element)
            assert seen == list(range(count))
            rig.list.add_all(islice(rig.list.get(), 5 * count))
        assert len(rig.content()[0]) == 2 * (2 * count + 1)

    @pytest.mark.parametrize("count", [3, 100])
    def test_iterator_outlives_clear_and_update(self, tiny: None, count: int) -> None:
        rig = Rig()
        with rig.key():
            rig.list.add_all(range(count))
        with rig.key():
            elements = rig.list.get()
            rig.list.update(element for element in rig.list.get() if element % 2)
            rig.list.clear()
            assert list(elements) == list(range(count))

    def test_replaced_list_leaves_nothing_behind(self, tiny: None) -> None:
        rig = Rig()
        with rig.key():
            rig.list.add_all(range(200))
        with rig.key():
            rig.list.update([1])
        assert not rig.values_of_cells()
        assert rig.content()[0] == [1]

    def test_list_replaced_by_another_large_one_has_only_its_segments(self, tiny: None) -> None:
        rig = Rig()
        with rig.key():
            rig.list.add_all(range(400))
        many = len(rig.values_of_cells())
        with rig.key():
            rig.list.update(range(100, 200))
        assert 0 < len(rig.values_of_cells()) < many
        assert rig.content()[0] == list(range(100, 200))

    def test_few_huge_elements_are_segments_of_their_own(self, tiny: None) -> None:
        rig = Rig()
        with rig.key():
            rig.list.add_all(["a" * 1_000, "b" * 1_000])
        assert len(rig.values_of_cells()) == 2
        assert rig.content()[0] == ["a" * 1_000, "b" * 1_000]


class TestBigMap:
    def test_map_that_outgrows_its_page_moves_out_and_reads_the_same(self, tiny: None) -> None:
        rig = Rig()
        content = {f"k{number}": number for number in range(100)}
        with rig.key():
            rig.map.put_all(content)
        assert isinstance(rig.cells()[1], BigMap)
        assert rig.content()[1] == list(content.items())

    def test_order_is_that_of_a_dict(self, tiny: None) -> None:
        rig, model = Rig(), dict.fromkeys(range(50), 0)
        with rig.key():
            rig.map.put_all(model)
        with rig.key():
            for target in (rig.map, model):
                target[7] = 1
                del target[3]
                target[3] = 2
                target[99] = 3
        with rig.key():
            assert list(rig.map.keys()) == list(rig.map) == list(model)
            assert list(rig.map.values()) == list(model.values())
            assert list(rig.map.items()) == list(model.items())

    def test_access_loads_one_part(self, tiny: None) -> None:
        rig = Rig()
        with rig.key():
            rig.map.put_all({number: number for number in range(200)})
        assert len(rig.values_of_cells()) > 10
        with rig.key():
            rig.store.reads.clear()
            assert (rig.map.get(5), rig.map.contains(5), rig.map.is_empty()) == (5, True, False)
            rig.map.put(5, 6)
            rig.map.remove(5)
        assert len(rig.store.reads) == 1

    def test_value_changed_in_place_is_written(self, tiny: None) -> None:
        rig = Rig()
        with rig.key():
            rig.map.put_all({number: [number] for number in range(50)})
        with rig.key():
            rig.map.get(20).append("more")
        with rig.key():
            assert rig.map.get(20) == [20, "more"]

    def test_what_is_only_read_is_not_written(self, tiny: None) -> None:
        rig = Rig()
        with rig.key():
            rig.map.put_all({f"k{number}": [number] for number in range(50)})
            rig.list.add_all(range(100))
        rig.store.written = 0
        assert len(rig.content()[1]) == 50
        assert rig.store.written == 0

    def test_parts_split_as_they_grow_and_go_when_they_are_empty(self, tiny: None) -> None:
        rig = Rig()
        for start in range(0, 500, 50):
            with rig.key():
                rig.map.put_all({number: number for number in range(start, start + 50)})
        sizes = [len(rig.store[name]) for name in rig.values_of_cells()]
        assert max(sizes) < 400
        with rig.key():
            for number in range(499):
                rig.map.remove(number)
        assert len(rig.values_of_cells()) == 1
        with rig.key():
            rig.map.remove(499)
        assert not rig.store

    def test_keys_may_be_anything_a_dict_takes(self, tiny: None) -> None:
        rig = Rig()
        odd: dict[Any, int] = {None: 1, (None, 2): 2, object: 3, 1.5: 4}
        with rig.key():
            rig.map.put_all({number: number for number in range(50)} | odd)
        with rig.key():
            assert [rig.map.get(key) for key in odd] == [1, 2, 3, 4]
            assert [rig.map.get(key) for key in (np.int64(7), 7.0, True)] == [7, 7, 1]
            with pytest.raises(TypeError):
                rig.map.put({}, 1)

    def test_keys_that_are_equal_by_their_encodings_are_one_key(self, tiny: None) -> None:
        rig = Rig()
        odd: list[Any] = [math.nan, [1], (math.nan, 1), Decimal("0.10")]
        with rig.key():
            rig.map.put_all({number: number for number in range(50)})
            for number, key in enumerate(odd):
                rig.map.put(key, number)
        with rig.key():
            again = [float("nan"), [1.0], (-math.nan, True), Decimal("0.1")]
            assert [rig.map.get(key) for key in again] == [0, 1, 2, 3]
            assert [rig.map.contains(key) for key in again] == [True] * 4
            assert list(map(repr, list(rig.map.keys())[-4:])) == list(map(repr, odd))
            assert list(map(repr, dict(list(rig.map.items())[:3]))) == ["0", "1", "2"]
            for key in again:
                rig.map.remove(key)
            assert list(rig.map.keys()) == list(range(50))

    def test_a_few_huge_values_make_no_deep_table(self) -> None:
        store = MemoryStore()
        entries = BigMap("cell", Buckets())
        entries.bind(store, "op")
        entries.fill({number: f"{number}" * 1_000_000 for number in range(4)}, 4_000_000)
        assert len(pickle.dumps(entries)) < 1_000


class TestInPages:
    def test_cells_leave_nothing_behind_when_they_are_cleared(self, tiny: None) -> None:
        rig = Rig()
        with rig.key():
            rig.list.add_all(range(100))
            rig.map.put_all({number: number for number in range(100)})
        with rig.key():
            rig.map.clear()
        assert rig.content() == (list(range(100)), [])
        assert all("-" not in name for name in rig.values_of_cells())
        with rig.key():
            rig.list.clear()
        assert not rig.store

    def test_key_that_is_removed_leaves_nothing_behind(self, tiny: None) -> None:
        rig = Rig()
        with rig.key():
            rig.list.add_all(range(100))
            rig.map.put_all({number: number for number in range(100)})
        with rig.key() as page:
            del page.entries["k"]
            rig.cursor.cells[:] = [1]
        assert not rig.store

    def test_value_of_the_user_stays_what_it_is(self, tiny: None) -> None:
        rig = Rig()
        with rig.key():
            rig.value.update(list(range(1_000)))
        assert not rig.values_of_cells()
        with rig.key():
            rig.value.value().append("more")
        assert rig.cells()[2] == [*range(1_000), "more"]

    def test_handles_move_with_their_keys_when_pages_split(self, tiny: None) -> None:
        rig = Rig()
        for key in range(20):
            with rig.key(key):
                rig.list.add_all(range(key, key + 100))
                rig.map.put_all(dict.fromkeys(range(50), key))
        assert len(rig.directory.all_present()) > 4
        for key in range(20):
            elements, entries = rig.content(key)
            assert elements == list(range(key, key + 100))
            assert entries == [(number, key) for number in range(50)]

    def test_all_pages_can_be_scanned(self, tiny: None) -> None:
        rig = Rig()
        with rig.key():
            rig.list.add_all(range(100))
        (page,) = rig.page_store().scan()
        assert list(page.entries["k"][0]) == list(range(100))

    def test_small_cells_stay_in_their_page(self) -> None:
        rig = Rig()
        with rig.key():
            rig.list.add_all(f"{number:0100}" for number in range(200))
            rig.map.put_all({number: f"{number:0100}" for number in range(10)})
        assert list(rig.store) == ["op/0.0"]
        assert isinstance(rig.cells()[0], list)

    def test_state_that_is_no_longer_asked_for_is_kept(self, tiny: None) -> None:
        rig = Rig()
        with rig.key():
            rig.list.add_all(range(100))
        page_store = PageStore(rig.store, "op", rig.directory, ["new"])
        page = page_store.load(0)
        page.entries["k"][0] = 1
        page_store.write(page)
        assert rig.content()[0] == list(range(100))

    def test_missing_value_is_an_error_that_names_the_operator(self, tiny: None) -> None:
        rig = Rig()
        with rig.key():
            rig.list.add_all(range(100))
        del rig.store[min(rig.values_of_cells())]
        with pytest.raises(CheckpointError, match="'op'") as caught:
            rig.content()
        assert caught.value.code == "MISSING_PAGE"

    def test_cells_of_one_operator_have_different_names(self) -> None:
        cells = [("a", "b"), ("ab", ""), ("a", "c"), (1, "b"), (("a",), "b"), (b"a", "b")]
        assert len({cell_id(*cell) for cell in cells}) == len(cells)
        assert cell_id(1, "b") == cell_id(True, "b")


def in_ttl(**options: bool) -> Rig:
    builder = StateTtlConfig.new_builder(100)
    if options.get("on_read"):
        builder.update_ttl_on_read_and_write()
    if options.get("show_expired"):
        builder.return_expired_if_not_cleaned_up()
    return Rig(builder.build())


def swept(rig: Rig, now_ms: int) -> bool:
    """Sweep the key's cells in an epoch; True if no state is left."""
    with rig.key(now_ms=now_ms):
        kinds = [(0, "list", rig.list._ttl), (1, "map", rig.map._ttl)]
        return sweep(rig.cursor.cells, kinds)


class TestTimeToLive:
    def test_elements_of_a_long_list_expire_one_by_one(self, tiny: None) -> None:
        rig = in_ttl()
        for now_ms in range(0, 100, 2):
            with rig.key(now_ms=now_ms):
                rig.list.add(now_ms)
        with rig.key(now_ms=131):
            assert isinstance(rig.cursor.cells[0], LongList)
            assert list(rig.list.get()) == list(range(32, 100, 2))

    def test_leading_segments_go_when_they_have_expired(self, tiny: None) -> None:
        rig = in_ttl()
        for now_ms in range(0, 100, 2):
            with rig.key(now_ms=now_ms):
                rig.list.add(now_ms)
        before = len(rig.values_of_cells())
        assert not swept(rig, 150)
        assert 0 < len(rig.values_of_cells()) < before
        rig.store.reads.clear()
        assert not swept(rig, 150)
        assert len(rig.store.reads) == 1, "when the leading segment expires is known"
        assert swept(rig, 200)
        assert not rig.store

    def test_reading_a_list_that_has_expired_whole_removes_it(self, tiny: None) -> None:
        rig = in_ttl()
        with rig.key():
            rig.list.add_all(range(100))
        with rig.key(now_ms=100):
            assert list(rig.list.get()) == []
        assert not rig.store

    def test_reading_lets_a_long_list_live_on_where_configured(self, tiny: None) -> None:
        rig = in_ttl(on_read=True)
        with rig.key():
            rig.list.add_all(range(100))
        for now_ms in (60, 120, 180):
            with rig.key(now_ms=now_ms):
                assert list(rig.list.get()) == list(range(100))
        assert rig.values_of_cells()

    def test_expired_elements_of_a_long_list_are_shown_once_where_configured(
        self, tiny: None
    ) -> None:
        rig = in_ttl(show_expired=True)
        with rig.key():
            rig.list.add_all(range(100))
        with rig.key(now_ms=500):
            assert list(rig.list.get()) == list(range(100))
            assert list(rig.list.get()) == []

    def test_parts_of_a_big_map_are_swept_in_turn(self, tiny: None) -> None:
        rig = in_ttl()
        with rig.key():
            rig.map.put_all({number: number for number in range(100)})
        parts = len(rig.values_of_cells())
        assert parts > 5
        rig.store.reads.clear()
        assert not swept(rig, 100)
        assert len(rig.store.reads) == 2, "the page and one part"
        assert [swept(rig, 100) for _ in range(parts - 1)] == [False] * (parts - 2) + [True]
        assert not rig.store

    @pytest.mark.parametrize("count", [3, 100])
    def test_access_to_an_entry_leaves_the_others_alone(self, tiny: None, count: int) -> None:
        rig = in_ttl(show_expired=True)
        with rig.key():
            rig.map.put_all({number: number for number in range(count)})
        with rig.key(now_ms=100):
            assert (rig.map.get(0), rig.map.get(0)) == (0, None)
            assert (rig.map.contains(1), rig.map.contains(1)) == (True, False)
            rig.map.put(2, "new")
            assert list(rig.map.keys()) == [*range(3, count), 2]
            assert list(rig.map.items()) == [(2, "new")]

    @pytest.mark.parametrize("count", [3, 100])
    def test_expired_entries_are_as_good_as_gone(self, tiny: None, count: int) -> None:
        rig = in_ttl()
        with rig.key():
            rig.map.put_all({number: number for number in range(count)})
        with rig.key(now_ms=50):
            rig.map.put(1, "live")
        with rig.key(now_ms=100):
            assert (rig.map.get(0), rig.map.contains(2)) == (None, False)
            rig.map.put(0, "new")
            assert list(rig.map.items()) == [(1, "live"), (0, "new")]
        with rig.key(now_ms=200):
            assert rig.map.is_empty()
        assert not rig.store


class TestBytesOfAnEpoch:
    """What an epoch writes follows from what it changes."""

    def test_of_a_list(self) -> None:
        rig = Rig()
        with rig.key():
            rig.list.add_all(range(100_000))
        rig.store.written = 0
        with rig.key():
            rig.list.add_all(range(10))
        assert rig.store.written < 50_000

    def test_of_a_map(self) -> None:
        rig = Rig()
        with rig.key():
            rig.map.put_all({f"key {number}": number for number in range(100_000)})
        rig.store.written = 0
        with rig.key():
            rig.map.put_all({f"key {number}": -1 for number in range(0, 100_000, 10_000)})
        assert rig.store.written < 200_000


class TestInAJob:
    def test_results_do_not_depend_on_where_epochs_are_cut(self, tiny: None) -> None:
        def process(function: Any, value: Any, ctx: Any) -> Any:
            function.seen.add(value[1])
            function.last.put(value[1] % 30, value[1])
            if value[1] % 40 == 39:
                yield list(function.seen.get()), list(function.last.items())
                function.seen.clear()
                function.last.remove(value[1] % 30)

        def job() -> Any:
            function = Function(
                process,
                seen=lambda context: context.get_list_state(ListStateDescriptor("seen")),
                last=lambda context: context.get_map_state(MapStateDescriptor("last")),
            )
            return keyed_job([(("ab"[n % 2], n), n) for n in range(240)], function)

        whole = values(job().epoch(240))
        cut = job()
        assert [out for _ in range(30) for out in values(cut.epoch(8))] == whole
        assert len(whole) == 6
        assert cut.state_entries() > 10
