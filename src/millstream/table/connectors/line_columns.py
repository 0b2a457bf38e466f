"""Many lines of JSON or CSV at once, read by Arrow where it reads them as Flink does.

Arrow is strict: a value that is not written just as its column wants it is an error. Then, and for types
that are not here, the lines are read one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json

from millstream.connectors.files.json_lines import is_simple
from millstream.table.types.arrow import arrow_type
from millstream.table.types.logical import LogicalType, RowField

__all__ = ["csv_columns", "json_columns"]

_SAME = ("CHAR", "VARCHAR", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DOUBLE")
_TIMES = ("TIMESTAMP_WITHOUT_TIME_ZONE", "TIMESTAMP_WITH_LOCAL_TIME_ZONE")
_DATE = r"\d{4}-\d\d-\d\d"
_TIME = r"\d\d:\d\d:\d\d(\.\d{1,3})?"


def json_columns(
    lines: pa.Array, fields: Sequence[RowField], *, iso: bool = False
) -> list[pa.Array] | None:
    """The columns of JSON objects, one in each line; None if Arrow may read some differently."""
    if not fields or not len(lines) or lines.null_count or not _are_known(fields):
        return None
    lines = lines.cast(pa.binary())
    if pc.any(pc.match_substring(lines, b"\n")).as_py() or not is_simple(lines):
        return None
    schema = pa.schema([(each.name, _read_type(each.type)) for each in fields])
    data = _joined(lines)
    try:
        table = pa.json.read_json(
            pa.BufferReader(data),
            pa.json.ReadOptions(use_threads=False, block_size=data.size + 1),
            pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
        if table.num_rows != len(lines):
            return None
        columns = [table.column(each.name).combine_chunks() for each in fields]
        return _typed(columns, fields, iso)
    except pa.ArrowInvalid:
        return None


def csv_columns(
    lines: pa.Array, fields: Sequence[RowField], delimiter: str
) -> list[pa.Array] | None:
    """The columns of lines without quotes; None if Arrow may read some differently."""
    if len(fields) < 2 or not len(lines) or lines.null_count or not _are_known(fields):
        return None
    lines = lines.cast(pa.binary())
    data = _joined(lines)
    # Arrow takes hexadecimal numbers, too.
    if any(mark in data.to_pybytes() for mark in (b'"', b"\r", b"\0", b"0x", b"0X")):
        return None
    if (
        pc.any(pc.match_substring(lines, b"\n")).as_py()
        or not pc.min(pc.binary_length(lines)).as_py()
    ):
        return None
    names = [str(place) for place in range(len(fields))]
    types = {name: _read_type(each.type) for name, each in zip(names, fields, strict=True)}
    try:
        table = pa.csv.read_csv(
            pa.BufferReader(data),
            pa.csv.ReadOptions(use_threads=False, block_size=data.size + 1, column_names=names),
            pa.csv.ParseOptions(delimiter=delimiter, quote_char=False, ignore_empty_lines=False),
            pa.csv.ConvertOptions(
                column_types=types,
                null_values=[],
                true_values=["true"],
                false_values=["false"],
                strings_can_be_null=False,
            ),
        )
        if table.num_rows != len(lines):
            return None
        return _typed([table.column(name).combine_chunks() for name in names], fields, False)
    except pa.ArrowInvalid:
        return None


def _joined(lines: pa.Array) -> pa.Buffer:
    whole = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
    return pc.binary_join(whole, b"\n")[0].as_buffer()


def _are_known(fields: Sequence[RowField]) -> bool:
    names = {each.name for each in fields}
    return len(names) == len(fields) and all(_is_known(each.type) for each in fields)


def _is_known(kind: LogicalType) -> bool:
    if kind.root in _TIMES:
        return kind.precision == 3  # type: ignore[attr-defined, no-any-return]
    return kind.root in (*_SAME, "DATE")


def _read_type(kind: LogicalType) -> pa.DataType:
    return arrow_type(kind) if kind.root in _SAME else pa.string()


def _typed(
    columns: Sequence[pa.Array], fields: Sequence[RowField], iso: bool
) -> list[pa.Array] | None:
    found = []
    for column, each in zip(columns, fields, strict=True):
        if each.type.root not in _SAME:
            column = _times(column, each.type, iso)
            if column is None:
                return None
        elif each.type.root == "DOUBLE" and not pc.all(pc.is_finite(column)).as_py():
            # There are several ways to write what is no number, and Java knows one of them.
            return None
        found.append(column)
    return found


def _times(column: pa.Array, kind: LogicalType, iso: bool) -> pa.Array | None:
    """Dates and timestamps of texts; None if one has another form."""
    local = kind.root == _TIMES[1]
    form = _DATE if kind.root == "DATE" else rf"{_DATE}{'T' if iso else ' '}{_TIME}"
    fits = pc.match_substring_regex(column, rf"\A{form}{'Z' if local else ''}\z")
    if not pc.all(fits).as_py():
        return None
    if kind.root == "DATE":
        return column.cast(pa.date32())
    return column.cast(pa.timestamp("ms", "UTC" if local else None))
