"""Spark's ``xxhash64`` of a string, without Spark: XXH64 with seed 42, as a signed number."""

from __future__ import annotations

from struct import unpack_from

_MASK = (1 << 64) - 1
_PRIME_1 = 0x9E3779B185EBCA87
_PRIME_2 = 0xC2B2AE3D27D4EB4F
_PRIME_3 = 0x165667B19E3779F9
_PRIME_4 = 0x85EBCA77C2B2AE63
_PRIME_5 = 0x27D4EB2F165667C5
_SEED = 42


def _rotated(number: int, bits: int) -> int:
    return (number << bits | number >> (64 - bits)) & _MASK


def _round(lane: int, word: int) -> int:
    return _rotated((lane + word * _PRIME_2) & _MASK, 31) * _PRIME_1 & _MASK


def xxhash64(data: bytes) -> int:
    """The hash of some bytes.

    Examples
    --------
    >>> xxhash64(b"Spark")
    -4294468057691064905
    """
    length = len(data)
    at = length - length % 32
    hashed = _of_stripes(data, at) if at else _SEED + _PRIME_5
    hashed = (hashed + length) & _MASK
    while at + 8 <= length:
        hashed ^= _round(0, unpack_from("<Q", data, at)[0])
        hashed = (_rotated(hashed, 27) * _PRIME_1 + _PRIME_4) & _MASK
        at += 8
    if at + 4 <= length:
        hashed ^= unpack_from("<I", data, at)[0] * _PRIME_1 & _MASK
        hashed = (_rotated(hashed, 23) * _PRIME_2 + _PRIME_3) & _MASK
        at += 4
    for byte in data[at:]:
        hashed = _rotated(hashed ^ (byte * _PRIME_5 & _MASK), 11) * _PRIME_1 & _MASK
    hashed = (hashed ^ hashed >> 33) * _PRIME_2 & _MASK
    hashed = (hashed ^ hashed >> 29) * _PRIME_3 & _MASK
    hashed ^= hashed >> 32
    return hashed - (1 << 64) if hashed >> 63 else hashed


def _of_stripes(data: bytes, end: int) -> int:
    """The four lanes after all whole stripes of 32 bytes."""
    lanes = [_SEED + _PRIME_1 + _PRIME_2, _SEED + _PRIME_2, _SEED, _SEED - _PRIME_1]
    lanes = [lane & _MASK for lane in lanes]
    for at in range(0, end, 32):
        words = unpack_from("<4Q", data, at)
        lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
    turned = zip(lanes, (1, 7, 12, 18), strict=True)
    hashed = sum(_rotated(lane, bits) for lane, bits in turned) & _MASK
    for lane in lanes:
        hashed = ((hashed ^ _round(0, lane)) * _PRIME_1 + _PRIME_4) & _MASK
    return hashed
