"""A sink that keeps records for the test to look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millstream.connectors.simple_sinks import DriverSink
from millstream.connectors.sink import SinkContext
from millstream.datastream.streams.data_stream import DataStream
from millstream.testing.engine.records import StreamRecord

__all__ = ["CollectSink", "Collected", "collect"]


class Collected:
    """The records of a `CollectSink`: committed epochs only, each once.

    Iterating gives the values. `run_local` empties it when a job starts from the beginning, and
    lets it grow when a job continues from a checkpoint.

    Examples
    --------
    >>> collected = Collected()
    >>> collected.deliver(0, [("a", 1)])
    >>> collected.deliver(2, [("b", 7), ("c", 8)])
    >>> collected.values(), collected.by_epoch()[0]
    (['a', 'b', 'c'], [StreamRecord(value='a', timestamp=1)])
    """

    def __init__(self) -> None:
        self._epochs: dict[int, list[StreamRecord]] = {}

    def deliver(self, epoch: int, records: list[tuple[Any, int | None]]) -> None:
        """Take the records of an epoch; the sink's part. A replayed epoch replaces itself."""
        self._epochs[epoch] = [StreamRecord(value, timestamp) for value, timestamp in records]

    def values(self) -> list[Any]:
        """The values, in order."""
        return [record.value for record in self.records()]

    def records(self) -> list[StreamRecord]:
        """The values with their event times, in order."""
        return [record for _, records in sorted(self._epochs.items()) for record in records]

    def by_epoch(self) -> dict[int, list[StreamRecord]]:
        """The records of each epoch that brought any."""
        return {epoch: list(records) for epoch, records in sorted(self._epochs.items())}

    def clear(self) -> None:
        """Forget everything."""
        self._epochs.clear()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values())

    def __len__(self) -> int:
        return sum(map(len, self._epochs.values()))

    def __repr__(self) -> str:
        return f"Collected({self.values()!r})"


class CollectSink(DriverSink):
    """Keeps the records of a stream in memory, locally and on Spark.

    Attributes
    ----------
    collected : Collected
        What has come.

    Examples
    --------
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> from millstream.testing import run_local
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> sink = CollectSink()
    >>> env.from_collection([1, 2]).map(lambda n: n * 10).sink_to(sink)
    DataStreamSink(CollectSink)
    >>> results = run_local(env)
    >>> sink.collected
    Collected([10, 20])
    """

    changelog = "retract"
    only_collects = True

    def __init__(self) -> None:
        self.collected = Collected()

    def forget(self) -> None:
        self.collected.clear()

    def deliver(
        self, context: SinkContext, epoch: int, records: list[tuple[Any, int | None]]
    ) -> None:
        self.collected.deliver(epoch, records)


def collect(stream: DataStream, name: str | None = None) -> Collected:
    """Keep the records of a stream for a test to look at after the run.

    Parameters
    ----------
    stream
        The stream.
    name
        The name of the sink, by which `Results` know it.

    Returns
    -------
    Collected
        Empty now; it fills as the job runs.

    Examples
    --------
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> from millstream.testing import run_local
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> even = collect(env.from_collection([1, 2, 3, 4]).filter(lambda n: n % 2 == 0), "even")
    >>> run_local(env).values("even") == even.values() == [2, 4]
    True
    """
    sink = CollectSink()
    end = stream.sink_to(sink)
    if name is not None:
        end.name(name)
    return sink.collected
