"""Sweeps: visit all keys of a slot in the order of keys, and emit what is found from there.

Every slot sweeps the keys it owns. Each result has the place of the key, so the next stage brings
what all slots have found into one order, which is the same for every number of slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any

import numpy as np

from millstream.kernel.keys.hashing import stable_hash, stable_hashes, tie_breaker
from millstream.kernel.records.order import Order, ordinal_code
from millstream.kernel.state.pages import Page

BEHIND = b"\xff"
"""Behind a step of a path, and all that comes of it in later steps."""
OTHERS = b"\xfe"
"""Behind the codes of all keys."""


def in_key_order(pages: Iterable[Page], index: int) -> Iterator[tuple[Any, Page]]:
    """The keys that have a value in cell ``index``, with their pages."""
    keys: list[Any] = []
    holders: list[Page] = []
    for page in pages:
        found = [key for key, cells in page.entries.items() if cells[index] is not None]
        keys += found
        holders += repeat(page, len(found))
    for place in _places_in_order(keys):
        yield keys[place], holders[place]


def _places_in_order(keys: list[Any]) -> list[int]:
    """The places of keys, sorted as by `key_order`; the second hash costs most, so few are made."""
    hashes = np.array(stable_hashes(keys), np.int64)
    order = hashes.argsort(kind="stable")
    found: list[int] = order.tolist()
    ranked = hashes[order]
    same = ranked[1:] == ranked[:-1]
    if same.any():
        ends = [*(np.flatnonzero(~same) + 1).tolist(), len(found)]
        start = 0
        for end in ends:
            if end - start > 1:
                found[start:end] = sorted(found[start:end], key=lambda at: tie_breaker(keys[at]))
            start = end
    return found


def key_order(key: Any) -> tuple[int, int]:
    """The place of a key among others."""
    return stable_hash(key), tie_breaker(key)


def behind(order: Order, emitted: int, *numbers: bytes) -> Order:
    """A place behind the first values that a record has emitted."""
    return (*order[:5], order[5] + ordinal_code(emitted) + BEHIND + b"".join(numbers))


def place_of_key(order: Order, emitted: int, sweep: int, key: Any, index: int) -> Order:
    """The place of what a sweep finds for a key: behind the values that its record emitted before it.

    ``sweep`` and ``index`` count the sweeps for the record, and the values for the key.
    """
    hashed, tie = key_order(key)
    code = _digits(hashed, 5) + _digits(tie, 10)
    return behind(order, emitted, ordinal_code(sweep), code, ordinal_code(index))


def place_of_other(order: Order, emitted: int, sweep: int, index: int, value: bytes) -> Order:
    """The place of what one slot alone knows, behind all keys; ``value`` tells the slots apart."""
    code = OTHERS + ordinal_code(index) + _digits(stable_hash(value), 5)
    return behind(order, emitted, ordinal_code(sweep), code)


def _digits(number: int, length: int) -> bytes:
    """A number by digits of seven bits, free of zero bytes; in the order of numbers."""
    unsigned = number & 0xFFFFFFFFFFFFFFFF
    return bytes([unsigned >> shift & 0x7F | 0x80 for shift in _SHIFTS[length]])


_SHIFTS = {length: [7 * place for place in reversed(range(length))] for length in (5, 10)}
