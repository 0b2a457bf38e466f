"""How the records of a task become the bytes of a file: lines, CSV, JSON, Parquet, ORC, Avro."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.common.errors import MillstreamError, TypeMismatchError
from millstream.common.made_once import Convert
from millstream.common.typeinfo import RowTypeInfo, TypeInformation
from millstream.connectors.formats.avro import codec_of, fastavro, parsed_schema
from millstream.connectors.formats.avro_of_types import avro_of_type
from millstream.plan.specs import FilesSinkSpec

ENDINGS = {"text": "txt"}
COMPRESSED_ENDINGS = {"gzip": ".gz", "bzip2": ".bz2"}


LINES = ("text", "csv", "json")


def extension(spec: FilesSinkSpec) -> str:
    """The extension of file names; readers recognise compressed text by it."""
    compressed = COMPRESSED_ENDINGS.get(_compression(spec), "") if spec.format in LINES else ""
    return ENDINGS.get(spec.format, spec.format) + compressed


class FileEncoder:
    """Writes the records of one file to a stream, batch by batch."""

    def __init__(
        self, spec: FilesSinkSpec, type_info: TypeInformation | None, stream: pa.NativeFile
    ) -> None:
        self.stream = stream
        self.file: _LineFile | _ColumnFile | _AvroFile
        if spec.format in LINES:
            self.file = _LineFile(spec, type_info, stream)
        elif spec.format == "avro":
            self.file = _AvroFile(spec, type_info, stream)
        else:
            self.file = _ColumnFile(spec, type_info, stream)

    def write(self, values: list[Any] | pa.RecordBatch) -> None:
        """Write records, in order."""
        self.file.write(values)

    def size(self) -> int:
        """How many bytes the file has so far; what is not written yet does not count."""
        return int(self.stream.tell())

    def close(self) -> None:
        """Write the end of the file."""
        self.file.close()
        self.stream.close()


class _LineFile:
    """Lines of text, CSV or JSON, perhaps compressed."""

    def __init__(
        self, spec: FilesSinkSpec, type_info: TypeInformation | None, stream: pa.NativeFile
    ) -> None:
        self.spec = spec
        self.type_info = type_info
        self.is_empty = True
        codec = text_codec(spec)
        self.stream = stream if codec is None else pa.CompressedOutputStream(stream, codec)

    def write(self, values: list[Any]) -> None:
        self.stream.write(self._text(values).encode())
        self.is_empty = False

    def close(self) -> None:
        self.stream.close()

    def _text(self, values: list[Any]) -> str:
        spec = self.spec
        if spec.format == "csv":
            return _csv(values, spec, self.type_info, with_header=self.is_empty)
        if spec.format == "json":
            return "".join(json.dumps(_plain(value), default=str) + "\n" for value in values)
        of_type = getattr(spec.encoder, "of_type", None)
        to_text = (spec.encoder or str) if of_type is None else of_type(self.type_info)
        return "".join(f"{to_text(value)}\n" for value in values)


class _ColumnFile:
    """Columns of Parquet or ORC."""

    def __init__(
        self, spec: FilesSinkSpec, type_info: TypeInformation | None, stream: pa.NativeFile
    ) -> None:
        self.spec = spec
        self.type_info = type_info
        self.stream = stream
        self.schema: pa.Schema | None = None
        self.writer: Any = None

    def write(self, values: list[Any] | pa.RecordBatch) -> None:
        if isinstance(values, pa.RecordBatch):
            names = _names([()], self.type_info) or [f"f{i}" for i in range(values.num_columns)]
            table = pa.Table.from_batches([values]).rename_columns(names)
        else:
            try:
                table = _table(values, self.type_info)
            except pa.ArrowException as error:
                raise _column_error(self.spec, error) from error
        self.write_table(table)

    def write_table(self, table: pa.Table) -> None:
        """Write columns that are there already."""
        try:
            if self.writer is None:
                self.schema = table.schema
                self.writer = column_writer(self.spec, self.schema, self.stream)
            table = table.cast(self.schema)
            write = self.writer.write_table if self.spec.format == "parquet" else self.writer.write
            write(table)
        except (pa.ArrowException, ValueError) as error:
            raise _column_error(self.spec, error) from error

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


def column_writer(spec: FilesSinkSpec, schema: pa.Schema, stream: pa.NativeFile) -> Any:
    """Return the writer of a Parquet or ORC file."""
    compression = spec.options.get("compression", "snappy").lower()
    if spec.format == "parquet":
        return pq.ParquetWriter(stream, schema, compression=compression)
    from pyarrow import orc

    return orc.ORCWriter(
        stream, compression="uncompressed" if compression == "none" else compression
    )


class _AvroFile:
    """Records of Avro, with the schema of the sink or that of the stream's type."""

    def __init__(
        self, spec: FilesSinkSpec, type_info: TypeInformation | None, stream: pa.NativeFile
    ) -> None:
        self.spec = spec
        self.type_info = type_info
        self.stream = stream
        self.convert: Convert | None = None
        self.writer: Any = None

    def write(self, values: list[Any]) -> None:
        if self.writer is None:
            self._begin(values)
        convert = self.convert
        try:
            for value in values:
                self.writer.write(value if convert is None else convert(value))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise MillstreamError(
                "AVRO_RECORD",
                f"{value!r:.200} does not fit the Avro schema of the sink: {error}",
                hint="correct the record in a map before, or change the schema",
            ) from error

    def _begin(self, values: list[Any]) -> None:
        given = self.spec.options.get("schema")
        if given is not None:
            schema = parsed_schema(given)
            self.convert = codec_of(schema, rows=False).encode
        else:
            kind = self.type_info or _type_of_values(values)
            plain, self.convert = avro_of_type(kind)
            schema = parsed_schema(plain)
        codec = self.spec.options.get("compression", "deflate").lower().replace("none", "null")
        self.writer = fastavro().write.Writer(self.stream, schema, codec=codec)

    def close(self) -> None:
        if self.writer is not None:
            self.writer.flush()


def _type_of_values(values: list[Any]) -> TypeInformation:
    try:
        table = _table(values, None)
        types = [TypeInformation.from_arrow(field.type) for field in table.schema]
    except (pa.ArrowException, ValueError, TypeMismatchError) as error:
        raise MillstreamError(
            "AVRO_RECORD",
            f"the type of the records cannot be found out: {error}",
            hint="declare it: map(..., output_type=Types.ROW_NAMED(...)), or give the schema: "
            "FileSink.avro(path, schema)",
        ) from error
    return RowTypeInfo(types, table.schema.names)


def text_codec(spec: FilesSinkSpec) -> str | None:
    """Arrow's name of the compression of a file of lines."""
    compression = _compression(spec)
    return None if compression == "none" else compression.replace("bzip2", "bz2")


def _compression(spec: FilesSinkSpec) -> str:
    return spec.options.get("compression", "none").lower()


def _fields(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple | list) or hasattr(value, "as_dict") else [value]


def _plain(value: Any) -> Any:
    """A value as JSON knows it; rows with names become objects."""
    if hasattr(value, "as_dict"):
        return {name: _plain(part) for name, part in value.as_dict().items()}
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value


def _csv(
    values: list[Any], spec: FilesSinkSpec, type_info: TypeInformation | None, *, with_header: bool
) -> str:
    text = io.StringIO()
    writer = csv.writer(text, **csv_dialect(spec))
    if with_header and spec.options.get("header", "false").lower() == "true":
        writer.writerow(_names(values, type_info))
    if spec.encoder is not None:
        end = spec.options.get("lineSep", "\n")
        return text.getvalue() + "".join(f"{spec.encoder(value)}{end}" for value in values)
    null = spec.options.get("nullValue", "")
    for value in values:
        writer.writerow([null if field is None else field for field in _fields(value)])
    return text.getvalue()


def csv_dialect(spec: FilesSinkSpec) -> dict[str, Any]:
    """The options of Spark's CSV writer in the words of Python's."""
    options = spec.options
    quote = options.get("quote", '"')
    escape = options.get("escape", quote or "\\")
    if not quote:
        quoting = csv.QUOTE_NONE
    else:
        everything = options.get("quoteAll", "false").lower() == "true"
        quoting = csv.QUOTE_ALL if everything else csv.QUOTE_MINIMAL
    doubled = bool(quote) and escape == quote
    return {
        "delimiter": options.get("sep", ","),
        "lineterminator": options.get("lineSep", "\n"),
        "quoting": quoting,
        "quotechar": quote or None,
        "doublequote": doubled,
        "escapechar": None if doubled else escape or None,
    }


def _names(values: list[Any], type_info: TypeInformation | None) -> list[str]:
    names = getattr(type_info, "get_field_names", None)
    if names is not None:
        return list(names())
    first = values[0] if values else ()
    if hasattr(first, "as_dict"):
        return list(first.as_dict())
    return [f"f{index}" for index in range(len(_fields(first)))]


def _table(values: list[Any], type_info: TypeInformation | None) -> pa.Table:
    names = _names(values, type_info)
    if type_info is not None:
        arrays = list(type_info.to_arrow_arrays(values))[: len(names)]
    else:
        columns = zip(*map(_fields, values), strict=True)
        arrays = [pa.array(list(column)) for column in columns]
    return pa.table(arrays, names=names)


def _column_error(spec: FilesSinkSpec, error: Exception) -> MillstreamError:
    is_parquet = spec.format == "parquet"
    return MillstreamError(
        "PARQUET_TYPE" if is_parquet else "ORC_TYPE",
        f"records cannot be written as {'Parquet' if is_parquet else 'ORC'} columns: {error}",
        hint="declare the type of the stream: map(..., output_type=Types.ROW_NAMED(...))",
    )
