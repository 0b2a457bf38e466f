"""Hash codes of Flink's values and of Gelly's results, and the checksums of Gelly's tests."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

_INT = (1 << 32) - 1


def long_hash(value: int) -> int:
    """``LongValue.hashCode()``"""
    bits = value & ((1 << 64) - 1)
    return (43 + ((bits ^ (bits >> 32)) & _INT)) & _INT


NULL_HASH = 53
"""``NullValue.hashCode()``"""


def tuple_hash(hashes: Sequence[int]) -> int:
    """The hash code of a tuple of Flink."""
    found = hashes[0]
    for each in hashes[1:]:
        found = (31 * found + each) & _INT
    return found


def _rotated(value: int, by: int) -> int:
    return ((value << by) | (value >> (32 - by))) & _INT


def murmur(seed: int, words: Iterable[int]) -> int:
    """Gelly's ``MurmurHash`` of words of 32 bits."""
    found, count = seed, 0
    for word in words:
        count += 1
        mixed = _rotated((word * 0xCC9E2D51) & _INT, 15) * 0x1B873593 & _INT
        found = (_rotated(found ^ mixed, 13) * 5 + 0xE6546B64) & _INT
    found ^= 4 * count
    found = ((found ^ (found >> 16)) * 0x85EBCA6B) & _INT
    found = ((found ^ (found >> 13)) * 0xC2B2AE35) & _INT
    return found ^ (found >> 16)


def long_words(value: int) -> tuple[int, int]:
    """A 64-bit number as words of 32 bits."""
    high, low = struct.unpack(">II", struct.pack(">q", value))
    return high, low


def checksum(hashes: Iterable[int]) -> tuple[int, int]:
    """The count and the checksum of Gelly's ``ChecksumHashCode``."""
    found = list(hashes)
    return len(found), sum(found)
