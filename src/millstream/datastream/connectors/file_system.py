"""Files as sources and sinks."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.execution_config import accepted_without_effect
from millstream.common.paths import absolute_path
from millstream.common.time import to_millis
from millstream.common.type_aliases import DurationLike
from millstream.common.typeinfo import TypeInformation
from millstream.connectors.formats.avro import codec_of, fastavro, parsed_schema
from millstream.connectors.sink import (
    Committer,
    PartContext,
    PartWriter,
    SinkContext,
    TwoPhaseSink,
)
from millstream.connectors.source import Conversion, Source
from millstream.datastream.checkpoint_storage import checked_path
from millstream.datastream.connectors.file_formats import (
    BulkFormat,
    BulkWriterFactory,
    StreamFormat,
    row_format,
)
from millstream.datastream.connectors.file_policies import (
    BucketAssigner,
    DefaultRollingPolicy,
    FileCompactor,
    FileCompactStrategy,
    FileEnumeratorProvider,
    FileSplitAssignerProvider,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from millstream.datastream.connectors.line_encoders import line_encoder
from millstream.datastream.connectors.spark import option_text
from millstream.plan.specs import FILE_SINK_OPTIONS, FileFormat, FilesSinkSpec, FilesSpec

__all__ = [
    "BucketAssigner",
    "BulkFormat",
    "BulkWriterFactory",
    "DefaultRollingPolicy",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "RollingPolicy",
    "StreamFormat",
    "StreamingFileSink",
]

# -- reading ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FileSource(Source):
    """Reads files, each of them in order; records of a text file are lines, of others rows.

    Make one with `text`, `csv`, `json`, `parquet`, `orc` or `avro`, or in Flink's way with
    `for_record_stream_format` or `for_bulk_file_format`. A path is a file, a directory or a
    pattern, on any file system that Hadoop knows.

    Examples
    --------
    >>> source = FileSource.csv("/data/words", schema="word STRING, n BIGINT")
    >>> source.get_produced_type()
    ROW_NAMED(word: STRING, n: LONG)
    >>> FileSource.text("/data/in", watch=True).bounded
    False
    """

    paths: tuple[str, ...]
    stream_format: StreamFormat
    watch: bool = False

    @staticmethod
    def text(*paths: str, charset: str = "UTF-8", watch: bool = False) -> FileSource:
        """Return a source of lines.

        Parameters
        ----------
        *paths
            What to read.
        charset
            UTF-8 or ASCII, which Spark reads.
        watch
            Also read files that appear later, without an end.
        """
        return FileSource(_paths(paths), StreamFormat.text_line_format(charset), watch)

    @staticmethod
    def csv(
        *paths: str, schema: Any = None, header: bool = True, watch: bool = False, **options: object
    ) -> FileSource:
        """Return a source of rows from CSV files.

        Parameters
        ----------
        *paths
            What to read.
        schema
            The columns: a row type, text such as ``"word STRING, n BIGINT"``, or a Spark schema.
            Without one Spark looks at the files before the job starts.
        header
            Whether the first line has the names.
        watch
            Also read files that appear later, without an end.
        **options
            What else Spark's reader takes, such as ``sep=";"``.
        """
        # As the sink writes it, and RFC 4180 has it: a quote within quotes is doubled.
        return _rows("csv", paths, schema, watch, {"header": header, "escape": '"', **options})

    @staticmethod
    def json(*paths: str, schema: Any = None, watch: bool = False, **options: object) -> FileSource:
        """Return a source of rows from files with a JSON object on each line, see `csv`."""
        return _rows("json", paths, schema, watch, options)

    @staticmethod
    def parquet(
        *paths: str, schema: Any = None, watch: bool = False, **options: object
    ) -> FileSource:
        """Return a source of rows from Parquet files, see `csv`."""
        return _rows("parquet", paths, schema, watch, options)

    @staticmethod
    def orc(*paths: str, schema: Any = None, watch: bool = False, **options: object) -> FileSource:
        """Return a source of rows from ORC files, see `csv`."""
        return _rows("orc", paths, schema, watch, options)

    @staticmethod
    def avro(*paths: str, schema: Any = None, watch: bool = False, **options: object) -> FileSource:
        """Return a source of rows from Avro files.

        Parameters
        ----------
        *paths
            The files, folders or patterns to read.
        schema
            The Avro schema that records shall have, as JSON text or as its content; files may have
            others that fit it. Without one, the schema of the first file is taken when the job starts.
        watch
            Also read files that appear later, without an end.
        **options
            Spark's options that choose files, such as ``pathGlobFilter="*.avro"``.
        """
        fastavro()
        texts = {key: option_text(value) for key, value in options.items()}
        if schema is None:
            return FileSource(_paths(paths), StreamFormat("avro", texts), watch)
        parsed = parsed_schema(schema)
        text = schema if isinstance(schema, str) else json.dumps(schema)
        found = StreamFormat("avro", texts, text, codec_of(parsed).type_info)
        return FileSource(_paths(paths), found, watch)

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat, *paths: str) -> FileSourceBuilder:
        """Begin to build a source as in Flink."""
        return FileSourceBuilder(FileSource(_paths(paths), _format(stream_format)))

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat, *paths: str) -> FileSourceBuilder:
        """Begin to build a source as in Flink."""
        return FileSourceBuilder(FileSource(_paths(paths), _format(bulk_format)))

    def parts(self) -> tuple[FilesSpec, ...]:
        """Return what is to be read, path by path."""
        read = self.stream_format
        return tuple(
            FilesSpec(
                path=path,
                format=read.format,
                options=read.options,
                schema=read.schema,
                watch=self.watch,
            )
            for path in self.paths
        )

    def get_produced_type(self) -> TypeInformation | None:
        return self.stream_format.row_type

    def conversion(self) -> Conversion | None:
        return self.stream_format.convert


class FileSourceBuilder:
    """Builds a `FileSource` in Flink's way."""

    def __init__(self, source: FileSource) -> None:
        self._source = source

    def monitor_continuously(self, discovery_interval: DurationLike) -> FileSourceBuilder:
        """Watch for files that appear later; each epoch looks for new ones."""
        to_millis(discovery_interval, "discovery_interval")
        accepted_without_effect("discovery_interval", "every epoch looks for new files")
        return self._with(watch=True)

    def process_static_file_set(self) -> FileSourceBuilder:
        """Read the files that are there at the start, and end."""
        return self._with(watch=False)

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Accept Flink's choice of how files are found; Spark finds and splits them itself."""
        accepted_without_effect("set_file_enumerator", "Spark finds and splits files itself")
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        """Accept Flink's choice of which task reads which file; Spark chooses itself."""
        accepted_without_effect("set_split_assigner", "Spark gives files to tasks itself")
        return self

    def build(self) -> FileSource:
        """Return the source."""
        return self._source

    def _with(self, *, watch: bool) -> FileSourceBuilder:
        self._source = dataclasses.replace(self._source, watch=watch)
        return self


def _rows(
    name: FileFormat, paths: tuple[str, ...], schema: Any, watch: bool, options: dict[str, object]
) -> FileSource:
    texts = {key: option_text(value) for key, value in options.items()}
    return FileSource(_paths(paths), row_format(StreamFormat, name, schema, texts), watch)


def _paths(paths: tuple[object, ...]) -> tuple[str, ...]:
    if not paths:
        raise PlanError(
            "NO_PATH",
            "a file source needs at least one path",
            location=user_location(),
            hint="give files, directories or patterns",
        )
    return tuple(checked_path(path) for path in paths)


def _format(stream_format: object) -> StreamFormat:
    if isinstance(stream_format, StreamFormat):
        return stream_format
    raise PlanError(
        "BAD_FORMAT",
        f"a StreamFormat or BulkFormat is needed, got {short_repr(stream_format)}",
        location=user_location(),
        hint="for example StreamFormat.text_line_format()",
    )


# -- writing ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FileSink(TwoPhaseSink):
    """Writes files, exactly once: a reader of the directory sees committed files only.

    A job that is restarted goes on in the same directory. Make one with `text`, `csv`, `json`,
    `parquet`, `orc` or `avro`, or in Flink's way with `for_row_format` or `for_bulk_format`.

    Examples
    --------
    >>> FileSink.json("/data/out").to_spec().format
    'json'
    """

    path: str
    writer: BulkWriterFactory
    prefix: str = "part"
    encoder: Callable[[Any], str] | None = None
    buckets: BucketAssigner = field(default_factory=BucketAssigner)
    part_size: int | None = None
    success_delay_ms: int | None = None
    compaction: tuple[FileCompactStrategy, FileCompactor] | None = None

    @staticmethod
    def text(
        path: str, encoder: Any = None, *, prefix: str = "part", **options: object
    ) -> FileSink:
        """Return a sink of lines.

        Parameters
        ----------
        path
            The directory.
        encoder
            Makes a line of a record; by default ``str``.
        prefix
            What file names begin with.
        **options
            What Spark's writer takes, such as ``compression="gzip"``.
        """
        return _sink("text", path, prefix, options, line_encoder(encoder))

    @staticmethod
    def csv(path: str, *, prefix: str = "part", header: bool = True, **options: object) -> FileSink:
        """Return a sink of CSV files, for tuples and rows."""
        return _sink("csv", path, prefix, {"header": header, **options})

    @staticmethod
    def json(path: str, *, prefix: str = "part", **options: object) -> FileSink:
        """Return a sink of files with a JSON object on each line, for tuples and rows."""
        return _sink("json", path, prefix, options)

    @staticmethod
    def parquet(path: str, *, prefix: str = "part", **options: object) -> FileSink:
        """Return a sink of Parquet files, for tuples and rows."""
        return _sink("parquet", path, prefix, options)

    @staticmethod
    def orc(path: str, *, prefix: str = "part", **options: object) -> FileSink:
        """Return a sink of ORC files, for tuples and rows."""
        return _sink("orc", path, prefix, options)

    @staticmethod
    def avro(path: str, schema: Any = None, *, prefix: str = "part", **options: object) -> FileSink:
        """Return a sink of Avro files, for tuples, rows and dicts.

        Parameters
        ----------
        path
            The directory.
        schema
            An `AvroSchema`, or its JSON text; by default the one of the stream's type, in which each
            field may be null.
        prefix
            What file names begin with.
        **options
            ``compression``: ``"deflate"`` if not given, or ``"none"``, ``"bzip2"``, ``"xz"``.
        """
        given = {} if schema is None else {"schema": str(schema)}
        if schema is not None:
            parsed_schema(str(schema))
        else:
            fastavro()
        return _sink("avro", path, prefix, {**given, **options})

    @staticmethod
    def for_row_format(base_path: str, encoder: Any) -> FileSink.RowFormatBuilder:
        """Begin to build a sink of lines as in Flink."""
        return FileSink.RowFormatBuilder(FileSink.text(base_path, encoder))

    @staticmethod
    def for_bulk_format(
        base_path: str, writer_factory: BulkWriterFactory
    ) -> FileSink.BulkFormatBuilder:
        """Begin to build a sink of CSV, Parquet, ORC or Avro files as in Flink."""
        if not isinstance(writer_factory, BulkWriterFactory):
            raise PlanError(
                "BAD_FORMAT",
                f"a BulkWriterFactory is needed, got {short_repr(writer_factory)}",
                location=user_location(),
                hint="for example ParquetBulkWriters.for_row_type(...)",
            )
        return FileSink.BulkFormatBuilder(FileSink(checked_path(base_path), writer_factory))

    @property
    def prefers_columns(self) -> bool:  # type: ignore[override]
        """Parquet and ORC files have columns; lines are written from records."""
        return self.writer.format in ("parquet", "orc") and not self.is_bucketed

    @property
    def is_bucketed(self) -> bool:
        """Whether records go into subdirectories."""
        return self.buckets.by != "none"

    def to_builder(self) -> FileSink.BulkFormatBuilder:
        """Begin to build another sink like this one.

        Examples
        --------
        >>> days = BucketAssigner.event_time_bucket_assigner("'day='yyyy-MM-dd")
        >>> FileSink.orc("/data/out").to_builder().with_bucket_assigner(days).build().is_bucketed
        True
        """
        return FileSink.BulkFormatBuilder(self)

    def preprocess(self, stream: Any) -> Any:
        from millstream.datastream.connectors.buckets import bucketed

        return bucketed(stream, self.buckets, self.success_delay_ms) if self.is_bucketed else stream

    def open_part(self, context: PartContext) -> PartWriter:
        from millstream.spark.io.file_writer import FileWriter

        return FileWriter(self.to_spec(), context)

    def open_committer(self, context: SinkContext) -> Committer:
        from millstream.spark.io.file_compaction import CompactionRule
        from millstream.spark.io.file_sink import FileCommitter

        if self.compaction is None:
            return FileCommitter(self.path, context)
        strategy, compactor = self.compaction
        rule = CompactionRule(
            self.to_spec(),
            epochs=strategy.num_checkpoints,
            size=strategy.size_threshold,
            threads=strategy.num_threads,
            merges=compactor.merges,
            delimiter=compactor.delimiter or b"",
        )
        return FileCommitter(self.path, context, rule)

    def to_config(self) -> dict[str, Any]:
        # Readers have another working directory.
        return {"path": absolute_path(self.path)}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        return cls(config["path"], BulkWriterFactory("text", {}))

    def __getstate__(self) -> dict[str, Any]:
        # A relative path is the driver's.
        return {**vars(self), "path": absolute_path(self.path)}

    def validate(self) -> None:
        self.to_spec()

    def to_spec(self) -> FilesSinkSpec:
        """Return what is to be written, and how."""
        _check_options(self.writer)
        if "/" in self.prefix or "\\" in self.prefix:
            raise PlanError(
                "BAD_PREFIX",
                f"the names of files cannot begin with {self.prefix!r}",
                location=user_location(),
                hint="all files lie in the folder of the sink: a prefix is a part of a name",
            )
        return FilesSinkSpec(
            path=self.path,
            format=self.writer.format,
            options=self.writer.options,
            prefix=self.prefix,
            encoder=self.encoder or self.writer.encoder,
            bucketed=self.is_bucketed,
            part_size=self.part_size,
        )

    class BaseBuilder:
        """Builds a `FileSink` in Flink's way."""

        def __init__(self, sink: FileSink) -> None:
            self._sink = sink

        def with_bucket_check_interval(self, interval: int) -> Self:
            """Accept how often Flink looks whether a file is to be closed."""
            return self._note("with_bucket_check_interval", "files are closed with their epoch")

        def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> Self:
            """Set the subdirectory of each record; by default all files go into the base directory."""
            return self._with(buckets=bucket_assigner)

        def with_success_marker(self, delay: DurationLike = 0) -> Self:
            """Write an empty file ``_SUCCESS`` into each bucket of event time when it is complete.

            That is when the watermark is ``delay`` beyond the bucket's end. The marker comes once,
            after all files of the bucket that were written until then. Late records still go into
            their bucket.
            """
            return self._with(success_delay_ms=to_millis(delay, "delay"))

        def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
            """Set how large files become; they are closed with their epoch at the latest."""
            return self._with(part_size=rolling_policy.part_size)

        def with_output_file_config(self, output_file_config: OutputFileConfig) -> Self:
            """Set what file names begin with; the format says how they end."""
            self._with(prefix=output_file_config.get_part_prefix())
            if output_file_config.get_part_suffix():
                self._note("part_suffix", "file names end with the name of their format")
            return self

        def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> Self:
            """Merge small files before readers see them: `FileCompactStrategy` says when.

            Text, CSV and JSON are put one behind the other; Parquet, ORC and Avro are written again,
            whatever the compactor.
            """
            return self._with(compaction=(strategy, compactor))

        def disable_compact(self) -> Self:
            """Publish files as they are; what waits to be merged is published at the next start."""
            return self._with(compaction=None)

        def build(self) -> FileSink:
            """Return the sink."""
            sink = self._sink
            if sink.success_delay_ms is not None and sink.buckets.by != "event time":
                raise PlanError(
                    "NO_EVENT_TIME_BUCKETS",
                    "a success marker needs buckets by event time: the watermark says when one is "
                    "complete",
                    location=user_location(),
                    hint="with_bucket_assigner(BucketAssigner.event_time_bucket_assigner(...))",
                )
            return sink

        def _with(self, **changes: Any) -> Self:
            self._sink = dataclasses.replace(self._sink, **changes)
            return self

        def _note(self, option: str, why: str) -> Self:
            accepted_without_effect(option, why)
            return self

    class RowFormatBuilder(BaseBuilder):
        """Builds a sink of lines."""

    class BulkFormatBuilder(BaseBuilder):
        """Builds a sink of CSV, Parquet, ORC or Avro files."""


class StreamingFileSink(FileSink):
    """The older name of `FileSink`; ``add_sink`` takes it too."""

    DefaultRowFormatBuilder = FileSink.RowFormatBuilder
    DefaultBulkFormatBuilder = FileSink.BulkFormatBuilder


def _sink(
    name: FileFormat,
    path: str,
    prefix: str,
    options: dict[str, object],
    encoder: Callable[[Any], str] | None = None,
) -> FileSink:
    writer = BulkWriterFactory(name, {key: option_text(value) for key, value in options.items()})
    return FileSink(checked_path(path), writer, checked_path(prefix), encoder)


def _check_options(writer: BulkWriterFactory) -> None:
    known = FILE_SINK_OPTIONS[writer.format]
    for name, value in writer.options.items():
        if name in known and (not known[name] or value.lower() in known[name]):
            continue
        wrong = f"{name}={value!r}" if name in known else name
        choice = known.get(name) or sorted(known)
        raise PlanError(
            "UNKNOWN_OPTION",
            f"a {writer.format} sink has no option {wrong}",
            location=user_location(),
            hint=f"it knows {', '.join(choice)}; write_to({writer.format!r}, ...) takes all of Spark's",
        )
