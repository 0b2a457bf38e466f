"""`java.util.Random`: the generator behind RAND and RAND_INTEGER."""

from __future__ import annotations

from millstream.table.expressions.java.numbers import wrap

__all__ = ["JavaRandom"]

_MULTIPLIER = 0x5DEECE66D
_MASK = (1 << 48) - 1


class JavaRandom:
    """Pseudo-random numbers, the same as Java's for a seed.

    Examples
    --------
    >>> JavaRandom(42).next_int(10)
    0
    """

    def __init__(self, seed: int) -> None:
        self._seed = (seed ^ _MULTIPLIER) & _MASK

    def _next(self, bits: int) -> int:
        self._seed = (self._seed * _MULTIPLIER + 0xB) & _MASK
        return wrap(self._seed >> (48 - bits), 32)

    def next_double(self) -> float:
        """A number from 0 to below 1."""
        high = self._next(26) << 27
        return (high + self._next(27)) * 2.0**-53

    def next_int(self, bound: int) -> int:
        """An integer from 0 to below the bound."""
        if bound <= 0:
            raise ValueError("bound must be positive")
        bits = self._next(31)
        if bound & (bound - 1) == 0:
            return (bound * bits) >> 31
        value = bits % bound
        while wrap(bits - value + bound - 1, 32) < 0:
            bits = self._next(31)
            value = bits % bound
        return value
