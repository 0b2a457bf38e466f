"""Functions of texts over whole columns, by Arrow.

Each gives exactly what the function of one value gives, or None if that is not certain; the function is
then called for each value. Arrow compares and cuts bytes of UTF-8 or whole characters as Python does,
so only upper and lower case need ASCII.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millstream.table.expressions.context import Context
from millstream.table.expressions.tree import Call
from millstream.table.expressions.vectors import Vector

__all__ = [
    "Quick",
    "joined",
    "length",
    "like",
    "lower",
    "not_like",
    "replaced",
    "split_index",
    "substring",
    "upper",
]

Quick = Callable[[Call, list[Vector], Context], pa.Array | None]
"""A function of whole columns; None if the function of one value has to do it."""

_LONGEST_COLUMN = 1 << 31  # bytes that the offsets of one array of texts can reach


def texts(vector: Vector) -> pa.Array | None:
    """The column of a vector, if Arrow's functions of texts take it."""
    column = None if vector.constant else vector.array
    return column if isinstance(column, pa.Array) and column.type == pa.string() else None


def constant_text(vector: Vector) -> str | None:
    """The text of a constant, if it has one that UTF-8 can write: half a character it cannot."""
    if not vector.constant or not isinstance(vector.scalar, str):
        return None
    try:
        vector.scalar.encode()
    except UnicodeEncodeError:
        return None
    return vector.scalar


def constant_number(vector: Vector) -> int | None:
    return vector.scalar if vector.constant and isinstance(vector.scalar, int) else None


def length(call: Call, vectors: list[Vector], context: Context) -> pa.Array | None:
    """CHAR_LENGTH."""
    column = texts(vectors[0])
    return None if column is None else pc.utf8_length(column)


def upper(call: Call, vectors: list[Vector], context: Context) -> pa.Array | None:
    """UPPER of a column in ASCII."""
    return _of_ascii(pc.ascii_upper, vectors)


def lower(call: Call, vectors: list[Vector], context: Context) -> pa.Array | None:
    """LOWER of a column in ASCII."""
    return _of_ascii(pc.ascii_lower, vectors)


def _of_ascii(code: Callable[[pa.Array], pa.Array], vectors: list[Vector]) -> pa.Array | None:
    """Other letters may become longer, or depend on their neighbours: Python and Arrow can differ."""
    column = texts(vectors[0])
    if column is None or pc.all(pc.string_is_ascii(column), min_count=0).as_py() is False:
        return None
    return code(column)


def replaced(call: Call, vectors: list[Vector], context: Context) -> pa.Array | None:
    """REPLACE of a constant that is not empty by a constant."""
    column, old, new = texts(vectors[0]), constant_text(vectors[1]), constant_text(vectors[2])
    # An empty text is found between all characters, which Arrow does not do.
    if column is None or not old or new is None:
        return None
    if column.nbytes * (1 + len(new.encode())) >= _LONGEST_COLUMN:
        return None
    # Each find costs: a text that comes again is not searched again, as in the function of one value.
    encoded = column.dictionary_encode()
    return pc.replace_substring(encoded.dictionary, old, new).take(encoded.indices)


def like(call: Call, vectors: list[Vector], context: Context) -> pa.Array | None:
    """LIKE of a constant pattern whose only signs are % at its ends, without an escape."""
    if len(vectors) != 2:
        return None
    column, pattern = texts(vectors[0]), constant_text(vectors[1])
    if column is None or pattern is None:
        return None
    text = pattern.strip("%")
    if "%" in text or "_" in text:
        return None
    if not pattern.startswith("%"):
        whole = not pattern.endswith("%")
        return pc.equal(column, text) if whole else pc.starts_with(column, text)
    if not pattern.endswith("%"):
        return pc.ends_with(column, text)
    return pc.match_substring(column, text)


def not_like(call: Call, vectors: list[Vector], context: Context) -> pa.Array | None:
    """NOT LIKE where `like` knows LIKE."""
    found = like(call, vectors, context)
    return None if found is None else pc.invert(found)


def substring(call: Call, vectors: list[Vector], context: Context) -> pa.Array | None:
    """SUBSTRING from a constant place in the text on, of a constant length if there is one."""
    column, start = texts(vectors[0]), constant_number(vectors[1])
    if column is None or start is None or start <= 0:
        return None
    if len(vectors) == 2:
        return pc.utf8_slice_codeunits(column, start - 1)
    size = constant_number(vectors[2])
    if size is None or size < 0:
        return None
    return pc.utf8_slice_codeunits(column, start - 1, start - 1 + size)


def joined(call: Call, vectors: list[Vector], context: Context) -> pa.Array | None:
    """CONCAT of columns and constants."""
    parts: list[Any] = [constant_text(each) if each.constant else texts(each) for each in vectors]
    if any(part is None for part in parts) or all(each.constant for each in vectors):
        return None
    sizes = [
        len(part.encode()) * vectors[0].length if isinstance(part, str) else part.nbytes
        for part in parts
    ]
    if sum(sizes) >= _LONGEST_COLUMN:
        return None
    return pc.binary_join_element_wise(*parts, "", null_handling="emit_null")


def split_index(call: Call, vectors: list[Vector], context: Context) -> pa.Array | None:
    """SPLIT_INDEX with a constant delimiter, not empty, and a constant place."""
    column, sign, at = texts(vectors[0]), constant_text(vectors[1]), constant_number(vectors[2])
    if column is None or not sign or at is None or at < 0:
        return None
    parts = pc.split_pattern(column, sign, max_splits=at + 1)
    # The list of a row goes from one offset to the next; a part behind it belongs to another row.
    offsets = parts.offsets.cast(pa.int64())
    place = pc.add(offsets[:-1], at)
    there = pc.and_(pc.less(place, offsets[1:]), pc.not_equal(column, ""))
    return parts.values.take(pc.if_else(there, place, None))
