"""Order keys: the one total order of everything that happens in a job.

The key of a source record is (stamp, 0, channel, fragment start, position); what it causes, through
all stages, keeps it and adds the ordinals of its emissions as a *path*. What a timer at t emits has
(t - 1, 1, key hash, tie breaker, 0). Columns, not tuples: a stage sorts by them with numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Paths = bytes | npt.NDArray[np.bytes_]

COLUMNS = ("stamp", "born", "channel", "frag", "pos")
BORN_RECORD = 0
BORN_TIMER = 1
BORN_TICK = -1


def distinct(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Each value once, sorted; numpy hashes them, which takes up to forty times as long.

    Examples
    --------
    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    found = np.sort(values)
    return found[:1] if len(found) < 2 else found[np.append(True, found[1:] != found[:-1])]


def ordinal_code(number: int) -> bytes:
    """An order-preserving, prefix-free code of a number, free of zero bytes.

    Zero bytes are excluded because numpy compares byte strings as if padded with them.

    Examples
    --------
    >>> codes = [ordinal_code(n) for n in (0, 1, 238, 239, 300, 70_000)]
    >>> codes == sorted(codes)
    True
    """
    if number < 239:
        return bytes((number + 1,))
    digits = []
    while number:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((0xF0 + len(digits),)) + bytes(reversed(digits))


_CODES = [ordinal_code(number) for number in range(1024)]


def _code(number: int) -> bytes:
    return _CODES[number] if number < 1024 else ordinal_code(number)


@dataclass(slots=True)
class OrderKeys:
    """Order keys of n records, a numpy array per column; a path all records share is one value."""

    stamp: Ints
    born: Ints
    channel: Ints
    frag: Ints
    pos: Ints
    path: Paths = b""

    def __len__(self) -> int:
        return len(self.stamp)

    @staticmethod
    def of_fragment(stamp: Ints, channel: int, frag: int, first_pos: int) -> OrderKeys:
        """Keys of consecutive records of one channel fragment."""
        n = len(stamp)
        return OrderKeys(
            stamp,
            np.zeros(n, np.int64),
            np.full(n, channel, np.int64),
            np.full(n, frag, np.int64),
            np.arange(first_pos, first_pos + n, dtype=np.int64),
        )

    def take(self, rows: Ints) -> OrderKeys:
        """The keys at the given rows."""
        return OrderKeys(
            self.stamp[rows],
            self.born[rows],
            self.channel[rows],
            self.frag[rows],
            self.pos[rows],
            self.path if isinstance(self.path, bytes) else self.path[rows],
        )

    def extended(self, ordinals: Sequence[int] | None) -> OrderKeys:
        """The keys with one more path step: the number of the emission, from 1. None: all are first."""
        if ordinals is None:
            return self.through(1)
        return OrderKeys(
            self.stamp,
            self.born,
            self.channel,
            self.frag,
            self.pos,
            _append(self.path, [ordinal + 1 for ordinal in ordinals]),
        )

    def through(self, number: int) -> OrderKeys:
        """The keys with one more path step that is the same for all."""
        code = _code(number)
        path: Paths
        if isinstance(self.path, bytes):
            path = self.path + code
        else:
            path = np.array([step + code for step in self.path.tolist()], dtype=np.bytes_)
        return OrderKeys(self.stamp, self.born, self.channel, self.frag, self.pos, path)

    def argsort(self) -> Ints | None:
        """The permutation that sorts by order key, None if the keys are in order already."""
        columns: list[npt.NDArray[Any]] = [getattr(self, name) for name in COLUMNS]
        if not isinstance(self.path, bytes):
            columns.append(self.path)
        if _is_sorted(columns):
            return None
        varying = [column for column in columns if (column != column[0]).any()]
        return np.lexsort(varying[::-1])


def _is_sorted(columns: Sequence[npt.NDArray[Any]]) -> bool:
    """Whether rows are in ascending order, the first column being the most significant."""
    undecided = np.ones(max(len(columns[0]) - 1, 0), np.bool_)
    for column in columns:
        if (undecided & (column[1:] < column[:-1])).any():
            return False
        undecided &= column[1:] == column[:-1]
        if not undecided.any():
            return True
    return True


def _append(path: Paths, ordinals: Sequence[int]) -> Paths:
    if isinstance(path, bytes):
        return np.array([path + _code(number) for number in ordinals], dtype=np.bytes_)
    steps = zip(path.tolist(), ordinals, strict=True)
    return np.array([step + _code(number) for step, number in steps], dtype=np.bytes_)


def concat(parts: Sequence[OrderKeys]) -> OrderKeys:
    """All keys of several blocks, one after the other."""
    if len(parts) == 1:
        return parts[0]
    columns = [np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS]
    stamp, born, channel, frag, pos = columns
    return OrderKeys(stamp, born, channel, frag, pos, _concat_paths(parts))


def _concat_paths(parts: Sequence[OrderKeys]) -> Paths:
    constants = {part.path for part in parts if isinstance(part.path, bytes)}
    if len(constants) == 1 and all(isinstance(part.path, bytes) for part in parts):
        return constants.pop()
    arrays = [
        np.full(len(part), part.path, dtype=f"S{max(1, len(part.path))}")
        if isinstance(part.path, bytes)
        else part.path
        for part in parts
    ]
    return np.concatenate(arrays) if arrays else b""


def run_ordinals(rows: Ints) -> Sequence[int] | None:
    """How many times in a row each row number has occurred before; None if all differ from the last.

    Examples
    --------
    >>> run_ordinals(np.array([4, 4, 7, 9, 9, 9]))
    [0, 1, 0, 0, 1, 2]
    """
    if len(rows) < 2:
        return None
    same = rows[1:] == rows[:-1]
    if not same.any():
        return None
    places = np.arange(len(rows))
    starts = np.concatenate(([True], ~same))
    first = np.maximum.accumulate(np.where(starts, places, 0))
    ordinals: list[int] = (places - first).tolist()
    return ordinals


def from_rows(rows: Iterable[tuple[int, int, int, int, int, bytes]]) -> OrderKeys:
    """Keys given one by one, as timers make them."""
    stamps, borns, channels, frags, poss, paths = zip(*rows, strict=True)
    return OrderKeys(
        np.array(stamps, np.int64),
        np.array(borns, np.int64),
        np.array(channels, np.int64),
        np.array(frags, np.int64),
        np.array(poss, np.int64),
        np.array(paths, dtype=np.bytes_) if len(set(paths)) > 1 else paths[0],
    )
