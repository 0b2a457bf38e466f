"""Spark's sources: each becomes a DataFrame of buffer rows, streaming or batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from millstream.common.errors import PlanError
from millstream.common.paths import absolute_path
from millstream.common.typeinfo import TypeInformation, Types
from millstream.kernel.columns import Columns, concat_columns_of
from millstream.kernel.stages import Block
from millstream.plan.graph import SourceNode
from millstream.plan.specs import ChannelSpec, DataFrameSpec, FilesSpec, SocketSpec
from millstream.spark.channel_source import BLOCK, global_channel
from millstream.spark.csv_lines import CsvLines, csv_lines, spark_schema
from millstream.spark.file_listing import (
    DEFAULT_EPOCH_BYTES,
    channels_with_records,
    file_channel,
    file_reader,
    streaming_path,
    with_schema,
)
from millstream.spark.named_sources import stream_reader
from millstream.spark.rows import SCHEMA, to_arrow
from millstream.spark.worker import ProgramRef, errors_that_travel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def spark_rows(
    spark: SparkSession,
    node: SourceNode,
    uid: str,
    ref: ProgramRef,
    slots: tuple[int, ...],
    configuration: Mapping[str, str],
    *,
    streaming: bool,
    files_read: Sequence[str] = (),
) -> DataFrame:
    """The rows of a Spark source: read, project, and one ``mapInArrow``.

    ``files_read``: the files of a file source that were read before this run began.
    """
    spec = node.source
    frame: DataFrame
    task: _SourceTask
    reader: Any
    if isinstance(spec, FilesSpec):
        spec = with_schema(spark, spec)
        if streaming:
            reader = stream_reader(spark, uid).options(**_epoch_limit(configuration))
            path = streaming_path(spark, spec.path)
        else:
            reader, path = spark.read, absolute_path(spec.path)
        frame, task = _files(spark, spec, reader, path, ref, slots, files_read)
    elif isinstance(spec, SocketSpec):
        frame = (
            stream_reader(spark, uid)
            .format("socket")
            .option("host", spec.host)
            .option("port", spec.port)
            .load()
        )
        task = _FrameTask(ref, slots, Types.STRING(), frame.columns, node.id)
    else:
        assert isinstance(spec, DataFrameSpec)
        frame, task = _dataframe(spec, node, ref, slots)
    task.closes = not streaming
    return frame.mapInArrow(task, SCHEMA)


def _files(
    spark: SparkSession,
    spec: FilesSpec,
    reader: Any,
    path: str,
    ref: ProgramRef,
    slots: tuple[int, ...],
    files_read: Sequence[str],
) -> tuple[DataFrame, _SourceTask]:
    place = file_channel().alias("ms_channel"), F.input_file_block_start().alias("ms_frag")
    csv = csv_lines(spark, spec)
    if csv is not None:
        lines = reader.format("text").options(**spec.options).load(path)
        # There are more columns if the names of folders have values: Spark's reader knows which.
        if lines.columns == ["value"]:
            value = row_type(spark_schema(spec))
            lines = _unread(lines, files_read).select(
                csv.well_formed(F.col("value")).alias("value"), *place
            )
            return lines, _CsvTask(ref, slots, value, csv)
    frame = file_reader(spark, spec, reader).load(path)
    value = Types.STRING() if spec.format == "text" else row_type(frame.schema)
    names = frame.columns
    return _unread(frame, files_read).select(*names, *place), _FileTask(ref, slots, value, names)


def _unread(frame: DataFrame, files_read: Sequence[str]) -> DataFrame:
    """Without the rows of files that were read before: Spark leaves such files out."""
    if not files_read:
        return frame
    # The log of a file source writes file:///path, the metadata of rows file:/path.
    spellings = {path.replace("file:///", "file:/", 1) for path in files_read}
    return frame.where(~F.col("_metadata.file_path").isin(sorted({*spellings, *files_read})))


def _epoch_limit(configuration: Mapping[str, str]) -> dict[str, str]:
    max_files = configuration.get("millstream.epoch.max-files")
    if max_files is not None:
        return {"maxFilesPerTrigger": max_files}
    size = configuration.get("millstream.epoch.max-bytes", str(DEFAULT_EPOCH_BYTES))
    return {"maxBytesPerTrigger": size}


def row_type(spark_type: StructType) -> TypeInformation:
    """The type of records that Spark has as rows."""
    from pyspark.sql.pandas.types import to_arrow_schema

    # Spark hands timestamps over in the session's zone; the instants they stand for are the same.
    schema = to_arrow_schema(spark_type, timezone="UTC")
    fields = [TypeInformation.from_arrow(field.type) for field in schema]
    return Types.ROW_NAMED(schema.names, fields)


def _dataframe(
    spec: DataFrameSpec, node: SourceNode, ref: ProgramRef, slots: tuple[int, ...]
) -> tuple[DataFrame, _SourceTask]:
    frame = spec.dataframe
    for column in (spec.channel, spec.position):
        if column is not None and column not in frame.columns:
            raise PlanError(
                "UNKNOWN_FIELD",
                f"the DataFrame has no column {column!r}; it has {', '.join(frame.columns)}",
                location=node.location,
                hint="name an existing column as channel= and position=",
            )
    value = row_type(frame.schema)
    names = frame.columns
    if spec.channel is None:
        return frame, _FrameTask(ref, slots, value, names, node.id)
    position = F.col(spec.position).cast("long") if spec.position else F.lit(None).cast("long")
    frame = frame.select(
        "*", F.xxhash64(F.col(spec.channel)).alias("ms_channel"), position.alias("ms_pos")
    )
    if not frame.isStreaming:
        frame = frame.repartition("ms_channel").sortWithinPartitions("ms_channel", "ms_pos")
    return frame, _PositionTask(ref, slots, value, names, node.location)


class _SourceTask:
    """A task of the source stage over Spark's record batches."""

    def __init__(
        self, ref: ProgramRef, slots: tuple[int, ...], value: TypeInformation, names: list[str]
    ) -> None:
        self.ref = ref
        self.slots = slots
        self.value = value
        self.names = names
        self.closes = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with errors_that_travel(self.ref):
            context = TaskContext.get()
            task = context.partitionId() if context is not None else 0
            program = self.ref.get()
            yield from to_arrow(program.run(self.blocks(batches, task), task), self.slots)
            if self.closes:
                program.close()

    def blocks(self, batches: Iterator[pa.RecordBatch], task: int) -> Iterator[Block]:
        raise NotImplementedError

    def values(self, batch: pa.RecordBatch) -> Columns:
        return Columns(self.value, [batch.column(name) for name in self.names])


class _FrameTask(_SourceTask):
    """One channel for the whole DataFrame; a partition is a fragment of it."""

    def __init__(
        self,
        ref: ProgramRef,
        slots: tuple[int, ...],
        value: TypeInformation,
        names: list[str],
        source_id: int,
    ) -> None:
        super().__init__(ref, slots, value, names)
        self.channel = global_channel(source_id, 0)

    def blocks(self, batches: Iterator[pa.RecordBatch], task: int) -> Iterator[Block]:
        position = 0
        for batch in batches:
            if batch.num_rows:
                yield Block(self.values(batch), None, self.channel, task, position)
                position += batch.num_rows


def _runs(*columns: Any) -> Iterator[tuple[int, int]]:
    """Ranges of rows in which all columns keep their values."""
    n = len(columns[0])
    changes = np.zeros(n, bool)
    changes[0] = True
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    starts = np.flatnonzero(changes).tolist()
    yield from zip(starts, [*starts[1:], n], strict=True)


class _FileTask(_SourceTask):
    """A file is a channel, a split of it a fragment; Spark reads a file whole in one epoch."""

    def blocks(self, batches: Iterator[pa.RecordBatch], task: int) -> Iterator[Block]:
        positions: dict[tuple[int, int], int] = {}
        gathered: list[Columns] = []
        place = (0, 0)
        for found, values in self._runs_of_fragments(batches):
            # Spark's batches may be small; a block of many records costs less a record.
            if gathered and (found != place or sum(map(len, gathered)) >= BLOCK):
                yield from self._block(place, gathered, positions)
                gathered = []
            place = found
            gathered.append(values)
        if gathered:
            yield from self._block(place, gathered, positions)

    def _runs_of_fragments(
        self, batches: Iterator[pa.RecordBatch]
    ) -> Iterator[tuple[tuple[int, int], Columns]]:
        for batch in batches:
            if batch.num_rows:
                values = self.values(batch)
                channels = batch.column("ms_channel").to_numpy()
                frags = batch.column("ms_frag").to_numpy()
                for start, end in _runs(channels, frags):
                    place = int(channels[start]), int(frags[start])
                    yield place, values.slice(start, end - start)

    def _block(
        self, place: tuple[int, int], parts: list[Columns], positions: dict[tuple[int, int], int]
    ) -> Iterator[Block]:
        values = concat_columns_of(parts)
        position = positions.get(place, 0)
        positions[place] = position + len(values)
        yield Block(values, None, *place, position, finished=True)


class _CsvTask(_FileTask):
    """Files of rows of which Spark hands over the lines."""

    def __init__(
        self, ref: ProgramRef, slots: tuple[int, ...], value: TypeInformation, csv: CsvLines
    ) -> None:
        super().__init__(ref, slots, value, ["value"])
        self.csv = csv

    def _block(
        self, place: tuple[int, int], parts: list[Columns], positions: dict[tuple[int, int], int]
    ) -> Iterator[Block]:
        lines = self.csv.without_blanks(concat_columns_of(parts).arrays[0])
        # Where a file begins, its header comes before the first record.
        position = positions.get(place, -1 if self.csv.header and place[1] == 0 else 0)
        positions[place] = position + len(lines)
        if position < 0:
            lines, position = lines[1:], 0
        if len(lines):
            values = Columns(self.value, self.csv.columns(lines))
            yield Block(values, None, *place, position, finished=True)


class _PositionTask(_SourceTask):
    """Channels and positions given by columns; a channel's first position in a task is its fragment."""

    def __init__(
        self,
        ref: ProgramRef,
        slots: tuple[int, ...],
        value: TypeInformation,
        names: list[str],
        location: Any,
    ) -> None:
        super().__init__(ref, slots, value, names)
        self.location = location

    def blocks(self, batches: Iterator[pa.RecordBatch], task: int) -> Iterator[Block]:
        firsts: dict[int, int] = {}
        lasts: dict[int, int] = {}
        for batch in batches:
            if not batch.num_rows:
                continue
            values = self.values(batch)
            channels = batch.column("ms_channel").to_numpy()
            positions = batch.column("ms_pos").to_numpy(zero_copy_only=False)
            # Consecutive positions form a block; a gap in them begins the next one.
            expected = positions - np.arange(len(positions))
            for start, end in _runs(channels, expected):
                channel, position = int(channels[start]), int(positions[start])
                if position <= lasts.get(channel, position - 1):
                    raise self._disorder(channel, position)
                lasts[channel] = int(positions[end - 1])
                frag = firsts.setdefault(channel, position)
                part = values.slice(start, end - start)
                yield Block(part, None, channel, frag, position)

    def _disorder(self, channel: int, position: int) -> PlanError:
        return PlanError(
            "CHANNEL_DISORDER",
            f"position {position} of channel {channel} comes after a higher one in its partition",
            location=self.location,
            hint="give a position= column that grows along each channel within a partition",
        )


@contextmanager
def readable_refusal(node: SourceNode) -> Iterator[None]:
    """Say at the user's line what Spark does not like about a source: a path that is not there."""
    try:
        yield
    except AnalysisException as error:
        raise PlanError(
            "SOURCE_REFUSED",
            f"Spark cannot read source {node.name!r}: {str(error).splitlines()[0]}",
            location=node.location,
            hint="check its path, format and options",
        ) from None


# -- what a bounded read consists of --------------------------------------------------------------


def announced_channels(spark: SparkSession, node: SourceNode) -> list[int]:
    """The channels known before the first record: a bounded read's files, our sources' channels."""
    spec = node.source
    if isinstance(spec, ChannelSpec):
        source = spec.source
        return [
            global_channel(node.id, channel)
            for channel in source.channels()
            if source.end(channel) != 0
        ]
    if isinstance(spec, FilesSpec) and not spec.watch:
        with readable_refusal(node):
            return channels_with_records(spark, spec)
    return []
