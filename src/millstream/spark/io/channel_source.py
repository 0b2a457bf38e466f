"""Millstream's own sources: ordered channels, read by position in a Python data source.

The reader runs in a Python worker already, so the source stage runs inside it and Spark gets buffers.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)

from millstream.common.errors import Location
from millstream.connectors.reading import Progress, Reads, blocks
from millstream.connectors.source import ChannelName, ChannelSource, Position
from millstream.connectors.source_calls import SourceCalls
from millstream.kernel.records.buffers import BufferRow
from millstream.kernel.stages.programs import SourceProgram
from millstream.spark.tasks.named_sources import stream_reader
from millstream.spark.tasks.rows import SCHEMA, to_arrow
from millstream.spark.tasks.worker import ProgramRef, errors_that_travel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class ChannelTask:
    """The source stage of a channel source together with the source: one of each in a process."""

    def __init__(
        self,
        program: SourceProgram,
        source: ChannelSource,
        name: str = "source",
        location: Location | None = None,
    ) -> None:
        self.program = program
        self.source = source
        self.name = name
        self.location = location
        self.is_open = False

    @property
    def _calls(self) -> SourceCalls:
        return SourceCalls(self.source, self.name, self.location)

    def open_source(self) -> ChannelSource:
        """The source, open."""
        if not self.is_open:
            self._calls.open()
            self.is_open = True
        return self.source

    def run(self, reads: Reads, task: int) -> Iterator[BufferRow]:
        """Read what a task is to read."""
        source = self.open_source()
        return self.program.run(
            blocks(source, reads.ranges, self.name, self.location),
            task,
            announced=reads.announced,
            backlog=reads.backlog,
        )

    def close(self) -> None:
        self.program.close()
        if self.is_open:
            self.is_open = False
            self._calls.close()


class ChannelReader:
    """Offsets and tasks of a channel source; shared by stream and batch.

    ``begin``: the offset of the savepoint that the run began from. ``ends``: those of a bounded source.
    ``limit``, ``name``, ``location`` and ``clock``: see `Progress`.
    """

    def __init__(
        self,
        source_id: int,
        ref: ProgramRef,
        slots: tuple[int, ...],
        tasks: int,
        *,
        closes: bool,
        begin: Mapping[str, Any] | None = None,
        ends: Mapping[ChannelName, Position | None] | None = None,
        limit: int | None = None,
        name: str = "source",
        location: Location | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.source_id = source_id
        self.ref = ref
        self.slots = slots
        self.tasks = tasks
        self.closes = closes
        self.begin = dict(begin or {})
        self.ends = ends
        self.limit = limit
        self.name = name
        self.location = location
        self.clock = clock

    def __getstate__(self) -> dict[str, Any]:
        # A source that is open belongs to its process.
        return {name: value for name, value in vars(self).items() if name != "progress"}

    @cached_property
    def progress(self) -> Progress:
        """Where the source stands; on the driver."""
        task: ChannelTask = self.ref.get()
        return Progress(
            task.open_source(),
            self.source_id,
            ends=self.ends,
            limit=self.limit,
            name=self.name,
            location=self.location,
            clock=self.clock,
        )

    def partitions(self, reads: Reads) -> list[InputPartition]:
        return [InputPartition(part) for part in reads.dealt(self.tasks)]

    def rows(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        with errors_that_travel(self.ref):
            # Spark asks for one empty part if there is none.
            number, reads = partition.value or (0, Reads(()))
            task: ChannelTask = self.ref.get()
            yield from to_arrow(task.run(reads, number), self.slots)
            if self.closes:
                task.close()


class ChannelStreamReader(DataSourceStreamReader):
    """Reads a channel source as a stream."""

    def __init__(self, reader: ChannelReader) -> None:
        self._reader = reader
        _hush_source_runner()

    def initialOffset(self) -> dict[str, Any]:
        # Channels enter the offset with the first epoch that knows them, which announces them.
        return self._reader.begin

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:
        with errors_that_travel(self._reader.ref):
            return self._reader.progress.next(start)

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """How far channels can be read, for the metrics."""
        asked = "progress" in vars(self._reader)
        found = self._reader.progress.found if asked else None
        return None if found is None or None in found.values() else found

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        with errors_that_travel(self._reader.ref):
            return self._reader.partitions(self._reader.progress.reads(start, end))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._reader.rows(partition)

    def commit(self, end: dict[str, Any]) -> None:
        with errors_that_travel(self._reader.ref):
            self._reader.progress.commit(end)

    def stop(self) -> None:
        if "progress" in vars(self._reader):
            with errors_that_travel(self._reader.ref):
                self._reader.progress.calls.close()


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
    """Reads a bounded channel source whole."""

    def __init__(self, reader: ChannelReader) -> None:
        self._reader = reader

    def partitions(self) -> Sequence[InputPartition]:
        reader = self._reader
        with errors_that_travel(reader.ref):
            reads = reader.progress.all_reads(reader.begin)
            # There is one epoch, and the end comes with it: nobody waits for a channel.
            return reader.partitions(Reads(reads.ranges))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._reader.rows(partition)


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
