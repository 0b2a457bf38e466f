"""Top-N, deduplication and LIMIT: the first rows of each partition in an order.

What an epoch changes is the difference of the ranges of rows before and after it. Where rows only come,
a partition keeps no more rows than its range has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.common.typeinfo import RowTypeInfo
from millstream.common.typesystem.arrow_info import ArrowTypeInfo
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.key_columns import equal_codes, numbered, repeated_rows, row_codes
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.bags import Bag, SortColumn, bag_form, sort_columns
from millstream.kernel.tables.operator import Delta, Emission, TableOperator
from millstream.kernel.tables.rows import Rows, concat_rows
from millstream.kernel.tables.sections import SectionVisit
from millstream.kernel.tables.spec import OneTableSpec

__all__ = ["RankKind", "RankOperator", "RankSpec", "SortColumn", "dedup_spec", "limit_spec"]

RankKind = Literal["row_number", "rank", "dense_rank"]
Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RankSpec(OneTableSpec):
    """The rows of each partition whose rank is in a range.

    Parameters
    ----------
    row
        The type of the rows.
    key
        The places of the columns of PARTITION BY; NULL is a value. None: one partition.
    order
        The columns of ORDER BY. None: the order in which rows come.
    end
        The last rank that counts.
    start
        The first rank that counts, from 1.
    kind
        How rows are numbered: ``row_number``, or ``rank`` and ``dense_rank``, in which equal rows have
        one number.
    rank_name
        The name of a column with the rank, behind the others; None: there is none.
    changes
        Whether rows may be taken back. If they only come, the first of equal rows comes first; else the
        values of the rows decide, so that the result does not depend on the cut into epochs.
    last_wins
        Of equal rows that only come, the last comes first.
    """

    row: RowTypeInfo
    key: tuple[int, ...]
    order: tuple[SortColumn, ...]
    end: int
    start: int = 1
    kind: RankKind = "row_number"
    rank_name: str | None = None
    changes: bool = True
    last_wins: bool = False

    @property
    def output(self) -> RowTypeInfo:
        if self.rank_name is None:
            return self.row
        kinds = [*self.row.field_types, ArrowTypeInfo(pa.int64())]
        return RowTypeInfo(kinds, [*self.row.get_field_names(), self.rank_name])

    @property
    def placed_by(self) -> tuple[int, ...] | None:
        return self.key or None

    @property
    def layout(self) -> str:
        return "ranked rows"

    def describe(self) -> str:
        names = self.row.get_field_names()
        by = ", ".join(f"{names[c.place]}{' desc' if c.descending else ''}" for c in self.order)
        of = ", ".join(names[place] for place in self.key)
        kept = "all rows" if self.changes else f"at most {self.end} rows of a partition"
        where = f" of each {of}" if of else ""
        return (
            f"{self.kind} {self.start} to {self.end}{where} by {by or 'arrival'}; it keeps {kept}"
        )

    def operator(self, info: OperatorInfo, *, timed: bool, batch: bool) -> TableOperator:
        return RankOperator(info, self)


def dedup_spec(
    row: RowTypeInfo,
    key: tuple[int, ...],
    *,
    keep: Literal["first", "last"],
    rowtime: int | None = None,
    changes: bool = False,
) -> RankSpec:
    """One row of each key: the first or last by the column ``rowtime``, or by arrival."""
    last = keep == "last"
    order = () if rowtime is None else (SortColumn(rowtime, descending=last, nulls_first=not last),)
    return RankSpec(row, key, order, 1, changes=changes, last_wins=last)


def limit_spec(
    row: RowTypeInfo,
    order: tuple[SortColumn, ...],
    fetch: int,
    *,
    offset: int = 0,
    changes: bool = True,
) -> RankSpec:
    """The first rows of a table in an order: ORDER BY ... LIMIT."""
    return RankSpec(row, (), order, offset + fetch, offset + 1, changes=changes)


class RankOperator(TableOperator):
    """Keeps the rows of partitions, and emits the differences of their ranges."""

    def __init__(self, info: OperatorInfo, spec: RankSpec) -> None:
        super().__init__(info, spec, [bag_form("rows", spec.row)])
        self.ranking = spec

    def visit(self, visit: SectionVisit, deltas: list[Delta], emission: Emission) -> Sequence[Rows]:
        (stored,), (delta,) = visit.sections, deltas
        if not len(delta):
            return [stored]
        bag = Bag.of(stored, delta, changes=self.ranking.changes)
        if not (bag.causes >= 0).any():
            return [stored]
        codes = self._codes(bag)
        touched = np.zeros(int(codes.max()) + 1, np.bool_)
        touched[codes[bag.causes >= 0]] = True
        mine = touched[codes]
        rest = bag.take(np.flatnonzero(~mine)).rows() if not mine.all() else None
        bag, codes = (bag, codes) if mine.all() else (bag.take(np.flatnonzero(mine)), codes[mine])
        ranked = _Ranked(self.ranking, bag, codes)
        ranked.emit(emission)
        rows = ranked.kept()
        return [rows if rest is None else concat_rows([rest, rows])]

    def _codes(self, bag: Bag) -> Ints:
        if not self.ranking.key:
            return np.zeros(len(bag.before), np.int64)
        return row_codes([bag.arrays[place] for place in self.ranking.key])


class _Ranked:
    """The rows of some partitions, in the order of each, a row for each time that it is there."""

    def __init__(self, spec: RankSpec, bag: Bag, codes: Ints) -> None:
        self.spec, self.bag = spec, bag
        copies = np.maximum(np.maximum(bag.before, bag.after), 0)
        sort = sort_columns(bag.arrays, spec.order)
        if spec.changes:
            ties = [SortColumn(i) for i in range(len(bag.arrays))]
            sort = [*sort_columns(bag.arrays, ties), *sort]
        elif spec.last_wins:
            sort = [-np.arange(len(codes)), *sort]
        order = np.lexsort([*sort, codes])
        peers = self._peers(bag, order, codes)
        #: The row of the bag that each copy is of.
        self.rows = np.repeat(order, copies[order])
        self.codes = codes[self.rows]
        first = np.concatenate([[0], np.cumsum(copies[order])])[:-1]
        inside = np.arange(len(self.rows)) - np.repeat(first, copies[order])
        self.peers = np.repeat(peers, copies[order])
        self.before = self._ranks(inside < bag.before[self.rows])
        self.after = self._ranks(inside < bag.after[self.rows])

    def _peers(self, bag: Bag, order: Ints, codes: Ints) -> Ints:
        """Numbers of runs of rows with equal values in the columns of the order."""
        if self.spec.kind == "row_number":
            return np.zeros(len(order), np.int64)
        places = pa.array(order)
        columns = [pa.array(codes[order])]
        columns += [bag.arrays[column.place].take(places) for column in self.spec.order]
        numbers = equal_codes(columns)
        return np.cumsum(np.diff(numbers, prepend=-1) != 0)

    def _ranks(self, there: Marks) -> Ints:
        """The rank of each copy, 0 if it is not there or not in the range."""
        if not len(there):
            return np.empty(0, np.int64)
        starts = np.flatnonzero(np.diff(self.codes, prepend=-1))
        lengths = np.diff(np.append(starts, len(there)))
        total: Ints = np.cumsum(there)
        numbers: Ints = total - np.repeat(total[starts] - there[starts], lengths)
        if self.spec.kind != "row_number":
            numbers = self._shared(there, numbers, starts, lengths)
        inside = there & (numbers >= self.spec.start) & (numbers <= self.spec.end)
        return np.where(inside, numbers, np.where(there, -numbers, 0))

    def _shared(self, there: Marks, numbers: Ints, starts: Ints, lengths: Ints) -> Ints:
        """Ranks in which equal rows have one number."""
        runs = np.flatnonzero(np.diff(self.peers, prepend=-1))
        sizes = np.diff(np.append(runs, len(there)))
        if self.spec.kind == "rank":
            # The number before the run, and one more.
            before = numbers[runs] - there[runs]
            return np.repeat(before + 1, sizes)
        some = np.add.reduceat(there, runs) > 0
        dense = np.cumsum(some)
        of_run = np.repeat(dense, sizes)
        first: Ints = of_run[starts] - np.repeat(some, sizes)[starts]
        return of_run - np.repeat(first, lengths)

    def emit(self, emission: Emission) -> None:
        before, after = np.maximum(self.before, 0), np.maximum(self.after, 0)
        if self.spec.rank_name is None:
            before, after = np.minimum(before, 1), np.minimum(after, 1)
        changed = before != after
        gone, come = np.flatnonzero(changed & (before > 0)), np.flatnonzero(changed & (after > 0))
        rows = np.concatenate([gone, come])
        if not len(rows):
            return
        weights = np.repeat(np.array([-1, 1]), [len(gone), len(come)])
        numbers = _renumbered(self.codes)
        groups = Groups.of_codes(numbers)
        lasts = emission.last_of(groups, self.bag.causes[self.rows])
        causes = lasts[numbers[rows]]
        if not self.spec.changes and (self.spec.rank_name is None or self.spec.end == 1):
            # A row that enters has just come: it is the cause itself, and not what came behind it.
            causes[len(gone) :] = self.bag.causes[self.rows[come]]
        arrays, copies = self.bag.arrays, self.rows[rows]
        ranks = np.concatenate([before[gone], after[come]])
        left, totals = self._without_opposites(copies, ranks, numbers[rows], weights)

        def columns(order: pa.Array) -> list[pa.Array]:
            chosen = left[order.to_numpy()]
            places = pa.array(copies[chosen])
            found = [array.take(places) for array in arrays]
            return found if self.spec.rank_name is None else [*found, pa.array(ranks[chosen])]

        emission.send_made(columns, totals, causes[left])

    def _without_opposites(
        self, copies: Ints, ranks: Ints, partitions: Ints, weights: Ints
    ) -> tuple[Ints, Ints]:
        """The places of different rows with their weights added up.

        One copy of a row may leave the range while another one, perhaps with the same rank, enters it.
        """
        codes = partitions
        if self.spec.rank_name is not None:
            codes = partitions * (int(ranks.max()) + 1) + ranks
        key = self.spec.key
        columns = [array for i, array in enumerate(self.bag.arrays) if i not in key]
        places, codes = repeated_rows(columns, copies, numbered(codes))
        if not len(places):
            return np.arange(len(weights)), weights
        groups, totals = Groups.of_codes(codes), weights.copy()
        totals[places] = 0
        totals[places[groups.firsts]] = groups.sizes(weights[places])
        left = np.flatnonzero(totals)
        return left, totals[left]

    def kept(self) -> Rows:
        """The rows to keep: all, or those that may still be in the range."""
        bag = self.bag
        if self.spec.changes:
            return bag.rows()
        ranks = np.abs(self.after)
        places = np.sort(self.rows[(ranks > 0) & (ranks <= self.spec.end)])
        # Rows that only come may count several times; each time they are a row of their own.
        rows = bag.take(places)
        rows.after = np.ones(len(places), np.int64)
        return rows.rows()


def _renumbered(codes: Ints) -> Ints:
    """The same numbers, counted from 0 without gaps; they are sorted."""
    found: Any = np.cumsum(np.diff(codes, prepend=codes[0] if len(codes) else 0) != 0)
    numbers: Ints = found
    return numbers
