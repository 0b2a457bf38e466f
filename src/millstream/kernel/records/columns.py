"""Values of a declared type that are still Arrow columns.

Typed sources and buffers hold columns, and operators by column give them. As long as nothing asks for a
Python object (no function of the user's has to see the record), none is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.common.recognition import Fields
from millstream.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation, Types
from millstream.kernel.records.order import Ints


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

    @property
    def nbytes(self) -> int:
        """How large the columns are."""
        return sum(array.nbytes for array in self.arrays)

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

    def read(self, fields: Fields) -> Columns | None:
        """One field of each value, or the tuple of several; None if they have no such columns."""
        places = field_places(fields, self.type_info)
        if places is None or not self.has_all():
            return None
        types, arrays = field_types(self.type_info), [self.arrays[place] for place in places]
        if not isinstance(fields, tuple):
            return _of_type(types[places[0]], arrays[0])
        return Columns(Types.TUPLE([types[place] for place in places]), arrays)

    def is_true(self) -> npt.NDArray[np.bool_] | None:
        """Whether each value counts as true; None if they are no truth values or whole numbers."""
        if self.type_info.kind not in ("BOOLEAN", "BYTE", "SHORT", "INT", "LONG"):
            return None
        column = self.arrays[0].cast(pa.bool_()).fill_null(False)
        found: npt.NDArray[np.bool_] = column.to_numpy(zero_copy_only=False)
        return found

    def has_all(self) -> bool:
        """Whether each value is a record with fields: none of them is missing as a whole."""
        return len(self.arrays) == len(field_types(self.type_info))


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


def field_places(
    fields: Fields | None, type_info: TypeInformation | None
) -> tuple[int, ...] | None:
    """The places of some fields; None if records of the type do not have them all."""
    named = fields if isinstance(fields, tuple) else (fields,)
    found = [None if field is None else field_index(type_info, field) for field in named]
    places = tuple(place for place in found if place is not None)
    return places if places and len(places) == len(named) else None


def _of_type(type_info: TypeInformation, column: pa.Array) -> Columns | None:
    """The values of one column; None if they are records themselves, which have several."""
    return None if field_types(type_info) else Columns(type_info, [column])


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
    """The values of several blocks of one type, one after the other.

    A source may use other Arrow types than those of its type, and in some blocks only.
    """
    first, *others = parts
    pairs = (pair for part in others for pair in zip(part.arrays, first.arrays, strict=False))
    are_alike = all(array.type == like.type for array, like in pairs)
    arrays = [part.arrays if are_alike else part.in_own_types() for part in parts]
    return Columns(first.type_info, concat_arrays(arrays))


def concat_arrays(parts: Sequence[Sequence[pa.Array]]) -> list[pa.Array]:
    """The columns of several blocks of one type; only some may have one that says what is missing."""
    widest = max(map(len, parts))
    level = [
        part if len(part) == widest else [*part, pa.array(np.ones(len(part[0]), np.bool_))]
        for part in parts
    ]
    return [pa.concat_arrays(same) for same in zip(*level, strict=True)]
