"""Panes: the pieces of time that aligned windows are made of, and sums over them by column.

With g the greatest common divisor of size and slide, pane p is the time from offset + p * g on. Window w
begins with pane w * k and has m panes, k = slide / g and m = size / g. A record belongs to one pane,
and to all windows with that pane from some first one on: windows that are late for it come before.
Counting in panes instead of milliseconds, little overflows at the ends of time: only panes of one
millisecond that are counted from an offset, and windows that slide by one, are not exact there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.common.typeinfo import RowTypeInfo, TypeInformation, Types
from millstream.kernel.clock import Clock
from millstream.kernel.columns import Columns, field_types
from millstream.kernel.order import Ints
from millstream.kernel.windows.spec import Alignment

AggregateKind = Literal["sum", "min", "max", "min_by", "max_by"]


@dataclass(frozen=True)
class Panes:
    """Panes of windows of some size and slide."""

    length: int
    offset: int
    per_slide: int
    per_window: int

    @staticmethod
    def of(alignment: Alignment) -> Panes:
        length = gcd(alignment.size, alignment.slide)
        return Panes(length, alignment.offset, alignment.slide // length, alignment.size // length)

    @property
    def overlap(self) -> int:
        """How many windows a pane belongs to, at most."""
        return -(-self.per_window // self.per_slide)

    def at(self, times: Ints) -> Ints:
        """The pane of each time."""
        # The last instant belongs to no window of its own: it counts as the one before. And panes of one
        # millisecond leave no room to number them from an offset at one of the ends of time.
        room = self.offset if self.length == 1 else 0
        low, high = MIN_TIMESTAMP + max(room, 0), MAX_TIMESTAMP - 1 + min(room, 0)
        capped = np.clip(times, low, high)
        rest = capped % self.length
        panes: Ints = capped // self.length + (rest - self.offset) // self.length
        return panes

    def first_windows(self, panes: Ints, limits: Ints) -> Ints:
        """The first window that has a pane and is not late for its record, see `Clock.limits`.

        This is `is_late` for all windows of a record at once, without allowed lateness.
        """
        passed = self.at(np.minimum(limits, MAX_TIMESTAMP - 2) + 1)
        firsts = self.oldest_windows(np.maximum(panes, passed))
        # No window ends after the last instant: from the one before on, all are over.
        over = limits >= MAX_TIMESTAMP - 1
        return np.where(over, self.last_windows(panes) + 1, firsts) if over.any() else firsts

    def oldest_windows(self, panes: Ints) -> Ints:
        """The first window that has a pane, or ends behind it."""
        # The same as (panes - per_window) // per_slide + 1, which would wrap around at the low end.
        # Where windows slide by one millisecond, those that begin before the lowest time have no number.
        slides, rest = np.divmod(panes, self.per_slide)
        slides = np.maximum(slides, MIN_TIMESTAMP + self.overlap)
        oldest: Ints = slides + (rest - self.per_window) // self.per_slide + 1
        return oldest

    def last_windows(self, panes: Ints) -> Ints:
        """The last window that has a pane."""
        lasts: Ints = panes // self.per_slide
        return lasts

    def bounds(self, window: int) -> tuple[int, int]:
        """Start and end of a window, within what 64 bits hold."""
        start = self.offset + window * self.per_slide * self.length
        end = start + self.per_window * self.length
        return max(start, MIN_TIMESTAMP + 1), min(end, MAX_TIMESTAMP)

    def memberships(self, panes: Ints, firsts: Ints, windows: list[int]) -> tuple[Ints, Ints]:
        """Each row as often as it counts for one of some windows that follow, and the window.

        A row counts from its first window on.
        """
        low = np.maximum(firsts, windows[0])
        high = np.minimum(self.last_windows(panes), windows[-1])
        counts = np.where(high >= low, high - low + 1, 0)
        rows: Ints = np.repeat(np.arange(len(counts)), counts)
        before = np.cumsum(counts) - counts
        return rows, low[rows] + np.arange(len(rows)) - before[rows]

    def due(self, panes: Ints, clock: Clock) -> list[int]:
        """The windows that the clock passes in this epoch, and that may have records in panes."""
        found: set[int] = set()
        oldest, newest = self.oldest_windows(panes), self.last_windows(panes)
        for low, high in zip(oldest.tolist(), newest.tolist(), strict=True):
            found.update(range(low, high + 1))
        return sorted(w for w in found if clock.before < self.bounds(w)[1] - 1 <= clock.last)

    def is_over(self, pane: int, clock: Clock) -> bool:
        """Whether no window will ask for a pane after this epoch."""
        last = int(self.last_windows(np.array([pane]))[0])
        return self.bounds(last)[1] - 1 <= clock.last


@dataclass(frozen=True)
class FieldAggregate:
    """An aggregate of one field of whole numbers of typed records, by one key field.

    ``counted``: the type of the records whose number it is, and their key field. Then each of them
    is made into its key and a one, and those are added up.
    """

    kind: AggregateKind
    key: int
    field: int
    type_info: TypeInformation
    counted: tuple[TypeInformation, int] | None = None

    def partial_type(self) -> TypeInformation:
        """A record with what was made of its group, its pane, its first window, and its number."""
        fields = field_types(self.type_info)
        fields[self.field] = Types.LONG()
        return Types.TUPLE([*fields, Types.LONG(), Types.LONG(), Types.LONG()])

    def unlimited_type(self) -> TypeInformation:
        """The type of records whose sums may have any size."""
        fields = field_types(self.type_info)
        fields[self.field] = Types.BIG_INT()
        if isinstance(self.type_info, RowTypeInfo):
            return RowTypeInfo(fields, self.type_info.field_names)
        return Types.TUPLE(fields)


def codes_of(column: pa.Array) -> Ints:
    """A small number for each key, the same for equal ones, counted from 0."""
    codes: Ints = column.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


@dataclass
class Groups:
    """Rows with equal values in some columns, each group in the order of its rows."""

    order: Ints
    starts: Ints

    @staticmethod
    def by(columns: list[Ints]) -> Groups:
        """Groups by the last column first; rows with no equal before them begin one."""
        packed = _packed(columns)
        columns = columns if packed is None else [packed]
        order = np.lexsort(columns) if packed is None else np.argsort(packed, kind="stable")
        changes = np.zeros(len(order), np.bool_)
        changes[:1] = True
        for column in columns:
            ordered = column[order]
            changes[1:] |= ordered[1:] != ordered[:-1]
        return Groups(order, np.flatnonzero(changes))

    @property
    def firsts(self) -> Ints:
        """The first row of each group."""
        return self.order[self.starts]

    def sizes(self, counts: Ints) -> Ints:
        """The total count of the rows of each group."""
        sizes: Ints = np.add.reduceat(counts[self.order], self.starts)
        return sizes

    def best(self, numbers: npt.NDArray[Any], *, largest: bool) -> Ints:
        """The first row of each group with its smallest or largest number."""
        limits = (np.maximum if largest else np.minimum).reduceat(numbers[self.order], self.starts)
        lengths = np.diff(np.append(self.starts, len(self.order)))
        hits = np.flatnonzero(numbers[self.order] == np.repeat(limits, lengths))
        places = np.searchsorted(hits, self.starts)
        rows: Ints = self.order[hits[places]]
        return rows


def _packed(columns: list[Ints]) -> npt.NDArray[Any] | None:
    """One number for the numbers of each row, in the same order; None if they do not fit one.

    One column is sorted in half the time of two, and one of 16 bits in a tenth.
    """
    packed, size = np.zeros(len(columns[0]), np.int64), 1
    for column in reversed(columns):
        low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        size *= high - low + 1
        if size >= 2**63:
            return None
        packed = packed * (high - low + 1) + (column - low)
    return packed.astype(np.uint16) if size <= 2**16 else packed


MIN_LONG, MAX_LONG = -(2**63), 2**63 - 1
SURELY_FITS = 2.0**62
"""Sums whose numbers are no larger together, whatever their signs, need no second look."""


class SumOverflow(ArithmeticError):
    """A sum that 64 bits cannot hold."""


class NoNumber(ArithmeticError):
    """A group of several rows, one of which has no number."""

    def __init__(self, row: int) -> None:
        super().__init__(f"row {row} has no number")
        self.row = row


def aggregated(
    aggregate: FieldAggregate, arrays: list[pa.Array], groups: Groups
) -> tuple[Ints, list[pa.Array]]:
    """One record for each group, and the row whose fields and place in the order it has.

    A row without a number, which only restored windows have, is a group by itself.
    """
    numbers, missing = _numbers(arrays[aggregate.field])
    empty = None if missing is None else _groups_with(missing, groups)
    if aggregate.kind in ("min_by", "max_by"):
        rows = groups.best(numbers, largest=aggregate.kind == "max_by")
    else:
        rows = groups.firsts
    places = pa.array(rows)
    fields = [array.take(places) for array in arrays]
    if aggregate.kind in ("sum", "min", "max"):
        folded = _folded(aggregate.kind, numbers[groups.order], groups.starts)
        fields[aggregate.field] = pa.array(folded, mask=empty)
    return rows, fields


def _numbers(column: pa.Array) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """The numbers of a column, 0 for none, and where there is none."""
    if not column.null_count:
        return column.to_numpy(zero_copy_only=False), None
    missing = column.is_null().to_numpy(zero_copy_only=False)
    return column.fill_null(0).to_numpy(zero_copy_only=False), missing


def _groups_with(marked: npt.NDArray[np.bool_], groups: Groups) -> npt.NDArray[np.bool_]:
    """Which groups are a marked row by itself; no other may have one."""
    found: npt.NDArray[np.bool_] = np.logical_or.reduceat(marked[groups.order], groups.starts)
    lengths = np.diff(np.append(groups.starts, len(groups.order)))
    if (lengths[found] > 1).any():
        rows = groups.order[marked[groups.order] & np.repeat(lengths > 1, lengths)]
        raise NoNumber(int(rows[0]))
    return found


def summed_objects(aggregate: FieldAggregate, arrays: list[pa.Array], groups: Groups) -> list[Any]:
    """The records that ``aggregated`` gives for sums, as objects: a sum may have any size."""
    numbers = arrays[aggregate.field].to_numpy(zero_copy_only=False)
    sums = _exact_sums(numbers[groups.order], groups.starts, slice(None))
    places = pa.array(groups.firsts)
    fields = [array.take(places) for array in arrays]
    fields[aggregate.field] = Types.BIG_INT().to_arrow_arrays(sums)[0]
    return Columns(aggregate.unlimited_type(), fields).tolist()


def _folded(kind: str, numbers: npt.NDArray[Any], starts: Ints) -> npt.NDArray[Any]:
    if kind == "sum":
        if len(_too_large(numbers, starts)):
            raise SumOverflow("a sum does not fit 64 bits")
        # It may wrap around on the way, and comes back, for the sum itself fits.
        return np.add.reduceat(numbers, starts)
    return (np.minimum if kind == "min" else np.maximum).reduceat(numbers, starts)


def _too_large(numbers: npt.NDArray[Any], starts: Ints) -> Ints:
    """The groups whose sums do not fit 64 bits."""
    sizes = np.abs(numbers.astype(np.float64))
    # All together are seldom large, and then none is.
    if sizes.sum() <= SURELY_FITS:
        return starts[:0]
    large = np.flatnonzero(np.add.reduceat(sizes, starts) > SURELY_FITS)
    sums = _exact_sums(numbers, starts, large)
    fits = np.array([MIN_LONG <= total <= MAX_LONG for total in sums], np.bool_)
    return large[~fits]


def _exact_sums(numbers: npt.NDArray[Any], starts: Ints, wanted: Ints | slice) -> list[int]:
    """The sums of some groups, however large they are."""
    high, low = (np.add.reduceat(half, starts)[wanted].tolist() for half in _halves(numbers))
    return [(h << 32) + rest for h, rest in zip(high, low, strict=True)]


def _halves(numbers: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The higher and lower 32 bits, whose sums have room in 64."""
    return numbers >> 32, numbers & 0xFFFFFFFF


def that_fit(aggregate: FieldAggregate, arrays: list[pa.Array], groups: Groups) -> Groups:
    """Groups for partial sums: the rows of one that does not fit 64 bits stay as they are.

    What else belongs to a sum may bring it back. Those of one with a row without a number do so too.
    """
    numbers, missing = _numbers(arrays[aggregate.field])
    apart = groups.starts[:0]
    if aggregate.kind == "sum":
        apart = _too_large(numbers[groups.order], groups.starts)
    if missing is not None:
        without = np.logical_or.reduceat(missing[groups.order], groups.starts)
        apart = np.union1d(apart, np.flatnonzero(without))
    if not len(apart):
        return groups
    ends = np.append(groups.starts[1:], len(groups.order))
    single = [np.arange(groups.starts[group], ends[group]) for group in apart.tolist()]
    return Groups(groups.order, np.unique(np.concatenate([groups.starts, *single])))


def in_64_bits(number: int | None) -> Iterator[int | None]:
    """A number as a sum of numbers that 64 bits hold.

    Examples
    --------
    >>> list(in_64_bits(5)), list(in_64_bits(2**63)) == [2**63 - 1, 1]
    ([5], True)
    """
    while number is not None and not MIN_LONG <= number <= MAX_LONG:
        part = min(max(number, MIN_LONG), MAX_LONG)
        yield part
        number -= part
    yield number


def widened(aggregate: FieldAggregate, columns: Columns) -> list[pa.Array]:
    """The columns of records, the aggregated field as wide as its results may be."""
    arrays = list(columns.arrays)
    arrays[aggregate.field] = arrays[aggregate.field].cast(pa.int64())
    return arrays
