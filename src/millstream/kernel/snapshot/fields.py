"""Values of state as Arrow columns that anybody can read, and back without the slightest change.

A value of a declared type has a column of that type; one that the type would change (a `True` that was
declared as LONG, a float that FLOAT would round) is pickled in a column beside it. Values of no declared
type have a column for text, one for whole numbers and one for floats; anything else is pickled.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.errors import CheckpointError
from millstream.common.pickling import dumps
from millstream.common.time import Instant
from millstream.common.typeinfo import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from millstream.common.types import Row, RowKind
from millstream.common.typesystem.arrow_decode import whole

PICKLED = "_pickled"
_ListType = ListTypeInfo | BasicArrayTypeInfo | ObjectArrayTypeInfo | PrimitiveArrayTypeInfo
_LISTS = (ListTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo)
_TEXT_BITS = 14_000
"""Python turns whole numbers of about this size into text, and no larger ones."""
_PLAIN: dict[str, tuple[type, pa.DataType]] = {
    "_text": (str, pa.string()),
    "_number": (int, pa.int64()),
    "_real": (float, pa.float64()),
}


@dataclass(frozen=True)
class Field:
    """One thing in a table of state: a key, a value. ``type_info`` None: no type was declared."""

    name: str
    type_info: TypeInformation | None = None

    @staticmethod
    def of(name: str, type_info: TypeInformation | None) -> Field:
        """A field of a declared type; that of pickled objects declares none."""
        return Field(name, None if type_info == Types.PICKLED_BYTE_ARRAY() else type_info)

    def schema(self) -> list[pa.Field]:
        """The columns."""
        pickled = pa.field(self.name + PICKLED, pa.binary())
        if self.type_info is not None:
            return [pa.field(self.name, self.type_info.to_arrow()), pickled]
        plain = [pa.field(self.name + suffix, kind) for suffix, (_, kind) in _PLAIN.items()]
        return [*plain, pickled]

    def encode(self, values: Sequence[Any]) -> list[pa.Array]:
        """Values as columns; None is null in all of them."""
        if self.type_info is None:
            return _untyped(values)
        if fits_exactly(self.type_info, values):
            return [_column(self.type_info, values), pa.nulls(len(values), pa.binary())]
        fitting = [value is not None and fits_exactly(self.type_info, [value]) for value in values]
        pairs = list(zip(values, fitting, strict=True))
        typed = [value if fits else None for value, fits in pairs]
        others = [None if fits or value is None else dumps(value) for value, fits in pairs]
        return [_column(self.type_info, typed), pa.array(others, pa.binary())]

    def decode(self, table: pa.Table | pa.RecordBatch, *, trusted: bool = True) -> list[Any]:
        """The values that columns were made of."""
        if not trusted and self.type_info is not None and holds_pickles(self.type_info):
            raise untrusted(f"column {self.name!r}")
        columns = [whole(table.column(field.name)) for field in self.schema()]
        *known, pickled = columns
        if self.type_info is None:
            used = [column for column in known if column.null_count < len(column)]
            values = _merged([column.to_pylist() for column in used or known[:1]])
        else:
            values = self.type_info.from_arrow_arrays(_parts(self.type_info, known[0]))
        if pickled.null_count == len(pickled):
            return values
        if not trusted:
            raise untrusted(f"column {self.name + PICKLED!r}")
        for row in np.flatnonzero(pickled.is_valid().to_numpy(zero_copy_only=False)).tolist():
            values[row] = pickle.loads(pickled[row].as_py())
        return values


def holds_pickles(type_info: TypeInformation) -> bool:
    """Whether a column of a type has pickled objects in it."""
    parts: Sequence[TypeInformation] = ()
    if isinstance(type_info, TupleTypeInfo | RowTypeInfo):
        parts = type_info.field_types
    elif isinstance(type_info, MapTypeInfo):
        parts = (type_info.key_type, type_info.value_type)
    elif isinstance(type_info, _LISTS):
        parts = (type_info.element_type,)
    return type_info == Types.PICKLED_BYTE_ARRAY() or any(map(holds_pickles, parts))


def untrusted(where: str) -> CheckpointError:
    """The error for pickled values that may not be read: they could run any code."""
    return CheckpointError(
        "UNTRUSTED_STATE",
        f"{where} holds pickled objects, which can run any code when they are read",
        hint="read it with trusted=True if you trust who wrote it, or declare types for the state",
    )


def _untyped(values: Sequence[Any]) -> list[pa.Array]:
    n = len(values)
    classes = set(map(type, values))
    for place, (kind, arrow) in enumerate(_PLAIN.values()):
        if classes == {kind} and (column := _as_array(values, arrow)) is not None:
            found = [pa.nulls(n, other) for _, other in _PLAIN.values()]
            found[place] = column
            return [*found, pa.nulls(n, pa.binary())]
    columns: list[list[Any]] = [[None] * n for _ in range(len(_PLAIN) + 1)]
    places = {kind: place for place, (kind, _) in enumerate(_PLAIN.values())}
    for row, value in enumerate(values):
        place = places.get(type(value), len(_PLAIN))
        if place == len(_PLAIN) or not _is_storable(value):
            columns[-1][row] = None if value is None else dumps(value)
        else:
            columns[place][row] = value
    kinds = [*(arrow for _, arrow in _PLAIN.values()), pa.binary()]
    return [pa.array(column, arrow) for column, arrow in zip(columns, kinds, strict=True)]


def _as_array(values: Sequence[Any], arrow: pa.DataType) -> pa.Array | None:
    try:
        return pa.array(values, arrow)
    except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):
        return None


def _is_storable(value: Any) -> bool:
    if isinstance(value, int):
        return -(1 << 63) <= value < 1 << 63
    return not isinstance(value, str) or _as_array([value], pa.string()) is not None


def _merged(columns: list[list[Any]]) -> list[Any]:
    values = list(columns[0])
    for column in columns[1:]:
        for row, value in enumerate(column):
            if value is not None:
                values[row] = value
    return values


def _column(type_info: TypeInformation, values: Sequence[Any]) -> pa.Array:
    """Values of a type as one column."""
    arrays = type_info.to_arrow_arrays(values)
    if not isinstance(type_info, TupleTypeInfo | RowTypeInfo):
        return arrays[0]
    fields = list(type_info.to_arrow())
    exists = arrays[len(fields)] if len(arrays) > len(fields) else None
    if not fields:
        return pa.array([None if value is None else {} for value in values], type_info.to_arrow())
    mask = None if exists is None else pa.compute.invert(exists)
    return pa.StructArray.from_arrays(arrays[: len(fields)], fields=fields, mask=mask)


def _parts(type_info: TypeInformation, column: pa.Array) -> list[pa.Array]:
    """The arrays of a type that a column stands for."""
    if not isinstance(type_info, TupleTypeInfo | RowTypeInfo):
        return [column]
    parts = [column.field(i) for i in range(column.type.num_fields)]
    if column.null_count or not parts:
        parts.append(column.is_valid())
    return parts


# -- what a type leaves as it is ------------------------------------------------------------------


def fits_exactly(type_info: TypeInformation, values: Sequence[Any]) -> bool:
    """Whether every value comes back from a column of the type as it was; None always does."""
    rest = [value for value in values if value is not None]
    if not rest:
        return True
    if isinstance(type_info, TupleTypeInfo):
        return _are(tuple, rest) and _fields_fit(type_info, rest)
    if isinstance(type_info, RowTypeInfo):
        return _are(Row, rest) and _rows_fit(type_info, rest)
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.holds_bytes:
        return _are(bytes, rest)
    if isinstance(type_info, _LISTS):
        return _are(list, rest) and _items_fit(type_info, list(chain(*rest)))
    if isinstance(type_info, MapTypeInfo):
        return _are(dict, rest) and _entries_fit(type_info, rest)
    check = _ATOMS.get(type_info.kind)
    return check is not None and check(rest)


def _are(kind: type, values: Sequence[Any]) -> bool:
    return set(map(type, values)) == {kind}


def _fields_fit(type_info: TupleTypeInfo | RowTypeInfo, values: Sequence[Any]) -> bool:
    types = type_info.field_types
    if set(map(len, values)) != {len(types)}:
        return False
    columns = zip(*values, strict=True)
    return all(fits_exactly(t, column) for t, column in zip(types, columns, strict=True))


def _items_fit(type_info: _ListType, items: list[Any]) -> bool:
    if isinstance(type_info, PrimitiveArrayTypeInfo) and None in items:
        return False
    return fits_exactly(type_info.element_type, items)


def _entries_fit(type_info: MapTypeInfo, maps: Sequence[dict[Any, Any]]) -> bool:
    keys, items = list(chain(*maps)), list(chain(*(found.values() for found in maps)))
    fit = None not in keys and fits_exactly(type_info.key_type, keys)
    return fit and fits_exactly(type_info.value_type, items)


def _rows_fit(type_info: RowTypeInfo, rows: Sequence[Row]) -> bool:
    # A row without names comes back as one that shows numbers for names, and equals it.
    names = None if type_info.field_names is None else tuple(type_info.field_names)
    plain = all(row._fields == names and row._row_kind is RowKind.INSERT for row in rows)
    return plain and _fields_fit(type_info, [row._values for row in rows])


def _whole_numbers(bits: int) -> Callable[[Sequence[Any]], bool]:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return lambda values: _are(int, values) and low <= min(values) and max(values) <= high


def _single_precision(values: Sequence[Any]) -> bool:
    if not _are(float, values):
        return False
    numbers = np.array(values, np.float64)
    with np.errstate(over="ignore"):
        rounded = numbers.astype(np.float32).astype(np.float64)
    return bool(((numbers == rounded) | np.isnan(numbers)).all())


def _text(values: Sequence[Any]) -> bool:
    return _are(str, values) and _as_array(values, pa.string()) is not None


def _without_zone(kind: type) -> Callable[[Sequence[Any]], bool]:
    return lambda values: (
        _are(kind, values) and all(value.tzinfo is None and not value.fold for value in values)
    )


def _in_micros(instant: Instant) -> bool:
    """Whether a point in time has no rest below a microsecond, and is near enough for 64 bits."""
    parts = instant.seconds, instant.nanos
    if not _are(int, parts) or not 0 <= instant.nanos < 1_000_000_000:
        return False
    return instant.nanos % 1_000 == 0 and abs(instant.seconds) < (1 << 63) // 1_000_000


_ATOMS: dict[str, Callable[[Sequence[Any]], bool]] = {
    "STRING": _text,
    "CHAR": lambda values: _text(values) and all(len(value) == 1 for value in values),
    "BOOLEAN": lambda values: _are(bool, values),
    "BYTE": _whole_numbers(8),
    "SHORT": _whole_numbers(16),
    "INT": _whole_numbers(32),
    "LONG": _whole_numbers(64),
    "BIG_INT": lambda values: (
        _are(int, values) and max(value.bit_length() for value in values) <= _TEXT_BITS
    ),
    "DOUBLE": lambda values: _are(float, values),
    "FLOAT": _single_precision,
    "BIG_DEC": lambda values: _are(Decimal, values) and all(v.is_finite() for v in values),
    "INSTANT": lambda values: _are(Instant, values) and all(map(_in_micros, values)),
    "SQL_DATE": lambda values: _are(date, values),
    "SQL_TIME": _without_zone(time),
    "SQL_TIMESTAMP": _without_zone(datetime),
}
