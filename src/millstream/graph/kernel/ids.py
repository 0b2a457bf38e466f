"""Ids of vertices as columns: their distinct values in order, and where an id stands among them.

Ids are 64-bit numbers in a numpy array, or strings in a pyarrow array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.common.errors import PlanError, short_repr

__all__ = ["IdIndex", "distinct_ids", "id_column", "id_type", "merged_ids", "pick_ids"]

# A table that is addressed by the id itself may have so many entries, for each id and at least.
_SPREAD = 8
_SMALL = 1 << 20


def id_type(kind: pa.DataType) -> pa.DataType:
    """The type of ids that a column of a type has: 64-bit numbers or strings.

    Examples
    --------
    >>> id_type(pa.int32()), id_type(pa.large_string())
    (DataType(int64), DataType(string))
    """
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return pa.int64()
    if kind in (pa.string(), pa.large_string(), pa.string_view()):
        return pa.string()
    if pa.types.is_dictionary(kind):
        return id_type(kind.value_type)
    # A column without rows may have no type.
    if kind == pa.null():
        return pa.int64()
    # Values of several types, and of types without a column, are pickled.
    got = (
        "values of several types, or of another one"
        if pa.types.is_large_binary(kind) or pa.types.is_binary(kind)
        else kind
    )
    raise PlanError(
        "GRAPH_ID_TYPE",
        f"ids of vertices must be whole numbers or strings, all of them of one type, got {got}",
        hint="make ids of one of these types with translate_graph_ids",
    )


def id_column(column: pa.Array | pa.ChunkedArray) -> Any:
    """A column of ids as this module wants it; nulls are an error.

    Examples
    --------
    >>> id_column(pa.array([3, 1], pa.int32()))
    array([3, 1])
    """
    if column.null_count:
        raise PlanError(
            "GRAPH_ID_NULL",
            f"{column.null_count} of {len(column)} ids of vertices are null",
            hint="leave such vertices and edges out",
        )
    kind = id_type(column.type)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    column = column.cast(kind)
    return column.to_numpy(zero_copy_only=False) if kind == pa.int64() else column


def pick_ids(ids: Any, places: Any) -> Any:
    """The ids at some places.

    Examples
    --------
    >>> pick_ids(pa.array(["a", "b", "c"]), np.array([2, 0])).to_pylist()
    ['c', 'a']
    """
    if isinstance(ids, np.ndarray):
        return ids[places]
    return ids.take(pa.array(places))


def _is_close(low: int, high: int, count: int) -> bool:
    return high - low < max(_SPREAD * count, _SMALL)


def distinct_ids(ids: Any) -> tuple[Any, Any]:
    """The distinct ids in ascending order, and for each id its place among them.

    Examples
    --------
    >>> distinct_ids(np.array([7, 3, 7]))
    (array([3, 7]), array([1, 0, 1], dtype=int32))
    >>> distinct_ids(pa.array(["b", "a", "b"]))[1]
    array([1, 0, 1], dtype=int32)
    """
    if not len(ids):
        return ids, np.zeros(0, np.int32)
    if not isinstance(ids, np.ndarray):
        return _distinct_by_hash(ids)
    low, high = int(ids.min()), int(ids.max())
    if not _is_close(low, high, len(ids)):
        return _distinct_by_hash(pa.array(ids))
    offsets = ids - low if low else ids
    seen = np.zeros(high - low + 1, np.bool_)
    seen[offsets] = True
    found = np.flatnonzero(seen)
    place = np.empty(len(seen), np.int32)
    place[found] = np.arange(len(found), dtype=np.int32)
    return found + low, place[offsets]


def _distinct_by_hash(ids: pa.Array) -> tuple[Any, Any]:
    """By pyarrow's hash table; the few distinct ids are sorted, not all."""
    encoded = ids.dictionary_encode()
    found, codes = encoded.dictionary, encoded.indices.to_numpy()
    if ids.type == pa.int64():
        found = found.to_numpy()
        order = np.argsort(found)
        found = found[order]
    else:
        order = pc.array_sort_indices(found).to_numpy()
        found = found.take(pa.array(order))
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return found, place[codes]


def merged_ids(columns: list[Any]) -> Any:
    """The distinct ids of several columns, in ascending order.

    Examples
    --------
    >>> merged_ids([np.array([5, 1]), np.array([1, 9])])
    array([1, 5, 9])
    """
    if isinstance(columns[0], np.ndarray):
        return distinct_ids(np.concatenate(columns))[0]
    return distinct_ids(pa.concat_arrays(columns))[0]


class IdIndex:
    """Where ids stand in a column of distinct ids in ascending order.

    Parameters
    ----------
    ids
        Distinct ids, ascending.

    Examples
    --------
    >>> IdIndex(np.array([3, 7, 8])).find(np.array([8, 4, 3]))
    array([ 2, -1,  0], dtype=int32)
    """

    def __init__(self, ids: Any) -> None:
        self.ids = ids
        self._low = 0
        self._table: Any = None
        if isinstance(ids, np.ndarray) and len(ids):
            low, high = int(ids[0]), int(ids[-1])
            if _is_close(low, high, len(ids)):
                self._low = low
                self._table = np.full(high - low + 1, -1, np.int32)
                self._table[ids - low] = np.arange(len(ids), dtype=np.int32)

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, ids: Any) -> Any:
        """The place of each id, -1 if it is not among them."""
        if not len(self.ids) or not len(ids):
            return np.full(len(ids), -1, np.int32)
        if not isinstance(self.ids, np.ndarray):
            places = pc.index_in(ids, value_set=self.ids)
            return places.fill_null(-1).to_numpy(zero_copy_only=False)
        if self._table is None:
            places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
            return np.where(self.ids[places] == ids, places, -1).astype(np.int32)
        offsets = ids - self._low
        inside = (offsets >= 0) & (offsets < len(self._table))
        if inside.all():
            return self._table[offsets]
        return np.where(inside, self._table[np.where(inside, offsets, 0)], -1).astype(np.int32)

    def place_of(self, value: object) -> int:
        """The place of one id, -1 if it is not there; also for a value that cannot be an id.

        Examples
        --------
        >>> IdIndex(np.array([3, 7])).place_of(7), IdIndex(np.array([3, 7])).place_of("7")
        (1, -1)
        """
        numbers = isinstance(self.ids, np.ndarray)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer) if numbers else str):
            return -1
        if numbers:
            number = int(value)
            if not -(1 << 63) <= number < 1 << 63:
                return -1
            return int(self.find(np.array([number], np.int64))[0])
        return int(self.find(pa.array([value], self.ids.type))[0])


def first_ids(ids: Any, places: Any, limit: int = 3) -> str:
    """A few ids for the text of an error.

    Examples
    --------
    >>> first_ids(np.array([4, 5, 6]), np.array([0, 2]))
    '4, 6'
    """
    chosen = pick_ids(ids, np.asarray(places[:limit], np.int64)).tolist()
    more = ", ..." if len(places) > limit else ""
    return ", ".join(short_repr(value) for value in chosen) + more
