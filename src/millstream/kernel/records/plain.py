"""Records of no declared type that are columns nevertheless: tuples of numbers, text and truth values.

What a function returns without `output_type` may be anything, and comes back as it was. Tuples with
values of exactly these classes do so as columns too. Columns are hashed many at a time, and objects are
made of them page by page: millions of tuples that all wait at once do not fit the processor's caches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from millstream.common.typeinfo import Types
from millstream.common.typesystem.arrow_encode import encode
from millstream.kernel.records.columns import Columns, concat_columns_of, field_types

MARK = b"columns\0"
"""What the bytes of such records begin with; no pickle begins like this."""
LARGE = 1 << 10
"""Tuples of more bytes, on average, stay objects: one Arrow column has 2 GiB of text at most."""
MOST_BYTES = 1 << 30
_KINDS = {str: Types.STRING(), int: Types.LONG(), float: Types.DOUBLE(), bool: Types.BOOLEAN()}
_OF_ARROW = {kind.to_arrow(): kind for kind in _KINDS.values()}


def plain_columns(values: Sequence[Any]) -> Columns | None:
    """The columns of tuples that are the same when they come back; None if some may be not.

    Examples
    --------
    >>> plain_columns([("a", 1), ("b", 2)]).tolist()
    [('a', 1), ('b', 2)]
    >>> plain_columns([("a", 1), ("b", None)]), plain_columns([("a", 1), ("b", 1 << 70)])
    (None, None)
    """
    if set(map(type, values)) != {tuple} or len(set(map(len, values))) > 1:
        return None
    columns = list(zip(*values, strict=True))
    classes = [set(map(type, column)) for column in columns]
    kinds = [_KINDS.get(found.pop()) for found in classes if len(found) == 1]
    known = [kind for kind in kinds if kind is not None]
    if not columns or len(known) < len(columns):
        return None
    try:
        arrays = [encode(kind, column) for kind, column in zip(known, columns, strict=True)]
    except (OverflowError, UnicodeError):
        return None
    is_large = sum(array.nbytes for array in arrays) > LARGE * len(values)
    return None if is_large else Columns(Types.TUPLE(known), arrays)


def is_plain(columns: Columns) -> bool:
    """Whether columns are like those of `plain_columns`."""
    kinds = field_types(columns.type_info)
    whole = columns.has_all() and bool(kinds) and columns.type_info == Types.TUPLE(kinds)
    return whole and all(kind in _KINDS.values() for kind in kinds)


def read_plain(batch: pa.RecordBatch) -> Columns:
    """The columns of such records, as they have travelled."""
    return Columns(Types.TUPLE([_OF_ARROW[kind] for kind in batch.schema.types]), batch.columns)


def gathered(parts: Sequence[Columns]) -> Columns | None:
    """Many columns as one; None if their types differ, or they are too large."""
    is_large = sum(array.nbytes for part in parts for array in part.arrays) > MOST_BYTES
    if is_large or any(part.type_info != parts[0].type_info for part in parts):
        return None
    return concat_columns_of(parts)
