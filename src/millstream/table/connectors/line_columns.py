"""Many lines of JSON or CSV at once, read by Arrow where it reads them as Flink does.

Arrow is strict: a value that is not written just as its column wants it is an error. Then, and for types
that are not here, the lines are read one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json

from millstream.connectors.files.json_lines import is_simple
from millstream.table.types.arrow import arrow_type
from millstream.table.types.logical import ArrayType, LogicalType, RowField, RowType

__all__ = ["csv_columns", "json_columns"]

_SAME = ("CHAR", "VARCHAR", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DECIMAL")
_INEXACT = ("FLOAT", "DOUBLE")
_TIMES = ("TIMESTAMP_WITHOUT_TIME_ZONE", "TIMESTAMP_WITH_LOCAL_TIME_ZONE")
# As many digits of a second as a column may have: Arrow's types have three or six of them.
_FRACTIONS = (3, 6)
_DATE = r"\d{4}-\d\d-\d\d"
_TIME = r"\d\d:\d\d:\d\d"
_WHOLE_DATE, _WHOLE_TIME = "0000-00-00", "00:00:00"


def json_columns(
    lines: pa.Array, fields: Sequence[RowField], *, iso: bool = False
) -> list[pa.Array] | None:
    """The columns of JSON objects, one in each line; None if Arrow may read some differently."""
    if not fields or not len(lines) or lines.null_count or not _are_known(fields):
        return None
    lines = lines.cast(pa.binary())
    data = _joined(lines)
    if _has_inner_ends(data, lines) or not is_simple(lines):
        return None
    schema = pa.schema([(each.name, _read_type(each.type)) for each in fields])
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
    if any(isinstance(each.type, RowType | ArrayType) for each in fields):
        return None
    lines = lines.cast(pa.binary())
    data = _joined(lines)
    text = data.to_pybytes()
    # Arrow takes hexadecimal numbers, too.
    if any(mark in text for mark in (b'"', b"\r", b"\0", b"0x", b"0X")):
        return None
    if _has_inner_ends(data, lines) or not pc.min(pc.binary_length(lines)).as_py():
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


def _has_inner_ends(data: pa.Buffer, lines: pa.Array) -> bool:
    """Whether a line has an end of a line in it. Counting is much cheaper than searching each line."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n"))) >= len(lines)


def _are_known(fields: Sequence[RowField]) -> bool:
    names = {each.name for each in fields}
    return len(names) == len(fields) and all(_is_known(each.type) for each in fields)


def _is_known(kind: LogicalType) -> bool:
    if isinstance(kind, RowType):
        return bool(kind.fields) and _are_known(kind.fields)
    if isinstance(kind, ArrayType):
        return _is_known(kind.element)
    if kind.root in _TIMES:
        return kind.precision in _FRACTIONS  # type: ignore[attr-defined]
    return kind.root in (*_SAME, *_INEXACT, "DATE")


def _read_type(kind: LogicalType) -> pa.DataType:
    """The type that Arrow reads: texts where it would take other forms of times than Flink."""
    if isinstance(kind, RowType):
        return pa.struct([(each.name, _read_type(each.type)) for each in kind.fields])
    if isinstance(kind, ArrayType):
        return pa.list_(_read_type(kind.element))
    if kind.root in _INEXACT:
        return pa.float64()
    return arrow_type(kind) if kind.root in _SAME else pa.string()


def _typed(
    columns: Sequence[pa.Array], fields: Sequence[RowField], iso: bool
) -> list[pa.Array] | None:
    """Columns as their types have them; None if a value is not written as it should be."""
    found = []
    for column, each in zip(columns, fields, strict=True):
        column = _column(column, each.type, iso)
        if column is None:
            return None
        found.append(column)
    return found


def _column(column: pa.Array, kind: LogicalType, iso: bool) -> pa.Array | None:
    if isinstance(kind, RowType):
        parts = _typed(column.flatten(), kind.fields, iso)
        return None if parts is None else _struct(column, parts, arrow_type(kind))
    if isinstance(kind, ArrayType):
        values = _column(column.flatten(), kind.element, iso)
        return None if values is None else _listed(column, values, arrow_type(kind))
    if kind.root in _INEXACT:
        # There are several ways to write what is no number, and Java knows one of them.
        finite = pc.all(pc.is_finite(column)).as_py()
        return column.cast(arrow_type(kind), safe=False) if finite is not False else None
    if kind.root == "DECIMAL":
        column.validate(full=True)  # 1e3 may have made more digits than the type has
    return column if kind.root in _SAME else _times(column, kind, iso)


def _struct(rows: pa.Array, parts: list[pa.Array], kind: pa.DataType) -> pa.Array:
    """Rows as they are, with other fields."""
    return pa.StructArray.from_arrays(parts, fields=list(kind), mask=rows.is_null())


def _listed(lists: pa.Array, values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Lists as they are, with other values."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    ends = pc.cumulative_sum(lengths)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends.cast(pa.int32())])
    return pa.ListArray.from_arrays(offsets, values, type=kind, mask=lists.is_null())


def _times(column: pa.Array, kind: LogicalType, iso: bool) -> pa.Array | None:
    """Dates and timestamps of texts; None if one has another form."""
    if kind.root == "DATE":
        usual, form, wanted = _WHOLE_DATE, _DATE, pa.date32()
    else:
        between, zone = "T" if iso else " ", "Z" if kind.root == _TIMES[1] else ""
        digits: int = kind.precision  # type: ignore[attr-defined]
        usual = f"{_WHOLE_DATE}{between}{_WHOLE_TIME}.{'0' * digits}{zone}"
        form = rf"{_DATE}{between}{_TIME}(\.\d{{1,{digits}}})?{zone}"
        wanted = arrow_type(kind)
    if not _all_look_like(column, usual):
        if pc.all(pc.match_substring_regex(column, rf"\A{form}\z")).as_py() is False:
            return None
    return column.cast(wanted)


def _all_look_like(column: pa.Array, form: str) -> bool:
    """Whether all texts are as long as a form, and differ from it only by a digit where it has a 0."""
    texts, width = column.drop_null(), len(form)
    lengths = pc.min_max(pc.binary_length(texts)).as_py()
    if {lengths["min"], lengths["max"]} != {width}:
        return False
    shape = np.frombuffer(form.encode(), np.uint8)
    begin = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset]
    chars = np.frombuffer(texts.buffers()[2], np.uint8)[begin : begin + len(texts) * width]
    # The digits are the last four bits behind those of 0.
    most = np.where(shape == ord("0"), 9, 0).astype(np.uint8)
    return bool(((chars.reshape(-1, width) ^ shape) <= most).all())
