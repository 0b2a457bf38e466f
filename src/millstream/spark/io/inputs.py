"""How Spark reads sources: a class for each kind, and the table that finds it."""

from __future__ import annotations

import json
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from millstream.checkpoint.spark_files import QueryFiles
from millstream.common.errors import PlanError
from millstream.common.paths import absolute_path, local_path
from millstream.common.typeinfo import TypeInformation, Types
from millstream.connectors.files.avro import AvroReader
from millstream.connectors.files.choice import READER_KEY, FileReader, reader_of, refusal
from millstream.connectors.files.columns import Columns as FileColumns
from millstream.connectors.files.columns import columns_of
from millstream.connectors.files.opening import COMPRESSED, unreachable
from millstream.connectors.formats.avro import codec_of, parsed_schema
from millstream.connectors.reading import Progress, opened
from millstream.connectors.source import ChannelName, ChannelSource, Position, SourceSpec
from millstream.kernel.stages.programs import SourceProgram
from millstream.plan.graph import SourceNode
from millstream.plan.specs import DataFrameSpec, FilesSpec, SocketSpec
from millstream.spark.io.channel_source import ChannelReader, ChannelTask, channel_rows
from millstream.spark.io.file_listing import (
    DEFAULT_EPOCH_BYTES,
    SMALL_EPOCH_BYTES,
    channels_with_records,
    entries,
    file_channel,
    file_reader,
    is_plain_folder,
    plain_path,
    spark_schema,
    streaming_path,
    with_schema,
)
from millstream.spark.io.fragments import LISTED, FragmentTask, fragment_bytes, fragments, listing
from millstream.spark.io.source_tasks import FileTask, FrameTask, PositionTask, SourceTask
from millstream.spark.tasks.failures import file_gone
from millstream.spark.tasks.named_sources import stream_reader
from millstream.spark.tasks.rows import SCHEMA
from millstream.spark.tasks.worker import ProgramRef

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

log = logging.getLogger("millstream")
S = TypeVar("S", bound=SourceSpec)
UsedFields = Callable[[TypeInformation], frozenset[int] | None]


@dataclass(frozen=True)
class StageOfSource:
    """The source stage of one source, ready to travel."""

    ref: ProgramRef
    slots: tuple[int, ...]
    tasks: int
    configuration: Mapping[str, str]
    streaming: bool


@dataclass
class Input(ABC, Generic[S]):
    """One source as Spark reads it.

    ``begin``: what the savepoint that the run began from says of the source, nothing if there is none.
    ``stands``: the offset of the last epoch that the run has planned.
    ``used``: the places of the fields that are read, of records of a type; None if all are.
    """

    spark: SparkSession
    node: SourceNode
    spec: S
    uid: str
    begin: Mapping[str, Any] = field(default_factory=dict)
    stands: Mapping[str, Any] = field(default_factory=dict)
    used: UsedFields = lambda _: None

    def travelling(self, program: SourceProgram) -> Any:
        """The object that the workers get: the program of the source stage, and what it needs."""
        return program

    @abstractmethod
    def rows(self, stage: StageOfSource) -> DataFrame:
        """The rows behind the source stage."""

    def announced(self, configuration: Mapping[str, str]) -> list[int]:
        """The channels to announce when the run begins, unless the source does it itself."""
        return []

    def is_capped(self, configuration: Mapping[str, str]) -> bool:
        """Whether an epoch's input is known to be small."""
        return False

    def at_end(self, progress: Mapping[str, Any]) -> bool:
        """Whether a bounded source has been read to its end, as far as Spark does not know it."""
        return True

    def lags(self, progress: Mapping[str, Any]) -> Mapping[str, int] | None:
        """How many records of each channel wait, by Spark's progress; None if that is not known."""
        return None

    def refuse_missing(self, files: QueryFiles, name: str, batch: int) -> None:
        """Fail if something that an epoch is to read is gone."""


def input_of(
    spark: SparkSession,
    node: SourceNode,
    uid: str,
    begin: Mapping[str, Any] | None = None,
    stands: Mapping[str, Any] | None = None,
    used: UsedFields = lambda _: None,
) -> Input[Any]:
    """How Spark reads a source."""
    spec: Any = node.source
    found = next(reads for kind, reads in INPUTS.items() if isinstance(spec, kind))
    return found(spark, node, spec, uid, begin or {}, stands or {}, used)


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


# -- channels --------------------------------------------------------------------------------------


class ChannelInput(Input[ChannelSource]):
    """A source of channels, read in a Python data source. It announces channels as it finds them."""

    @cached_property
    def ends(self) -> Mapping[ChannelName, Position | None] | None:
        """Where the channels of a bounded source end, as it says when the run begins.

        A run that goes on asks what there is for a job that stands where it stands: a source may have
        chosen then what it reads, such as a version of a table.
        """
        if not self.spec.bounded:
            return None
        with opened(self.spec, self.node.name, self.node.location):
            progress = Progress(self.spec, name=self.node.name, location=self.node.location)
            progress.latest({**(self.stands or self.begin.get("offset") or {})})
        return progress.ends

    def travelling(self, program: SourceProgram) -> ChannelTask:
        return ChannelTask(program, self.spec, self.node.name, self.node.location)

    def rows(self, stage: StageOfSource) -> DataFrame:
        limit = stage.configuration.get("millstream.epoch.max-records")
        reader = ChannelReader(
            self.node.id,
            stage.ref,
            stage.slots,
            stage.tasks,
            closes=not stage.streaming,
            begin=self.begin.get("offset"),
            ends=self.ends,
            limit=None if limit is None else int(limit),
            name=self.node.name,
            location=self.node.location,
        )
        # Spark finds a Python source by name, so each has its own.
        name = f"millstream_{stage.ref.key}".replace("-", "_")
        return channel_rows(self.spark, reader, name, self.uid, streaming=stage.streaming)

    def is_capped(self, configuration: Mapping[str, str]) -> bool:
        # Spark gets buffers of about 1 MB.
        return True

    def at_end(self, progress: Mapping[str, Any]) -> bool:
        """A rate lets a source pause before its end."""
        lags = self._lags(progress["endOffset"], self.ends)
        return lags is not None and not any(lags.values())

    def lags(self, progress: Mapping[str, Any]) -> Mapping[str, int] | None:
        latest = _parsed(progress["latestOffset"]) if self.ends is None else self.ends
        return None if latest is None else self._lags(progress["endOffset"], latest)

    def _lags(self, offset: Any, latest: Mapping[Any, Any] | None) -> Mapping[str, int] | None:
        found = _parsed(offset)
        if found is None:
            return None
        node = self.node
        return Progress(self.spec, ends=latest, name=node.name, location=node.location).lags(found)


def _parsed(offset: Any) -> dict[str, Any] | None:
    found = json.loads(offset) if isinstance(offset, str) else offset
    return found if isinstance(found, dict) else None


# -- files -----------------------------------------------------------------------------------------


class FilesInput(Input[FilesSpec]):
    """Files, which Spark lists. The workers read them where they can, and else Spark does."""

    @cached_property
    def known(self) -> FilesSpec:
        """The spec, with the schema that Spark finds if nobody gave one."""
        return with_schema(self.spark, self.spec)

    def reader(self, configuration: Mapping[str, str]) -> FileReader | None:
        """The reader in the workers; None if Spark's own has to read the files."""
        spec = self.known
        if spec.format == "avro":
            return AvroReader(spec.schema)
        columns = columns_of(spark_schema(spec)) or ()
        reason = self._refusal(configuration, columns)
        if reason is not None:
            log.info("source %r is read by Spark's reader: %s", self.node.name, reason)
            return None
        return reader_of(
            spec.format,
            spec.options,
            columns,
            case_sensitive=self._says("spark.sql.caseSensitive").lower() == "true",
            used=None if spec.format == "text" else self.used(self._value()),
        )

    def _refusal(self, configuration: Mapping[str, str], columns: FileColumns) -> str | None:
        """Why Spark's reader has to read the files: `explain` does not know the session."""
        if configuration.get(READER_KEY) == "spark":
            return READER_KEY
        if self._says("spark.sql.files.ignoreCorruptFiles").lower() == "true":
            return "spark.sql.files.ignoreCorruptFiles"
        spec, corrupt = self.known, self._says("spark.sql.columnNameOfCorruptRecord")
        found = refusal(spec.path, spec.format, spec.options, columns, corrupt)
        return found or unreachable(absolute_path(spec.path))

    def _says(self, setting: str) -> str:
        return str(self.spark.conf.get(setting))

    def _value(self) -> TypeInformation:
        """The type of the records that the workers read."""
        if self.spec.format == "text":
            return Types.STRING()
        if self.spec.format == "avro":
            return codec_of(parsed_schema(self.known.schema)).type_info
        return row_type(spark_schema(self.known))

    def rows(self, stage: StageOfSource) -> DataFrame:
        spec = self.known
        reader: Any = self.spark.read
        path = absolute_path(spec.path)
        if stage.streaming:
            reader = stream_reader(self.spark, self.uid).options(
                **_epoch_limit(stage.configuration)
            )
            path = streaming_path(self.spark, spec.path)
        frame, task = self._read_by_workers(reader, path, stage) or self._read_by_spark(
            reader, path, stage
        )
        return _mapped(frame, task, stage)

    def _read_by_workers(
        self, reader: Any, path: str, stage: StageOfSource
    ) -> tuple[DataFrame, SourceTask] | None:
        spec, found = self.known, self.reader(stage.configuration)
        files = None if found is None else listing(reader, spec, path)
        if found is None or files is None:
            return None
        # There are more columns if the names of folders have values: Spark's reader knows which.
        if files.columns != LISTED and spec.format != "avro":
            return None
        files = _unread(files, self.begin.get("files_read", ()))
        task = FragmentTask(
            stage.ref,
            stage.slots,
            self._value(),
            found,
            ignores_missing=self._ignores_missing(),
            location=self.node.location,
        )
        size, local = fragment_bytes(self.spark), local_path(spec.path) is not None
        return fragments(files, found, size, stage.tasks, local=local), task

    def _read_by_spark(
        self, reader: Any, path: str, stage: StageOfSource
    ) -> tuple[DataFrame, SourceTask]:
        place = file_channel().alias("ms_channel"), F.input_file_block_start().alias("ms_frag")
        spec = self.known
        frame = file_reader(self.spark, spec, reader).load(path)
        value = Types.STRING() if spec.format == "text" else row_type(frame.schema)
        names = frame.columns
        task = FileTask(stage.ref, stage.slots, value, names)
        unread = _unread(frame, self.begin.get("files_read", ()))
        return unread.select(*names, *place), task

    def announced(self, configuration: Mapping[str, str]) -> list[int]:
        """The files of a bounded read; those to come in a folder that is watched are not known."""
        if self.spec.watch:
            return []
        with readable_refusal(self.node):
            return channels_with_records(self.spark, self.known, self.reader(configuration))

    def is_capped(self, configuration: Mapping[str, str]) -> bool:
        """Files that the workers read, and plain text files of a bounded, local read."""
        spec = self.spec
        columns = columns_of(spec.schema)
        if (
            (columns is not None or spec.format == "text")
            and configuration.get(READER_KEY) != "spark"
            and refusal(spec.path, spec.format, spec.options, columns) is None
            and is_plain_folder(spec.path)
        ):
            return True
        if spec.watch or spec.format in ("parquet", "orc", "avro"):
            return False
        place = plain_path(spec.path)
        if place is None or not os.path.exists(place):
            return False
        files = [entry for entry in entries(place) if entry.is_file()]
        if any(entry.name.endswith(COMPRESSED) for entry in files):
            return False
        max_files = configuration.get("millstream.epoch.max-files")
        if max_files is None:
            limit = configuration.get("millstream.epoch.max-bytes", str(DEFAULT_EPOCH_BYTES))
            return limit.isdigit() and int(limit) <= SMALL_EPOCH_BYTES
        sizes = sorted((entry.stat().st_size for entry in files), reverse=True)
        return sum(sizes[: int(max_files)]) <= SMALL_EPOCH_BYTES

    def refuse_missing(self, files: QueryFiles, name: str, batch: int) -> None:
        """Spark would read the other files and say nothing."""
        if not self._ignores_missing():
            for path in files.missing_files(name, batch):
                raise file_gone(path, self.node.location)

    def _ignores_missing(self) -> bool:
        ignored = str(self.spark.conf.get("spark.sql.files.ignoreMissingFiles", "false"))
        return ignores_missing(self.spec, ignored)


def ignores_missing(spec: FilesSpec, default: str) -> bool:
    """Whether a source goes on without files that are gone; its own option overrides the session's."""
    options = {name.lower(): value for name, value in spec.options.items()}
    return str(options.get("ignoremissingfiles", default)).lower() == "true"


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


# -- sockets and DataFrames ------------------------------------------------------------------------


class SocketInput(Input[SocketSpec]):
    """Lines of a socket, which Spark keeps on the driver."""

    def rows(self, stage: StageOfSource) -> DataFrame:
        reader = stream_reader(self.spark, self.uid).format("socket")
        frame = reader.option("host", self.spec.host).option("port", self.spec.port).load()
        task = FrameTask(stage.ref, stage.slots, Types.STRING(), frame.columns, self.node.id)
        return _mapped(frame, task, stage)


class DataFrameInput(Input[DataFrameSpec]):
    """Any DataFrame of the user's."""

    def rows(self, stage: StageOfSource) -> DataFrame:
        spec, frame = self.spec, self._frame()
        for column in (spec.channel, spec.position):
            if column is not None and column not in frame.columns:
                raise PlanError(
                    "UNKNOWN_FIELD",
                    f"the DataFrame has no column {column!r}; it has {', '.join(frame.columns)}",
                    location=self.node.location,
                    hint="name an existing column as channel= and position=",
                )
        value, names = row_type(frame.schema), frame.columns
        if spec.channel is None:
            task = FrameTask(stage.ref, stage.slots, value, names, self.node.id)
            return _mapped(frame, task, stage)
        position = F.col(spec.position).cast("long") if spec.position else F.lit(None).cast("long")
        frame = frame.select(
            "*", F.xxhash64(F.col(spec.channel)).alias("ms_channel"), position.alias("ms_pos")
        )
        if not frame.isStreaming:
            frame = frame.repartition("ms_channel").sortWithinPartitions("ms_channel", "ms_pos")
        by_position = PositionTask(stage.ref, stage.slots, value, names, self.node.location)
        return _mapped(frame, by_position, stage)

    def _frame(self) -> DataFrame:
        """The DataFrame, or another that goes on from the offset of a savepoint."""
        offset, spec = self.begin.get("offset"), self.spec
        frame: DataFrame = spec.dataframe
        if offset is None or spec.bounded:
            return frame
        if spec.resume is None:
            raise PlanError(
                "SOURCE_NOT_RESTORABLE",
                f"source {self.node.name!r} has an offset in the savepoint, and cannot go on from it",
                location=self.node.location,
                hint="give from_dataframe(..., resume=...)",
            )
        frame = spec.resume(offset)
        return frame


def _mapped(frame: DataFrame, task: SourceTask, stage: StageOfSource) -> DataFrame:
    task.closes = not stage.streaming
    return frame.mapInArrow(task, SCHEMA)


def row_type(spark_type: StructType) -> TypeInformation:
    """The type of records that Spark has as rows."""
    from pyspark.sql.pandas.types import to_arrow_schema

    # Spark hands timestamps over in the session's zone; the instants they stand for are the same.
    schema = to_arrow_schema(spark_type, timezone="UTC")
    fields = [TypeInformation.from_arrow(field.type) for field in schema]
    return Types.ROW_NAMED(schema.names, fields)


INPUTS: Mapping[Any, type[Input[Any]]] = {
    ChannelSource: ChannelInput,
    FilesSpec: FilesInput,
    SocketSpec: SocketInput,
    DataFrameSpec: DataFrameInput,
}
"""The reader of each kind of source. A new channel source needs no entry."""
