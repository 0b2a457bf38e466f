"""A custom source on Spark: records and channels that come while the job runs, restarts, savepoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.connectors import ChannelName, ChannelSource, Chunk
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.window import TumblingEventTimeWindows
from tests.support.spark.spark_support import Collecting, cancel, wait_for_job

pytestmark = pytest.mark.spark
MakeEnv = Callable[..., StreamExecutionEnvironment]
NO_TIME = WatermarkStrategy.no_watermarks()


class Logs(ChannelSource):
    """A folder of logs that grow; a line is a record: a word and its event time."""

    def __init__(self, folder: Path, *, bounded: bool = False) -> None:
        self.folder = folder
        self.stops_now = bounded
        self.is_open = False

    @property
    def bounded(self) -> bool:
        return self.stops_now

    def open(self) -> None:
        assert not self.is_open
        self.is_open = True

    def close(self) -> None:
        assert self.is_open
        self.is_open = False

    def latest(self) -> dict[ChannelName, int]:
        assert self.is_open
        return {log.stem: len(self._lines(log.stem)) for log in self.folder.glob("*.log")}

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        assert self.is_open
        records = [line.split() for line in self._lines(channel)[start:stop]]
        yield Chunk([word for word, _ in records], [int(time) for _, time in records])

    def commit(self, positions: Any) -> None:
        (self.folder / "committed").write_text(str(sorted(positions.items())))

    def _lines(self, channel: ChannelName) -> list[str]:
        text = (self.folder / f"{channel}.log").read_text()
        return text[: text.rfind("\n") + 1].splitlines()


def write(folder: Path, channel: str, *records: str) -> None:
    with (folder / f"{channel}.log").open("a") as log:
        log.writelines(f"{record}\n" for record in records)


def counting(env: StreamExecutionEnvironment, folder: Path) -> Collecting:
    """How often each word has come: a record that is lost or read twice shows."""
    sink = Collecting()
    words = env.from_source(Logs(folder), NO_TIME, "logs", Types.STRING()).uid("logs")
    pairs = words.map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.LONG()]))
    pairs.key_by(lambda pair: pair[0], Types.STRING()).sum(1).uid("count").sink_to(sink)
    return sink


def test_nothing_is_lost_or_read_twice(make_env: MakeEnv, tmp_path: Path) -> None:
    logs, checkpoint = tmp_path / "logs", str(tmp_path / "checkpoint")
    logs.mkdir()

    def started(env: StreamExecutionEnvironment) -> tuple[Any, Collecting]:
        sink = counting(env, logs)
        return env.execute_async(), sink

    def gives(client: Any, sink: Collecting, *pairs: tuple[str, int]) -> None:
        """A restart may deliver its last epoch again; a wrong count would be there for good."""
        wait_for_job(lambda: set(pairs) <= set(sink.values), client, f"{pairs}")
        assert set(sink.values) <= {*expected, *pairs}
        expected.update(pairs)

    expected: set[tuple[str, int]] = set()
    # Three records, then one more, then a channel that was not there.
    write(logs, "a", "x 1", "y 2", "x 3")
    client, sink = started(make_env().set_checkpoint_directory(checkpoint))
    gives(client, sink, ("x", 1), ("y", 1), ("x", 2))
    write(logs, "a", "x 4")
    gives(client, sink, ("x", 3))
    write(logs, "b", "z 1", "x 5")
    gives(client, sink, ("z", 1), ("x", 4))
    (read,) = client.metrics().sources.values()
    assert (read.read, read.backlog) == (6, 0)
    cancel(client)

    # A restart from the checkpoint; some records came meanwhile.
    write(logs, "b", "y 6")
    client, sink = started(make_env().set_checkpoint_directory(checkpoint))
    gives(client, sink, ("y", 2))
    committed = logs / "committed"
    wait_for_job(committed.exists, client, "a commit")
    assert committed.read_text().startswith("[('a', ")
    saved = client.stop_with_savepoint(str(tmp_path / "saved"))

    # Another parallelism; a log has grown, and another one is new.
    write(logs, "a", "y 7", "x 8")
    write(logs, "c", "x 9")
    later = make_env().set_parallelism(3).set_slots(5)
    later.set_checkpoint_directory(str(tmp_path / "later")).restore_from_savepoint(saved)
    client, sink = started(later)
    gives(client, sink, ("y", 3), ("x", 5), ("x", 6))
    write(logs, "c", "z 10")
    gives(client, sink, ("z", 2))
    cancel(client)


def test_event_time_waits_for_a_channel_that_appears(make_env: MakeEnv, tmp_path: Path) -> None:
    sink, env = Collecting(), make_env()
    write(tmp_path, "a", "w 1", "w 12")
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    words = env.from_source(Logs(tmp_path), strategy, "logs", Types.STRING())
    pairs = words.map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.LONG()]))
    windows = pairs.key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(10))
    windows.sum(1).sink_to(sink)
    client = env.execute_async()
    wait_for_job(lambda: sink.records == [(("w", 1), 9)], client, "the first window")
    epoch = client.metrics().epoch
    write(tmp_path, "b")
    wait_for_job(lambda: client.metrics().epoch > epoch, client, "an epoch that announces b")
    write(tmp_path, "a", "w 25")
    wait_for_job(lambda: read_by(client) == 3, client, "the record that would end the window")
    write(tmp_path, "b", "w 15", "w 30")
    wait_for_job(lambda: len(sink.records) > 1, client, "the second window")
    assert sink.records[1] == (("w", 2), 19), "it has the record of the new channel"
    cancel(client)


def read_by(client: Any) -> int:
    (source,) = client.metrics().sources.values()
    return int(source.read)


@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_a_bounded_source_ends_where_it_ended_when_the_job_started(
    make_env: MakeEnv, tmp_path: Path, mode: str
) -> None:
    env, sink = make_env(mode), Collecting()
    write(tmp_path, "a", *(f"a{n} {n}" for n in range(5)))
    write(tmp_path, "b", "b0 0")
    write(tmp_path, "empty")
    logs = Logs(tmp_path, bounded=True)
    words = env.from_source(logs, WatermarkStrategy.for_monotonous_timestamps(), "logs")
    numbers = env.from_sequence(1, 3).map(str)
    words.union(numbers).sink_to(sink)
    env.execute()
    assert sorted(sink.values) == ["1", "2", "3", "a0", "a1", "a2", "a3", "a4", "b0"]
