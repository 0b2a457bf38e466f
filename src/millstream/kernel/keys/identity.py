"""Keys as the kernel has them: stand-ins for those that may look different though they are equal."""

from __future__ import annotations

import datetime as dt
import struct
import uuid
from itertools import chain
from types import NoneType
from typing import Any

from millstream.common.pickling import dumps
from millstream.kernel.keys.encoding import NAN, KeyEncodingError, encode_key

PLAIN = frozenset({str, int, bytes, dt.date, uuid.UUID})
"""Keys of exactly these classes stand for themselves: no two of them are equal and look different."""
_IN_TUPLES = PLAIN | {NoneType}
_NOT_PLAIN = object()


class KeyForm:
    """Stands in for a key that others may be equal to and look different: 1.0, -0.0, a `Row`, a list.

    It is equal to the stand-ins of equal keys, and to a key that stands for itself if they are equal; so
    it can be the key of a dict, even if ``form``, the key itself, cannot or compares in other ways.
    """

    __slots__ = ("_hash", "encoding", "form", "plain")

    def __init__(self, form: Any, encoding: bytes) -> None:
        self.form = form
        self.encoding = encoding
        self.plain = _plain_key(encoding)
        self._hash = hash(encoding if self.plain is _NOT_PLAIN else self.plain)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if other.__class__ is KeyForm:
            return bool(self.encoding == other.encoding)
        return self.plain is not _NOT_PLAIN and bool(self.plain == other)

    def __reduce__(self) -> tuple[Any, ...]:
        return KeyForm, (self.form, self.encoding)

    def __repr__(self) -> str:
        return repr(self.form)


def _plain_key(encoding: bytes) -> Any:
    """The key of an encoding that stands for itself, if there is one."""
    tag, rest = encoding[:1], encoding[1:]
    if tag == b"i":
        return int.from_bytes(rest, "little", signed=True)
    if tag == b"s":
        return rest.decode("utf-8", "surrogatepass")
    if tag == b"b":
        return rest
    if tag == b"f" and encoding != NAN:
        return struct.unpack("<d", rest)[0]
    if tag == b"u":
        return uuid.UUID(bytes=rest)
    if tag == b"d" and len(rest) == 10 and rest[4:5] == b"-":
        return dt.date.fromisoformat(rest.decode())
    if tag == b"t":
        return _plain_tuple(rest)
    return _NOT_PLAIN


def _plain_tuple(encoded: bytes) -> Any:
    parts, place = [], 0
    while place < len(encoded):
        end = place + 4 + int.from_bytes(encoded[place : place + 4], "little")
        part = encoded[place + 4 : end]
        parts.append(None if part == b"n" else _plain_key(part))
        place = end
    return _NOT_PLAIN if _NOT_PLAIN in parts else tuple(parts)


def _is_plain(key: Any) -> bool:
    kind = key.__class__
    if kind is tuple:
        return all(part is None or _is_plain(part) for part in key)
    if kind is float:
        return key == key and not key.is_integer()
    return kind in PLAIN


def identity(key: Any) -> Any:
    """The identity of a key in dicts: the key itself, or a `KeyForm`.

    Examples
    --------
    >>> identity("a"), identity(1) == identity(1.0) == identity(True), identity([1])
    ('a', True, [1])
    >>> identity((1, 2)) == identity([1, 2])
    False
    """
    if key.__class__ is KeyForm or _is_plain(key):
        return key
    return KeyForm(key, encode_key(key))


def identities(keys: list[Any]) -> list[Any]:
    """``identity`` of many keys."""
    kinds = set(map(type, keys))
    if kinds <= PLAIN:
        return keys
    if kinds == {tuple} and set(map(type, chain.from_iterable(keys))) <= _IN_TUPLES:
        return keys
    return list(map(identity, keys))


def map_identity(key: Any) -> Any:
    """``identity`` of a key of map state, which may be anything that has a Python hash."""
    if key.__class__ in PLAIN:
        return key
    try:
        return identity(key)
    except KeyEncodingError:
        return key


def shown(key: Any) -> Any:
    """The key that something stands for, as the user gave it first."""
    return key.form if key.__class__ is KeyForm else key


def looks_like(key: Any, other: Any) -> bool:
    """Whether state and functions would be the same with an equal key in place of another."""
    if key.__class__ is not KeyForm or other.__class__ is not KeyForm:
        return key.__class__ is other.__class__
    return key.form is other.form or dumps(key.form) == dumps(other.form)


def encoding_of(key: Any) -> bytes:
    """The encoding of a key, or of what stands for it."""
    return key.encoding if isinstance(key, KeyForm) else encode_key(key)
