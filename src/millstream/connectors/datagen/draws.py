"""Random numbers by counting: what a row gets depends on seed, field and number of the row alone.

The generator is SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators), whose
n-th number can be had without those before it. So rows can be made in any order, in pieces, and by any
number of tasks, and any selection of rows costs the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


def split_mix(seed: int, numbers: npt.NDArray[np.int64]) -> Words:
    """The words of SplitMix64 with some numbers; the first one has the number 1."""
    word: Words = numbers.astype(np.uint64) * _STEP + np.uint64(seed)
    word = (word ^ (word >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    return word ^ (word >> np.uint64(31))


@dataclass(frozen=True)
class Draws:
    """The random numbers that one field has for some rows.

    Examples
    --------
    >>> rows = Draws(seed=7, field="price", numbers=np.arange(3))
    >>> one = Draws(seed=7, field="price", numbers=np.array([2]))
    >>> bool(rows.words()[2] == one.words()[0])
    True
    """

    seed: int
    field: str
    numbers: npt.NDArray[np.int64]

    def words(self, draw: object = 0) -> Words:
        """A random word of 64 bits for each row; other draws give others."""
        # Each draw has a sequence of its own: another beginning in the cycle of 2**64 words.
        key = blake2b(f"{self.seed}:{self.field}:{draw}".encode(), digest_size=8).digest()
        return split_mix(int.from_bytes(key, "little"), self.numbers)

    def units(self, draw: object = 0) -> npt.NDArray[np.floating]:
        """Numbers from 0 up to 1, without 1."""
        return (self.words(draw) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def below(self, count: int, draw: object = 0) -> Words:
        """Whole numbers from 0 up to ``count``, without it; at most 2**64.

        The upper half of the product of word and count. The rest of a division would come too often
        among the small numbers if ``count`` is large.
        """
        words = self.words(draw)
        if count == 1 << 64:
            return words
        low, high = words & _LOW, words >> _HALF
        count_low, count_high = np.uint64(count & 0xFFFFFFFF), np.uint64(count >> 32)
        middle = high * count_low + (low * count_low >> _HALF)
        carried = (middle & _LOW) + low * count_high
        result: Words = high * count_high + (middle >> _HALF) + (carried >> _HALF)
        return result

    def between(self, first: int, last: int, draw: object = 0) -> npt.NDArray[np.int64]:
        """Whole numbers of 64 bits from ``first`` to ``last``, both included."""
        found: Any = self.below(last - first + 1, draw) + np.uint64(first % (1 << 64))
        return found.view(np.int64)  # type: ignore[no-any-return]

    def bytes(self, length: int) -> npt.NDArray[np.uint8]:
        """A row of so many bytes for each row."""
        words = [self.words(("bytes", index)) for index in range(-(-length // 8))]
        table = np.stack(words, axis=1) if words else np.empty((len(self.numbers), 0), np.uint64)
        return table.astype("<u8").view(np.uint8)[:, :length]
