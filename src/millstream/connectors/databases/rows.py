"""Records of a stream as columns of a table: by name or by place, with what is to be deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millstream.common.errors import PlanError, TypeMismatchError, short_repr
from millstream.common.time import Instant
from millstream.common.typeinfo import TypeInformation
from millstream.common.types import Row, RowKind
from millstream.common.typesystem.certainty import is_declared
from millstream.connectors.databases.texts import in_utc
from millstream.kernel.records.columns import column_schema, record_batch

__all__ = ["Records", "records_of"]

_TAKEN_BACK = (RowKind.DELETE, RowKind.UPDATE_BEFORE)


@dataclass(frozen=True)
class Records:
    """The records of a part, field by field.

    ``names``: of the fields; None if they only have places. ``is_back``: which records take one back;
    None if none does.
    """

    names: list[str] | None
    table: pa.Table
    is_back: list[bool] | None = None

    def __len__(self) -> int:
        return int(self.table.num_rows)


def records_of(batches: Sequence[Any], type_info: TypeInformation | None) -> Records:
    """Return the records that a writer was given: record batches, or lists of Python objects."""
    if all(isinstance(batch, pa.RecordBatch) for batch in batches):
        table = pa.Table.from_batches(batches)
        return Records(_names(table.schema.names), table)
    values = [value for batch in batches for value in batch]
    is_back = [isinstance(v, Row) and v.get_row_kind() in _TAKEN_BACK for v in values]
    names, table = _table([_plain(value) for value in values], type_info)
    return Records(names, table, is_back if any(is_back) else None)


def _plain(value: Any) -> Any:
    """A record that can be stored: rows of a kind cannot."""
    if not isinstance(value, Row) or value.get_row_kind() is RowKind.INSERT:
        return value
    found = Row(*value)
    names = getattr(value, "_fields", None)
    if names is not None:
        found.set_field_names(names)
    return found


def _names(names: list[str]) -> list[str] | None:
    """The names of fields; fields of tuples, and plain values, have none."""
    numbered = [f"f{i}" for i in range(len(names))]
    return None if names in (numbered, ["value"]) else list(names)


def _table(
    values: list[Any], type_info: TypeInformation | None
) -> tuple[list[str] | None, pa.Table]:
    if type_info is not None and is_declared(type_info):
        batch = record_batch(values, type_info)
        return _names(column_schema(type_info).names), pa.Table.from_batches([batch])
    names, rows = _parts(values)
    columns = [_column(list(column)) for column in zip(*rows, strict=True)]
    return names, pa.table(columns, names=names or [f"f{i}" for i in range(len(columns))])


def _parts(values: list[Any]) -> tuple[list[str] | None, list[Sequence[Any]]]:
    first = values[0]
    names = getattr(first, "_fields", None) if isinstance(first, Row | tuple) else None
    if isinstance(first, dict):
        names = list(first)
    width = len(names or first) if isinstance(first, Row | tuple | dict | list) else 1
    rows = [_row(value, names, width) for value in values]
    return (None if names is None else list(names)), rows


def _row(value: Any, names: Sequence[str] | None, width: int) -> Sequence[Any]:
    if isinstance(value, dict) and names is not None and set(value) == set(names):
        return [value[name] for name in names]
    row: Sequence[Any] = tuple(value) if isinstance(value, Row | tuple | list) else (value,)
    if len(row) != width or isinstance(value, dict):
        raise TypeMismatchError(
            "TYPE_MISMATCH",
            f"the record {short_repr(value)} has other fields than the one before it",
            hint="let all records of the stream have the same fields",
        )
    return row


def _column(values: list[Any]) -> pa.Array:
    plain = [in_utc(value) if isinstance(value, Instant) else value for value in values]
    plain = [value.as_dict(recursive=True) if isinstance(value, Row) else value for value in plain]
    try:
        return pa.array(plain)
    except (
        pa.ArrowInvalid,
        pa.ArrowTypeError,
        pa.ArrowNotImplementedError,
        OverflowError,
    ) as error:
        raise PlanError(
            "UNTYPED_COLUMNS",
            f"the type of the stream is unknown, and values of a column do not fit together: {error}",
            hint="declare it: map(..., output_type=Types.ROW_NAMED([...], [...])), or a type hint",
        ) from None
