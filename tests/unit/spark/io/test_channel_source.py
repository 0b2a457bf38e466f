"""How Spark is told what a channel source has: offsets, tasks, and refusals that reach the driver."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from millstream.common.errors import CheckpointError, Location
from millstream.connectors import ChannelName, ChannelSource, Chunk
from millstream.connectors.collection import CollectionSource
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.stages.programs import SourceProgram
from millstream.kernel.steps.chain import Chain
from millstream.kernel.steps.stateless import Step
from millstream.spark.io.channel_source import (
    ChannelBatchReader,
    ChannelReader,
    ChannelStreamReader,
    ChannelTask,
)
from millstream.spark.tasks.worker import ProgramRef, find_error

HERE = Location("app.py", 7, "main")
number = iter(range(1_000))


class Log(ChannelSource):
    """Logs that grow while a job runs."""

    def __init__(self, **logs: list[int]) -> None:
        self.logs = logs
        self.committed: list[Any] = []
        self.calls: list[str] = []

    def latest(self) -> dict[ChannelName, int]:
        return {name: len(log) for name, log in self.logs.items()}

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        yield Chunk(self.logs[str(channel)][start:stop])

    def commit(self, positions: Any) -> None:
        self.committed.append(dict(positions))

    def open(self) -> None:
        self.calls.append("open")

    def close(self) -> None:
        self.calls.append("close")


def reader_of(source: ChannelSource, **options: Any) -> ChannelReader:
    program = SourceProgram("words", Chain(Step(OperatorInfo("words", "words", HERE))), 1, {})
    ref = ProgramRef.of(f"unit-{next(number)}", ChannelTask(program, source))
    return ChannelReader(1, ref, (0,), 2, closes=False, name="words", location=HERE, **options)


def source_in(reader: ChannelStreamReader) -> Any:
    """The copy of the source that a reader asks."""
    return reader._reader.progress.source


def test_an_unbounded_source_is_read_as_far_as_it_has_records() -> None:
    """The runtime once went 100,000 positions on whenever it was asked, over records to come."""
    reader = ChannelStreamReader(reader_of(Log(a=[1, 2, 3])))
    first = reader.latestOffset(reader.initialOffset(), None)
    assert first == {"a": 3}
    assert reader.latestOffset(first, None) == first
    source_in(reader).logs["a"].append(4)
    second = reader.latestOffset(first, None)
    assert second == {"a": 4}
    ((_, reads),) = [part.value for part in reader.partitions(first, second)]
    assert [(part.channel, part.start, part.stop) for part in reads.ranges] == [("a", 3, 4)]


def test_channels_are_announced_with_the_epoch_that_finds_them() -> None:
    reader = ChannelStreamReader(reader_of(Log(a=[1], b=[])))
    first = reader.latestOffset(reader.initialOffset(), None)
    parts = [part.value for part in reader.partitions(reader.initialOffset(), first)]
    assert [len(reads.announced) for _, reads in parts] == [2]
    source_in(reader).logs["c"] = []
    second = reader.latestOffset(first, None)
    assert second == {"a": 1, "b": 0, "c": 0}
    # A task has to say so, although there is nothing to read.
    ((task, reads),) = [part.value for part in reader.partitions(first, second)]
    assert (task, reads.ranges, len(reads.announced)) == (0, (), 1)
    assert reader.partitions(second, second) == []


def test_a_run_from_a_savepoint_begins_at_its_offset() -> None:
    reader = ChannelStreamReader(reader_of(Log(a=[1, 2], b=[3]), begin={"a": 1}))
    start = reader.initialOffset()
    assert start == {"a": 1}
    end = reader.latestOffset(start, None)
    ranges = [r for part in reader.partitions(start, end) for r in part.value[1].ranges]
    assert [(r.channel, r.start, r.stop) for r in ranges] == [("a", 1, 2), ("b", 0, 1)]


def test_the_source_hears_what_is_committed_and_when_the_query_ends() -> None:
    reader = ChannelStreamReader(reader_of(Log(a=[1, 2])))
    reader.latestOffset({}, None)
    reader.commit({"a": 2})
    source = source_in(reader)
    assert source.committed == [{"a": 2}]
    assert reader.reportLatestOffset() == {"a": 2}
    reader.stop()
    assert source.calls == ["open", "close"]


def test_a_reader_travels_without_the_source_that_it_has_opened() -> None:
    reader = reader_of(Log(a=[1]))
    assert reader.progress.source.calls == ["open"]  # type: ignore[attr-defined]
    assert "progress" not in vars(pickle.loads(pickle.dumps(reader)))


# -- a bounded source that has become shorter ----------------------------------------------------


def shrunk(**options: Any) -> ChannelReader:
    return reader_of(CollectionSource.of("abc"), **options)


def test_the_refusal_of_a_stream_and_of_a_batch_reaches_the_driver() -> None:
    with pytest.raises(RuntimeError) as stream:
        ChannelStreamReader(shrunk()).latestOffset({"0": 5}, None)
    # The epoch was planned before the driver died, and is repeated with the shorter source.
    with pytest.raises(RuntimeError) as replay:
        ChannelStreamReader(shrunk()).partitions({"0": 2}, {"0": 5})
    with pytest.raises(RuntimeError) as batch:
        ChannelBatchReader(shrunk(begin={"0": 5})).partitions()
    for caught in (stream, replay, batch):
        found = find_error(str(caught.value))
        assert isinstance(found, CheckpointError)
        assert found.code == "SOURCE_SHORTER"
        assert found.location == HERE


def test_a_batch_reads_from_the_savepoint_to_the_ends() -> None:
    reader = ChannelBatchReader(shrunk(begin={"0": 1}))
    ((_, reads),) = [part.value for part in reader.partitions()]
    assert [(r.channel, r.start, r.stop, r.finished) for r in reads.ranges] == [(0, 1, 3, True)]
