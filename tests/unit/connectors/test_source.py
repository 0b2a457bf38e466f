"""Sources of one's own in whole jobs: types, event time, explain, what the source is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.common.errors import PlanError
from millstream.connectors import ChannelName, ChannelSource, Chunk
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.window import TumblingEventTimeWindows
from millstream.plan.options import JobOptions
from millstream.testing import CollectSink, LocalJob, run_local

NO_TIME = WatermarkStrategy.no_watermarks()
IN_ORDER = WatermarkStrategy.for_monotonous_timestamps()


class Logs(ChannelSource):
    """Lists that grow; a record is an event time."""

    def __init__(self, **logs: list[int]) -> None:
        self.logs = logs
        self.final: set[ChannelName] = set()
        self.told: list[Any] = []

    def latest(self) -> dict[ChannelName, int]:
        return {name: len(log) for name, log in self.logs.items()}

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        part = self.logs[str(channel)][start:stop]
        yield Chunk([f"{channel}{time}" for time in part], part)

    def is_final(self, channel: ChannelName) -> bool:
        return channel in self.final

    def commit(self, positions: Any) -> None:
        self.told.append(dict(positions))

    def open(self) -> None:
        self.told.append("open")

    def close(self) -> None:
        self.told.append("close")


def counting(source: ChannelSource) -> LocalJob:
    """A job that counts records in windows of 10 ms."""
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(source, IN_ORDER, "logs", Types.STRING())
    pairs = stream.map(lambda value: ("all", 1), Types.TUPLE([Types.STRING(), Types.LONG()]))
    windows = pairs.key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(10))
    windows.sum(1).sink_to(CollectSink()).name("out")
    return LocalJob(env._job_graph(), JobOptions(parallelism=2, slots=2))


def counts(job: LocalJob) -> list[tuple[int | None, int]]:
    """(last instant of the window, count)"""
    return [(time, value[1]) for value, time in job.epoch(None).get("out", [])]


class TestEventTime:
    def test_a_channel_that_appears_holds_the_clock(self) -> None:
        logs = Logs(a=[1, 12])
        job = counting(logs)
        assert counts(job) == [(9, 1)]
        logs.logs["b"] = []
        logs.logs["a"].append(25)
        assert counts(job) == []
        logs.logs["b"] += [15, 30]
        assert counts(job) == [(19, 2)]

    def test_a_channel_that_announces_nothing_does_not(self) -> None:
        class Quiet(Logs):
            def announces(self, channel: ChannelName) -> bool:
                return False

        assert counts(counting(Quiet(a=[1, 12], b=[]))) == [(9, 1)]
        assert counts(counting(Logs(a=[1, 12], b=[]))) == []

    def test_a_channel_that_has_ended_holds_nothing_any_more(self) -> None:
        logs = Logs(a=[1, 12], b=[2])
        assert counts(counting(logs)) == []
        logs.final = {"b"}
        assert counts(counting(logs)) == [(9, 2)]


class TestRecords:
    def test_columns_are_rows_of_their_type(self) -> None:
        class Columns(Logs):
            bounded = True

            def latest(self) -> dict[ChannelName, int]:
                return {"a": 3}

            def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
                words = ["x", "y", "x"][start:stop]
                yield Chunk(pa.record_batch({"word": words, "n": [start] * len(words)}))

            def get_produced_type(self) -> Any:
                return Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])

        def program(env: StreamExecutionEnvironment) -> Any:
            rows = env.from_source(Columns(), NO_TIME, "columns")
            return rows.map(lambda row: row.word).key_by(lambda w: w).reduce(lambda a, b: a + b)

        assert run_local(program).values() == ["x", "y", "xx"]

    def test_a_source_that_never_ends_needs_listed_epochs(self) -> None:
        def program(env: StreamExecutionEnvironment) -> Any:
            return env.from_source(Logs(a=[1, 2, 3], b=[4]), NO_TIME, "logs")

        assert run_local(program, epochs=[2, 2]).values() == ["a1", "a2", "b4", "a3"]
        with pytest.raises(PlanError, match="LOCAL_UNBOUNDED"):
            run_local(program)


class TestLife:
    def test_it_is_opened_told_of_each_epoch_and_closed(self) -> None:
        logs = Logs(a=[1, 2])
        job = counting(logs)
        job.epoch(1)
        job.epoch(1)
        job.close()
        assert logs.told == ["open", {"a": 1}, {"a": 2}, "close"]

    def test_positions_are_found_by_name_in_a_savepoint(self) -> None:
        logs = Logs(b=[1, 2], c=[3])
        job = counting(logs)
        job.epoch(1)
        saved = job.savepoint()
        assert {channel: at for (_, channel), at in saved.positions.items()} == {"b": 1, "c": 1}


class TestPlan:
    def test_explain_says_that_channels_are_found_later(self) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_source(Logs(), NO_TIME, "logs").print()
        assert "channels: found when the job runs, read by position; without end" in str(
            env.get_execution_plan()
        )

    def test_a_source_that_cannot_travel_is_refused_at_its_line(self) -> None:
        class Locked(Logs):
            def __init__(self) -> None:
                super().__init__()
                self.lock = threading.Lock()

        env = StreamExecutionEnvironment.get_execution_environment()
        with pytest.raises(PlanError, match="UNPICKLABLE_FUNCTION") as caught:
            env.from_source(Locked(), NO_TIME, "logs").print()
            env._job_graph()
        assert "lock" in caught.value.message
