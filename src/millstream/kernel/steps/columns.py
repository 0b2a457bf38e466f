"""Steps over columns: projections, filters, and functions that make several rows of one.

A step is described by an object that can be pickled; the plan holds it, and `ColumnsStep` runs it.
Columns come in and columns go out, and each row keeps its event time, its place in the order and its
weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from millstream.common.errors import MillstreamError
from millstream.common.typeinfo import RowTypeInfo, TypeInformation
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo, running
from millstream.kernel.records.columns import Columns, as_list, field_types
from millstream.kernel.records.order import Ints, arrival_step, run_ordinals
from millstream.kernel.steps.stateless import Flow, Step

__all__ = [
    "ChangesStep",
    "ColumnsStep",
    "FlatStep",
    "ProjectStep",
    "RowFilterStep",
    "TableStep",
    "processing_ms",
]

NOW = b"millstream.now_ms"
"""In the metadata of a batch: the processing time, which tests give themselves."""
OfBatch = Callable[[pa.RecordBatch], pa.Array]
"""A `ColumnFunction` of `millstream.kernel.tables.functions`."""


@dataclass
class Made:
    """Rows that a step has made: their columns, and the rows they came from; None: one of each.

    ``weights``: whether they come or are taken back; None: as the rows that they came from.
    """

    arrays: Sequence[pa.Array]
    rows: Ints | None = None
    several: bool = False
    weights: Ints | None = None


def processing_ms(batch: pa.RecordBatch) -> int | None:
    """The processing time of a batch in milliseconds; None if nobody has said it."""
    found = (batch.schema.metadata or {}).get(NOW)
    return None if found is None else int(found)


class TableStep(Protocol):
    """A step without state. ``kept``: where a column of the input is in the output, None if nowhere."""

    @property
    def output(self) -> RowTypeInfo: ...

    def run(self, batch: pa.RecordBatch) -> Made: ...

    def kept(self, place: int) -> int | None: ...

    def describe(self) -> str: ...


@dataclass(frozen=True)
class ProjectStep:
    """New columns of old ones: one function for each column of the output.

    ``copied``: for each column of the output the place of the input's column that it is a copy of, or
    None. It lets operators with the same key behind it do without an exchange.
    """

    functions: tuple[OfBatch, ...]
    output: RowTypeInfo
    copied: tuple[int | None, ...] = ()
    text: str = "project"

    def run(self, batch: pa.RecordBatch) -> Made:
        return Made([function(batch) for function in self.functions])

    def kept(self, place: int) -> int | None:
        return self.copied.index(place) if place in self.copied else None

    def describe(self) -> str:
        return self.text


@dataclass(frozen=True)
class RowFilterStep:
    """The rows for which a condition is true; where it is NULL they go."""

    condition: OfBatch
    output: RowTypeInfo
    text: str = "filter"

    def run(self, batch: pa.RecordBatch) -> Made:
        verdicts = self.condition(batch).fill_null(False)
        rows = np.flatnonzero(verdicts.to_numpy(zero_copy_only=False))
        if len(rows) == batch.num_rows:
            return Made(batch.columns)
        places = pa.array(rows)
        return Made([column.take(places) for column in batch.columns], rows)

    def kept(self, place: int) -> int | None:
        return place

    def describe(self) -> str:
        return self.text


@dataclass(frozen=True)
class FlatStep:
    """Any number of rows for each row: UNNEST, table functions, grouping sets.

    ``function``: gives for each row that it makes the number of the row it comes from, ascending, and
    the columns of all rows that it makes.
    """

    function: Callable[[pa.RecordBatch], tuple[Ints, Sequence[pa.Array]]]
    output: RowTypeInfo
    copied: tuple[int | None, ...] = ()
    text: str = "flat map"

    def run(self, batch: pa.RecordBatch) -> Made:
        rows, arrays = self.function(batch)
        return Made(arrays, np.asarray(rows, np.int64), several=True)

    def kept(self, place: int) -> int | None:
        return self.copied.index(place) if place in self.copied else None

    def describe(self) -> str:
        return self.text


@dataclass(frozen=True)
class ChangesStep:
    """Rows that only come as changes of a table: some of their columns, and a weight for each.

    ``weights``: 1 for a row that comes, -1 for one that is taken back.
    """

    weights: Callable[[pa.RecordBatch], Ints]
    columns: tuple[int, ...]
    output: RowTypeInfo
    text: str = "changes"

    def run(self, batch: pa.RecordBatch) -> Made:
        columns = [batch.column(place) for place in self.columns]
        return Made(columns, weights=self.weights(batch))

    def kept(self, place: int) -> int | None:
        return self.columns.index(place) if place in self.columns else None

    def describe(self) -> str:
        return self.text


class ColumnsStep(Step):
    """Runs a step over columns. ``type_info``: the type of the records, which may come as objects."""

    takes_columns = True
    takes_weights = True
    counts_records = True

    def __init__(
        self,
        info: OperatorInfo,
        step: TableStep,
        type_info: TypeInformation,
        now_ms: Callable[[], int],
    ) -> None:
        super().__init__(info)
        self.step = step
        self._now_ms = now_ms
        self.type_info = type_info
        self._context: KernelRuntimeContext | None = None
        self._names = [str(i) for i in range(len(field_types(type_info)))]
        if isinstance(type_info, RowTypeInfo):
            self._names = type_info.get_field_names()

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        self._context = make_context(self.info, None)
        super().open(make_context)

    def push(self, flow: Flow) -> None:
        now = {NOW: str(self._now_ms())}
        batch = pa.RecordBatch.from_arrays(self._arrays(flow), self._names, metadata=now)
        try:
            with running(self._context):
                made = self.step.run(batch)
        except MillstreamError:
            raise
        except Exception as error:
            raise self.failure(error, batch.slice(0, 1).to_pylist()) from error
        values = Columns(self.step.output, list(made.arrays))
        if made.weights is not None:
            rows = flow.row_numbers()
            keys = flow.base_keys.take(rows)
            self.send(Flow(values, flow.base_ts[rows], keys, None, made.weights))
            return
        if made.rows is None:
            self.send(flow.replace(values))
            return
        rows = flow.row_numbers()[made.rows]
        if not made.several:
            self.send(Flow(values, flow.base_ts, flow.base_keys, rows, flow.base_weights))
            return
        if not len(rows):
            return
        keys = flow.base_keys.take(rows).through(arrival_step(self.info.turn, None))
        keys = keys.extended(run_ordinals(made.rows))
        weights = None if flow.base_weights is None else flow.base_weights[rows]
        self.send(Flow(values, flow.base_ts[rows], keys, None, weights))

    def _arrays(self, flow: Flow) -> list[pa.Array]:
        values = flow.values
        if isinstance(values, Columns) and values.type_info == self.type_info:
            return values.in_own_types()[: len(self._names)]
        return self.type_info.to_arrow_arrays(as_list(values))[: len(self._names)]
