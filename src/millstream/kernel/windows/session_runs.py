"""Runs: records of a key with no pause as long as the gap, made into one record by column.

What a run's records are folded into can be added to a session in their stead, if none of them can be
late: a record with the time of the first, that reaches as far as the last.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from millstream.kernel.records.buffers import Records
from millstream.kernel.records.columns import Columns, concat_columns_of
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.order import Ints, concat
from millstream.kernel.records.sorted_input import Arrivals
from millstream.kernel.windows.aggregates import PaneAggregate, SumOverflow, aggregated


@dataclass
class Runs:
    """Records, of which some stand for a run of records of a key.

    ``reach``: the last time of a run, or the time of a record that stands for itself. ``ahead``: whether
    what it stands for is ahead of channel and clock.
    """

    records: Records
    reach: Ints
    ahead: npt.NDArray[np.bool_]


def runs_of(
    arrivals: Arrivals, ahead: npt.NDArray[np.bool_], gap: int, aggregate: PaneAggregate
) -> Runs | None:
    """The runs of the keys all of whose records are ahead, and the records of all others.

    None if records have to be folded one by one: a field is no number, or a sum gets too large.
    """
    columns = arrivals.in_columns()
    if not columns.has_all() or any(
        columns.arrays[fold.place].null_count for fold in aggregate.folds
    ):
        return None
    codes = aggregate.key.codes(columns.arrays)
    plain = np.isin(codes, codes[~ahead], invert=True) if not ahead.all() else ahead
    arrays, mine = aggregate.rows(columns.arrays, len(codes)), np.flatnonzero(plain)
    groups = _by_run(codes, arrivals.ts, mine, gap)
    try:
        chosen, fields = aggregated(aggregate, arrays, groups)
    except SumOverflow:
        return None
    others = np.flatnonzero(~plain)
    values = Columns(aggregate.type_info, arrays).take(others)
    taken = np.concatenate([chosen, others])
    times = [_extremes(np.minimum, arrivals.ts, groups), _extremes(np.maximum, arrivals.ts, groups)]
    first, last = (np.concatenate([found, arrivals.ts[others]]) for found in times)
    records = Records(
        concat_columns_of([Columns(aggregate.type_info, fields), values]),
        first,
        concat([arrivals.keys.take(chosen), arrivals.keys.take(others)]),
        None if arrivals.hashes is None else arrivals.hashes[taken],
    )
    # Runs of one key are added in the order of the records whose fields they have.
    order = np.argsort(taken)
    return Runs(records.take(order), last[order], ahead[taken][order])


def _by_run(codes: Ints, ts: Ints, mine: Ints, gap: int) -> Groups:
    """The runs among some rows; the rows of each in their order."""
    order = mine[np.lexsort((ts[mine], codes[mine]))]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (codes[order[1:]] != codes[order[:-1]]) | (ts[order[:-1]] + gap < ts[order[1:]])
    run = np.empty(len(codes), np.int64)
    run[order] = np.cumsum(begins)
    groups = Groups.by([run[mine]])
    return Groups(mine[groups.order], groups.starts)


def _extremes(function: np.ufunc, numbers: Ints, groups: Groups) -> Ints:
    if not len(groups.starts):
        return numbers[:0]
    found: Ints = function.reduceat(numbers[groups.order], groups.starts)
    return found
