"""The hash functions of flink-ml: MurmurHash3 with 32 bits and the seed 0, as Guava's."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

import numpy as np

from millstream.ml.errors import ml_type_error

__all__ = ["hash_of_text", "hash_of_value"]

MASK = 0xFFFFFFFF


def _mixed(word: int) -> int:
    word = word * 0xCC9E2D51 & MASK
    return ((word << 15 | word >> 17) & MASK) * 0x1B873593 & MASK


def _stepped(state: int, word: int) -> int:
    state ^= _mixed(word)
    return ((state << 13 | state >> 19) & MASK) * 5 + 0xE6546B64 & MASK


def _ended(state: int, length: int) -> int:
    state ^= length
    state = (state ^ state >> 16) * 0x85EBCA6B & MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & MASK
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


@lru_cache(maxsize=1 << 16)
def hash_of_text(text: str) -> int:
    """The hash of the UTF-16 units of a text.

    Examples
    --------
    >>> hash_of_text("f1") % 1000, hash_of_text("")
    (913, 0)
    """
    data = text.encode("utf-16-le", "surrogatepass")
    state = 0
    whole = len(data) // 4
    for word in struct.unpack_from(f"<{whole}I", data):
        state = _stepped(state, word)
    if len(data) % 4:
        state ^= _mixed(int.from_bytes(data[whole * 4 :], "little"))
    return _ended(state, len(data))


def _of_words(data: bytes) -> int:
    state = 0
    for word in struct.unpack(f"<{len(data) // 4}I", data):
        state = _stepped(state, word)
    return _ended(state, len(data))


def hash_of_value(value: Any) -> int:
    """The hash of a text, a number or a boolean; numbers beyond 32 bits are hashed as longs.

    Examples
    --------
    >>> hash_of_value("f1") == hash_of_text("f1"), hash_of_value(None)
    (True, 0)
    """
    if value is None:
        return 0
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return hash_of_text(value)
    if isinstance(value, float):
        return _of_words(struct.pack("<d", value))
    if isinstance(value, int):
        short = -(2**31) <= value < 2**31
        return _of_words(struct.pack("<i" if short else "<q", value))
    message = f"HashingTF does not support type {type(value).__name__} of input data"
    raise ml_type_error("ML_COLUMN_KIND", message, "give texts, numbers or booleans")
