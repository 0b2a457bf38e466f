"""The value of a group that may have one record only: of a subquery that stands for a value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from millstream.common.errors import MillstreamError
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.aggregates.base import Accumulator, by_group, taken

__all__ = ["SingleValue"]


class SingleValue(Accumulator):
    """The only value of a group; an error if there have ever been two at the same time.

    The state is how many records there are, the most that there have been, whether one has come, and
    the value of the last one that has. The most is kept so that the error does not depend on where
    epochs end: a second record that is taken back later counts too, as in Flink.

    Parameters
    ----------
    argument
        The type of the values.
    told
        What the value is of, for the error.
    """

    def __init__(self, argument: pa.DataType, told: str) -> None:
        self.told = told
        self.result_type = argument
        self.state_types = (pa.int64(), pa.int64(), pa.bool_(), argument)

    def rows(self, arguments: Sequence[pa.Array], weights: Ints) -> list[pa.Array]:
        numbers = [weights, np.maximum(weights, 0), weights > 0]
        return [*map(pa.array, numbers), arguments[0]]

    def fold(self, state: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        numbers, most, came = (part.to_numpy(zero_copy_only=False) for part in state[:3])
        totals = np.cumsum(numbers[groups.order])
        before = totals - numbers[groups.order]
        inside = before - np.repeat(before[groups.starts], groups.lengths)
        highest = np.maximum.reduceat(inside + most[groups.order], groups.starts)
        at = np.arange(len(groups.order))
        lasts = np.maximum.reduceat(np.where(came[groups.order], at, -1), groups.starts)
        values = taken(state[3], groups.order[np.maximum(lasts, 0)])
        found = [by_group(numbers, groups), highest, lasts >= 0]
        return [*map(pa.array, found), values]

    def results(self, state: Sequence[pa.Array]) -> pa.Array:
        numbers, most = (part.to_numpy() for part in state[:2])
        if (most > 1).any():
            raise MillstreamError(
                "SUBQUERY_ROWS",
                f"a subquery that stands for one value has several rows: {self.told}",
                hint="let it have one row, with an aggregate such as MAX, with LIMIT 1, or with a "
                "condition in WHERE; or write a join, if all rows are wanted",
            )
        places = pa.array(np.arange(len(numbers)), mask=numbers <= 0)
        return state[3].take(places)
