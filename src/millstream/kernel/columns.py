"""Values of a declared type that are still Arrow columns.

Typed sources and buffers hold columns. As long as nothing asks for a Python object (no function of the
user's has to see the record), none is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millstream.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation
from millstream.kernel.order import Ints


@dataclass(slots=True)
class Columns:
    """Values as columns; `tolist` makes new Python objects of them each time."""

    type_info: TypeInformation
    arrays: list[pa.Array]

    def __len__(self) -> int:
        return len(self.arrays[0])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        return self.type_info.from_arrow_arrays(self.arrays)

    def take(self, rows: Ints) -> Columns:
        """The values at the given rows."""
        places = pa.array(rows)
        return Columns(self.type_info, [array.take(places) for array in self.arrays])

    def slice(self, start: int, length: int) -> Columns:
        return Columns(self.type_info, [array.slice(start, length) for array in self.arrays])

    def in_own_types(self) -> list[pa.Array]:
        """The columns with the Arrow types that this type has; a source may have used others."""
        own = [field.to_arrow() for field in field_types(self.type_info)]
        own = own or [self.type_info.to_arrow()]
        if len(own) < len(self.arrays):
            own.append(pa.bool_())
        return [
            array if array.type == wanted else array.cast(wanted)
            for array, wanted in zip(self.arrays, own, strict=True)
        ]

    def field_values(self, field: int | str) -> list[Any] | None:
        """The values of one field; None if records of this type have no such column."""
        place = field_index(self.type_info, field)
        if place is None or len(self.arrays) != len(field_types(self.type_info)):
            return None
        return field_types(self.type_info)[place].from_arrow_arrays([self.arrays[place]])


Values = list[Any] | Columns


def field_types(type_info: TypeInformation | None) -> list[TypeInformation]:
    """The types of a record's fields; none if it is no record."""
    is_record = isinstance(type_info, TupleTypeInfo | RowTypeInfo)
    return list(type_info.field_types) if is_record else []  # type: ignore[union-attr]


def field_index(type_info: TypeInformation | None, field: int | str) -> int | None:
    """The place of a field, by position or name."""
    count = len(field_types(type_info))
    if isinstance(field, int):
        return field if 0 <= field < count else None
    names = type_info.field_names if isinstance(type_info, RowTypeInfo) else None
    return names.index(field) if names is not None and field in names else None


def as_list(values: Values) -> list[Any]:
    """Python objects, whatever they come as."""
    return values.tolist() if isinstance(values, Columns) else values


def column_schema(type_info: TypeInformation) -> pa.Schema:
    """The columns of a typed stream: its fields, or ``value``."""
    arrow = type_info.to_arrow()
    return pa.schema(list(arrow) if pa.types.is_struct(arrow) else [("value", arrow)])


def record_batch(values: Values, type_info: TypeInformation) -> pa.RecordBatch:
    """Values of a type as columns with names."""
    if isinstance(values, Columns) and values.type_info == type_info:
        arrays = values.arrays
    else:
        arrays = type_info.to_arrow_arrays(as_list(values))
    schema = column_schema(type_info)
    # Records that may be None have one column more, which says so.
    cast = [array.cast(f.type) for array, f in zip(arrays[: len(schema)], schema, strict=True)]
    return pa.RecordBatch.from_arrays(cast, schema=schema)


def concat_columns_of(parts: Sequence[Columns]) -> Columns:
    """The values of several blocks of one type, one after the other."""
    arrays = [pa.concat_arrays(same) for same in zip(*(part.arrays for part in parts), strict=True)]
    return Columns(parts[0].type_info, arrays)
