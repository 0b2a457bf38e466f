"""Frames of OVER: for each row of a sorted partition the rows that its aggregates see.

Rows stand partition by partition, each in its order. Aggregates come from the states of rows
(`Aggregates`): a frame from the beginning is a prefix of states, any other one is folded by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.kernel.records.groups import Groups
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.aggregates.calls import Aggregates

__all__ = ["Frame", "Partitions", "WindowCall", "folded_frames"]

FOLDED = 1 << 20
"""So many rows of frames are folded at once."""


@dataclass(frozen=True)
class Frame:
    """The rows around a row. Offsets before it are negative, None is unbounded.

    Offsets of RANGE are differences of the numbers that rows are ordered by: milliseconds of times.
    """

    unit: Literal["ROWS", "RANGE"] = "RANGE"
    start: int | None = None
    end: int | None = 0


@dataclass(frozen=True)
class WindowCall:
    """A function of the place of a row in its partition.

    Parameters
    ----------
    function
        ROW_NUMBER, RANK, DENSE_RANK, PERCENT_RANK, CUME_DIST, NTILE, LAG or LEAD.
    arguments
        Of LAG and LEAD the place of the value, and of a default where there is one.
    result
        The Arrow type of the result.
    offset
        Of LAG and LEAD how many rows back or ahead; of NTILE the number of buckets.
    """

    function: str
    arguments: tuple[int, ...]
    result: pa.DataType
    offset: int = 1


@dataclass
class Partitions:
    """Sorted rows: the partition of each (ascending from 0), and numbers that say who are peers.

    ``values``: the numbers that RANGE offsets count in; ascending within a partition.
    """

    codes: Ints
    peers: Ints
    values: Ints | None = None

    def __post_init__(self) -> None:
        number = len(self.codes)
        every = np.arange(number)
        self.firsts, self.ends = _spans([self.codes])
        self.peer_firsts, self.peer_ends = _spans([self.codes, self.peers])
        self.every = every

    def frames(self, frame: Frame) -> tuple[Ints, Ints]:
        """The first row of each frame, and the one behind its last row."""
        if frame.unit == "ROWS":
            low = self.firsts if frame.start is None else self.every + frame.start
            high = self.ends if frame.end is None else self.every + frame.end + 1
        else:
            low = self._bound(frame.start, self.firsts, self.peer_firsts, "left")
            high = self._bound(frame.end, self.ends, self.peer_ends, "right")
        low = np.clip(low, self.firsts, self.ends)
        return low, np.maximum(np.clip(high, self.firsts, self.ends), low)

    def _bound(
        self, offset: int | None, whole: Ints, peers: Ints, side: Literal["left", "right"]
    ) -> Ints:
        if offset is None:
            return whole
        if offset == 0:
            return peers
        assert self.values is not None
        found = np.empty(len(self.codes), np.int64)
        starts = np.unique(self.firsts)
        for start in starts.tolist():
            end = int(self.ends[start])
            values = self.values[start:end]
            found[start:end] = start + np.searchsorted(values, values + offset, side=side)
        return found

    def call(self, call: WindowCall, arrays: Sequence[pa.Array]) -> pa.Array:
        """The values of a function of places."""
        if call.function in ("LAG", "LEAD"):
            return self._shifted(call, arrays)
        sizes = self.ends - self.firsts
        found: npt.NDArray[np.float64] | Ints
        ranks = self.peer_firsts - self.firsts
        if call.function == "ROW_NUMBER":
            found = self.every - self.firsts + 1
        elif call.function == "RANK":
            found = ranks + 1
        elif call.function == "DENSE_RANK":
            begins = np.cumsum(self.peer_firsts == self.every)
            found = begins - begins[self.firsts] + 1 if len(begins) else begins
        elif call.function == "PERCENT_RANK":
            found = np.where(sizes > 1, ranks / np.maximum(sizes - 1, 1), 0.0)
        elif call.function == "CUME_DIST":
            found = (self.peer_ends - self.firsts) / sizes
        else:
            found = _tiles(self.every - self.firsts, sizes, call.offset)
        return pa.array(found).cast(call.result)

    def _shifted(self, call: WindowCall, arrays: Sequence[pa.Array]) -> pa.Array:
        value = arrays[call.arguments[0]]
        step = call.offset if call.function == "LEAD" else -call.offset
        wanted = self.every + step
        inside = (wanted >= self.firsts) & (wanted < self.ends)
        if len(call.arguments) < 2:
            return value.take(pa.array(wanted, mask=~inside)).cast(call.result)
        both = pa.concat_arrays([value, arrays[call.arguments[1]].cast(value.type)])
        places = np.where(inside, wanted, len(value) + self.every)
        return both.take(pa.array(places)).cast(call.result)


def _spans(columns: list[Ints]) -> tuple[Ints, Ints]:
    """For each row the first one of its run of equal values, and the one behind its last."""
    number = len(columns[0])
    change = np.zeros(number, np.bool_)
    change[:1] = True
    for column in columns:
        change[1:] |= column[1:] != column[:-1]
    starts = np.flatnonzero(change)
    runs = np.cumsum(change) - 1
    ends = np.append(starts[1:], number)
    return starts[runs], ends[runs]


def _tiles(places: Ints, sizes: Ints, buckets: int) -> Ints:
    """The buckets of rows: the first ones have one row more, where they do not come out even."""
    small, more = np.divmod(sizes, buckets)
    border = more * (small + 1)
    in_large = places // (small + 1)
    in_small = more + (places - border) // np.maximum(small, 1)
    found: Ints = np.where(places < border, in_large, in_small) + 1
    return found


def folded_frames(
    aggregates: Aggregates, state: Sequence[pa.Array], low: Ints, high: Ints
) -> list[pa.Array]:
    """The results of the frames from ``low`` to ``high`` - 1."""
    sizes = high - low
    parts: list[list[pa.Array]] = []
    total = np.cumsum(sizes)
    cuts = np.unique(np.append(np.searchsorted(total, np.arange(0, total[-1:].sum(), FOLDED)), 0))
    for start, end in zip(cuts.tolist(), [*cuts[1:].tolist(), len(sizes)], strict=True):
        if start < end:
            parts.append(_some_frames(aggregates, state, low[start:end], sizes[start:end]))
    if not parts:
        return aggregates.results(aggregates.nothing(0))
    return [pa.concat_arrays(same) for same in zip(*parts, strict=True)]


def _some_frames(
    aggregates: Aggregates, state: Sequence[pa.Array], low: Ints, sizes: Ints
) -> list[pa.Array]:
    there = np.flatnonzero(sizes > 0)
    counts = sizes[there]
    starts = np.cumsum(counts) - counts
    order = np.repeat(low[there] - starts, counts) + np.arange(int(counts.sum()))
    blank = aggregates.nothing(1)
    folded = blank
    places = np.zeros(len(sizes), np.int64)
    if len(there):
        full = aggregates.fold(state, Groups(order, starts))
        folded = [pa.concat_arrays([a, b]) for a, b in zip(blank, full, strict=True)]
        places[there] = np.arange(1, len(there) + 1)
    taken = pa.array(places)
    return [column.take(taken) for column in aggregates.results(folded)]
