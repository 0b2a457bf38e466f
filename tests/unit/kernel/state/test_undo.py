"""What is put back when a callback fails: cells, large ones too, timers, and what was emitted."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from millstream.common.output_tag import OutputTag
from millstream.common.state import ListStateDescriptor, MapStateDescriptor
from millstream.kernel.records.buffers import Records
from millstream.kernel.records.order import OrderKeys
from millstream.kernel.records.outputs import Outputs
from millstream.kernel.state import large, pages
from millstream.kernel.state.cells import Cursor, bind
from millstream.kernel.state.large import BigMap, LongList
from millstream.kernel.state.pages import Directory, MemoryStore, Page, PageStore
from millstream.kernel.state.undo import SavedKey

TAG = OutputTag("side")


class Cells:
    """A key with a list and a map, each in a cell of its own, that lie in a store."""

    def __init__(self) -> None:
        self.cursor = Cursor()
        self.list: Any = bind(ListStateDescriptor("list"), self.cursor, 0)
        self.map: Any = bind(MapStateDescriptor("map"), self.cursor, 1)
        self.store = PageStore(MemoryStore(), "op", Directory(), ["list", "map"])
        self.store.growing = self.cursor.growing
        self.page = Page(0, 0)
        self.cursor.cells = self.page.entries["a"] = [None, None]

    def settle(self) -> None:
        """Write the page and load it again, as an epoch does."""
        self.store.write(self.page)
        self.page = self.store.load(0)
        self.cursor.cells = self.page.entries["a"]

    def save(self) -> SavedKey:
        return SavedKey(self.page, "a", self.cursor.cells)

    def content(self) -> tuple[list[Any], list[Any]]:
        return deepcopy((list(self.list), list(self.map.items())))


@pytest.fixture
def cells() -> Iterator[Cells]:
    """Content that has moved out of the page, and some that was added since."""
    with pytest.MonkeyPatch.context() as patch:
        for name, size in (("LARGE_BYTES", 50), ("SEGMENT_BYTES", 40), ("PART_BYTES", 60)):
            patch.setattr(large, name, size)
        patch.setattr(pages, "SPLIT_BYTES", 60)
        made = Cells()
        made.list.update([[n] for n in range(50)])
        made.map.put_all({n: [n] for n in range(50)})
        made.settle()
        made.list.add(["new"])
        made.map.put("new", ["new"])
        made.map.put(3, ["changed"])
        assert isinstance(made.cursor.cells[0], LongList)
        assert isinstance(made.cursor.cells[1], BigMap)
        yield made


def spoil(cells: Cells) -> None:
    """Change what is there in all ways."""
    for element in cells.list:
        element.append("spoiled")
    cells.list.add("spoiled")
    for value in cells.map.values():
        value.append("spoiled")
    cells.map.remove(7)
    cells.map.put_all({"spoiled": 1, "more": 2})
    cells.map.put("new", "spoiled")


def test_large_cells_are_as_before(cells: Cells) -> None:
    before = cells.content()
    saved = cells.save()
    spoil(cells)
    saved.undo()
    assert cells.content() == before
    assert len(cells.cursor.cells[1]) == 51
    cells.settle()
    assert cells.content() == before


def test_what_a_call_did_not_touch_before_it_asked_for_all_is_there(cells: Cells) -> None:
    before = cells.content()
    saved = cells.save()
    assert cells.content() == before
    saved.keep()
    assert cells.content() == before


def test_cells_that_a_call_has_cleared_come_back(cells: Cells) -> None:
    before = cells.content()
    saved = cells.save()
    cells.list.clear()
    cells.map.clear()
    saved.undo()
    cells.settle()
    assert cells.content() == before


def test_what_succeeds_stays(cells: Cells) -> None:
    saved = cells.save()
    cells.list.add("later")
    cells.map.put("later", 1)
    cells.map.remove(7)
    saved.keep()
    found = cells.content()
    assert found[0][-2:] == [["new"], "later"]
    assert dict(found[1])["later"] == 1 and 7 not in dict(found[1])
    cells.settle()
    assert cells.content() == found


def test_calls_within_calls(cells: Cells) -> None:
    before = cells.content()
    outer = cells.save()
    cells.map.put("outer", [1])
    cells.list.add(["outer"])
    between = cells.content()
    inner = cells.save()
    spoil(cells)
    inner.undo()
    assert cells.content() == between
    inner = cells.save()
    cells.map.put("inner", [1])
    inner.keep()
    assert cells.map.get("inner") == cells.map.get("outer") == [1]
    outer.undo()
    assert cells.content() == before


def test_a_state_that_is_asked_for_in_the_call_has_an_empty_cell() -> None:
    page = Page(0, 0)
    cells = page.entries["a"] = [[1]]
    saved = SavedKey(page, "a", cells)
    cells[0].append(2)
    cells.append("late")
    saved.undo()
    assert cells == [[1], None]


def test_timers() -> None:
    page = Page(0, 0)
    page.event_timers["a"] = [(1, None), (2, None)]
    saved = SavedKey(page, "a", [])
    page.event_timers["a"].pop()
    page.tick_timers["a"] = [(5, None)]
    page.event_timers["b"] = [(7, None)]
    saved.undo()
    assert page.event_timers == {"a": [(1, None), (2, None)], "b": [(7, None)]}
    assert page.tick_timers == {}


# -- output ----------------------------------------------------------------------------------------


def outputs_of(*, with_failure: bool) -> dict[str, list[tuple[Any, int, Any]]]:
    """What two records and a timer emit; the first record and a timer after it may fail before."""
    times = np.array([1, 2], np.int64)
    records = Records(["x", "y"], times, OrderKeys.of_fragment(times, 0, 0, 0))
    found: dict[str, list[tuple[Any, int, Any]]] = {}

    def emit(tag: str, emitted: Records) -> None:
        paths = emitted.keys.path
        for place, value in enumerate(emitted.values):
            path = paths if isinstance(paths, bytes) else bytes(paths[place])
            key = (*emitted.keys.take(np.array([place])).stamp.tolist(), path.rstrip(b"\0"))
            found.setdefault(tag, []).append((value, int(emitted.ts[place]), key))

    outputs = Outputs(emit, records, freeze=True)
    timer = (5, 1, 0, 0, 0, b"op")
    if with_failure:
        outputs.row = 0
        mark = outputs.mark()
        outputs.extend([(TAG, "gone"), (TAG, "gone"), "gone"])
        outputs.branch(0, 9)
        outputs.extend([(TAG, "gone"), "gone"])
        outputs.undo(mark)
    outputs.row = 0
    outputs.extend([(TAG, "aside"), "first", (TAG, "aside")])
    outputs.add_row(timer, 6)
    if with_failure:
        mark = outputs.mark()
        outputs.extend([(TAG, "gone"), (TAG, "gone")])
        outputs.undo(mark)
    outputs.extend([(TAG, "of timer"), "timer"])
    outputs.row = 1
    outputs.extend([(TAG, "aside"), "second"])
    outputs.flush()
    return found


def test_output_is_as_if_the_callback_had_not_been() -> None:
    assert outputs_of(with_failure=True) == outputs_of(with_failure=False)
