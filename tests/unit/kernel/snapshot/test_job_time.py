"""The time of a job in a savepoint: what its stages and its queries know of it."""

from __future__ import annotations

from millstream.kernel.snapshot.job import JobTime
from millstream.kernel.state.slot import SlotState
from millstream.kernel.time.watermarks import Channel, TimeTable


def header(timeline: int, watermark: int, uid: str) -> SlotState:
    table = TimeTable({(timeline, 0): Channel(watermark)}, {timeline: watermark}, now_ms=watermark)
    return SlotState(table=table, clocks={uid: watermark})


def test_of_the_stages_of_a_query_the_last_knows_all_channels() -> None:
    time = JobTime.of([header(1, 5, "first"), header(1, 7, "second")])
    assert time.table.channels == {(1, 0): Channel(7)}
    assert time.clocks == {"first": 5, "second": 7}


def test_each_query_knows_its_own_channels() -> None:
    queries = [JobTime.of([header(1, 9, "left")]), JobTime.of([header(2, 4, "right")])]
    time = JobTime.of_queries(queries)
    assert time.table.channels == {(1, 0): Channel(9), (2, 0): Channel(4)}
    assert time.table.peaks == {1: 9, 2: 4} and time.table.now_ms == 9
    assert time.clocks == {"left": 9, "right": 4}
