"""Millstream's own sources: ordered channels, read by position in a Python data source.

The reader runs in a Python worker already, so the source stage runs inside it and Spark gets buffers.
"""

from __future__ import annotations

import os
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)

from millstream.common.errors import Location
from millstream.common.time import MIN_TIMESTAMP
from millstream.kernel.stages import Block
from millstream.plan.specs import ChannelSpec, refuse_shorter
from millstream.spark.named_sources import stream_reader
from millstream.spark.rows import SCHEMA, to_arrow
from millstream.spark.worker import ProgramRef, errors_that_travel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BLOCK = 16_384
CATCH_UP_SECONDS = 10.0
"""An epoch of a source with a rate has at most the records of so long a time."""


def global_channel(source_id: int, channel: int) -> int:
    """A channel number that no other source of the job has."""
    return source_id << 32 | channel


class ChannelReader:
    """Positions and ranges of a `ChannelSpec`; shared by stream and batch.

    ``begin``: where channels begin, by name; at 0 if it does not say. ``name`` and ``location`` are the
    source's. ``clock`` gives seconds and never goes back, whatever happens to the time of day.
    """

    def __init__(
        self,
        source_id: int,
        spec: ChannelSpec,
        ref: ProgramRef,
        slots: tuple[int, ...],
        tasks: int,
        *,
        closes: bool,
        begin: Mapping[str, int] | None = None,
        name: str = "source",
        location: Location | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.source_id = source_id
        self.spec = spec
        self.ref = ref
        self.slots = slots
        self.tasks = tasks
        self.closes = closes
        self.begin = dict(begin or {})
        self.name = name
        self.location = location
        self.clock = clock
        self.due: dict[int, tuple[float, float]] = {}

    def next_position(self, channel: int, start: int) -> int:
        """How far an epoch that begins at ``start`` reads a channel."""
        self.check(channel, start)
        end = self.spec.source.end(channel)
        stop = start + self._allowed(channel, start)
        if self.spec.rate is not None:
            stop = min(stop, self._due(channel, start, self.spec.rate))
        return max(start, stop if end is None else min(stop, end))

    def check(self, channel: int, position: int) -> None:
        """Refuse a position that a channel does not have any more."""
        refuse_shorter(self.spec.source, channel, position, self.name, self.location)

    def _allowed(self, channel: int, start: int) -> int:
        per_epoch = self.spec.per_epoch
        if isinstance(per_epoch, Mapping):
            borders = list(accumulate(per_epoch.get(channel, ())))
            place = bisect_right(borders, start)
            return borders[place] - start if place < len(borders) else 1 << 62
        if per_epoch is None:
            return 1 << 62 if self.spec.source.end(channel) is not None else 100_000
        return per_epoch

    def _due(self, channel: int, start: int, rate: float) -> int:
        """How far the rate lets a channel come by now, from where this run found it.

        A driver that stood still for long does not make up for all of it at once.
        """
        now = self.clock()
        asked, due = self.due.get(channel, (now, float(start)))
        due = min(due + (now - asked) * rate, start + max(1.0, CATCH_UP_SECONDS * rate))
        self.due[channel] = now, due
        return int(due)

    def ranges(
        self, start: Mapping[str, int], end: Mapping[str, int]
    ) -> list[list[tuple[int, int, int]]]:
        """(channel, from, to) for each task."""
        found = [
            (int(name), start.get(name, 0), stop)
            for name, stop in end.items()
            if stop > start.get(name, 0)
        ]
        tasks: list[list[tuple[int, int, int]]] = [[] for _ in range(self.tasks)]
        for number, item in enumerate(found):
            tasks[number % self.tasks].append(item)
        return [task for task in tasks if task]

    def rows(self, ranges: Sequence[tuple[int, int, int]]) -> Iterator[pa.RecordBatch]:
        with errors_that_travel(self.ref):
            task = ranges[0][0] if ranges else 0
            program = self.ref.get()
            yield from to_arrow(program.run(self._blocks(ranges), task), self.slots)
            if self.closes:
                program.close()

    def _blocks(self, ranges: Sequence[tuple[int, int, int]]) -> Iterator[Block]:
        for channel, first, last in ranges:
            self.check(channel, last)
            end = self.spec.source.end(channel)
            for start in range(first, last, BLOCK):
                stop = min(start + BLOCK, last)
                values, times = self.spec.source.read(channel, start, stop)
                yield Block(
                    values,
                    _times(times),
                    global_channel(self.source_id, channel),
                    first,
                    start,
                    finished=stop == end,
                )


def _times(times: list[int | None] | None) -> Any:
    if times is None:
        return None
    return np.array([MIN_TIMESTAMP if ts is None else ts for ts in times], np.int64)


class ChannelStreamReader(DataSourceStreamReader):
    """Reads a `ChannelSpec` as a stream."""

    def __init__(self, reader: ChannelReader) -> None:
        self._reader = reader
        _hush_source_runner()

    def initialOffset(self) -> dict[str, int]:
        reader = self._reader
        names = map(str, reader.spec.source.channels())
        return {name: reader.begin.get(name, 0) for name in names}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
        reader = self._reader
        with errors_that_travel(reader.ref):
            return {name: reader.next_position(int(name), at) for name, at in start.items()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [InputPartition(task) for task in self._reader.ranges(start, end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._reader.rows(partition.value)

    def commit(self, end: dict[str, int]) -> None:
        pass


def _hush_source_runner() -> None:
    """The process that asks a source for offsets shows a traceback when Spark closes its socket.

    That is how it learns that the query has ended.
    """
    main = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    if os.path.basename(main) == "python_streaming_source_runner.py":
        usual = sys.excepthook

        def shown(kind: type[BaseException], error: BaseException, trace: Any) -> None:
            if not issubclass(kind, ConnectionError | EOFError):
                usual(kind, error, trace)

        sys.excepthook = shown


class ChannelBatchReader(DataSourceReader):
    """Reads a bounded `ChannelSpec` whole."""

    def __init__(self, reader: ChannelReader) -> None:
        self._reader = reader

    def partitions(self) -> Sequence[InputPartition]:
        source = self._reader.spec.source
        ends = {str(channel): source.end(channel) or 0 for channel in source.channels()}
        with errors_that_travel(self._reader.ref):
            for name, position in self._reader.begin.items():
                self._reader.check(int(name), position)
        return [InputPartition(task) for task in self._reader.ranges(self._reader.begin, ends)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._reader.rows(partition.value)


def channel_rows(
    spark: SparkSession, reader: ChannelReader, name: str, uid: str, *, streaming: bool
) -> DataFrame:
    """The rows of a source. Spark finds a Python source by name, so each gets its own."""

    class ChannelData(DataSource):
        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> str:
            return SCHEMA

        def streamReader(self, schema: Any) -> ChannelStreamReader:
            return ChannelStreamReader(reader)

        def reader(self, schema: Any) -> ChannelBatchReader:
            return ChannelBatchReader(reader)

    spark.dataSource.register(ChannelData)
    if streaming:
        return stream_reader(spark, uid).format(name).load()
    return spark.read.format(name).load()
