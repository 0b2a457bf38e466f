"""Tables of a row: UNNEST and table functions, joined with the row that they are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from millstream.kernel.records.order import Ints, run_ordinals
from millstream.kernel.steps.columns import FlatStep
from millstream.kernel.tables.functions import ColumnFunction
from millstream.plan.tables import add_columns
from millstream.table.logical.algebra import Correlate, Unnest
from millstream.table.physical.compiled import compiled, row_info
from millstream.table.physical.user_rows import user_rows
from millstream.table.types.arrow import arrow_type
from millstream.table.types.logical import LogicalType, MapType, MultisetType, RowType

if TYPE_CHECKING:
    from millstream.table.physical.lowering import Lowering

__all__ = ["Correlated", "Elements", "RowsOfRows", "add_correlate"]


class RowsOfRows(Protocol):
    """A function that makes rows of rows: which row each one comes from, ascending, and the columns."""

    def __call__(self, batch: pa.RecordBatch) -> tuple[Ints, list[pa.Array]]: ...


@dataclass(frozen=True)
class Elements:
    """The elements of a collection, one row for each. A missing collection has none.

    ``type``: that of the collection. An element of a multiset comes as often as it counts. A row is its
    fields. As in Flink, a missing row of an array is none; the others keep their numbers.
    """

    collection: ColumnFunction
    type: LogicalType
    with_ordinality: bool = False

    def __call__(self, batch: pa.RecordBatch) -> tuple[Ints, list[pa.Array]]:
        array = self.collection(batch)
        rows, places = _spread(array)
        elements: pa.Array | None = None
        if isinstance(self.type, MapType):
            columns = [array.keys.take(places), array.items.take(places)]
        elif isinstance(self.type, MultisetType):
            counts = array.items.take(places).fill_null(0).to_numpy()
            times = pa.array(np.repeat(np.arange(len(counts)), counts))
            rows = np.repeat(rows, counts)
            columns = _fields(array.keys.take(places).take(times), self.type.element)
        else:
            element = self.type.element  # type: ignore[attr-defined]
            elements = array.values.take(places)
            columns = _fields(elements, element)
        if self.with_ordinality:
            before = run_ordinals(rows)
            numbers = np.zeros(len(rows), np.int32) if before is None else before
            columns.append(pa.array(numbers + 1, pa.int32()))
        if elements is not None and pa.types.is_struct(elements.type) and elements.null_count:
            there = np.flatnonzero(elements.is_valid().to_numpy(zero_copy_only=False))
            rows, columns = rows[there], [each.take(pa.array(there)) for each in columns]
        return rows, columns


def _spread(array: pa.Array) -> tuple[Ints, pa.Array]:
    """For each element of a column of collections its row, and its place among all elements."""
    offsets = array.offsets.to_numpy().astype(np.int64)
    lengths = np.diff(offsets)
    lengths[array.is_null().to_numpy(zero_copy_only=False)] = 0
    rows = np.repeat(np.arange(len(array)), lengths)
    starts = np.cumsum(lengths) - lengths
    return rows, pa.array(np.arange(len(rows)) + np.repeat(offsets[:-1] - starts, lengths))


def _fields(elements: pa.Array, kind: LogicalType) -> list[pa.Array]:
    return list(elements.flatten()) if isinstance(kind, RowType) else [elements]


@dataclass(frozen=True)
class Correlated:
    """Each row with the rows that are made of it.

    ``left``: rows of which none is made, or none that fits the condition, stay with NULL. ``width``: the
    columns of the row; ``types``: those of the columns that are made.
    """

    made: RowsOfRows
    left: bool
    condition: ColumnFunction | None
    width: int
    types: tuple[pa.DataType, ...]

    def __call__(self, batch: pa.RecordBatch) -> tuple[Ints, list[pa.Array]]:
        rows, columns = self.made(batch)
        columns = [_fitted(each, kind) for each, kind in zip(columns, self.types, strict=True)]
        arrays = [*(each.take(pa.array(rows)) for each in batch.columns[: self.width]), *columns]
        if self.condition is not None:
            names = [str(i) for i in range(len(arrays))]
            pairs = pa.RecordBatch.from_arrays(arrays, names=names)
            true = self.condition(pairs).fill_null(False).to_numpy(zero_copy_only=False)
            places = pa.array(np.flatnonzero(true))
            rows, arrays = rows[true], [each.take(places) for each in arrays]
        return self._with_missing(batch, rows, arrays) if self.left else (rows, arrays)

    def _with_missing(
        self, batch: pa.RecordBatch, rows: Ints, arrays: list[pa.Array]
    ) -> tuple[Ints, list[pa.Array]]:
        alone = np.setdiff1d(np.arange(batch.num_rows), rows)
        if not len(alone):
            return rows, arrays
        all_rows = np.concatenate([rows, alone])
        order = np.argsort(all_rows, kind="stable")
        all_rows, places = all_rows[order], pa.array(order)
        own = [each.take(pa.array(all_rows)) for each in batch.columns[: self.width]]
        blank = [pa.nulls(len(alone), kind) for kind in self.types]
        made = [
            pa.concat_arrays([one, other]).take(places)
            for one, other in zip(arrays[self.width :], blank, strict=True)
        ]
        return all_rows, [*own, *made]


def _fitted(array: pa.Array, kind: pa.DataType) -> pa.Array:
    return array if array.type == kind else array.cast(kind)


def add_correlate(lowering: Lowering, relation: Correlate) -> int:
    """Add the rows that a function makes of each row."""
    width = len(relation.input.row_type.fields)
    function = relation.function
    made: RowsOfRows
    if isinstance(function, Unnest):
        collection = compiled(function.collection, lowering.zone)
        made = Elements(collection, function.collection.type, function.with_ordinality)
        text = f"unnest {function.collection}"
    else:
        made = user_rows(function, lowering.zone)
        text = f"table function {function.function}"
    types = tuple(arrow_type(each.type) for each in relation.row_type.fields[width:])
    condition = relation.condition
    step = FlatStep(
        Correlated(
            made,
            relation.kind == "left",
            None if condition is None else compiled(condition, lowering.zone),
            width,
            types,
        ),
        row_info(relation.row_type),
        (*range(width), *(None for _ in types)),
        text,
    )
    return add_columns(lowering.graph, "Correlate", lowering.node(relation.input), step).id
