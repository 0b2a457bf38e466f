"""Data of this process: numpy, pandas and Arrow."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from millstream.ml.frames.base import Frame, Step
from millstream.ml.frames.splitting import parts_of_rows
from millstream.ml.kernel.batch import Batch, matrix_of
from millstream.ml.kernel.kinds import (
    batch_of,
    batch_to_arrow,
    kind_of_arrow,
    kind_of_values,
)
from millstream.ml.linalg import SparseVector, Vector

__all__ = ["ArrayFrame", "ArrowFrame", "PandasFrame"]


class _LocalFrame(Frame):
    """Rows that can be taken by their places."""

    @abstractmethod
    def taken(self, places: NDArray[np.int64]) -> Frame:
        """The rows at some places."""

    def split(self, weights: Sequence[float], seed: int) -> list[Frame]:
        count = len(self.batch())
        parts = parts_of_rows(count, weights, seed)
        return [self.taken(np.flatnonzero(parts == each)) for each in range(len(weights))]

    def smallest(self, name: str, count: int) -> Frame:
        numbers = self.batch([name]).numbers(name)
        return self.taken(np.argsort(numbers, kind="stable")[:count])


class ArrayFrame(_LocalFrame):
    """Arrays of numpy, and sequences. The result of a stage is an array of what it has made.

    Dense vectors become a matrix; sparse vectors stay objects, a matrix of them could be very large.
    """

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    @property
    def names(self) -> list[str]:
        return list(self._batch.columns)

    def kind(self, name: str) -> str:
        return kind_of_values(self._batch.column(name))

    def batch(self, names: Sequence[str] | None = None) -> Batch:
        return self._batch

    def taken(self, places: NDArray[np.int64]) -> Frame:
        return ArrayFrame(self._batch.take(places))

    def mapped(self, step: Step) -> Frame:
        return ArrayFrame(step.applied(self._batch))

    def only(self, names: Sequence[str]) -> Frame:
        return ArrayFrame(Batch({name: self._batch.column(name) for name in names}))

    def made(self, batch: Batch, kinds: Mapping[str, str]) -> Frame:
        return ArrayFrame(batch)

    def given(self, outputs: Sequence[str]) -> Any:
        found = [_as_array(self._batch.column(name)) for name in outputs]
        if len(found) == 1:
            return found[0]
        numbers = all(each.dtype != object for each in found)
        if not numbers:
            return tuple(found)
        return np.hstack([each.reshape(len(each), -1) for each in found])


def _as_array(column: Any) -> np.ndarray[Any, Any]:
    if isinstance(column, np.ndarray):
        return column
    sparse = bool(column) and all(isinstance(each, SparseVector) for each in column)
    if column and not sparse and all(isinstance(each, Vector) for each in column):
        return matrix_of(column)
    if kind_of_values(column) in ("double", "long", "boolean"):
        return np.array(column)
    array = np.empty(len(column), object)
    array[:] = column
    return array


class ArrowFrame(_LocalFrame):
    """A table of Arrow."""

    def __init__(self, table: Any) -> None:
        self._table = table

    @property
    def names(self) -> list[str]:
        return list(self._table.schema.names)

    def kind(self, name: str) -> str:
        return kind_of_arrow(self._table.schema.field(name).type)

    def batch(self, names: Sequence[str] | None = None) -> Batch:
        if names is not None:
            self.require(names)
        return batch_of(self._table if names is None else self._table.select(list(names)))

    def taken(self, places: NDArray[np.int64]) -> Frame:
        return ArrowFrame(self._table.take(places))

    def mapped(self, step: Step) -> Frame:
        before = self.batch()
        after = step.applied(before.with_columns({"": np.arange(len(before))}))
        table = self._table.take(after.columns[""]) if step.drops else self._table
        made = Batch({name: after.columns[name] for name in step.outputs}, len(after))
        added = batch_to_arrow(made, step.outputs)
        for name in step.outputs:
            table = table.append_column(name, added.column(name))
        return ArrowFrame(table)

    def only(self, names: Sequence[str]) -> Frame:
        return ArrowFrame(self._table.select(list(names)))

    def made(self, batch: Batch, kinds: Mapping[str, str]) -> Frame:
        return ArrowFrame(batch_to_arrow(batch, kinds))

    def given(self, outputs: Sequence[str]) -> Any:
        return self._table


class PandasFrame(_LocalFrame):
    """A frame of pandas. A frame without the column of features has them in its numeric columns."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self._frame.columns]

    def kind(self, name: str) -> str:
        return kind_of_values(self.batch([name]).column(name))

    def batch(self, names: Sequence[str] | None = None) -> Batch:
        wanted = self.names if names is None else list(names)
        self.require(wanted)
        columns = {}
        for name in wanted:
            array = self._frame[name].to_numpy()
            numbers = array.dtype.kind in "fiub"
            columns[name] = array if numbers else [_or_none(each) for each in array.tolist()]
        return Batch(columns, len(self._frame))

    def taken(self, places: NDArray[np.int64]) -> Frame:
        return PandasFrame(self._frame.iloc[places])

    def mapped(self, step: Step) -> Frame:
        before = self.batch()
        after = step.applied(before.with_columns({"": np.arange(len(before))}))
        frame = self._frame.iloc[after.columns[""]] if step.drops else self._frame
        return PandasFrame(frame.assign(**{name: after.values(name) for name in step.outputs}))

    def only(self, names: Sequence[str]) -> Frame:
        return PandasFrame(self._frame[list(names)])

    def made(self, batch: Batch, kinds: Mapping[str, str]) -> Frame:
        import pandas as pd

        return PandasFrame(pd.DataFrame({name: batch.values(name) for name in batch.columns}))

    def given(self, outputs: Sequence[str]) -> Any:
        return self._frame


def _or_none(value: Any) -> Any:
    """A value as Python has it: what pandas calls missing is None."""
    if isinstance(value, np.generic):
        value = value.item()
    missing = isinstance(value, float) and value != value
    return None if missing or type(value).__name__ in ("NAType", "NaTType") else value
