"""The types of records: their fields, and the columns that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from millstream.common.errors import Location, PlanError, TypeMismatchError, short_repr
from millstream.common.typeinfo import (
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
    infer_from_values,
)

__all__ = [
    "PICKLED",
    "coerced",
    "decoded",
    "encoded",
    "field_index",
    "field_names",
    "field_types",
    "has_fields",
    "is_pickled",
    "records_type",
    "table_of",
]

PICKLED: TypeInformation = Types.PICKLED_BYTE_ARRAY()
"""The type of records of which nothing is known: any Python value."""

_PRESENT = "value"


def is_pickled(type_info: TypeInformation) -> bool:
    """Whether nothing is known of such records.

    Examples
    --------
    >>> is_pickled(PICKLED), is_pickled(Types.LONG())
    (True, False)
    """
    return type_info.kind == PICKLED.kind


def has_fields(type_info: TypeInformation) -> bool:
    """Whether records have fields of known types.

    Examples
    --------
    >>> has_fields(Types.TUPLE([Types.LONG()])), has_fields(Types.LONG())
    (True, False)
    """
    return isinstance(type_info, TupleTypeInfo | RowTypeInfo) and bool(type_info.field_types)


def field_names(type_info: TypeInformation) -> list[str]:
    """The names of the columns of records.

    Examples
    --------
    >>> field_names(Types.TUPLE([Types.LONG(), Types.LONG()])), field_names(Types.LONG())
    (['f0', 'f1'], ['value'])
    """
    if isinstance(type_info, RowTypeInfo) and has_fields(type_info):
        return type_info.get_field_names()
    if has_fields(type_info):
        return [f"f{i}" for i in range(len(type_info.field_types))]  # type: ignore[attr-defined]
    return [_PRESENT]


def field_types(type_info: TypeInformation) -> list[TypeInformation]:
    """The types of the columns of records.

    Examples
    --------
    >>> field_types(Types.TUPLE([Types.LONG(), Types.STRING()]))
    [LONG, STRING]
    """
    if isinstance(type_info, TupleTypeInfo | RowTypeInfo) and has_fields(type_info):
        return list(type_info.field_types)
    return [type_info]


def field_index(
    type_info: TypeInformation, field: int | str, location: Location | None
) -> int | None:
    """The position of a field; None if the records have a field of which nothing is known.

    Examples
    --------
    >>> field_index(Types.TUPLE([Types.LONG(), Types.LONG()]), "f1", None)
    1
    """
    if isinstance(field, int) and field < 0:
        raise PlanError(
            "DATASET_FIELD",
            f"there is no field {field}: fields are counted from 0",
            location=location,
            hint="use the position from the left, or the name",
        )
    if is_pickled(type_info):
        return None
    names = field_names(type_info)
    if isinstance(field, int) and not isinstance(field, bool):
        if has_fields(type_info) and 0 <= field < len(names):
            return field
    elif field in names and has_fields(type_info):
        return names.index(field)
    elif isinstance(field, str) and _by_number(field, names) is not None:
        return _by_number(field, names)
    raise PlanError(
        "DATASET_FIELD",
        f"records of type {type_info} have no field {field!r}",
        location=location,
        hint=f"fields are {', '.join(names)}" if has_fields(type_info) else "use a key selector",
    )


def _by_number(field: str, names: Sequence[str]) -> int | None:
    if field[:1] == "f" and field[1:].isdigit() and int(field[1:]) < len(names) > 1:
        return int(field[1:])
    return None


def encoded(type_info: TypeInformation, records: Sequence[Any]) -> list[pa.Array]:
    """The columns of records.

    Raises
    ------
    TypeMismatchError
        A record does not fit the type, or is None where it should have fields.

    Examples
    --------
    >>> [column.to_pylist() for column in encoded(Types.TUPLE([Types.LONG()]), [(1,), (2,)])]
    [[1, 2]]
    """
    columns = type_info.to_arrow_arrays(records)
    if has_fields(type_info) and len(columns) > len(field_types(type_info)):
        raise TypeMismatchError(
            "DATASET_NONE",
            f"a record of type {type_info} is None",
            hint="filter such records out, or emit none for them with flat_map",
        )
    return columns


def decoded(type_info: TypeInformation, columns: Sequence[pa.Array]) -> list[Any]:
    """The records in columns.

    Examples
    --------
    >>> decoded(Types.LONG(), [pa.array([1, 2])])
    [1, 2]
    """
    return type_info.from_arrow_arrays(columns)


def coerced(type_info: TypeInformation, records: list[Any]) -> list[Any]:
    """Records as they come back from columns of the type: rows from tuples, for instance.

    Examples
    --------
    >>> coerced(Types.ROW_NAMED(["a"], [Types.LONG()]), [(1,)])
    [Row(a=1)]
    """
    if is_pickled(type_info) or not records:
        return records
    return decoded(type_info, encoded(type_info, records))


def records_type(records: Sequence[Any]) -> TypeInformation:
    """The type of records, found from all of them.

    Examples
    --------
    >>> records_type([("a", 1), ("b", 2)]), records_type([1, "a"])
    (TUPLE(STRING, LONG), PICKLED_BYTE_ARRAY)
    """
    found = infer_from_values(records)
    if has_fields(found) and any(record is None for record in records):
        return PICKLED
    return found


def table_of(type_info: TypeInformation, records: list[Any]) -> pa.Table:
    """The table of records: one column per field, or the column "value".

    Examples
    --------
    >>> table_of(PICKLED, [("a", 1)]).to_pylist()
    [{'f0': 'a', 'f1': 1}]
    """
    if any(map(is_pickled, field_types(type_info))):
        records = [tuple(r) if isinstance(r, tuple) else r for r in records]
        if not records:
            return pa.table({name: pa.nulls(0) for name in field_names(type_info)})
        type_info = records_type(records)
    columns = []
    for kind, column in zip(field_types(type_info), encoded(type_info, records), strict=True):
        if is_pickled(kind):
            # Only None has a column without a type.
            if column.null_count < len(column):
                raise no_columns(records)
            column = pa.nulls(len(column))
        columns.append(column)
    return pa.Table.from_arrays(columns, names=field_names(type_info))


def no_columns(records: Sequence[Any]) -> TypeMismatchError:
    """The error for records that have no common type."""
    kinds = sorted({type(record).__name__ for record in records})
    return TypeMismatchError(
        "DATASET_NO_COLUMNS",
        f"the records have no common type, so they have no columns: {', '.join(kinds)}, such as "
        f"{short_repr(records[0])}",
        hint="make tuples or Rows of them, or declare a type: map(function, output_type)",
    )


def field_of(record: Any, field: int | str) -> Any:
    """A field of a record of which nothing is known.

    Examples
    --------
    >>> from millstream.common.types import Row
    >>> field_of((1, 2), "f1"), field_of(Row(a=3), "a"), field_of({"a": 4}, "a")
    (2, 3, 4)
    """
    if isinstance(field, str) and isinstance(record, tuple | list):
        if field in getattr(record, "_fields", ()):
            return getattr(record, field)
        if field[:1] != "f" or not field[1:].isdigit():
            raise LookupError(field)
        return record[int(field[1:])]
    return record[field]
