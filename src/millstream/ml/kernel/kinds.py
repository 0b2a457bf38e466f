"""The kinds of columns that stages make, and how Arrow, Spark and streams keep them.

Vectors are kept in Arrow as Spark's ``VectorUDT`` keeps them, so that DataFrames need no conversion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pickle import loads
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from millstream.common.pickling import dumps
from millstream.common.typeinfo import PickledBytesTypeInfo, TypeInformation, Types
from millstream.ml.errors import ml_error
from millstream.ml.kernel.batch import Batch, Column, as_vectors
from millstream.ml.linalg import DenseVector, SparseVector, Vector, VectorTypeInfo

__all__ = [
    "AnyTypeInfo",
    "arrow_of",
    "batch_of",
    "batch_to_arrow",
    "column_of_arrow",
    "kind_of_arrow",
    "kind_of_info",
    "kind_of_values",
    "type_info_of",
]

VECTOR_ARROW = pa.struct(
    [
        pa.field("type", pa.int8(), nullable=False),
        pa.field("size", pa.int32()),
        pa.field("indices", pa.list_(pa.field("element", pa.int32(), nullable=False))),
        pa.field("values", pa.list_(pa.field("element", pa.float64(), nullable=False))),
    ]
)
_ARROW: dict[str, pa.DataType] = {
    "vector": VECTOR_ARROW,
    "double": pa.float64(),
    "int": pa.int32(),
    "long": pa.int64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "array<string>": pa.list_(pa.string()),
    "array<double>": pa.list_(pa.float64()),
    "array<long>": pa.list_(pa.int64()),
    "array<vector>": pa.list_(VECTOR_ARROW),
    "array<array<double>>": pa.list_(pa.list_(pa.float64())),
    "array<array<string>>": pa.list_(pa.list_(pa.string())),
    "map<string,double>": pa.map_(pa.string(), pa.float64()),
    "map<int,map<double,int>>": pa.map_(pa.int32(), pa.map_(pa.float64(), pa.int32())),
    "any": pa.binary(),
}


@dataclass(frozen=True, repr=False)
class AnyTypeInfo(PickledBytesTypeInfo):
    """The type of any object in a column of a table."""

    class_name: ClassVar[str] = "java.lang.Object"


_INFOS: dict[str, TypeInformation] = {
    "vector": VectorTypeInfo(),
    "double": Types.DOUBLE(),
    "int": Types.INT(),
    "long": Types.LONG(),
    "string": Types.STRING(),
    "boolean": Types.BOOLEAN(),
    "array<string>": Types.LIST(Types.STRING()),
    "array<double>": Types.LIST(Types.DOUBLE()),
    "array<long>": Types.LIST(Types.LONG()),
    "array<vector>": Types.LIST(VectorTypeInfo()),
    "array<array<double>>": Types.LIST(Types.LIST(Types.DOUBLE())),
    "array<array<string>>": Types.LIST(Types.LIST(Types.STRING())),
    "map<string,double>": Types.MAP(Types.STRING(), Types.DOUBLE()),
    "map<int,map<double,int>>": Types.MAP(Types.INT(), Types.MAP(Types.DOUBLE(), Types.INT())),
    "any": AnyTypeInfo(),
}


def type_info_of(kind: str) -> TypeInformation:
    """The type of a stream that holds values of a kind."""
    return _INFOS[kind]


def kind_of_info(info: TypeInformation) -> str:
    """The kind of the values of a stream.

    Examples
    --------
    >>> kind_of_info(Types.SHORT()), kind_of_info(Types.OBJECT_ARRAY(Types.STRING()))
    ('int', 'array<string>')
    """
    if isinstance(info, VectorTypeInfo):
        return "vector"
    if info in (Types.BYTE(), Types.SHORT()):
        return "int"
    if info in (Types.FLOAT(), Types.BIG_DEC()):
        return "double"
    inner = getattr(info, "element_type", None)
    if inner is not None:
        kind = f"array<{kind_of_info(inner)}>"
        return kind if kind in _INFOS else "any"
    return next((kind for kind, each in _INFOS.items() if each == info), "any")


def kind_of_arrow(kind: pa.DataType) -> str:
    """The kind of the values of an Arrow column."""
    is_a = pa.types
    if is_vector(kind):
        return "vector"
    if is_a.is_list(kind) or is_a.is_large_list(kind):
        inner = f"array<{kind_of_arrow(kind.value_type)}>"
        return inner if inner in _ARROW else "any"
    if is_a.is_boolean(kind):
        return "boolean"
    if is_a.is_integer(kind):
        return "int" if kind.bit_width < 64 else "long"
    if is_a.is_floating(kind) or is_a.is_decimal(kind):
        return "double"
    return "string" if is_a.is_string(kind) or is_a.is_large_string(kind) else "any"


def kind_of_values(column: Column) -> str:
    """The kind of some values."""
    if isinstance(column, np.ndarray) and column.dtype != object:
        if column.ndim == 2:
            return "vector"
        kinds = {"f": "double", "b": "boolean"}
        found = kinds.get(column.dtype.kind)
        return found or ("long" if column.dtype.itemsize >= 8 else "int")
    known = [value for value in column if value is not None]
    if known and all(isinstance(value, (Vector, np.ndarray)) for value in known):
        return "vector"
    try:
        return kind_of_arrow(pa.array(known).type) if _plain(known) else "any"
    except pa.ArrowException:
        return "any"


def _plain(values: Sequence[Any]) -> bool:
    return all(isinstance(each, (bool, int, float, str, list)) for each in values) and bool(values)


def is_vector(kind: pa.DataType) -> bool:
    """Whether an Arrow column has vectors of Spark."""
    return pa.types.is_struct(kind) and [each.name for each in kind] == [
        "type",
        "size",
        "indices",
        "values",
    ]


def column_of_arrow(array: pa.Array | pa.ChunkedArray) -> Column:
    """The column of an Arrow array."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    kind = array.type
    if is_vector(kind):
        return _vectors_of_arrow(array)
    if pa.types.is_list(kind) and is_vector(kind.value_type):
        parts = (each if each is None else _vectors_of_arrow(each) for each in map(_items, array))
        return [None if part is None else as_vectors(part) for part in parts]
    if pa.types.is_decimal(kind):
        array, kind = array.cast(pa.float64()), pa.float64()
    if pa.types.is_floating(kind):
        return np.asarray(array.to_numpy(zero_copy_only=False), np.float64)
    if (pa.types.is_integer(kind) or pa.types.is_boolean(kind)) and not array.null_count:
        return array.to_numpy(zero_copy_only=False)
    if pa.types.is_map(kind):
        return [_dict_of(each, kind) for each in array.to_pylist()]
    if pa.types.is_fixed_size_list(kind):
        return array.flatten().to_numpy(zero_copy_only=False).reshape(len(array), -1)
    return array.to_pylist()


def _dict_of(pairs: Any, kind: pa.DataType) -> Any:
    """A map, whose values may be maps; Arrow gives pairs."""
    if pairs is None or not pa.types.is_map(kind):
        return pairs
    return {key: _dict_of(value, kind.item_type) for key, value in pairs}


def _items(scalar: pa.ListScalar) -> Any:
    return scalar.values


def _vectors_of_arrow(array: pa.StructArray) -> Column:
    kinds, sizes, places, values = array.flatten()
    lengths = values.value_lengths().to_numpy(zero_copy_only=False)
    dense = not array.null_count and bool((kinds.to_numpy(zero_copy_only=False) == 1).all())
    if dense and len(set(lengths.tolist())) == 1:
        return values.flatten().to_numpy(zero_copy_only=False).reshape(len(array), -1)
    found: list[Vector | None] = []
    rows = zip(
        kinds.to_pylist(), sizes.to_pylist(), places.to_pylist(), values.to_pylist(), strict=True
    )
    for kind, size, at, value in rows:
        if kind is None:
            found.append(None)
        else:
            found.append(DenseVector(value) if kind == 1 else SparseVector(size, at, value))
    return found


def arrow_of(column: Column, kind: str) -> pa.Array:
    """An Arrow array of a column."""
    if kind == "vector":
        return _arrow_of_vectors(column)
    if kind == "any":
        values = column if not isinstance(column, np.ndarray) else list(column)
        return pa.array([None if value is None else dumps(value) for value in values], pa.binary())
    if isinstance(column, np.ndarray):
        if kind in ("int", "long") and column.dtype.kind == "f":
            column = column.astype(np.int64)
        return pa.array(column, _ARROW[kind])
    if kind == "array<vector>":
        rows = [None if value is None else [*map(_vector_row, value)] for value in column]
        return pa.array(rows, _ARROW[kind])
    values = [_plain_value(value) for value in column]
    return pa.array(values, _ARROW[kind])


def _plain_value(value: Any) -> Any:
    """A value as Arrow takes it: maps are pairs."""
    if isinstance(value, Mapping):
        return [(key, _plain_value(each)) for key, each in value.items()]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _arrow_of_vectors(column: Column) -> pa.Array:
    if isinstance(column, np.ndarray) and column.ndim == 2:
        rows, width = column.shape
        offsets = np.arange(rows + 1, dtype=np.int32) * width
        elements = np.ascontiguousarray(column, np.float64).reshape(-1)
        values = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(elements))
        parts = [
            pa.array(np.ones(rows, np.int8)),
            pa.nulls(rows, pa.int32()),
            pa.nulls(rows, VECTOR_ARROW.field("indices").type),
            values.cast(VECTOR_ARROW.field("values").type),
        ]
        return pa.StructArray.from_arrays(parts, fields=list(VECTOR_ARROW))
    return pa.array([_vector_row(value) for value in column], VECTOR_ARROW)


def _vector_row(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    if isinstance(value, SparseVector):
        places, values = value.indices.tolist(), value.values.tolist()
        return {"type": 0, "size": value.size(), "indices": places, "values": values}
    (found,) = as_vectors([value])
    return {"type": 1, "size": None, "indices": None, "values": found.to_array().tolist()}


def batch_of(table: pa.Table | pa.RecordBatch, pickled: Sequence[str] = ()) -> Batch:
    """The columns of an Arrow table."""
    found = {}
    for name, array in zip(table.schema.names, table.columns, strict=True):
        column = column_of_arrow(array)
        if name in pickled:
            column = [None if each is None else loads(each) for each in column]
        found[name] = column
    return Batch(found, table.num_rows)


def batch_to_arrow(batch: Batch, kinds: Mapping[str, str] | None = None) -> pa.Table:
    """An Arrow table of a batch."""
    known = kinds or {}
    arrays = {}
    for name, column in batch.columns.items():
        kind = known.get(name) or kind_of_values(column)
        try:
            arrays[name] = arrow_of(column, kind)
        except (pa.ArrowException, TypeError, ValueError) as error:
            message = f"column {name!r} is no column of kind {kind}: {error}"
            raise ml_error("ML_COLUMN_KIND", message) from error
    return pa.table(arrays)
