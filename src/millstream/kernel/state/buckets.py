"""Extendible hashing: which part of a table a hash falls on, when tables split as they grow.

A part is named by its depth and prefix: it has the keys whose hash begins with those bits. The pages
of an operator and the parts of a large map are found this way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from millstream.kernel.records.order import Ints, distinct

MAX_DEPTH = 20


@dataclass(slots=True)
class Buckets:
    """Where parts are. Arrays have an element per bucket of ``depth`` leading hash bits."""

    ARRAYS: ClassVar[tuple[str, ...]] = ("depths", "present")

    depth: int = 0
    depths: npt.NDArray[np.uint8] = field(default_factory=lambda: np.zeros(1, np.uint8))
    present: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(1, np.bool_))
    swept: int = 0

    def buckets(self, hashes: npt.NDArray[np.uint32]) -> Ints:
        """For each hash the first bucket of its part, which names the part."""
        bucket = hashes.astype(np.int64) >> (32 - self.depth)
        shift = self.depth - self.depths[bucket].astype(np.int64)
        firsts: Ints = (bucket >> shift) << shift
        return firsts

    def locate(self, bucket: int) -> tuple[int, int]:
        """Depth and prefix of the part that covers a bucket."""
        depth = int(self.depths[bucket])
        return depth, bucket >> (self.depth - depth)

    def span(self, depth: int, prefix: int) -> slice:
        """The buckets a part covers."""
        shift = self.depth - depth
        return slice(prefix << shift, (prefix + 1) << shift)

    def all_present(self) -> list[int]:
        """First buckets of all parts that exist."""
        return self._firsts(self.present)

    def next_to_sweep(self, number: int) -> list[int]:
        """First buckets of some parts, in turn: over time every part has its turn."""
        parts = self.all_present()
        chosen = [parts[(self.swept + i) % len(parts)] for i in range(min(number, len(parts)))]
        self.swept = (self.swept + number) % max(len(parts), 1)
        return chosen

    def _firsts(self, hit: npt.NDArray[np.bool_]) -> list[int]:
        found = np.flatnonzero(hit)
        shift = self.depth - self.depths[found].astype(np.int64)
        firsts: list[int] = distinct((found >> shift) << shift).tolist()
        return firsts

    def useful_depth(self) -> int:
        """How deep parts may lie: a few large values must not make a directory of empty buckets."""
        parts = int((1 / (1 << (self.depth - self.depths[self.present].astype(np.int64)))).sum())
        return max(parts, 1).bit_length() + 4

    def bits_to_split(self, depth: int, keys: int, size: int, limit: int) -> int:
        """By how many bits to split a part of that many keys and bytes; 0 if it stays whole."""
        if size <= limit or keys < 2:
            return 0
        room = min(MAX_DEPTH, self.useful_depth()) - depth
        return max(0, min(bits_for(size, limit), room))

    def split(self, depth: int, prefix: int, bits: int) -> None:
        """Make 2**bits parts of one; none of them is present yet."""
        missing = depth + bits - self.depth
        if missing > 0:
            self.depth += missing
            for name in self.ARRAYS:
                setattr(self, name, np.repeat(getattr(self, name), 1 << missing))
        span = self.span(depth, prefix)
        self.depths[span] = depth + bits
        self.present[span] = False


def bits_for(size: int, limit: int) -> int:
    """Bits that split a size to half of the limit, so that the parts have room to grow."""
    return (2 * size // limit).bit_length() - 1


def spread(
    table: dict[Any, Any], depth: int, prefix: int, bits: int, hashes: Iterable[int]
) -> list[dict[Any, Any]]:
    """A table divided among the 2**bits parts that its part is split into, by the hashes of its keys."""
    parts: list[dict[Any, Any]] = [{} for _ in range(1 << bits)]
    shift, first = 32 - depth - bits, prefix << bits
    for (key, value), hashed in zip(table.items(), hashes, strict=True):
        parts[(hashed >> shift) - first][key] = value
    return parts
