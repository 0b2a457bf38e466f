"""How far an epoch reads a channel source: rates, and sources that have become shorter."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from millstream.common.errors import CheckpointError, Location
from millstream.plan.specs import ChannelSpec, CollectionSource, GeneratorSource
from millstream.spark import channel_source
from millstream.spark.channel_source import ChannelBatchReader, ChannelReader, ChannelStreamReader
from millstream.spark.worker import ProgramRef, find_error

HERE = Location("app.py", 7, "main")


def reader_of(
    spec: ChannelSpec, begin: dict[str, int] | None = None, clock: Callable[[], float] | None = None
) -> ChannelReader:
    return ChannelReader(
        1,
        spec,
        ProgramRef("", b""),
        (0,),
        1,
        closes=False,
        begin=begin,
        name="words",
        location=HERE,
        clock=clock or time.monotonic,
    )


def rated(rate: float, *seconds: float) -> ChannelReader:
    """A source without an end, and a clock that shows these times one after the other."""
    times = iter(seconds)
    spec = ChannelSpec(source=GeneratorSource(0, None), per_epoch=1 << 40, rate=rate)
    return reader_of(spec, clock=lambda: next(times))


# -- rates ----------------------------------------------------------------------------------------


def test_a_rate_counts_from_where_a_run_begins() -> None:
    """A job that resumes at record 1,000 does not wait until its rate would have made 1,000."""
    reader = rated(10, 5.0, 5.0, 5.5, 6.0)
    assert [reader.next_position(0, 1_000) for _ in range(4)] == [1_000, 1_000, 1_005, 1_010]


def test_a_rate_below_one_a_second_gives_its_records() -> None:
    reader = rated(0.05, *range(0, 90, 10))
    at, found = 0, []
    for _ in range(9):
        at = reader.next_position(0, at)
        found.append(at)
    assert found == [0, 0, 1, 1, 2, 2, 3, 3, 4]


def test_an_hour_without_an_epoch_is_not_made_up_at_once() -> None:
    reader = rated(100, 0.0, 1.0, 3_601.0, 3_601.5)
    at, read = 0, []
    for _ in range(4):
        before, at = at, reader.next_position(0, at)
        read.append(at - before)
    limit = int(channel_source.CATCH_UP_SECONDS * 100)
    assert read == [0, 100, limit, 50]


def test_a_rate_does_not_look_at_the_time_of_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator sets the clock back or forward while the job runs."""

    def time_of_day() -> int:
        raise AssertionError("the time of day can jump")

    monkeypatch.setattr(time, "time", time_of_day)
    monkeypatch.setattr(time, "time_ns", time_of_day)
    spec = ChannelSpec(source=GeneratorSource(0, None), rate=1_000_000)
    reader = reader_of(spec)
    assert reader.next_position(0, 0) == 0
    assert 0 < reader.next_position(0, 0) <= 10_000_000


# -- a bounded source that has become shorter ----------------------------------------------------


def shrunk(begin: dict[str, int] | None = None) -> ChannelReader:
    return reader_of(ChannelSpec(source=CollectionSource.of("abc")), begin)


def test_a_source_that_is_shorter_than_what_was_read_is_refused() -> None:
    with pytest.raises(CheckpointError) as caught:
        shrunk().next_position(0, 5)
    error = caught.value
    assert error.code == "SOURCE_SHORTER"
    assert "'words' has 3 records now, and the job stands at 5" in error.message
    assert error.location == HERE


def test_a_source_of_the_length_that_was_read_is_at_its_end() -> None:
    assert shrunk().next_position(0, 3) == 3


def test_a_planned_range_that_is_not_there_any_more_is_refused() -> None:
    """The epoch was planned before the driver died, and is repeated with the shorter source."""
    with pytest.raises(CheckpointError, match="SOURCE_SHORTER"):
        list(shrunk()._blocks([(0, 2, 5)]))


def test_the_refusal_of_a_stream_and_of_a_batch_reaches_the_driver() -> None:
    with pytest.raises(RuntimeError) as stream:
        ChannelStreamReader(shrunk()).latestOffset({"0": 5}, None)
    with pytest.raises(RuntimeError) as batch:
        ChannelBatchReader(shrunk(begin={"0": 5})).partitions()
    for caught in (stream, batch):
        found = find_error(str(caught.value))
        assert isinstance(found, CheckpointError)
        assert found.code == "SOURCE_SHORTER"
