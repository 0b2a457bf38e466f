"""Functions over whole columns: what tables compute, without knowing who has written it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

__all__ = ["Column", "ColumnFunction", "Constant"]


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
