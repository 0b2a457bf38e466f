"""The hash that places keys in partitions: PySpark's, with the hashes of text that its workers have.

Spark starts its Python workers with `PYTHONHASHSEED=0`. Only then Python's own hash of text is the same
in all processes. Here it is computed: SipHash-1-3 with a key of zeros, over what CPython keeps.
"""

from __future__ import annotations

import sys
from datetime import date, datetime, time
from functools import lru_cache
from typing import Any

__all__ = ["portable_hash"]

_MASK = (1 << 64) - 1
_HASH_OF_TEXT: Any = str.__hash__
_HASH_OF_BYTES: Any = bytes.__hash__
_MOMENTS = (date, datetime, time)


def portable_hash(x: Any) -> int:
    """The hash of a key that is the same in every process.

    That is so for None, numbers, text, bytes, dates and tuples of them. Other values have Python's own
    hash: that of a class that defines ``__hash__`` by its fields.

    Examples
    --------
    >>> portable_hash(None), portable_hash(5)
    (0, 5)
    >>> portable_hash((None, 1)) & 0xFFFFFFFF
    219750521
    >>> portable_hash("stream")
    5275985668146075743
    """
    kind = type(x)
    if kind is int or kind is float:
        return hash(x)
    if x is None:
        return 0
    if kind.__hash__ is _HASH_OF_TEXT:
        return _hash_of_text(x)
    if isinstance(x, tuple):
        return _hash_of_tuple(x)
    if kind.__hash__ is _HASH_OF_BYTES:
        return _hash_of_bytes(x)
    if kind in _MOMENTS and getattr(x, "tzinfo", None) is None:
        return _hash_of_bytes(x.__reduce__()[1][0])
    return hash(x)


def _hash_of_tuple(items: tuple[Any, ...]) -> int:
    found = 0x345678
    for item in items:
        found ^= portable_hash(item)
        found *= 1000003
        found &= sys.maxsize
    return found ^ len(items)


@lru_cache(maxsize=65536)
def _hash_of_text(text: str) -> int:
    if text.isascii():
        return _hash_of_bytes(text.encode("ascii"))
    # CPython keeps 1, 2 or 4 bytes per character, as the widest one needs.
    widest = max(text)
    for limit, encoding in ((0xFF, "latin-1"), (0xFFFF, "utf-16-le"), (0x10FFFF, "utf-32-le")):
        if ord(widest) <= limit:
            return _hash_of_bytes(text.encode(encoding, "surrogatepass"))
    raise AssertionError(text)


def _hash_of_bytes(data: bytes) -> int:
    if not data:
        return 0
    found = _siphash(data)
    signed = found - (1 << 64) if found >> 63 else found
    return -2 if signed == -1 else signed


def _siphash(data: bytes) -> int:
    state = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
    whole = len(data) & ~7
    for start in range(0, whole, 8):
        state = _mixed(state, int.from_bytes(data[start : start + 8], "little"))
    last = (len(data) & 0xFF) << 56 | int.from_bytes(data[whole:], "little")
    v0, v1, v2, v3 = _mixed(state, last)
    state = v0, v1, v2 ^ 0xFF, v3
    for _ in range(3):
        state = _round(*state)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _mixed(state: tuple[int, int, int, int], word: int) -> tuple[int, int, int, int]:
    v0, v1, v2, v3 = _round(*state[:3], state[3] ^ word)
    return v0 ^ word, v1, v2, v3


def _round(v0: int, v1: int, v2: int, v3: int) -> tuple[int, int, int, int]:
    v0 = (v0 + v1) & _MASK
    v2 = (v2 + v3) & _MASK
    v1 = ((v1 << 13) & _MASK | v1 >> 51) ^ v0
    v3 = ((v3 << 16) & _MASK | v3 >> 48) ^ v2
    v0 = (v0 << 32) & _MASK | v0 >> 32
    v2 = (v2 + v1) & _MASK
    v0 = (v0 + v3) & _MASK
    v1 = ((v1 << 17) & _MASK | v1 >> 47) ^ v2
    v3 = ((v3 << 21) & _MASK | v3 >> 43) ^ v0
    v2 = (v2 << 32) & _MASK | v2 >> 32
    return v0, v1, v2, v3
