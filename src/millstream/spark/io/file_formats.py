"""How the records of a task become the bytes of a file: lines, CSV, JSON, Parquet."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.common.errors import MillstreamError
from millstream.common.typeinfo import TypeInformation
from millstream.plan.specs import FilesSinkSpec

ENDINGS = {"text": "txt"}
COMPRESSED_ENDINGS = {"gzip": ".gz", "bzip2": ".bz2"}


def extension(spec: FilesSinkSpec) -> str:
    """The extension of file names; readers recognise compressed text by it."""
    compressed = "" if spec.format == "parquet" else COMPRESSED_ENDINGS.get(_compression(spec), "")
    return ENDINGS.get(spec.format, spec.format) + compressed


class FileEncoder:
    """Writes the records of one file to a stream, batch by batch."""

    def __init__(
        self, spec: FilesSinkSpec, type_info: TypeInformation | None, stream: pa.NativeFile
    ) -> None:
        self.spec = spec
        self.type_info = type_info
        self.stream = stream
        self.is_empty = True
        self.parquet: pq.ParquetWriter | None = None
        compression = _compression(spec)
        if spec.format != "parquet" and compression != "none":
            codec = compression.replace("bzip2", "bz2")
            self.stream = pa.CompressedOutputStream(stream, codec)

    def write(self, values: list[Any] | pa.RecordBatch) -> None:
        if isinstance(values, pa.RecordBatch):
            names = _names([()], self.type_info) or [f"f{i}" for i in range(values.num_columns)]
            self._write_table(pa.Table.from_batches([values]).rename_columns(names))
        elif self.spec.format == "parquet":
            self._write_table(_table(values, self.type_info))
        else:
            self.stream.write(self._text(values).encode())
        self.is_empty = False

    def close(self) -> None:
        """Write the end of the file."""
        if self.parquet is not None:
            self.parquet.close()
        self.stream.close()

    def _write_table(self, table: pa.Table) -> None:
        if self.parquet is None:
            compression = self.spec.options.get("compression", "snappy")
            self.parquet = pq.ParquetWriter(self.stream, table.schema, compression=compression)
        try:
            self.parquet.write_table(table.cast(self.parquet.schema))
        except (pa.ArrowException, ValueError) as error:
            raise _parquet_error(error) from error

    def _text(self, values: list[Any]) -> str:
        spec = self.spec
        if spec.format == "csv":
            return _csv(values, spec, self.type_info, with_header=self.is_empty)
        if spec.format == "json":
            return "".join(json.dumps(_plain(value), default=str) + "\n" for value in values)
        of_type = getattr(spec.encoder, "of_type", None)
        to_text = (spec.encoder or str) if of_type is None else of_type(self.type_info)
        return "".join(f"{to_text(value)}\n" for value in values)


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
    writer = csv.writer(text, **_dialect(spec))
    if with_header and spec.options.get("header", "false").lower() == "true":
        writer.writerow(_names(values, type_info))
    if spec.encoder is not None:
        end = spec.options.get("lineSep", "\n")
        return text.getvalue() + "".join(f"{spec.encoder(value)}{end}" for value in values)
    null = spec.options.get("nullValue", "")
    for value in values:
        writer.writerow([null if field is None else field for field in _fields(value)])
    return text.getvalue()


def _dialect(spec: FilesSinkSpec) -> dict[str, Any]:
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
    columns = list(zip(*map(_fields, values), strict=True))
    try:
        if type_info is not None:
            arrays = list(type_info.to_arrow_arrays(values))[: len(names)]
        else:
            arrays = [pa.array(list(column)) for column in columns]
    except pa.ArrowException as error:
        raise _parquet_error(error) from error
    return pa.table(arrays, names=names)


def _parquet_error(error: Exception) -> MillstreamError:
    return MillstreamError(
        "PARQUET_TYPE",
        f"records cannot be written as Parquet columns: {error}",
        hint="declare the type of the stream: map(..., output_type=Types.ROW_NAMED(...))",
    )
