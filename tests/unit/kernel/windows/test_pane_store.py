"""What windows keep of their panes between epochs."""

from __future__ import annotations

import numpy as np
import pytest

from millstream.common.errors import CheckpointError
from millstream.common.time import MIN_TIMESTAMP
from millstream.common.typeinfo import Types
from millstream.kernel.records.buffers import ArrowCodec, Records, merged
from millstream.kernel.records.columns import Columns
from millstream.kernel.records.order import OrderKeys
from millstream.kernel.state.pages import MemoryStore
from millstream.kernel.time.clock import Clock
from millstream.kernel.windows import pane_store
from millstream.kernel.windows.pane_store import MERGED, PaneStore
from millstream.kernel.windows.panes import Panes

CODEC = ArrowCodec(Types.TUPLE([Types.LONG()]))
TUMBLING = Panes(length=10, offset=0, per_slide=1, per_window=1)
SLIDING = Panes(length=10, offset=0, per_slide=1, per_window=3)


def records(*times: int) -> Records:
    ts = np.array(times, np.int64)
    values = Columns(CODEC.type_info, CODEC.arrays([(time,) for time in times]))
    return Records(values, ts, OrderKeys.of_fragment(ts - 1, 0, 0, 0), np.zeros(len(ts), np.uint32))


def opened(store: MemoryStore) -> PaneStore:
    return PaneStore(store, "op", CODEC, merged)


def test_a_pane_comes_back_as_it_was_added() -> None:
    store = MemoryStore()
    first = opened(store)
    first.add(0, records(1, 2))
    first.add(1, records(11))
    first.close()
    again = opened(store)
    again.add(0, records(3))
    assert [part.ts.tolist() for part in again.load(0)] == [[1, 2], [3]]
    assert [part.values.tolist() for part in again.load(1)] == [[(11,)]]  # type: ignore[union-attr]


def test_nothing_is_left_of_panes_that_are_dropped() -> None:
    store = MemoryStore()
    panes = opened(store)
    for time in range(100):
        panes.add(0, records(time))
    panes.close()
    assert len(store) > 0
    again = opened(store)
    again.drop(0)
    again.close()
    assert len(store) == 0


def test_small_epochs_do_not_pile_up_buffers_for_ever() -> None:
    store = MemoryStore()
    for time in range(MERGED**2 + MERGED + 1):
        panes = opened(store)
        panes.add(0, records(time))
        panes.close()
    # Two levels of merging leave one buffer each, and the last epoch's.
    assert [part.ts.tolist() for part in opened(store).load(0)] == [
        list(range(MERGED**2)),
        list(range(MERGED**2, MERGED**2 + MERGED)),
        [MERGED**2 + MERGED],
    ]
    assert len(store) == 4


def test_windows_come_with_all_records_of_their_panes() -> None:
    panes = opened(MemoryStore())
    panes.add(0, records(1))
    panes.add(1, records(11))
    new = {1: records(12), 2: records(21)}
    clock = Clock(MIN_TIMESTAMP, 19, 0)
    ((windows, parts),) = panes.fired(new, SLIDING, clock)
    # Window w has the panes w, w+1 and w+2; those that end at 10 and at 20 are over.
    assert windows == [-2, -1]
    assert sorted(int(ts) for part in parts for ts in part.ts) == [1, 11, 12]
    assert [(pane, part.ts.tolist()) for pane, part in panes.waiting(new, SLIDING, clock)] == [
        (1, [12]),
        (2, [21]),
    ]


def test_large_windows_come_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pane_store, "FIRED", 2)
    panes = opened(MemoryStore())
    new = {0: records(1, 2), 1: records(11), 2: records(21, 22, 23)}
    found = list(panes.fired(new, TUMBLING, Clock(MIN_TIMESTAMP, 100, 0)))
    assert [windows for windows, _ in found] == [[0], [1, 2]]
    assert [sum(map(len, parts)) for _, parts in found] == [2, 4]


def test_another_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    panes = opened(store)
    panes.add(0, records(1))
    panes.close()
    monkeypatch.setattr(pane_store, "FORMAT", 99)
    with pytest.raises(CheckpointError) as caught:
        opened(store)
    assert caught.value.code == "PANE_FORMAT"
