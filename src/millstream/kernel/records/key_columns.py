"""Keys that are columns: one field of a record, or the tuple of several.

Two rows have one key if, and only if, the encodings of their keys are equal, as everywhere
(`key_encoding`). A missing value is no key, as with any other record; in a tuple it is a part that
is equal to itself, so that a key of one column that may be missing is a tuple of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.common.recognition import Fields
from millstream.common.typeinfo import TypeInformation
from millstream.common.typesystem.arrow_decode import decode, whole
from millstream.kernel.keys.hashing import Hashes
from millstream.kernel.records.column_hashing import encodings, hash_column, hash_tuples
from millstream.kernel.records.columns import field_places, field_types
from millstream.kernel.records.order import Ints


@dataclass(frozen=True)
class KeyColumns:
    """The columns that are the key of a record: where they are, and what is in them.

    ``alone``: the key is the value of the one column, not a tuple.
    """

    places: tuple[int, ...]
    kinds: tuple[TypeInformation, ...]
    alone: bool

    @staticmethod
    def of(fields: Fields | None, type_info: TypeInformation | None) -> KeyColumns | None:
        """The columns of some fields; None if records of the type do not have them all."""
        places = field_places(fields, type_info)
        if places is None:
            return None
        kinds = field_types(type_info)
        return KeyColumns(
            places, tuple(kinds[place] for place in places), not isinstance(fields, tuple)
        )

    def columns(self, arrays: Sequence[pa.Array]) -> list[pa.Array]:
        """The columns of the key among those of a record."""
        return [arrays[place] for place in self.places]

    def values(self, arrays: Sequence[pa.Array]) -> list[Any]:
        """The keys as Python objects."""
        parts = [
            decode(kind, whole(column))
            for kind, column in zip(self.kinds, self.columns(arrays), strict=True)
        ]
        return parts[0] if self.alone else list(zip(*parts, strict=True))

    def hashes(self, arrays: Sequence[pa.Array]) -> Hashes:
        """``stable_hash`` of each key."""
        if self.alone:
            return hash_column(self.kinds[0], arrays[self.places[0]])
        return hash_tuples(self.kinds, self.columns(arrays))

    def codes(self, arrays: Sequence[pa.Array]) -> Ints:
        """A small number for each key, the same for equal ones, counted from 0."""
        return equal_codes(self.columns(arrays))


def equal_codes(columns: Sequence[pa.Array]) -> Ints:
    """A small number for each row, the same for rows with equal values, counted from 0."""
    return _joined([_codes(_with_one_zero(column)) for column in columns])


def row_codes(columns: Sequence[pa.Array]) -> Ints:
    """A number for each row of a table, the same for rows that look alike, counted from 0.

    0.0 and -0.0 are two values: they are two keys in Flink's tables, and a row that shows one of them is
    not taken back by a row with the other.

    Examples
    --------
    >>> numbers = pa.array([0.0, -0.0, float("nan"), None, float("nan"), None])
    >>> row_codes([numbers]).tolist(), equal_codes([numbers]).tolist()
    ([0, 1, 2, 3, 2, 3], [0, 0, 1, 2, 1, 2])
    """
    if not columns:
        raise ValueError("rows without columns have no length")
    return _joined([_codes(_with_two_zeros(column)) for column in columns])


def repeated_rows(columns: Sequence[pa.Array], rows: Ints, codes: Ints) -> tuple[Ints, Ints]:
    """Which of some rows look like another one of the same code, and a number for each of them.

    ``rows``: their places in the columns. Texts are compared only where all numbers are equal.

    Examples
    --------
    >>> names, numbers = pa.array(["a", "b", "b"]), pa.array([1, 2, 2])
    >>> places, codes = repeated_rows([names, numbers], np.array([0, 1, 2, 0]), np.array([0, 1, 1, 2]))
    >>> places.tolist(), codes.tolist()
    ([1, 2], [0, 0])
    """
    places = np.arange(len(rows))
    by_cost = sorted(columns, key=lambda column: not pa.types.is_primitive(column.type))
    for column in (None, *by_cost):
        if column is not None:
            codes = _joined([codes, row_codes([column.take(pa.array(rows[places]))])])
        some = np.bincount(codes)[codes] > 1
        places, codes = places[some], codes[some]
        if not len(places):
            break
    return places, numbered(codes)


def _joined(codes: list[Ints]) -> Ints:
    first, *others = codes
    for column in others:
        # Numbered again, because few products would soon be too large for 64 bits.
        first = numbered(first * (int(column.max(initial=0)) + 1) + column)
    return first


def numbered(numbers: Ints) -> Ints:
    """The same numbers for the same, counted from 0."""
    return _codes(pa.array(numbers))


def _with_one_zero(column: pa.Array) -> pa.Array:
    if pa.types.is_nested(column.type):
        return pa.array(encodings(column), pa.binary())
    return pc.add(column, 0.0) if pa.types.is_floating(column.type) else column


def _with_two_zeros(column: pa.Array) -> pa.Array:
    if pa.types.is_nested(column.type):
        return pa.array(encodings(column, two_zeros=True), pa.binary())
    if not pa.types.is_floating(column.type):
        return column
    numbers = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
    bits = np.where(np.isnan(numbers), np.nan, numbers).view(np.int64)
    return pa.array(bits, mask=column.is_null().to_numpy(zero_copy_only=False))


def _codes(column: pa.Array) -> Ints:
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64)
    encoded = column.dictionary_encode(null_encoding="encode")
    codes: Ints = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes
