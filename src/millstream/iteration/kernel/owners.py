"""The owner of a key: the task that holds its state. Spark routes the inputs by the same rule.

The owner of a whole number is Spark's ``pmod(xxhash64(number), tasks)``, that of a text or of bytes
is the owner of the number ``crc32(bytes)``.
"""

from __future__ import annotations

import zlib
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.errors import TypeMismatchError, short_repr

__all__ = ["hashed", "hashed_numbers", "key_kind", "owners"]

_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_START = np.uint64((42 + 0x27D4EB2F165667C5 + 8) & ((1 << 64) - 1))
# The arrays of one block stay in the cache of the processor.
_BLOCK = 1 << 14


def _rotated(bits: Any, by: int) -> Any:
    return (bits << np.uint64(by)) | (bits >> np.uint64(64 - by))


def _hashed_block(bits: Any) -> Any:
    mixed = _START ^ (_rotated(bits * _P2, 31) * _P1)
    mixed = _rotated(mixed, 27) * _P1 + _P4
    mixed ^= mixed >> np.uint64(33)
    mixed *= _P2
    mixed ^= mixed >> np.uint64(29)
    mixed *= _P3
    mixed ^= mixed >> np.uint64(32)
    return mixed


def hashed_numbers(numbers: Any) -> Any:
    """Spark's ``xxhash64`` of an array of 64-bit numbers.

    Examples
    --------
    >>> hashed_numbers(np.array([1, 2])).tolist()
    [-7001672635703045582, -3341702809300393011]
    """
    bits = np.ascontiguousarray(numbers, np.int64).view(np.uint64)
    mixed = np.empty(len(bits), np.uint64)
    for at in range(0, len(bits), _BLOCK):
        mixed[at : at + _BLOCK] = _hashed_block(bits[at : at + _BLOCK])
    return mixed.view(np.int64)


def _checksums(texts: pa.Array) -> Any:
    texts = texts.cast(pa.large_binary())
    _, offsets, data = texts.buffers()
    if data is None:  # only empty texts
        return np.zeros(len(texts), np.int64)
    places = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1].tolist()
    view = memoryview(data)
    crc32 = zlib.crc32
    sums = (crc32(view[start:end]) for start, end in pairwise(places))
    return np.fromiter(sums, np.int64, len(texts))


def key_kind(kind: pa.DataType) -> str | None:
    """How keys of a type are routed: as a "number" or as "bytes"; None if they cannot be keys.

    Examples
    --------
    >>> key_kind(pa.int32()), key_kind(pa.string()), key_kind(pa.float64())
    ('number', 'bytes', None)
    """
    if pa.types.is_signed_integer(kind) or kind in (pa.uint8(), pa.uint16(), pa.uint32()):
        return "number"
    texts = (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary())
    return "bytes" if kind in texts else None


def _array(keys: Any) -> pa.Array:
    found = pa.array(keys) if not isinstance(keys, pa.Array | pa.ChunkedArray) else keys
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    if isinstance(found, pa.DictionaryArray):
        found = found.dictionary_decode()
    # A list without elements has no type.
    return found.cast(pa.int64()) if found.type == pa.null() and not len(found) else found


def hashed(keys: Any) -> Any:
    """The number that says which task owns a key: of each key of a column.

    Examples
    --------
    >>> hashed(["a"]).tolist() == hashed_numbers(np.array([zlib.crc32(b"a")])).tolist()
    True
    """
    if isinstance(keys, np.ndarray) and keys.dtype.kind in "iu" and keys.dtype != np.uint64:
        return hashed_numbers(keys)
    column = _array(keys)
    if column.null_count:
        raise TypeMismatchError(
            "LOOP_KEY_NULL",
            f"{column.null_count} of {len(column)} keys are null: a null has no owner",
            hint="leave such rows out before the loop",
        )
    kind = key_kind(column.type)
    if kind is None:
        raise TypeMismatchError(
            "LOOP_KEY_TYPE",
            f"a column of {column.type} cannot be the key of a loop: "
            f"{short_repr(column[:3].to_pylist())}",
            hint="use whole numbers, strings or bytes; make one of them from other values",
        )
    return hashed_numbers(column.to_numpy() if kind == "number" else _checksums(column))


def owners(keys: Any, tasks: int) -> Any:
    """The index of the task that owns each key.

    Examples
    --------
    >>> owners(np.arange(6), 2).tolist()
    [0, 0, 1, 1, 1, 1]
    """
    return hashed(keys) % tasks
