"""Several files of a sink as one: lines behind each other, columns and Avro written again."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from millstream.connectors.formats.avro import fastavro
from millstream.plan.specs import FilesSinkSpec
from millstream.spark.io.file_formats import LINES, column_writer, csv_dialect, text_codec

__all__ = ["mergeable", "write_merged"]

_BYTES_AT_ONCE = 1 << 20


def mergeable(fs: pafs.FileSystem, spec: FilesSinkSpec, paths: list[str]) -> Iterator[list[str]]:
    """Divide files, in order, into groups whose columns are the same: each can become one file."""
    if spec.format in LINES:
        yield paths
        return
    group: list[str] = []
    before: Any = None
    for path in paths:
        with fs.open_input_file(path) as file:
            schema = _schema(spec, file)
        if group and schema != before:
            yield group
            group = []
        group.append(path)
        before = schema
    yield group


def write_merged(
    fs: pafs.FileSystem,
    spec: FilesSinkSpec,
    paths: list[str],
    stream: pa.NativeFile,
    delimiter: bytes = b"",
) -> None:
    """Write the records of some files, which `mergeable` has put together, to one stream."""
    if len(paths) == 1:
        _copy(fs, paths[0], stream)
    elif spec.format in LINES:
        _join(fs, spec, paths, stream, delimiter)
    elif spec.format == "avro":
        _join_avro(fs, paths, stream)
    else:
        _join_columns(fs, spec, paths, stream)


def _schema(spec: FilesSinkSpec, file: pa.NativeFile) -> Any:
    if spec.format == "parquet":
        return pq.read_schema(file)
    if spec.format == "orc":
        from pyarrow import orc

        return orc.ORCFile(file).schema
    reader = fastavro().block_reader(file)
    return reader.writer_schema, reader.codec


# -- lines -----------------------------------------------------------------------------------------


def _copy(fs: pafs.FileSystem, path: str, stream: pa.NativeFile) -> None:
    with fs.open_input_stream(path, compression=None) as file:
        while data := file.read(_BYTES_AT_ONCE):
            stream.write(data)


def _join(
    fs: pafs.FileSystem,
    spec: FilesSinkSpec,
    paths: list[str],
    stream: pa.NativeFile,
    delimiter: bytes,
) -> None:
    """Put files behind each other; compressed ones are sequences of compressed members then."""
    has_header = spec.options.get("header", "false").lower() == "true"
    codec = text_codec(spec)
    for number, path in enumerate(paths):
        if number and delimiter:
            stream.write(pa.compress(delimiter, codec, asbytes=True) if codec else delimiter)
        if number and has_header:
            _copy_without_header(fs, spec, path, stream, codec)
        else:
            _copy(fs, path, stream)


def _copy_without_header(
    fs: pafs.FileSystem, spec: FilesSinkSpec, path: str, stream: pa.NativeFile, codec: str | None
) -> None:
    with fs.open_input_stream(path, compression=codec) as file:
        data = file.read()
    text = io.StringIO(data.decode(), newline="")
    # A name of a column may have a line end in it: the reader knows where the first record ends.
    next(csv.reader(iter(text.readline, ""), **csv_dialect(spec)), None)
    rest = text.read().encode()
    if codec:
        with pa.CompressedOutputStream(_Open(stream), codec) as compressed:
            compressed.write(rest)
    else:
        stream.write(rest)


class _Open(io.RawIOBase):
    """A stream that stays open when what compresses for it is closed."""

    def __init__(self, stream: pa.NativeFile) -> None:
        self.stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return int(self.stream.write(data))


# -- columns and Avro ------------------------------------------------------------------------------


def _join_columns(
    fs: pafs.FileSystem, spec: FilesSinkSpec, paths: list[str], stream: pa.NativeFile
) -> None:
    writer: Any = None
    for path in paths:
        with fs.open_input_file(path) as file:
            for table in _tables(spec, file):
                if writer is None:
                    writer = column_writer(spec, table.schema, stream)
                (writer.write_table if spec.format == "parquet" else writer.write)(table)
    if writer is not None:
        writer.close()


def _tables(spec: FilesSinkSpec, file: pa.NativeFile) -> Iterator[pa.Table]:
    if spec.format == "parquet":
        found = pq.ParquetFile(file)
        for number in range(found.num_row_groups):
            yield found.read_row_group(number)
        return
    from pyarrow import orc

    stripes = orc.ORCFile(file)
    for number in range(stripes.nstripes):
        yield pa.Table.from_batches([stripes.read_stripe(number)])


def _join_avro(fs: pafs.FileSystem, paths: list[str], stream: pa.NativeFile) -> None:
    package = fastavro()
    writer: Any = None
    for path in paths:
        with fs.open_input_file(path) as file:
            blocks = package.block_reader(file)
            if writer is None:
                writer = package.write.Writer(stream, blocks.writer_schema, codec=blocks.codec)
            for block in blocks:
                writer.write_block(block)
    if writer is not None:
        writer.flush()
