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
from millstream.kernel.columns import Columns, Values, as_list
from millstream.plan.specs import FilesSinkSpec

ENDINGS = {"text": "txt"}
COMPRESSED_ENDINGS = {"gzip": ".gz", "bzip2": ".bz2"}


def extension(spec: FilesSinkSpec) -> str:
    """The extension of file names; readers recognise compressed text by it."""
    compressed = "" if spec.format == "parquet" else COMPRESSED_ENDINGS.get(_compression(spec), "")
    return ENDINGS.get(spec.format, spec.format) + compressed


def encoded(spec: FilesSinkSpec, type_info: TypeInformation | None, values: Values) -> bytes:
    """The bytes of a file with these records; columns become Parquet without being objects."""
    if spec.format == "parquet":
        return _parquet(values, type_info, spec.options.get("compression", "snappy"))
    values = as_list(values)
    if spec.format == "csv":
        text = _csv(values, spec, type_info)
    elif spec.format == "json":
        text = "".join(json.dumps(_plain(value), default=str) + "\n" for value in values)
    else:
        of_type = getattr(spec.encoder, "of_type", None)
        to_text = (spec.encoder or str) if of_type is None else of_type(type_info)
        text = "".join(f"{to_text(value)}\n" for value in values)
    return _compressed(text.encode(), _compression(spec))


def _compression(spec: FilesSinkSpec) -> str:
    return spec.options.get("compression", "none").lower()


def _compressed(data: bytes, compression: str) -> bytes:
    if compression == "none":
        return data
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, compression.replace("bzip2", "bz2")) as stream:
        stream.write(data)
    found: bytes = sink.getvalue().to_pybytes()
    return found


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


def _csv(values: list[Any], spec: FilesSinkSpec, type_info: TypeInformation | None) -> str:
    text = io.StringIO()
    writer = csv.writer(text, **_dialect(spec))
    if spec.options.get("header", "false").lower() == "true":
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


def _parquet(values: Values, type_info: TypeInformation | None, compression: str) -> bytes:
    try:
        names, arrays = _columns(values, type_info)
    except pa.ArrowException as error:
        raise MillstreamError(
            "PARQUET_TYPE",
            f"records cannot be written as Parquet columns: {error}",
            hint="declare the type of the stream: map(..., output_type=Types.ROW_NAMED(...))",
        ) from error
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(arrays, names=names), sink, compression=compression)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _columns(values: Values, type_info: TypeInformation | None) -> tuple[list[str], list[pa.Array]]:
    """Names and columns of records."""
    if isinstance(values, Columns) and values.type_info == type_info:
        names = getattr(type_info, "get_field_names", None)
        arrays = values.in_own_types()
        return [f"f{i}" for i in range(len(arrays))] if names is None else list(names()), arrays
    values = as_list(values)
    names = _names(values, type_info)
    if type_info is not None:
        return names, list(type_info.to_arrow_arrays(values))[: len(names)]
    return names, [pa.array(list(column)) for column in zip(*map(_fields, values), strict=True)]
