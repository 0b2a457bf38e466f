"""Stable hashes of keys that are columns: `stable_hash` of each row, without making it a Python object.

The hash of a key is the CRC-32 of its encoding (`key_encoding`). A CRC can be continued, so those of
all rows are computed side by side: four bytes of every row at a time, with two look-ups in tables. A
column gives the encodings of its rows as pieces of one buffer. Whole numbers, text, bytes and fractions
lie in memory as their encodings need them; of other types each distinct value is encoded once.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.common.typeinfo import TypeInformation
from millstream.common.typesystem.arrow_decode import decode, whole
from millstream.kernel.keys.encoding import encode_key
from millstream.kernel.keys.hashing import Hashes
from millstream.kernel.records.order import Ints

Bytes = npt.NDArray[np.uint8]

ROWS = 8_192
"""So many rows are computed side by side."""
LONG = 96
"""Pieces with more bytes are left to zlib: a few long ones would take many rounds."""
_NULL, _INT, _FLOAT, _TEXT, _BYTES, _DATE, _TUPLE = (ord(letter) for letter in "nifsbdt")
_YEARS = -62_135_596_800_000_000, 253_402_300_800_000_000
"""The microseconds of the years 1 to 9999, which Python's dates have, counted from 1970 on."""
_WRITTEN_OTHERWISE = frozenset({"BIG_INT", "BIG_DEC", "PICKLED_BYTE_ARRAY"})
"""Types whose values are text or bytes in Arrow, and something else in Python."""
_BEGINNING = 0xFFFFFFFF
"""The register of a CRC of nothing; at the end all its bits are turned over again."""


def hash_column(kind: TypeInformation, column: pa.Array) -> Hashes:
    """``stable_hash`` of each value of a column; a missing value is no key.

    Examples
    --------
    >>> from millstream.common.typeinfo import Types
    >>> from millstream.kernel.keys.hashing import stable_hash
    >>> hash_column(Types.LONG(), pa.array([7])).tolist() == [stable_hash(7)]
    True
    """
    if column.null_count:
        encode_key(None)  # refuses it
    return ~_through(_beginning(len(column)), _encoded(kind, column))


def hash_tuples(kinds: Sequence[TypeInformation], columns: Sequence[pa.Array]) -> Hashes:
    """``stable_hash`` of the tuple of each row; a missing value is a part like any other.

    Examples
    --------
    >>> from millstream.common.typeinfo import Types
    >>> from millstream.kernel.keys.hashing import stable_hash
    >>> columns = [pa.array(["a"]), pa.array([None], pa.int64())]
    >>> hash_tuples([Types.STRING(), Types.LONG()], columns).tolist() == [stable_hash(("a", None))]
    True
    """
    state = _byte(_beginning(len(columns[0])), np.full(len(columns[0]), _TUPLE, np.uint8))
    for kind, column in zip(kinds, columns, strict=True):
        part = _encoded(kind, column)
        # A part of a tuple has its length before it, in four bytes.
        state = _word(state, (part.lengths + 1).astype(np.uint32))
        state = _through(state, part)
    return ~state


def encodings(column: pa.Array, *, two_zeros: bool = False) -> list[bytes]:
    """The encodings of nested values of a column of a table; that of a missing value is one too.

    ``two_zeros``: 0.0 and -0.0 are two values, as in columns of tables; as keys of streams they are one.
    """
    number = _bits if two_zeros else float
    values = (_comparable(value, number) for value in column.to_pylist())
    return [b"n" if value is None else encode_key(value) for value in values]


# -- columns as encodings --------------------------------------------------------------------------


@dataclass(slots=True)
class _Encoded:
    """The encodings of a column's rows: the first byte of each, and where the rest lies in ``data``."""

    firsts: Bytes
    data: Bytes
    starts: Ints
    lengths: Ints


def _encoded(kind: TypeInformation, column: pa.Array) -> _Encoded:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if kind.kind == "ARROW":
        found = _of_arrow_type(column)
        return _each_distinct(kind, column) if found is None else found
    encode = None
    if kind.kind not in _WRITTEN_OTHERWISE:
        encode = next((encode for fits, encode in _BY_TYPE if fits(column.type)), None)
    found = None if encode is None else encode(column)
    return _each_distinct(kind, column) if found is None else found


def _of_arrow_type(column: pa.Array) -> _Encoded | None:
    """A column of a table: times are the numbers that Arrow keeps, decimals their sixteen bytes.

    Both sides of a join have columns of one type, so no other type has to have the same encodings.
    """
    if _is.is_temporal(column.type):
        width = pa.int32() if column.type.bit_width == 32 else pa.int64()
        return _integers(column.view(width))
    if _is.is_decimal128(column.type):
        data = column.buffers()[1]
        starts = (np.arange(len(column), dtype=np.int64) + column.offset) * 16
        firsts = np.full(len(column), _BYTES, np.uint8)
        lengths = np.full(len(column), 16, np.int64)
        # Which bytes a missing value has is up to who made it.
        return _with_nulls(_Encoded(firsts, np.frombuffer(data, np.uint8), starts, lengths), column)
    encode = next((encode for fits, encode in _BY_TYPE if fits(column.type)), None)
    return None if encode is None else encode(column)


def _comparable(value: Any, number: Callable[[float], Any] = float) -> Any:
    """A nested value of a column as one that has an encoding; the entries of a map have no order."""
    if isinstance(value, dict):
        return tuple(_comparable(each, number) for each in value.values())
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return frozenset((_comparable(k, number), _comparable(item, number)) for k, item in value)
    if isinstance(value, list):
        return [_comparable(each, number) for each in value]
    return number(value) if isinstance(value, float) else value


def _bits(number: float) -> bytes:
    return struct.pack("<d", number if number == number else math.nan)


def _integers(column: pa.Array) -> _Encoded | None:
    """Whole numbers: as few bytes as hold the number and its sign, the lowest first."""
    if column.type == pa.uint64():
        return None
    numbers = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    found = _whole_numbers(numbers)
    return None if found is None else _with_nulls(found, column)


def _whole_numbers(numbers: Ints) -> _Encoded | None:
    sizes = np.abs(numbers)
    if len(sizes) and int(sizes.min()) < 0:
        return None  # the lowest number of all takes a ninth byte
    lengths = np.ones(len(numbers), np.int64)
    largest = int(sizes.max()) if len(sizes) else 0
    for bits in range(7, max(largest.bit_length(), 1), 8):
        lengths += sizes >= (1 << bits)
    return _eight_bytes(np.full(len(numbers), _INT, np.uint8), numbers, lengths)


def _eight_bytes(firsts: Bytes, numbers: npt.NDArray[Any], lengths: Ints) -> _Encoded:
    data = np.ascontiguousarray(numbers, numbers.dtype.newbyteorder("<")).view(np.uint8)
    return _Encoded(firsts, data, np.arange(len(numbers), dtype=np.int64) * 8, lengths)


def _booleans(column: pa.Array) -> _Encoded | None:
    """True is 1 and False is 0."""
    return _integers(column.cast(pa.int8()))


def _fractions(column: pa.Array) -> _Encoded | None:
    """A whole number among floats is that number; all NaNs are one."""
    numbers = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
    whole = np.isfinite(numbers) & (np.floor(numbers) == numbers)
    if (np.abs(numbers[whole]) >= 2.0**63).any():
        return None
    integers = np.zeros(len(numbers), np.int64)
    integers[whole] = numbers[whole].astype(np.int64)
    found = _whole_numbers(integers)
    assert found is not None
    fractions = np.where(np.isnan(numbers), float("nan"), numbers)
    bits = np.where(whole, integers, fractions.view(np.int64))
    firsts = np.where(whole, np.uint8(_INT), np.uint8(_FLOAT))
    return _with_nulls(_eight_bytes(firsts, bits, np.where(whole, found.lengths, 8)), column)


def _text(column: pa.Array) -> _Encoded:
    return _pieces(column.cast(pa.large_binary()), _TEXT)


def _bytes(column: pa.Array) -> _Encoded:
    return _pieces(column.cast(pa.large_binary()), _BYTES)


def _dates(column: pa.Array) -> _Encoded:
    return _pieces(column.cast(pa.string()).cast(pa.large_binary()), _DATE)


def _timestamps(column: pa.Array) -> _Encoded | None:
    """Times without a zone: Arrow writes them as Python does, except for one letter and zeros."""
    if column.type.tz is not None:
        return None
    micros = column.cast(pa.timestamp("us"))
    numbers = micros.cast(pa.int64()).fill_null(0)
    times = numbers.to_numpy(zero_copy_only=False)
    if len(times) and not _YEARS[0] <= times.min() <= times.max() < _YEARS[1]:
        return None
    text = numbers.cast(micros.type).cast(pa.string())
    written = _pieces(text.cast(pa.large_binary()), _DATE)
    written.data = written.data.copy()
    written.data[written.starts + len("2024-02-29")] = ord("T")
    seconds_only = times % 1_000_000 == 0
    written.lengths = np.where(seconds_only, len("2024-02-29T12:30:00"), written.lengths)
    return _with_nulls(written, column)


def _pieces(column: pa.Array, first: int) -> _Encoded:
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int64, len(column) + 1, column.offset * 8)
    whole = np.frombuffer(data or b"", np.uint8)
    found = _Encoded(
        np.full(len(column), first, np.uint8), whole, bounds[:-1], bounds[1:] - bounds[:-1]
    )
    return _with_nulls(found, column)


def _with_nulls(found: _Encoded, column: pa.Array) -> _Encoded:
    """The encodings of a column, those of its missing values put in."""
    if column.null_count:
        missing = column.is_null().to_numpy(zero_copy_only=False)
        found.firsts[missing] = _NULL
        found.lengths = np.where(missing, 0, found.lengths)
    return found


def _each_distinct(kind: TypeInformation, column: pa.Array) -> _Encoded:
    """The encodings of the distinct values, made one by one."""
    try:
        encoded = column.dictionary_encode(null_encoding="encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        column = encoded.dictionary
    except pa.ArrowNotImplementedError:
        codes = np.arange(len(column))
    values = decode(kind, whole(column))
    if kind.kind == "ARROW":
        values = list(map(_comparable, values))
    encodings = [b"n" if value is None else encode_key(value) for value in values]
    firsts = np.frombuffer(b"".join(encoding[:1] for encoding in encodings), np.uint8)
    lengths = np.array([len(encoding) - 1 for encoding in encodings], np.int64)
    data = np.frombuffer(b"".join(encoding[1:] for encoding in encodings), np.uint8)
    starts = np.cumsum(lengths) - lengths
    return _Encoded(firsts[codes], data, starts[codes], lengths[codes])


_is = pa.types
_BY_TYPE: list[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], _Encoded | None]]] = [
    (_is.is_integer, _integers),
    (lambda t: _is.is_string(t) or _is.is_large_string(t), _text),
    (_is.is_boolean, _booleans),
    (_is.is_floating, _fractions),
    (_is.is_date32, _dates),
    (_is.is_timestamp, _timestamps),
    (lambda t: _is.is_binary(t) or _is.is_large_binary(t), _bytes),
]
"""How columns of some Arrow types are encoded; None if a value of them has to be looked at by itself."""


# -- CRC-32 of many rows at once -------------------------------------------------------------------


@cache
def _tables() -> tuple[Hashes, Hashes, Hashes]:
    """The register after one byte, after two bytes, and after two bytes and two zeros."""
    single: npt.NDArray[Any] = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        single = (single >> 1) ^ (single & 1) * np.uint32(0xEDB88320)
    double: npt.NDArray[Any] = np.arange(1 << 16, dtype=np.uint32)
    for _ in range(2):
        double = single[double & 0xFF] ^ (double >> 8)
    followed = double
    for _ in range(2):
        followed = single[followed & 0xFF] ^ (followed >> 8)
    return single, double, followed


def _beginning(n: int) -> Hashes:
    return np.full(n, _BEGINNING, np.uint32)


def _byte(state: Hashes, more: Bytes) -> Hashes:
    single, _, _ = _tables()
    found: Hashes = single[_places((state ^ more) & 0xFF)] ^ (state >> np.uint32(8))
    return found


def _word(state: Hashes, more: Hashes) -> Hashes:
    """Four bytes: the lowest of the number first."""
    _, double, followed = _tables()
    mixed = state ^ more
    found: Hashes = followed[_places(mixed & 0xFFFF)] ^ double[_places(mixed >> 16)]
    return found


def _places(numbers: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Numbers as places in a table: numpy takes four times as long if they come as another type."""
    return numbers.astype(np.intp)


def _through(state: Hashes, part: _Encoded) -> Hashes:
    """The registers after the encodings of a column, some rows at a time: they stay in the caches."""
    found = np.empty_like(state)
    for start in range(0, len(state), ROWS):
        rows = slice(start, start + ROWS)
        some = _Encoded(part.firsts[rows], part.data, part.starts[rows], part.lengths[rows])
        found[rows] = _through_some(state[rows], some)
    return found


def _through_some(state: Hashes, part: _Encoded) -> Hashes:
    state = _byte(state, part.firsts)
    lengths = part.lengths
    if (lengths > LONG).any():
        _by_zlib(state, part, np.flatnonzero(lengths > LONG))
        lengths = np.where(lengths > LONG, 0, lengths)
    words = lengths >> 2
    # A number of four bytes that begins at each byte.
    size = max(len(part.data) - 3, 0)
    four = np.ndarray((size,), "<u4", part.data, strides=(1,)) if size else part.data
    for i in range(int(words.max(initial=0))):
        rows = _where(words > i)
        state[rows] = _word(state[rows], four[part.starts[rows] + 4 * i])
    rests, ends = lengths & 3, part.starts + 4 * words
    for i in range(int(rests.max(initial=0))):
        rows = _where(rests > i)
        state[rows] = _byte(state[rows], part.data[ends[rows] + i])
    return state


def _where(which: npt.NDArray[np.bool_]) -> Any:
    """The rows that are marked; all of them are quicker as a slice."""
    return slice(None) if which.all() else np.flatnonzero(which)


def _by_zlib(state: Hashes, part: _Encoded, rows: Ints) -> None:
    data = part.data.data
    for row in rows.tolist():
        start = int(part.starts[row])
        piece = data[start : start + int(part.lengths[row])]
        state[row] = zlib.crc32(piece, int(state[row]) ^ _BEGINNING) ^ _BEGINNING
