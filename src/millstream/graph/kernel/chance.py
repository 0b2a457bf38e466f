"""Java's random generators as arrays, and the edges of R-MAT graphs that are made with them.

Gelly's graphs are made of ``java.util.Random`` and of the Mersenne Twister of Apache Commons Math.
The same seeds give the same graphs here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Protocol

import numpy as np

__all__ = ["JavaRandom", "MersenneTwister", "RMatShape", "Stream", "blocks_of"]

_MULTIPLIER = 0x5DEECE66D
_ADDEND = 0xB
_MASK = (1 << 48) - 1
_JUMP = 1 << 16
_BATCH = 1 << 16
_CYCLES_PER_BLOCK = 1 << 20
_MOST_BLOCKS = 1 << 15


def _signed(number: int, bits: int) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


class Stream(Protocol):
    """A random generator: numbers of 32 bits of precision 24 or 23, and seeds for others."""

    def floats(self, count: int) -> Any:
        """The next numbers from 0 to 1, without 1, in single precision."""

    def next_long(self) -> int:
        """The next 64-bit number."""


@cache
def _jumps() -> tuple[Any, Any]:
    """Factors and terms that lead from a state to each of the next ones."""
    factor, term = np.array([_MULTIPLIER], np.uint64), np.array([_ADDEND], np.uint64)
    mask = np.uint64(_MASK)
    while len(factor) < _JUMP:
        last, more = factor[-1], term[-1]
        # The state after i + n steps is the one after i steps, from the one after n steps.
        term = np.concatenate([term, (factor * more + term) & mask])
        factor = np.concatenate([factor, (factor * last) & mask])
    return factor, term


class JavaRandom:
    """The class ``java.util.Random``.

    Parameters
    ----------
    seed
        A whole number.

    Examples
    --------
    >>> JavaRandom(42).floats(2)
    array([0.7275637 , 0.05466521], dtype=float32)
    >>> JavaRandom(42).next_long()
    -5025562857975149833
    """

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ _MULTIPLIER) & _MASK

    def _next(self, bits: int) -> int:
        self._state = (self._state * _MULTIPLIER + _ADDEND) & _MASK
        return _signed(self._state >> (48 - bits), bits)

    def next_long(self) -> int:
        """The next 64-bit number."""
        return _signed((self._next(32) << 32) + self._next(32), 64)

    def floats(self, count: int) -> Any:
        """The next numbers from 0 to 1, without 1, in single precision."""
        factor, term = _jumps()
        bits = np.empty(count, np.uint32)
        for at in range(0, count, _JUMP):
            size = min(_JUMP, count - at)
            states = factor[:size] * np.uint64(self._state) + term[:size]
            states &= np.uint64(_MASK)
            bits[at : at + size] = states >> np.uint64(24)
            self._state = int(states[-1])
        return bits.astype(np.float32) / np.float32(1 << 24)


class MersenneTwister:
    """The class ``MersenneTwister`` of Apache Commons Math 3.

    Parameters
    ----------
    seed
        A whole number of 64 bits.

    Examples
    --------
    >>> MersenneTwister(42).floats(2)
    array([0.43391907, 0.78408444], dtype=float32)
    >>> MersenneTwister(42).next_long()
    8004395815503774571
    """

    def __init__(self, seed: int) -> None:
        key = [(seed >> 32) & 0xFFFFFFFF, seed & 0xFFFFFFFF]
        bits: Any = np.random.MT19937()
        bits.state = np.random.RandomState(key).get_state(legacy=False)
        self._bits = bits

    def next_long(self) -> int:
        """The next 64-bit number."""
        high, low = self._bits.random_raw(2).tolist()
        return _signed((high << 32) | low, 64)

    def floats(self, count: int) -> Any:
        """The next numbers from 0 to 1, without 1, in single precision."""
        bits = self._bits.random_raw(count) >> np.uint64(9)
        return bits.astype(np.float32) * np.float32(2.0**-23)


def blocks_of(elements: int, cycles: int) -> list[int]:
    """How many elements each block has if an element takes so many random numbers.

    Examples
    --------
    >>> blocks_of(100_001, 30)
    [33333, 33334, 33334]
    """
    # Gelly divides in single precision.
    wanted = np.ceil(np.float32(elements * cycles) / np.float32(_CYCLES_PER_BLOCK))
    count = max(1, min(int(wanted), _MOST_BLOCKS))
    size, more = divmod(elements, count)
    return [size] * (count - more) + [size + 1] * more


class RMatShape:
    """The recursive matrix of which edges are drawn.

    Parameters
    ----------
    vertices
        The number of vertices.
    a, b, c
        How likely the next bits of source and target are 0 and 0, 0 and 1, 1 and 0.
    noise
        How much these change from bit to bit; None: not at all.

    Examples
    --------
    >>> shape = RMatShape(4, 0.57, 0.19, 0.19, None)
    >>> source, target = next(shape.edges(JavaRandom(1), 3))
    >>> source.tolist(), target.tolist()
    ([0, 0, 0], [2, 0, 0])
    """

    def __init__(self, vertices: int, a: float, b: float, c: float, noise: float | None) -> None:
        self.vertices = vertices
        self.a, self.b, self.c = np.float32(a), np.float32(b), np.float32(c)
        self.noise = None if noise is None else np.float32(noise)
        self.scale = (vertices - 1).bit_length()

    @property
    def cycles(self) -> int:
        """How many random numbers an edge takes."""
        return self.scale if self.noise is None else 5 * self.scale

    def edges(self, stream: Stream, count: int) -> Iterator[tuple[Any, Any]]:
        """Edges, so many, as arrays of sources and of targets.

        If the number of vertices is no power of two, edges that lead beyond are thrown away.
        """
        while count > 0:
            # A bit more than what is missing, so that few rounds are needed.
            size = min(_BATCH, count + count // 4 + 16)
            numbers = stream.floats(size * self.cycles).reshape(size, self.cycles)
            bits = self._plain(numbers) if self.noise is None else self._noisy(numbers)
            source, target = bits
            inside = (source < self.vertices) & (target < self.vertices)
            source, target = source[inside][:count], target[inside][:count]
            count -= len(source)
            yield source, target

    def _plain(self, numbers: Any) -> tuple[Any, Any]:
        source = np.zeros(len(numbers), np.int64)
        target = np.zeros(len(numbers), np.int64)
        for bit in range(self.scale):
            _append(source, target, numbers[:, bit], self.a, self.b, self.c)
        return source, target

    def _noisy(self, numbers: Any) -> tuple[Any, Any]:
        assert self.noise is not None
        size, one = len(numbers), np.float32(1)
        source, target = np.zeros(size, np.int64), np.zeros(size, np.int64)
        last = one - self.a - self.b - self.c
        parts = [np.full(size, part, np.float32) for part in (self.a, self.b, self.c, last)]
        # Java computes the factors in double precision, and everything else in single precision.
        base = 1.0 - float(self.noise / np.float32(2))
        for bit in range(self.scale):
            drawn = numbers[:, 5 * bit : 5 * bit + 5]
            _append(source, target, drawn[:, 0], *parts[:3])
            for place, part in enumerate(parts):
                factor = base + (drawn[:, place + 1] * self.noise).astype(np.float64)
                parts[place] = (part * factor).astype(np.float32)
            a, b, c, d = parts
            norm = one / (a + b + c + d)
            a, b, c = a * norm, b * norm, c * norm
            parts = [a, b, c, one - a - b - c]
        return source, target


def _append(source: Any, target: Any, drawn: Any, a: Any, b: Any, c: Any) -> None:
    """Append a bit to the sources and to the targets."""
    down = drawn > a + b
    right = (drawn > a) & ~down | (drawn > a + b + c)
    source <<= 1
    source += down
    target <<= 1
    target += right
