"""Arrow columns to Python values: the other direction of `_arrow_encode`."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from millstream.common.errors import TypeMismatchError
from millstream.common.time import Instant
from millstream.common.types import rows_of
from millstream.common.typesystem.arrow_types import arrow_type
from millstream.common.typesystem.base import TypeInformation
from millstream.common.typesystem.composites import (
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    _ItemsTypeInfo,
)


def decode_columns(type_info: TypeInformation, arrays: list[pa.Array]) -> list[Any]:
    """The values of `TypeInformation.from_arrow_arrays`."""
    columns = [whole(array) for array in arrays]
    if not isinstance(type_info, (TupleTypeInfo, RowTypeInfo)):
        _expect(type_info, columns, (1,))
        return decode(type_info, columns[0])
    count = len(type_info.field_types)
    _expect(type_info, columns, (count, count + 1) if count else (1,))
    values = _assemble(type_info, columns[:count], len(columns[0]))
    return _with_none(values, columns[count]) if len(columns) > count else values


def _expect(type_info: TypeInformation, columns: list[pa.Array], counts: tuple[int, ...]) -> None:
    if len(columns) not in counts:
        wanted = " or ".join(map(str, counts))
        raise ValueError(f"{type_info} is stored in {wanted} columns, got {len(columns)}")


def whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column in one piece; to bring a single piece together would copy it."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _with_none(values: list[Any], valid: pa.Array) -> list[Any]:
    exists = valid.to_numpy(zero_copy_only=False).tolist()
    return [value if ok else None for value, ok in zip(values, exists, strict=True)]


def decode(type_info: TypeInformation, array: pa.Array) -> list[Any]:
    """The values of one column; null becomes None."""
    expected = arrow_type(type_info)
    if array.type != expected:
        array = array.cast(expected)
    return _DECODERS[type_info.kind](type_info, array)


def _numbers(type_info: TypeInformation, array: pa.Array) -> list[Any]:
    # With nulls, numpy would turn integers into floats.
    values: list[Any] = array.to_pylist() if array.null_count else array.to_numpy().tolist()
    return values


def _objects(type_info: TypeInformation, array: pa.Array) -> list[Any]:
    # numpy makes dates and times thirty times as fast as `to_pylist`, and the rest no slower.
    values: list[Any] = array.to_numpy(zero_copy_only=False).tolist()
    return values


def _big_int(type_info: TypeInformation, array: pa.Array) -> list[Any]:
    texts = _objects(type_info, array)
    if array.null_count:
        return [None if text is None else int(text) for text in texts]
    return list(map(int, texts))


def _big_dec(type_info: TypeInformation, array: pa.Array) -> list[Any]:
    texts = _objects(type_info, array)
    if array.null_count:
        return [None if text is None else Decimal(text) for text in texts]
    return list(map(Decimal, texts))


def _instant(type_info: TypeInformation, array: pa.Array) -> list[Any]:
    micros = _numbers(type_info, array.cast(pa.int64()))
    return [None if m is None else Instant(m // 1_000_000, m % 1_000_000 * 1_000) for m in micros]


def _pickled(type_info: TypeInformation, array: pa.Array) -> list[Any]:
    loads = pickle.loads
    return [None if data is None else loads(data) for data in _objects(type_info, array)]


def _spans(array: pa.Array) -> tuple[list[int], int, int]:
    """Where each container of a column begins and ends, from 0, in its slice of the children."""
    offsets = array.offsets.to_numpy()
    start, stop = int(offsets[0]), int(offsets[-1])
    return (offsets - start).tolist(), start, stop - start


def _items(type_info: TypeInformation, array: pa.Array) -> list[Any]:
    assert isinstance(type_info, _ItemsTypeInfo)
    if not len(array):
        return []
    bounds, start, length = _spans(array)
    items = decode(type_info.element_type, array.values.slice(start, length))
    values: list[Any] = [items[a:b] for a, b in itertools.pairwise(bounds)]
    return _with_none(values, array.is_valid()) if array.null_count else values


def _primitive_array(type_info: TypeInformation, array: pa.Array) -> list[Any]:
    assert isinstance(type_info, PrimitiveArrayTypeInfo)
    return (_objects if type_info.holds_bytes else _items)(type_info, array)


def _map(type_info: TypeInformation, array: pa.Array) -> list[Any]:
    assert isinstance(type_info, MapTypeInfo)
    if not len(array):
        return []
    bounds, start, length = _spans(array)
    keys = decode(type_info.key_type, array.keys.slice(start, length))
    items = decode(type_info.value_type, array.items.slice(start, length))
    values: list[Any] = [
        dict(zip(keys[a:b], items[a:b], strict=True)) for a, b in itertools.pairwise(bounds)
    ]
    return _with_none(values, array.is_valid()) if array.null_count else values


def _assemble(
    type_info: TupleTypeInfo | RowTypeInfo, columns: list[pa.Array], length: int
) -> list[Any]:
    fields = zip(type_info.field_types, columns, strict=True)
    parts = [decode(field, column) for field, column in fields]
    tuples = list(zip(*parts, strict=True)) if parts else [()] * length
    return _rows(type_info, tuples) if isinstance(type_info, RowTypeInfo) else tuples


def _rows(type_info: RowTypeInfo, tuples: list[tuple[Any, ...]]) -> list[Any]:
    return rows_of(type_info.field_names, map(list, tuples), numbered=type_info.field_names is None)


def _struct(type_info: TypeInformation, array: pa.Array) -> list[Any]:
    assert isinstance(type_info, (TupleTypeInfo, RowTypeInfo))
    columns = [array.field(i) for i in range(array.type.num_fields)]
    values = _assemble(type_info, columns, len(array))
    return _with_none(values, array.is_valid()) if array.null_count else values


def _arrow(type_info: TypeInformation, array: pa.Array) -> list[Any]:
    try:
        values: list[Any] = array.to_pylist()
    except OverflowError as error:
        raise TypeMismatchError(
            "TIME_OUT_OF_RANGE",
            f"a value of type {type_info} is before the year 1 or after 9999: Python has no such dates",
            hint="leave such rows out, or CAST the column to STRING in the query",
        ) from error
    return values


_DECODERS: dict[str, Callable[[TypeInformation, pa.Array], list[Any]]] = {
    "STRING": _objects,
    "BYTE": _numbers,
    "BOOLEAN": _objects,
    "SHORT": _numbers,
    "INT": _numbers,
    "LONG": _numbers,
    "FLOAT": _numbers,
    "DOUBLE": _numbers,
    "CHAR": _objects,
    "BIG_INT": _big_int,
    "BIG_DEC": _big_dec,
    "INSTANT": _instant,
    "SQL_DATE": _objects,
    "SQL_TIME": _objects,
    "SQL_TIMESTAMP": _objects,
    "PICKLED_BYTE_ARRAY": _pickled,
    "PRIMITIVE_ARRAY": _primitive_array,
    "BASIC_ARRAY": _items,
    "OBJECT_ARRAY": _items,
    "LIST": _items,
    "MAP": _map,
    "TUPLE": _struct,
    "ROW": _struct,
    "ARROW": _arrow,
}
