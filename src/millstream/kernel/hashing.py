"""Stable hashes of keys: the same in every process, for ever. Python's ``hash()`` is neither."""

from __future__ import annotations

import dataclasses
import datetime as dt
import struct
import uuid
import zlib
from decimal import Decimal
from enum import Enum
from hashlib import blake2b
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from millstream.common.errors import MillstreamError


class KeyEncodingError(MillstreamError):
    """A key that cannot be encoded: null, NaN, mutable, or of a type without a stable form."""


def encode_key(key: Any) -> bytes:
    """The canonical encoding of a key: keys that are equal in Python have equal encodings.

    Examples
    --------
    >>> encode_key(1) == encode_key(True) == encode_key(1.0)
    True
    >>> encode_key(("a", 1)) == encode_key(("a", 2))
    False
    """
    if isinstance(key, str):
        return b"s" + key.encode("utf-8", "surrogatepass")
    if isinstance(key, int):
        return b"i" + key.to_bytes((key.bit_length() >> 3) + 1, "little", signed=True)
    if isinstance(key, float):
        return _encode_float(key)
    if isinstance(key, tuple):
        return b"t" + _join(key)
    if isinstance(key, bytes):
        return b"b" + key
    return _encode_other(key)


def _encode_float(key: float) -> bytes:
    if key != key:
        raise KeyEncodingError(
            "NAN_KEY", "NaN cannot be a key: it does not equal itself", hint="filter NaN out first"
        )
    if key.is_integer():
        return encode_key(int(key))
    return b"f" + struct.pack("<d", key)


def _join(parts: Any) -> bytes:
    encoded = [encode_key(part) if part is not None else b"n" for part in parts]
    return b"".join(len(part).to_bytes(4, "little") + part for part in encoded)


def _encode_other(key: Any) -> bytes:
    if key is None:
        raise KeyEncodingError(
            "NULL_KEY",
            "the key of a record is None",
            hint="let the key selector return a value for every record, or filter such records out",
        )
    if isinstance(key, Decimal):
        if not key.is_finite():
            return _encode_float(float(key))
        # Decimal(1) == 1 and Decimal("0.5") == 0.5 hold in Python, so their encodings agree too.
        if key == key.to_integral_value():
            return encode_key(int(key))
        if Decimal(float(key)) == key:
            return encode_key(float(key))
        return b"m" + str(key.normalize()).encode()
    if isinstance(key, Enum):
        return b"e" + f"{type(key).__qualname__}.{key.name}".encode()
    if isinstance(key, dt.datetime):
        moment = key.astimezone(dt.UTC) if key.tzinfo is not None else key
        return b"d" + moment.isoformat().encode()
    if isinstance(key, dt.time) and (offset := key.utcoffset()) is not None:
        # Times of day compare by what they are in UTC, which may lie beyond a day's ends.
        seconds = key.hour * 3600 + key.minute * 60 + key.second - offset.total_seconds()
        return b"o" + f"{seconds:.0f}.{key.microsecond}".encode()
    if isinstance(key, dt.date | dt.time | dt.timedelta):
        return b"d" + str(key).encode()
    if isinstance(key, uuid.UUID):
        return b"u" + key.bytes
    if isinstance(key, frozenset):
        return b"z" + b"".join(sorted(_join([part]) for part in key))
    if hasattr(key, "_values") and hasattr(key, "get_fields_by_names"):
        return b"r" + _join(key)
    if dataclasses.is_dataclass(key) and type(key).__hash__ is not None:
        fields = [field for field in dataclasses.fields(key) if field.compare]
        values = [getattr(key, field.name) for field in fields]
        return b"c" + type(key).__qualname__.encode() + _join(values)
    raise KeyEncodingError(
        "UNSUPPORTED_KEY",
        f"a value of type {type(key).__name__} cannot be a key: {key!r:.100}",
        hint="use str, int, float, bool, bytes, date and time types, Decimal, Enum, UUID, "
        "or a tuple, Row or frozen dataclass of them",
    )


def stable_hash(key: Any) -> int:
    """A 32-bit hash of a key, the same in every process."""
    return zlib.crc32(encode_key(key))


_STRING_MARK = zlib.crc32(b"s")
_INTEGER_MARK = zlib.crc32(b"i")


def hash_strings(keys: list[str]) -> npt.NDArray[np.uint32]:
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
    return int.from_bytes(blake2b(encode_key(key), digest_size=8).digest(), "big") >> 1


class HashCache(dict[Any, int]):
    """``cache[key]`` is ``stable_hash(key)``; a hit costs a dict look-up. Bounded in size."""

    LIMIT = 200_000

    def __missing__(self, key: Any) -> int:
        if len(self) >= self.LIMIT:
            self.clear()
        value = stable_hash(key)
        self[key] = value
        return value
