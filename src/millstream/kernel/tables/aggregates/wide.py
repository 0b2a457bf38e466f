"""Sums of 128 bits by column: each number is four numbers of 32 bits, the lowest first.

Arrow has no sums of decimals by group that take weights, and numpy has no numbers of 128 bits. Four sums
of 64 bits hold those of two thousand million numbers, and the carry comes at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.kernel.records.groups import Groups
from millstream.kernel.records.order import Ints

Limbs = npt.NDArray[np.int64]
_MASK = np.int64(0xFFFFFFFF)


def limbs_of_decimals(column: pa.Array) -> Limbs:
    """The unscaled numbers of a column of decimals; what is missing is 0."""
    data = np.frombuffer(column.buffers()[1], np.uint32).reshape(-1, 4)
    part = data[column.offset : column.offset + len(column)].astype(np.int64)
    part[:, 3] = part[:, 3].astype(np.int32)
    if column.null_count:
        part[column.is_null().to_numpy(zero_copy_only=False)] = 0
    return part


def limbs_of_integers(numbers: Ints) -> Limbs:
    """Whole numbers of 64 bits."""
    sign = numbers >> 63
    return np.stack([numbers & _MASK, (numbers >> 32) & _MASK, sign & _MASK, sign], axis=1)


def limbs_of_ints(numbers: Sequence[int]) -> Limbs:
    """Python's whole numbers of at most 128 bits."""
    found = [[n & 0xFFFFFFFF, n >> 32 & 0xFFFFFFFF, n >> 64 & 0xFFFFFFFF, n >> 96] for n in numbers]
    return np.array(found, np.int64).reshape(-1, 4)


def summed(limbs: Limbs, groups: Groups) -> Limbs:
    """The sum of each group."""
    return carried(np.add.reduceat(limbs[groups.order], groups.starts, axis=0))


def carried(limbs: Limbs) -> Limbs:
    """The same numbers with parts of 32 bits, only the highest of which has a sign."""
    limbs = limbs.copy()
    for i in range(3):
        limbs[:, i + 1] += limbs[:, i] >> 32
        limbs[:, i] &= _MASK
    return limbs


def as_decimals(limbs: Limbs, kind: pa.DataType) -> pa.Array:
    """The numbers as a column of decimals; those beyond 128 bits are wrong."""
    data = (carried(limbs) & _MASK).astype(np.uint32)
    return pa.Array.from_buffers(kind, len(limbs), [None, pa.py_buffer(data.tobytes())])


def as_ints(limbs: Limbs) -> list[int]:
    """The numbers as Python has them."""
    low = limbs[:, 0].astype(object) + limbs[:, 1].astype(object) * (1 << 32)
    high = limbs[:, 2].astype(object) * (1 << 64) + limbs[:, 3].astype(object) * (1 << 96)
    found: list[int] = (low + high).tolist()
    return found
