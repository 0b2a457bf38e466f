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
        first, *others = (_codes(column) for column in self.columns(arrays))
        for column in others:
            # Numbered again, because few products would soon be too large for 64 bits.
            first = _codes(pa.array(first * (int(column.max(initial=0)) + 1) + column))
        return first


def _codes(column: pa.Array) -> Ints:
    if pa.types.is_nested(column.type):
        column = pa.array(encodings(column), pa.binary())
    elif pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64)
    if pa.types.is_floating(column.type):
        column = pc.add(column, 0.0)  # -0.0 becomes 0.0, which is the same key
    encoded = column.dictionary_encode(null_encoding="encode")
    codes: Ints = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes
