"""Order keys: the one total order of everything that happens in a job.

A key is (stamp, birth, place, path). The key of a source record has birth 0 and the place (channel,
fragment start, position). What a timer emits has a key of its own, see `Origin`. What a record causes
keeps the key of the record, and each operator on the way makes its path longer by one step: the turn of
the operator, the number of the input edge where it has several, and the number of the emission. So the
path of a cause is the beginning of the path of its effect.

The *turn* decides among the operators that read one record. An operator has its turn before all those
that its input may come from, so it is done with a record when the results of the record come in: what it
emits is in the order in which it has worked.

Columns, not tuples: a stage sorts by them with numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from millstream.common.time import MAX_TIMESTAMP
from millstream.kernel.keys.hashing import tie_breaker

if TYPE_CHECKING:
    from millstream.kernel.time.clock import Clock

Ints = npt.NDArray[np.int64]
Paths = bytes | npt.NDArray[np.bytes_]

COLUMNS = ("stamp", "born", "channel", "frag", "pos")
BEFORE_ALL = -(1 << 62)
"""A birth before that of any record and timer."""
AT_END = MAX_TIMESTAMP
"""The stamp of what timers emit that fire because the input has ended."""
LONG_UID = 32

Order = tuple[int, int, int, int, int, bytes]
"""The order key of one record or timer."""


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


_SHORT = np.array([ordinal_code(number) for number in range(239)], np.bytes_)


def _codes(numbers: Ints) -> npt.NDArray[np.bytes_]:
    if int(numbers.max()) < len(_SHORT):
        return _SHORT[numbers]
    return np.array([ordinal_code(number) for number in numbers.tolist()], np.bytes_)


_FIRST = ordinal_code(1)


def arrival_step(turn: int, edge: int | None) -> bytes:
    """The beginning of a path step: whose turn it is, and by which of several edges a record came.

    Examples
    --------
    >>> cause, effect = b"", arrival_step(1, None) + ordinal_code(1)
    >>> cause + arrival_step(0, 4) < effect + arrival_step(0, 3)
    True
    """
    return ordinal_code(turn) + (b"" if edge is None else ordinal_code(edge))


@dataclass(frozen=True)
class Origin:
    """Where the timers of an operator stand in the order: the one place of this rule.

    ``depth`` counts the operators that can have timers on the longest path from the sources, with this
    one. At one instant the timers of an operator fire after all its input, so what they emit comes
    after what operators before it emit. In processing time an operator fires its timers before all
    its input, so there it is the other way round. ``path`` tells the operators of one depth apart.
    """

    depth: int
    path: bytes

    @staticmethod
    def of(uid: str, depth: int) -> Origin:
        """The origin of an operator's timers; a long uid counts by its hash."""
        name = uid.encode()
        if len(name) > LONG_UID:
            name = b"%x" % tie_breaker(uid)
        return Origin(depth, name + b"\xff")

    def timer(self, time: int, clock: Clock, hashed: int, tie: int, position: int) -> Order:
        """The order key of an event-time timer.

        ``position`` is that of the timer among those of one instant and key. At the end of the input
        an operator has received what operators before it emit when its timers fire: there the depth
        goes before the time.
        """
        if clock.fires_at_end(time):
            return AT_END, self.depth, time, hashed, tie, self.path
        return time - 1 + clock.lag, self.depth, hashed, tie, position, self.path

    def timers(
        self, times: Ints, clock: Clock, hashes: Ints, ties: Ints, positions: Ints
    ) -> OrderKeys:
        """The order keys of many timers: what `timer` gives, by column."""
        ended = clock.fires_at_end(times)
        stamps, channel, frag, pos = times - 1 + clock.lag, hashes, ties, positions
        if ended.any():
            stamps = np.where(ended, AT_END, stamps)
            channel = np.where(ended, times, hashes)
            frag, pos = np.where(ended, hashes, ties), np.where(ended, ties, positions)
        births = np.full(len(times), self.depth, np.int64)
        return OrderKeys(stamps, births, channel, frag, pos, self.path)

    def tick(self, stamp: int, hashed: int, tie: int, position: int) -> Order:
        """The order key of a processing-time timer; ``stamp``: the operator's clock as a stamp."""
        return stamp, -self.depth, hashed, tie, position, self.path


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

    def slice(self, start: int, stop: int) -> OrderKeys:
        """The keys from start to stop - 1."""
        return OrderKeys(
            self.stamp[start:stop],
            self.born[start:stop],
            self.channel[start:stop],
            self.frag[start:stop],
            self.pos[start:stop],
            self.path if isinstance(self.path, bytes) else self.path[start:stop],
        )

    def extended(self, ordinals: Ints | None) -> OrderKeys:
        """The keys with the number of the emission, from 1, added to the path. None: all are first."""
        if ordinals is None:
            return self.through(_FIRST)
        return replace(self, path=np.char.add(self.path, _codes(ordinals + 1)))

    def follow(self, one: Ints, other: Ints, arrival: bytes = b"") -> npt.NDArray[np.bool_]:
        """Whether rows come from the same cause as others, as its next emission.

        ``arrival``: what has been added to all paths since they were emitted.
        """
        same = np.ones(len(one), np.bool_)
        for name in COLUMNS:
            column = getattr(self, name)
            same &= column[one] == column[other]
        if isinstance(self.path, bytes) or not len(one):
            return np.zeros(len(one), np.bool_)
        width = self.path.dtype.itemsize
        before, after = (
            np.ascontiguousarray(self.path[each]).view(np.uint8).reshape(len(one), width)
            for each in (one, other)
        )
        differ = before != after
        last = np.maximum((after != 0).sum(axis=1) - 1 - len(arrival), 0)
        found: npt.NDArray[np.bool_]
        found = same & (differ.sum(axis=1) == 1) & differ[np.arange(len(one)), last]
        return found

    def through(self, step: bytes) -> OrderKeys:
        """The keys with the same bytes added to all paths."""
        plain = isinstance(self.path, bytes)
        path: Paths = self.path + step if plain else np.char.add(self.path, step)
        return replace(self, path=path)

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


def run_ordinals(rows: Ints) -> Ints | None:
    """How many times in a row each row number has occurred before; None if all differ from the last.

    Examples
    --------
    >>> run_ordinals(np.array([4, 4, 7, 9, 9, 9])).tolist()
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
    ordinals: Ints = places - first
    return ordinals


def from_rows(rows: Iterable[Order]) -> OrderKeys:
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
