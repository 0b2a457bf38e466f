"""How far an epoch reads a source: limits, rates, new channels, and sources that have become shorter."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millstream.common.errors import CheckpointError, Location, PlanError
from millstream.connectors import ChannelName, ChannelSource, Chunk, Limits
from millstream.connectors.collection import CollectionSource
from millstream.connectors.generator import GeneratorSource
from millstream.connectors.reading import (
    CATCH_UP_SECONDS,
    ENDLESS,
    Progress,
    Range,
    Reads,
    blocks,
    channel_number,
)
from millstream.kernel.records.columns import Columns

HERE = Location("app.py", 7, "main")


class Log(ChannelSource):
    """Logs that grow, each from a position of its own."""

    def __init__(self, limits: Limits | None = None, **logs: list[Any]) -> None:
        self.logs = logs
        self.firsts: dict[ChannelName, Any] = {}
        self.closed: set[ChannelName] = set()
        self.limited = limits or Limits()

    def latest(self) -> dict[ChannelName, Any]:
        return {name: len(log) for name, log in self.logs.items()}

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        yield Chunk(self.logs[str(channel)][start:stop])

    def first(self, channel: ChannelName) -> Any:
        return self.firsts.get(channel, 0)

    def is_final(self, channel: ChannelName) -> bool:
        return channel in self.closed

    def limits(self) -> Limits:
        return self.limited


def ranges_of(reads: Reads) -> list[tuple[Any, ...]]:
    return [(part.channel, part.start, part.stop) for part in reads.ranges]


# -- offsets --------------------------------------------------------------------------------------


def test_channels_enter_the_offset_when_they_are_found() -> None:
    log = Log(a=[1, 2, 3])
    progress = Progress(log)
    first = progress.next({})
    assert first == {"a": 3}
    log.logs["b"] = [4]
    second = progress.next(first)
    assert second == {"a": 3, "b": 1}
    assert ranges_of(progress.reads(first, second)) == [("b", 0, 1)]
    assert progress.reads(first, second).announced == (channel_number(0, "b"),)


def test_a_first_position_is_asked_once() -> None:
    """The source begins at its end, which is another one when the epoch is read again."""
    log = Log(a=[1, 2, 3])
    log.firsts["a"] = 3
    start: dict[str, Any] = {}
    log.logs["a"].append(4)
    end = json.loads(json.dumps(Progress(log).next(start)))
    log.firsts["a"] = 4
    assert ranges_of(Progress(log).reads(start, end)) == [("a", 3, 4)]
    assert Progress(log).next(end) == end, "another offset would be an epoch without records"
    log.logs["a"].append(5)
    assert Progress(log).next(end) == {"a": 5}


def test_a_channel_that_is_gone_keeps_its_position() -> None:
    log = Log(a=[1, 2], b=[3])
    progress = Progress(log)
    start = progress.next({})
    gone = log.logs.pop("b")
    log.logs["a"].append(5)
    end = progress.next(start)
    assert end == {"a": 3, "b": 1}
    assert ranges_of(progress.reads(start, end)) == [("a", 2, 3)]
    log.logs["b"] = [*gone, 6]
    again = progress.next(end)
    assert ranges_of(progress.reads(end, again)) == [("b", 1, 2)]
    assert progress.reads(end, again).announced == ()


def test_positions_can_be_any_json_value() -> None:
    class Segments(Log):
        """A position is a pair of segment and record."""

        def latest(self) -> dict[ChannelName, Any]:
            return {"a": (2, 1)}

        def first(self, channel: ChannelName) -> Any:
            return (0, 0)

        def number(self, position: Any) -> int:
            segment, record = position
            return int(segment) << 20 | int(record)

    progress = Progress(Segments())
    end = progress.next({})
    assert end == {"a": [2, 1], "@first": {"a": [0, 0]}}
    assert ranges_of(progress.reads({}, end)) == [("a", [0, 0], [2, 1])]
    assert progress.next({"a": [2, 1]}) == {"a": [2, 1]}


def test_a_position_that_is_no_json_value_is_refused() -> None:
    class Odd(Log):
        def latest(self) -> dict[ChannelName, Any]:
            return {"a": {1, 2}}

    with pytest.raises(PlanError, match=r"BAD_SOURCE.*cannot be written as JSON"):
        Progress(Odd()).next({})


def test_a_bounded_source_is_asked_for_its_ends_once() -> None:
    class Bounded(Log):
        bounded = True

    log = Bounded(a=[1])
    progress = Progress(log)
    assert progress.next({}) == {"a": 1}
    log.logs["a"].append(2)
    log.logs["b"] = [3]
    assert progress.next({}) == {"a": 1}


def test_channels_can_depend_on_what_was_read() -> None:
    """As of a source that goes on with another one when the first has been read."""

    class OneAfterTheOther(Log):
        def latest_after(self, positions: Mapping[str, Any]) -> dict[ChannelName, Any]:
            found = self.latest()
            return found if positions.get("a") == found["a"] else {"a": found["a"]}

    log = OneAfterTheOther(Limits(per_epoch=2), a=[1, 2, 3], b=[4])
    offsets: list[dict[str, Any]] = [{}]
    for _ in range(4):
        offsets.append(Progress(log).next(offsets[-1]))
    assert offsets[1:] == [{"a": 2}, {"a": 3}, {"a": 3, "b": 1}, {"a": 3, "b": 1}]
    reads = Progress(log).reads(offsets[2], offsets[3])
    assert ranges_of(reads) == [("b", 0, 1)] and len(reads.announced) == 1


def test_numbers_of_channels_differ() -> None:
    names: list[ChannelName] = [0, 1, "0", "orders-0", "orders-1", -1, 1 << 40]
    numbers = {channel_number(source, name) for source in (1, 2) for name in names}
    assert len(numbers) == 14
    assert all(-(2**63) <= number < 2**63 for number in numbers)


# -- what tasks read ------------------------------------------------------------------------------


def test_a_channel_is_finished_where_it_ends() -> None:
    log = Log(a=[1, 2], b=[1])
    log.closed = {"a"}
    progress = Progress(log)
    reads = progress.reads({}, {"a": 1, "b": 1})
    assert [part.finished for part in reads.ranges] == [False, False]
    reads = progress.reads({"a": 1}, {"a": 2})
    assert [part.finished for part in reads.ranges] == [True]


def test_a_final_channel_without_records_is_not_announced() -> None:
    log = Log(a=[], b=[])
    log.closed = {"a"}
    progress = Progress(log)
    assert progress.reads({}, progress.next({})).announced == (channel_number(0, "b"),)


def test_channels_with_more_than_an_epoch_reads_have_a_backlog() -> None:
    progress = Progress(Log(Limits(per_epoch=2), a=[1, 2, 3], b=[1]))
    end = progress.next({})
    assert end == {"a": 2, "b": 1}
    assert progress.reads({}, end).backlog == (channel_number(0, "a"),)
    assert progress.lags(end) == {"a": 1, "b": 0}
    assert progress.lags({"a": 3, "b": 1}) == {"a": 0, "b": 0}
    assert Progress(GeneratorSource(0, None)).lags({"0": 5}) is None


@pytest.mark.parametrize("tasks", [1, 2, 4])
def test_ranges_are_dealt_over_the_tasks(tasks: int) -> None:
    parts = tuple(Range(channel, channel, 0, 1) for channel in range(5))
    dealt = Reads(parts, announced=(7,), backlog=(8,)).dealt(tasks)
    assert [task for task, _ in dealt] == list(range(tasks))
    assert sorted(p.number for _, reads in dealt for p in reads.ranges) == list(range(5))
    assert [(reads.announced, reads.backlog) for _, reads in dealt if reads.announced] == [
        ((7,), (8,))
    ]


def test_chunks_become_blocks() -> None:
    class Chunks(Log):
        def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
            yield Chunk(["a", "b"], [5, None])
            yield Chunk(pa.record_batch({"n": [1, 2], "s": ["x", "y"]}), np.array([7, 8]))
            yield Chunk(pa.array([1.5]))

    found = list(blocks(Chunks(), [Range("a", 9, 10, 20, finished=True)]))
    assert [(b.channel, b.frag, b.first_pos, len(b.values)) for b in found] == [
        (9, 10, 10, 2),
        (9, 10, 12, 2),
        (9, 10, 14, 1),
    ]
    assert all(block.finished for block in found)
    assert found[0].values == ["a", "b"] and found[0].ts is not None
    assert found[0].ts.tolist()[0] == 5
    assert isinstance(found[1].values, Columns)
    assert [tuple(row) for row in found[1].values.tolist()] == [(1, "x"), (2, "y")]
    assert isinstance(found[2].values, Columns) and found[2].values.tolist() == [1.5]


def test_a_range_without_records_still_says_that_the_channel_is_finished() -> None:
    class Gap(Log):
        def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
            return iter(())

    (block,) = blocks(Gap(), [Range("a", 9, 10, 20, finished=True)])
    assert (len(block.values), block.finished) == (0, True)


def test_more_records_than_positions_are_refused() -> None:
    class Greedy(Log):
        def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
            yield Chunk([1, 2, 3])

    with pytest.raises(PlanError, match=r"BAD_SOURCE.*more records than there are positions"):
        list(blocks(Greedy(), [Range("a", 9, 0, 2)], "words"))


# -- limits and rates -----------------------------------------------------------------------------


def test_the_limit_of_the_job_holds_where_the_source_has_none() -> None:
    assert Progress(Log(a=[1, 2, 3]), limit=2).next({}) == {"a": 2}
    assert Progress(Log(Limits(per_epoch=1), a=[1, 2, 3]), limit=2).next({}) == {"a": 1}


def test_a_channel_without_end_has_a_limit_in_any_case() -> None:
    assert Progress(GeneratorSource(0, None)).next({}) == {"0": ENDLESS}
    assert Progress(GeneratorSource(0, None), limit=7).next({"0": 5}) == {"0": 12}


@pytest.mark.parametrize("stop", [-1, 4])
def test_a_source_that_goes_elsewhere_than_it_may_is_refused(stop: int) -> None:
    class Elsewhere(Log):
        def advance(self, channel: ChannelName, start: Any, latest: Any, records: Any) -> Any:
            return stop

    with pytest.raises(PlanError, match=r"BAD_SOURCE.*advance"):
        Progress(Elsewhere(a=[1, 2, 3])).next({})


def rated(rate: float, *seconds: float) -> Callable[[int], int]:
    """A source without an end, and a clock that shows these times one after the other."""
    times = iter(seconds)
    source = GeneratorSource(0, None, limited=Limits(per_epoch=1 << 40, per_second=rate))
    progress = Progress(source, clock=lambda: next(times))
    return lambda start: progress.next({"0": start})["0"]


def test_a_rate_counts_from_where_a_run_begins() -> None:
    """A job that resumes at record 1,000 does not wait until its rate would have made 1,000."""
    next_position = rated(10, 5.0, 5.0, 5.5, 6.0)
    assert [next_position(1_000) for _ in range(4)] == [1_000, 1_000, 1_005, 1_010]


def test_a_rate_below_one_a_second_gives_its_records() -> None:
    next_position = rated(0.05, *range(0, 90, 10))
    at, found = 0, []
    for _ in range(9):
        at = next_position(at)
        found.append(at)
    assert found == [0, 0, 1, 1, 2, 2, 3, 3, 4]


def test_an_hour_without_an_epoch_is_not_made_up_at_once() -> None:
    next_position = rated(100, 0.0, 1.0, 3_601.0, 3_601.5)
    at, read = 0, []
    for _ in range(4):
        before, at = at, next_position(at)
        read.append(at - before)
    limit = int(CATCH_UP_SECONDS * 100)
    assert read == [0, 100, limit, 50]


def test_a_rate_does_not_look_at_the_time_of_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator sets the clock back or forward while the job runs."""

    def time_of_day() -> int:
        raise AssertionError("the time of day can jump")

    monkeypatch.setattr(time, "time", time_of_day)
    monkeypatch.setattr(time, "time_ns", time_of_day)
    progress = Progress(GeneratorSource(0, None, limited=Limits(per_second=1_000_000)))
    assert progress.next({"0": 0}) == {"0": 0}
    assert 0 < progress.next({"0": 0})["0"] <= 10_000_000


# -- a source that has become shorter -------------------------------------------------------------


def test_a_source_that_is_shorter_than_what_was_read_is_refused() -> None:
    progress = Progress(CollectionSource.of("abc"), name="words", location=HERE)
    with pytest.raises(CheckpointError) as caught:
        progress.next({"0": 5})
    error = caught.value
    assert error.code == "SOURCE_SHORTER"
    assert "'words' ends at 3 now, and the job stands at 5" in error.message
    assert error.location == HERE


def test_a_source_of_the_length_that_was_read_is_at_its_end() -> None:
    assert Progress(CollectionSource.of("abc")).next({"0": 3}) == {"0": 3}


def test_a_log_that_has_lost_its_end_is_refused_too() -> None:
    log = Log(a=[1, 2, 3])
    offset = Progress(log).next({})
    del log.logs["a"][1:]
    with pytest.raises(CheckpointError, match="SOURCE_SHORTER"):
        Progress(log).next(offset)
