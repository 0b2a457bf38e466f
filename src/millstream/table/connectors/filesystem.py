"""The connector ``filesystem``: files in folders, with Flink's options."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from millstream.common.execution_config import accepted_without_effect
from millstream.common.paths import absolute_path
from millstream.connectors.conditions import Comparison
from millstream.connectors.files.choice import FileReader
from millstream.connectors.files.hidden import is_hidden
from millstream.connectors.files.orc import OrcReader
from millstream.connectors.files.parquet import ParquetReader
from millstream.connectors.files.text import TextReader
from millstream.connectors.sink import Changelog, Sink
from millstream.datastream.connectors.file_formats import BulkWriterFactory
from millstream.datastream.connectors.file_policies import BucketAssigner
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.table.connectors.avro_rows import AvroColumns, avro_schema
from millstream.table.connectors.factory import (
    CONNECTORS,
    Connector,
    ReadRows,
    read_row,
    stored_row,
)
from millstream.table.connectors.file_sink import LineEncoder, Partitions, TableFileSink
from millstream.table.connectors.formats import chosen_format, format_options
from millstream.table.connectors.messages import ColumnsDecoder, MessageDecoder, Part
from millstream.table.connectors.options import Option, Options
from millstream.table.connectors.partition_commit import (
    COMMIT_OPTIONS,
    PartitionedFileSink,
    commit_rule,
)
from millstream.table.connectors.table_files import (
    DEFAULT_PARTITION,
    ArrowColumn,
    FileMetadata,
    GrowingTableFiles,
    PartitionValue,
    TableFiles,
)
from millstream.table.logical.entries import TableColumn, TableEntry
from millstream.table.physical.compiled import row_info
from millstream.table.types.arrow import arrow_type
from millstream.table.types.logical import LogicalType, RowField, RowType
from millstream.table.types.parsing import parse_logical_type

__all__: list[str] = []

_COLUMNAR = ("parquet", "orc", "avro")
# Each block goes through all steps of a job, most of which take as long for many rows as for few.
BLOCK_BYTES = 4 << 20
_OWN = (
    Option("path", required=True),
    Option("format", required=True),
    Option("partition.default-name"),
    Option("source.monitor-interval"),
    Option("source.path.regex-pattern"),
    Option("source.report-statistics"),
    Option("sink.parallelism"),
    Option("sink.rolling-policy.", prefix=True),
    Option("sink.shuffle-by-partition.enable"),
    *COMMIT_OPTIONS,
    Option("auto-compaction"),
    Option("compaction.file-size"),
)
_METADATA = {
    "file.path": "STRING NOT NULL",
    "file.name": "STRING NOT NULL",
    "file.size": "BIGINT NOT NULL",
    "file.modification-time": "TIMESTAMP_LTZ(3) NOT NULL",
}
_FILE_SIZE = 128 << 20
_SIZES = {"": 1, "b": 1, "k": 10, "kb": 10, "m": 20, "mb": 20, "g": 30, "gb": 30}


class _FileSystem(Connector):
    def options(self, given: Mapping[str, str]) -> tuple[Option, ...]:
        name = given.get("format", "")
        if name in _COLUMNAR:
            return (*_OWN, Option(f"{name}.", prefix=True))
        return (*_OWN, *format_options(given, "format"))

    def changes(self, entry: TableEntry, options: Options) -> Changelog:
        name = options.text("format")
        return "append" if name in _COLUMNAR else chosen_format(options).format.changes

    def prunes(self, options: Options) -> bool:
        return options.text("format") in _COLUMNAR or chosen_format(options).prunes

    def skips(self, entry: TableEntry, options: Options, comparison: Comparison) -> bool:
        inside = comparison.column in {each.name for each in _in_files(entry)}
        return not inside or options.text("format") == "parquet"

    def metadata(self, options: Options) -> Mapping[str, LogicalType]:
        found = {key: parse_logical_type(text) for key, text in _METADATA.items()}
        if options.text("format") in _COLUMNAR:
            return found
        return {**found, **chosen_format(options).format.metadata()}

    def read(
        self, env: StreamExecutionEnvironment, entry: TableEntry, options: Options
    ) -> ReadRows:
        inside = _row(_in_files(entry))
        files = _files(entry, inside, options)
        info = row_info(stored_row(entry))
        decoder: Any
        if options.text("format") in _COLUMNAR:
            files = replace(files, names=tuple(each.name for each in inside.fields))
            decoder = _Arranged(info, tuple(each.name for each in entry.stored))
        else:
            chosen = chosen_format(options)
            decoder = MessageDecoder(
                info,
                _parts(entry),
                chosen.codec(read_row(_in_files(entry))),
                several=chosen.format.several,
                changes=chosen.format.changes != "append",
            )
        return ReadRows(env._source(entry.path.name, files, info, None, decoder))

    def write(self, entry: TableEntry, options: Options) -> Sink:
        _note_ignored(options)
        row = _row(_in_files(entry))
        size = _bytes(options, "sink.rolling-policy.file-size", _FILE_SIZE)
        path = absolute_path(options.text("path"))
        sink = replace(_sink(path, row, options), part_size=size)
        if not entry.partition_keys:
            return sink
        _refuse_hidden(entry, options)
        default = options.text("partition.default-name", DEFAULT_PARTITION)
        partitions = Partitions(entry.partition_keys, row_info(row), default)
        assigner, rule = BucketAssigner.of(partitions.folder), commit_rule(options)
        return PartitionedFileSink(
            **{**vars(sink), "buckets": assigner, "partitions": partitions, "commits": rule}
        )


def _refuse_hidden(entry: TableEntry, options: Options) -> None:
    """Refuse partitions whose folders nobody would read."""
    for name in entry.partition_keys:
        if is_hidden(f"{name}="):
            raise options.problem(
                f"is partitioned by {name!r}, and readers pass over folders that begin with a dot",
                "give the column another name",
            )


def _row(columns: Sequence[TableColumn]) -> RowType:
    return RowType(tuple(RowField(each.name, each.type) for each in columns))


def _sink(path: str, row: RowType, options: Options) -> TableFileSink:
    name = options.text("format")
    if name in ("parquet", "orc"):
        given = options.given.get(f"{name}.compression", options.given.get(f"{name}.compress"))
        chosen = {} if given is None else {"compression": given.lower()}
        columns = BulkWriterFactory("parquet" if name == "parquet" else "orc", chosen)
        return TableFileSink(path, columns)
    if name == "avro":
        schema = {"schema": json.dumps(avro_schema(row.with_nullability(False)))}
        codec = options.text("avro.codec", "deflate").replace("null", "none")
        return TableFileSink(path, BulkWriterFactory("avro", {**schema, "compression": codec}))
    found = chosen_format(options)
    encoder = LineEncoder(found.codec(row))
    lines = BulkWriterFactory("text", {})
    return TableFileSink(path, lines, encoder=encoder, changes=found.format.changes)


# -- reading ---------------------------------------------------------------------------------------


def _in_files(entry: TableEntry) -> list[TableColumn]:
    """The columns that files have: those of partitions are in the names of folders."""
    return [
        each
        for each in entry.columns
        if each.kind == "physical" and each.name not in entry.partition_keys
    ]


def _files(entry: TableEntry, inside: RowType, options: Options) -> TableFiles:
    default = options.text("partition.default-name", DEFAULT_PARTITION)
    constants: list[PartitionValue | FileMetadata] = []
    kinds: list[pa.DataType] = []
    for each in entry.stored:
        key = each.metadata_key or each.name
        if each.name in entry.partition_keys:
            constants.append(PartitionValue(each.name, each.type, default))
            kinds.append(arrow_type(each.type))
        elif each.kind == "metadata" and key in _METADATA:
            constants.append(FileMetadata(each.name, key))
            kinds.append(arrow_type(parse_logical_type(_METADATA[key])))
    grows = options.millis("source.monitor-interval") is not None
    make = GrowingTableFiles if grows else TableFiles
    return make(
        absolute_path(options.text("path")),
        {"recursiveFileLookup": "true"},
        _reader(options.text("format"), inside),
        row_info(inside),
        conditions=entry.conditions,
        constants=tuple(constants),
        kinds=tuple(kinds),
        pattern=_pattern(options),
    )


def _pattern(options: Options) -> re.Pattern[str] | None:
    text = options.given.get("source.path.regex-pattern")
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise options.problem(
            f"has 'source.path.regex-pattern' = {text!r}, which is no regular expression: {error}",
            "it has to match the whole path of a file, such as '/data/.*[.]csv'",
        ) from error


def _reader(name: str, inside: RowType) -> FileReader:
    if name not in _COLUMNAR:
        return TextReader(BLOCK_BYTES)
    columns = tuple(ArrowColumn(f.name, "other", arrow_type(f.type)) for f in inside.fields)
    if name == "avro":
        return AvroColumns(columns)
    return ParquetReader(columns, True) if name == "parquet" else OrcReader(columns, True)


def _parts(entry: TableEntry) -> tuple[Part, ...]:
    places = {each.name: place for place, each in enumerate(_in_files(entry))}
    parts: list[Part] = []
    for each in entry.stored:
        key = each.metadata_key or each.name
        if each.name in places:
            parts.append(("value", places[each.name]))
        elif each.kind == "metadata" and key not in _METADATA:
            parts.append(("format", key))
        else:
            parts.append(("read", each.name))
    return tuple(parts)


@dataclass(frozen=True)
class _Arranged(ColumnsDecoder):
    """Columns in the order of the table."""

    names: tuple[str, ...] = ()

    def decode(self, values: Any, timestamps: Any) -> Any:
        found = values.type_info.get_field_names()
        kinds = [each.to_arrow() for each in self.output.field_types]
        arrays = [values.arrays[found.index(name)] for name in self.names]
        fitting = [a if a.type == k else a.cast(k) for a, k in zip(arrays, kinds, strict=True)]
        return super().decode(type(values)(self.output, fitting), timestamps)


def _bytes(options: Options, name: str, default: int) -> int:
    text = options.text(name).strip().lower()
    if not text:
        return default
    found = re.fullmatch(r"(\d+)\s*([a-z]*)", text)
    unit = found and found[2].replace("bytes", "b").replace("ib", "b")
    if found is None or unit not in _SIZES:
        raise options.problem(f"has {name!r} = {text!r}", "write a size such as '128 MB'")
    return int(found[1]) << (_SIZES[unit] if _SIZES[unit] > 1 else 0)


def _note_ignored(options: Options) -> None:
    reasons = {
        "sink.rolling-policy.rollover-interval": "files are closed with their epoch",
        "sink.rolling-policy.check-interval": "files are closed with their epoch",
        "sink.shuffle-by-partition.enable": "rows stay where they are computed",
        "auto-compaction": "small files are not merged",
    }
    for name, why in reasons.items():
        if options.text(name, "false").lower() != "false":
            accepted_without_effect(name, why)


CONNECTORS["filesystem"] = _FileSystem()
