"""Functions over whole columns: what tables compute, without knowing who has written it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from millstream.kernel.records.order import Ints

__all__ = ["Column", "ColumnFunction", "Constant", "true_pairs"]


@runtime_checkable
class ColumnFunction(Protocol):
    """A function that makes one column of the columns of a table.

    It can be pickled, gives one value for each row of the batch, and has no state: which rows come
    together does not matter. Columns are found by their place; names may occur twice in a joined row.
    """

    def __call__(self, batch: pa.RecordBatch) -> pa.Array: ...


@dataclass(frozen=True)
class Column:
    """The column at a place.

    Examples
    --------
    >>> Column(0)(pa.RecordBatch.from_pydict({"a": [1, 2]})).to_pylist()
    [1, 2]
    """

    place: int

    def __call__(self, batch: pa.RecordBatch) -> pa.Array:
        return batch.column(self.place)


@dataclass(frozen=True)
class Constant:
    """The same value for each row.

    Examples
    --------
    >>> Constant(7, pa.int32())(pa.RecordBatch.from_pydict({"a": [1, 2]})).to_pylist()
    [7, 7]
    """

    value: Any
    type: pa.DataType

    def __call__(self, batch: pa.RecordBatch) -> pa.Array:
        return pa.repeat(pa.scalar(self.value, self.type), batch.num_rows)


def true_pairs(
    condition: ColumnFunction,
    left: tuple[Sequence[pa.Array], Ints],
    right: tuple[Sequence[pa.Array], Ints],
) -> np.ndarray:
    """Whether a condition holds for pairs of rows: the columns of both sides, and places in them.

    A condition with a property ``reads``, the places of its columns, gets no values of the others.
    """
    reads, columns = getattr(condition, "reads", None), list[pa.Array]()
    for arrays, rows in (left, right):
        places = pa.array(rows)
        for array in arrays:
            is_read = reads is None or len(columns) in reads
            columns.append(array.take(places) if is_read else pa.nulls(len(rows), array.type))
    names = [str(place) for place in range(len(columns))]
    verdicts = condition(pa.RecordBatch.from_arrays(columns, names=names)).fill_null(False)
    found: np.ndarray = verdicts.to_numpy(zero_copy_only=False)
    return found
