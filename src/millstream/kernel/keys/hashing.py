"""Stable hashes of keys: the same in every process and version, unlike Python's ``hash()``."""

from __future__ import annotations

import zlib
from hashlib import blake2b
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from millstream.kernel.keys.identity import encoding_of

Hashes = npt.NDArray[np.uint32]


def stable_hash(key: Any) -> int:
    """A 32-bit hash of a key, the same in every process."""
    return zlib.crc32(encoding_of(key))


_STRING_MARK = zlib.crc32(b"s")
_INTEGER_MARK = zlib.crc32(b"i")


def hash_strings(keys: list[str]) -> Hashes:
    """``stable_hash`` of many strings; to compute it costs less than to look it up.

    Examples
    --------
    >>> hash_strings(["a", "b"]).tolist() == [stable_hash("a"), stable_hash("b")]
    True
    """
    encoded = map(str.encode, keys, repeat("utf-8"), repeat("surrogatepass"))
    hashes = map(zlib.crc32, encoded, repeat(_STRING_MARK))
    return np.fromiter(hashes, np.uint32, len(keys))


def stable_hashes(keys: list[Any]) -> list[int]:
    """``stable_hash`` of many keys, at once where all of them are strings or integers.

    Examples
    --------
    >>> stable_hashes([1, -300]) == [stable_hash(1), stable_hash(-300)]
    True
    """
    kinds = set(map(type, keys))
    if kinds == {str}:
        hashes: list[int] = hash_strings(keys).tolist()
        return hashes
    if kinds == {int}:
        crc32, mark = zlib.crc32, _INTEGER_MARK
        return [
            crc32(key.to_bytes((key.bit_length() >> 3) + 1, "little", signed=True), mark)
            for key in keys
        ]
    return list(map(stable_hash, keys))


def tie_breaker(key: Any) -> int:
    """A second, independent 63-bit hash: orders keys whose `stable_hash` is equal."""
    return int.from_bytes(blake2b(encoding_of(key), digest_size=8).digest(), "big") >> 1


class HashCache(dict[Any, int]):
    """``cache[key]`` is ``stable_hash(key)``; a hit costs a dict look-up. Bounded in size."""

    LIMIT = 200_000

    def __missing__(self, key: Any) -> int:
        if len(self) >= self.LIMIT:
            self.clear()
        value = stable_hash(key)
        self[key] = value
        return value
