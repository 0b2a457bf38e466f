"""The random numbers of java.util.Random, which its documentation defines: samples are those of Java."""

from __future__ import annotations

__all__ = ["JavaRandom", "java_hash"]

MULTIPLIER = 0x5DEECE66D
MASK = (1 << 48) - 1


class JavaRandom:
    """The generator of java.util.Random.

    Examples
    --------
    >>> random = JavaRandom(42)
    >>> [random.next_int(10) for _ in range(5)], JavaRandom(42).next_double()
    ([0, 3, 8, 4, 0], 0.7275636800328681)
    """

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ MULTIPLIER) & MASK

    def _next(self, bits: int) -> int:
        """Return the next bits as an integer with a sign."""
        self._state = (self._state * MULTIPLIER + 0xB) & MASK
        value = self._state >> (48 - bits)
        return value - (1 << bits) if bits == 32 and value >> 31 else value

    def next_int(self, bound: int) -> int:
        """Return a number from 0 up to below the bound."""
        value = self._next(31)
        if bound & (bound - 1) == 0:
            return (bound * value) >> 31
        # Java draws again when its sum leaves 32 bits, so that all numbers are equally likely.
        while value - value % bound + bound - 1 > 0x7FFFFFFF:
            value = self._next(31)
        return value % bound

    def next_double(self) -> float:
        """Return a number from 0 up to below 1."""
        return float((self._next(26) << 27) + self._next(27)) / float(1 << 53)


def java_hash(text: str) -> int:
    """Return what ``String.hashCode`` does, which is the seed of some of flink-ml's algorithms.

    Examples
    --------
    >>> java_hash("flink")
    97520992
    """
    value = 0
    for unit in memoryview(text.encode("utf-16-le")).cast("H"):
        value = (31 * value + unit) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value
