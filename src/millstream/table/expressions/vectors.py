"""Columns as functions see them: Arrow arrays, constants, and internal Python values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.table.expressions import kinds
from millstream.table.expressions.kinds import LogicalType, arrow_type

__all__ = ["Vector", "build", "each_value", "internal"]

_UNIT_NANOS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_MEMO_TYPES = (int, float, str, bytes, bool, Decimal, type(None))


@dataclass(eq=False)
class Vector:
    """An argument of a function: a column, or a constant for all rows."""

    type: LogicalType
    length: int
    column: pa.Array | None = None
    constant: bool = False
    scalar: Any = None  # the internal value of a constant

    @cached_property
    def array(self) -> pa.Array:
        """The column; that of a constant is made when it is asked for."""
        if self.column is not None:
            return self.column
        return build([self.scalar], self.type).take(pa.array(np.zeros(self.length, dtype=np.int64)))

    @cached_property
    def values(self) -> list[Any]:
        """The internal values of all rows."""
        if self.constant:
            return [self.scalar] * self.length
        return internal(self.array, self.type)


def internal(array: pa.Array, kind: LogicalType) -> list[Any]:
    """The internal values of an array."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    root = kinds.root(kind)
    if root in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        factor = _UNIT_NANOS[array.type.unit]
        return [
            None if each is None else each * factor for each in array.cast(pa.int64()).to_pylist()
        ]
    if root == "DATE":
        return list(array.cast(pa.int32()).to_pylist())
    if root == "TIME":
        return _times(array)
    if root == "INTERVAL_MILLIS":
        return list(array.cast(pa.int64()).to_pylist())
    if root in ("ARRAY", "MAP", "MULTISET"):
        return _lists(array, kind)
    if root == "ROW":
        fields = [internal(array.field(at), child) for at, child in enumerate(kind.children)]
        valid = array.is_valid().to_pylist()
        return [
            row if ok else None for row, ok in zip(zip(*fields, strict=True), valid, strict=True)
        ]
    return list(array.to_pylist())


def _times(array: pa.Array) -> list[Any]:
    """Milliseconds, whatever the unit of the array."""
    wide = array.cast(pa.int32() if array.type.bit_width == 32 else pa.int64())
    factor = _UNIT_NANOS[array.type.unit]
    return [None if each is None else each * factor // 1_000_000 for each in wide.to_pylist()]


def _time_array(values: Sequence[Any], target: pa.DataType) -> pa.Array:
    factor = _UNIT_NANOS[target.unit]
    scaled = [None if each is None else each * 1_000_000 // factor for each in values]
    return pa.array(scaled, pa.int32() if target.bit_width == 32 else pa.int64()).cast(target)


def _lists(array: pa.Array, kind: LogicalType) -> list[Any]:
    offsets = array.offsets.to_pylist()
    if kinds.root(kind) == "ARRAY":
        items: list[Any] = internal(array.values, kind.children[0])
    else:
        second = kind.children[1] if kinds.root(kind) == "MAP" else kinds.INT
        keys, values = internal(array.keys, kind.children[0]), internal(array.items, second)
        items = list(zip(keys, values, strict=True))
    found: list[Any] = []
    for at, valid in enumerate(array.is_valid().to_pylist()):
        found.append(tuple(items[offsets[at] : offsets[at + 1]]) if valid else None)
    return found


def build(values: Sequence[Any], kind: LogicalType) -> pa.Array:
    """The array of internal values.

    Examples
    --------
    >>> from millstream.table.expressions.kinds import DATE
    >>> build([0, None], DATE).to_pylist()
    [datetime.date(1970, 1, 1), None]
    """
    target, root = arrow_type(kind), kinds.root(kind)
    if root in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        factor = _UNIT_NANOS[target.unit]
        scaled = [None if each is None else each // factor for each in values]
        return _moments(scaled, kind).cast(target)
    if root == "DATE":
        return pa.array(values, pa.int32()).cast(target)
    if root == "INTERVAL_MILLIS":
        return pa.array(values, pa.int64()).cast(target)
    if root == "TIME":
        return _time_array(values, target)
    if root == "ARRAY":
        offsets, items = _flat(values)
        return pa.ListArray.from_arrays(offsets, build(items, kind.children[0])).cast(target)
    if root in ("MAP", "MULTISET"):
        offsets, pairs = _flat(values)
        second = kind.children[1] if root == "MAP" else kinds.INT
        keys = build([pair[0] for pair in pairs], kind.children[0])
        return pa.MapArray.from_arrays(offsets, keys, build([pair[1] for pair in pairs], second))
    if root == "ROW":
        columns = [
            build([None if row is None else row[at] for row in values], child)
            for at, child in enumerate(kind.children)
        ]
        mask = pa.array([row is None for row in values], pa.bool_())
        if not columns:
            return pa.array([None if row is None else {} for row in values], target)
        return pa.StructArray.from_arrays(columns, fields=list(target), mask=mask)
    return pa.array(values, target)


def _moments(scaled: Sequence[Any], kind: LogicalType) -> pa.Array:
    try:
        return pa.array(scaled, pa.int64())
    except OverflowError as error:
        raise OverflowError(f"a time is too far from 1970 for 64 bits as {kind}") from error


def _flat(values: Sequence[Any]) -> tuple[pa.Array, list[Any]]:
    offsets: list[int | None] = []
    items: list[Any] = []
    for each in values:
        offsets.append(None if each is None else len(items))
        items.extend(each or ())
    return pa.array([*offsets, len(items)], pa.int32()), items


def each_value(
    function: Callable[..., Any], vectors: Sequence[Vector], length: int, *, strict: bool = True
) -> list[Any]:
    """Call a function for each row, once for equal arguments; with `strict`, NULL gives NULL."""
    if length and all(vector.constant for vector in vectors):
        return [_once(function, [vector.scalar for vector in vectors], strict)] * length
    varying = [at for at, vector in enumerate(vectors) if not vector.constant]
    if len(varying) == 1 and kinds.root(vectors[varying[0]].type) in _DISTINCT:
        return _each_distinct(function, vectors, varying[0], strict)
    memo: dict[tuple[Any, ...], Any] = {}
    found: list[Any] = []
    for row in zip(*(vector.values for vector in vectors), strict=True):
        if all(type(each) in _MEMO_TYPES for each in row):
            # 1, 1.0 and True are one key of a dict: the types of a column are all the same.
            key = tuple(repr(each) if type(each) is float else each for each in row)
            if key not in memo:
                memo[key] = _once(function, row, strict)
            found.append(memo[key])
        else:
            found.append(_once(function, row, strict))
    return found


# Types whose equal values Arrow finds; 0.0 and -0.0 are equal, and not the same.
_DISTINCT = {"CHAR", "VARCHAR", "INT", "BIGINT", "SMALLINT", "DATE", "TIMESTAMP", "TIMESTAMP_LTZ"}


def _each_distinct(
    function: Callable[..., Any], vectors: Sequence[Vector], at: int, strict: bool
) -> list[Any]:
    """Call a function once for each distinct value of the only column."""
    encoded = vectors[at].array.dictionary_encode()
    row = [vector.scalar for vector in vectors]

    def result(value: Any) -> Any:
        row[at] = value
        return _once(function, row, strict)

    results = [result(value) for value in internal(encoded.dictionary, vectors[at].type)]
    results.append(result(None) if encoded.null_count else None)
    last = len(results) - 1
    return [results[place] for place in encoded.indices.fill_null(last).to_pylist()]


def _once(function: Callable[..., Any], row: Sequence[Any], strict: bool) -> Any:
    if strict and any(each is None for each in row):
        return None
    return function(*row)


def select(array: pa.Array, mask: pa.Array) -> pa.Array:
    """The rows where a mask is TRUE."""
    return pc.filter(array, mask)
