"""Sources one after the other: order, switch, event time, savepoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millstream.common import Row, Types, WatermarkStrategy
from millstream.common.errors import CheckpointError
from millstream.connectors import ChannelName, ChannelSource, Chunk, Limits
from millstream.connectors.hybrid import HybridChannels, HybridDecoder, Place
from millstream.connectors.reading import Progress, values_of
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import (
    DataGenSource,
    FieldGenerator,
    HybridSource,
    NumberSequenceSource,
)
from millstream.datastream.window import TumblingEventTimeWindows
from millstream.kernel.steps.decode import Decoded
from millstream.plan.options import JobOptions
from millstream.testing import CollectSink, LocalJob, rebatch, run_local
from millstream.testing.connectors import check_source
from tests.support.strategies import sampled, schedules

NO_TIME = WatermarkStrategy.no_watermarks()
IN_ORDER = WatermarkStrategy.for_monotonous_timestamps()


class Log(ChannelSource):
    """Lists that grow; a record is an event time."""

    def __init__(self, bounded: bool = False, **logs: list[int]) -> None:
        self.ends = bounded
        self.logs = logs
        self.told: list[Any] = []

    @property
    def bounded(self) -> bool:
        return self.ends

    def latest_after(self, positions: Mapping[str, Any]) -> dict[ChannelName, int]:
        self.told.append(dict(positions))
        return {name: len(log) for name, log in self.logs.items()}

    def latest(self) -> dict[ChannelName, int]:
        return self.latest_after({})

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        part = self.logs[str(channel)][start:stop]
        yield Chunk(list(part), list(part))

    def commit(self, positions: Any) -> None:
        self.told.append(("commit", dict(positions)))

    def get_produced_type(self) -> Any:
        return Types.LONG()


class Lines(Log):
    """The same, with positions that are lists."""

    def latest_after(self, positions: Mapping[str, Any]) -> Any:
        assert all(isinstance(at, list) for at in positions.values())
        return {name: ["line", len(log)] for name, log in self.logs.items()}

    def first(self, channel: ChannelName) -> Any:
        return ["line", 0]

    def number(self, position: Any) -> int:
        return int(position[1])

    def advance(self, channel: ChannelName, start: Any, stop: Any, records: int | None) -> Any:
        return stop if records is None else ["line", min(start[1] + records, stop[1])]

    def read(self, channel: ChannelName, start: Any, stop: Any) -> Iterator[Chunk]:
        return super().read(channel, start[1], stop[1])


def hybrid(*sources: Any) -> HybridSource:
    return HybridSource(*sources)


def channels(*sources: ChannelSource) -> HybridChannels:
    return HybridChannels(tuple((source,) for source in sources))


# -- the contract ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    sampled(
        [
            lambda: hybrid(NumberSequenceSource(1, 20, parts=2), NumberSequenceSource(31, 45)),
            lambda: hybrid(
                Log(True, a=[1, 2, 3]), NumberSequenceSource(5, 9), Log(True, a=[7] * 9)
            ),
            lambda: hybrid(Lines(True, a=[1, 2, 3], b=[4, 5]), Log(True, c=[6, 7, 8])),
            lambda: hybrid(Log(True, a=[]), Lines(True, b=[1, 2]), Log(True)),
        ],
        "hybrids",
    ),
)
def test_bounded_sources_keep_the_contract(make: Any) -> None:
    assert "savepoints" in check_source(make)


def test_a_log_behind_a_bounded_source_keeps_the_contract() -> None:
    log = {"a": list(range(10, 30)), "b": list(range(30, 40))}

    def arrive() -> list[int]:
        log["a"].append(1_000 + len(log["a"]))
        return log["a"][-1:]

    def appear() -> list[int]:
        log[f"c{len(log)}"] = [2_000 + len(log)]
        return [2_000 + len(log) - 1]

    passed = check_source(
        lambda: hybrid(Lines(True, a=[1, 2, 3, 4]), Shared(log)),
        expected=[1, 2, 3, 4, *range(10, 40)],
        arrive=arrive,
        appear=appear,
    )
    assert passed[-1] == "channels that appear"


SHARED: dict[int, dict[str, list[int]]] = {}


class Shared(Log):
    """A log that copies share, as those of a server do."""

    def __init__(self, logs: dict[str, list[int]]) -> None:
        super().__init__()
        SHARED[id(logs)] = logs
        self.key = id(logs)
        del self.logs

    def __getattr__(self, name: str) -> Any:
        if name == "logs":
            return SHARED[self.key]
        raise AttributeError(name)


# -- the switch ------------------------------------------------------------------------------------


def offsets(source: ChannelSource, limit: int, epochs: int) -> list[dict[str, Any]]:
    at: dict[str, Any] = {}
    progress, found = Progress(source, limit=limit), []
    for _ in range(epochs):
        at = progress.next(at)
        found.append(at)
    return found


def test_the_next_source_is_announced_when_the_one_before_ends_and_read_after_that() -> None:
    source = channels(Log(True, a=[1, 2, 3]), Log(b=[4, 5]))
    progress = Progress(source, limit=2)
    first = progress.next({})
    assert first == {"0.0/a": 2}
    second = progress.next(first)
    assert second == {"0.0/a": 3, "1.0/b": 0}
    reads = progress.reads(first, second)
    assert [(r.channel, r.start, r.stop, r.finished) for r in reads.ranges] == [
        ("0.0/a", 2, 3, True)
    ]
    assert len(reads.announced) == 1 and reads.announced == reads.backlog
    third = progress.next(second)
    assert third == {"0.0/a": 3, "1.0/b": 2}
    assert [r.channel for r in progress.reads(second, third).ranges] == ["1.0/b"]
    assert progress.next(third) == third


def test_sources_without_records_are_passed_at_once() -> None:
    source = channels(Log(True, a=[]), Log(True), Log(True, b=[1, 2]), Log(True, c=[3]))
    assert offsets(source, 5, 3) == [
        {"0.0/a": 0, "2.0/b": 2, "3.0/c": 0},
        {"0.0/a": 0, "2.0/b": 2, "3.0/c": 1},
        {"0.0/a": 0, "2.0/b": 2, "3.0/c": 1},
    ]


def test_a_bounded_source_is_asked_once_and_the_last_one_with_its_own_positions() -> None:
    files, log = Log(True, a=[1]), Log(b=[2], c=[3])
    offsets(channels(files, log), 1, 4)
    assert files.told == [{}]
    assert log.told == [{}, {"b": 0, "c": 0}, {"b": 1, "c": 1}, {"b": 1, "c": 1}]


def test_an_offset_is_all_that_a_restart_needs() -> None:
    def made() -> HybridChannels:
        return channels(Log(True, a=[1, 2, 3]), Lines(True, b=[4, 5]), Log(True, c=[6]))

    at: dict[str, Any] = {}
    whole = offsets(made(), 2, 6)
    for expected in whole:
        at = Progress(made(), limit=2).next(at)
        assert at == expected
    assert whole[-1] == {"0.0/a": 3, "1.0/b": [1, 0, ["line", 2]], "2.0/c": 1}


def test_what_came_into_an_earlier_source_before_a_restart_is_read_first() -> None:
    at = offsets(channels(Log(True, a=[1]), Log(b=[2, 3])), 1, 2)[-1]
    later = channels(Log(True, a=[1], new=[9]), Log(b=[2, 3]))
    assert Progress(later, limit=1).next(at) == {**at, "0.0/new": 1}


def test_limits_are_those_of_each_source() -> None:
    class Slow(Log):
        def limits(self) -> Limits:
            return Limits(per_epoch=1)

    source = channels(Slow(True, a=[1, 2]), Log(b=[3, 4]))
    assert offsets(source, 9, 3)[-1] == {"0.0/a": 2, "1.0/b": 2}
    assert offsets(source, 9, 1)[-1] == {"0.0/a": 1}


def test_each_source_hears_of_its_own_positions() -> None:
    files, log = Log(True, a=[1]), Log(b=[2])
    channels(files, log).commit({"0.0/a": 1})
    assert files.told == [("commit", {"a": 1})] and log.told == []


def test_positions_of_another_source_are_refused() -> None:
    with pytest.raises(CheckpointError, match="'orders-0' is not that of a hybrid source"):
        Progress(channels(Log(True, a=[1]))).next({"orders-0": 5})


@pytest.mark.parametrize("channel", ["a", "a/b#c", "#", "\n", 7, -7])
def test_a_name_says_which_channel_it_is(channel: ChannelName) -> None:
    place = Place(3, 12, channel)
    assert Place.of(place.name) == place


# -- whole jobs ------------------------------------------------------------------------------------


def counting(source: Any) -> LocalJob:
    """A job that counts records in windows of 10 ms."""
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(source, IN_ORDER, "logs", Types.LONG())
    pairs = stream.map(lambda value: ("all", 1), Types.TUPLE([Types.STRING(), Types.LONG()]))
    windows = pairs.key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(10))
    windows.sum(1).sink_to(CollectSink()).name("out")
    return LocalJob(env._job_graph(), JobOptions(parallelism=2, slots=2))


def counts(job: LocalJob) -> list[tuple[int, int | None]]:
    return [(pair[1], at) for pair, at in job.outputs["out"]]


def test_no_record_is_late_because_of_the_switch() -> None:
    """The log begins where the files end, and its slow channel is further behind."""
    log = Log(fast=[35, 60], slow=[22])
    job = counting(hybrid(Log(True, old=[1, 12, 25, 38]), log))
    job.epoch(None)
    assert counts(job) == [], "the window that only the files know of waits for the log"
    job.epoch(None)
    log.logs["slow"] += [39, 61]
    job.epoch(None)
    assert counts(job) == [(1, 9), (1, 19), (2, 29), (3, 39)]


def test_while_the_first_source_is_read_event_time_goes_on() -> None:
    job = counting(hybrid(Log(True, old=[1, 12, 25, 38]), Log(new=[])))
    job.epoch(3)
    assert counts(job) == [(1, 9), (1, 19)]


@pytest.mark.parametrize("epochs", [1, 3, 4, 5])
def test_a_savepoint_before_at_and_after_the_switch(epochs: int) -> None:
    def source() -> HybridSource:
        return hybrid(Log(True, old=[1, 12, 25, 38]), Log(True, new=[22, 41, 52, 63]))

    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(source(), IN_ORDER, "logs", Types.LONG())
    stream.map(lambda value: (0, value)).key_by(lambda p: p[0]).sum(1).sink_to(CollectSink()).name(
        "out"
    )
    whole = LocalJob(env._job_graph(), JobOptions())
    whole.run_all(1)
    stopped = LocalJob(env._job_graph(), JobOptions())
    for _ in range(epochs):
        stopped.epoch(1)
    rest = LocalJob(
        env._job_graph(), JobOptions(parallelism=3, slots=2), savepoint=stopped.savepoint()
    )
    rest.run_all(2)
    sums = [pair[1] for pair, _ in whole.outputs["out"]]
    assert [pair[1] for job in (stopped, rest) for pair, _ in job.outputs["out"]] == sums


def test_every_schedule_gives_the_same() -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        source = hybrid(
            Log(True, a=[1, 5, 14], b=[3, 18]), Log(True, c=[16, 25]), Log(True, d=[24, 31])
        )
        pairs = env.from_source(source, IN_ORDER, "logs").map(lambda time: (time % 2, 1))
        windows = pairs.key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(10))
        return windows.sum(1)

    rebatch(program, **schedules())


class Doubled:
    """Decodes numbers as texts, and leaves out odd ones."""

    def open(self) -> None:
        pass

    def decode(self, values: Any, timestamps: Any) -> Decoded:
        numbers = list(values)
        even = [place for place, number in enumerate(numbers) if number % 2 == 0]
        return Decoded([str(numbers[place]) for place in even], even)


class Spelled(NumberSequenceSource):
    def decoder(self) -> Any:
        return Doubled()

    def get_produced_type(self) -> Any:
        return Types.STRING()


class Texts(Log):
    """Texts, in one of three forms."""

    form = "list"

    def get_produced_type(self) -> Any:
        return Types.STRING()

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        for chunk in super().read(channel, start, stop):
            texts = [f"<{value}>" for value in chunk.values]
            values = texts if self.form == "list" else pa.array(texts)
            yield Chunk(values, chunk.timestamps)


class TextColumns(Texts):
    form = "array"


@pytest.mark.parametrize("kind", [Texts, TextColumns])
def test_each_source_keeps_its_decoder(kind: type[Texts]) -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        source = hybrid(kind(True, a=[7, 8]), Spelled(1, 5))
        assert source.get_produced_type() == Types.STRING()
        return env.from_source(source, NO_TIME, "texts")

    for epochs in (1, None):
        found = run_local(program, epochs=epochs, batch=False).values()
        assert found == ["<7>", "<8>", "2", "4"]


def test_rows_of_columns_pass_a_decoder_of_another_source() -> None:
    fields = {"id": FieldGenerator.sequence(1, 2), "s": FieldGenerator.choice(["x"])}
    rows, texts = DataGenSource(fields), Spelled(1, 2)
    source = HybridChannels((rows.parts(), texts.parts()), is_tagged=True)
    decoder = HybridDecoder((None, Doubled()))
    (chunk,) = source.read("0.0#0", 0, 2)
    values = values_of(chunk)
    assert list(decoder.decode(values, np.zeros(2, np.int64)).values) == [
        Row(id=1, s="x"),
        Row(id=2, s="x"),
    ]
    assert list(decoder.decode([], np.zeros(0, np.int64)).values) == []
