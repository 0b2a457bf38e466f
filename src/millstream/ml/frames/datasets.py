"""DataSets: records are rows, tuples with fields f0, f1 ..., or single values."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any

import numpy as np

from millstream.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation, Types
from millstream.common.types import Row
from millstream.dataset import DataSet
from millstream.ml.frames.base import Frame, Step
from millstream.ml.frames.splitting import bounds_of
from millstream.ml.frames.tables import columns_of_rows
from millstream.ml.kernel.batch import Batch, rows_of
from millstream.ml.kernel.kinds import kind_of_info, kind_of_values, type_info_of
from millstream.ml.labeled import LabeledVector

__all__ = ["DataSetFrame"]

_ROWS = 4096
_ANY = Types.PICKLED_BYTE_ARRAY()


class DataSetFrame(Frame):
    """A DataSet. Elements that are no rows or tuples are one column, with the name of the feature."""

    def __init__(self, data: DataSet, value: str) -> None:
        self._data = data
        self._value = value
        self._sample: Any = None
        self._names, self._types = self._fields()

    @staticmethod
    def of(data: DataSet, features: Sequence[str], label: str | None) -> DataSetFrame:
        """The data with the names that a stage reads, where tuples have none.

        A `LabeledVector` is the label and the features; tuples for a stage that reads several columns
        have them in this order.
        """
        frame = DataSetFrame(data, features[0] if len(features) == 1 else "value")
        places = [f"f{at}" for at in range(len(frame.names))]
        if frame.names != places:
            return frame
        names = places
        if len(places) == 2 and isinstance(frame._first(), LabeledVector):
            names = [label or "label", frame._value]
        elif len(features) > 1 and not set(features) & set(places):
            names = [*features[: len(places)], *places[len(features) :]]
        return frame if names == places else frame._renamed(names)

    def _renamed(self, names: list[str]) -> DataSetFrame:
        info = Types.ROW_NAMED(names, self._types)
        return DataSetFrame(self._data.map(_Fields(range(len(names)), names), info), self._value)

    def _fields(self) -> tuple[list[str], list[TypeInformation]]:
        info = self._data.get_type()
        if isinstance(info, RowTypeInfo):
            return info.get_field_names(), info.get_field_types()
        if isinstance(info, TupleTypeInfo):
            types = info.get_field_types()
            return [f"f{at}" for at in range(len(types))], types
        first = self._first() if info == _ANY else None
        if isinstance(first, Row):
            given = getattr(first, "_fields", None)
            names = list(given) if given else [f"f{at}" for at in range(len(first))]
            return names, [_ANY] * len(names)
        if isinstance(first, tuple):
            return [f"f{at}" for at in range(len(first))], [_ANY] * len(first)
        return [self._value], [info]

    def _first(self) -> Any:
        """An element, to see how elements look like whose type is not known."""
        if self._sample is None:
            self._sample = next(iter(self._data.first(1).collect()), None)
        return self._sample

    @property
    def names(self) -> list[str]:
        return list(self._names)

    def kind(self, name: str) -> str:
        at = self._names.index(name)
        if self._types[at] != _ANY:
            return kind_of_info(self._types[at])
        first = self._first()
        value = first[at] if isinstance(first, (tuple, Row)) else first
        return kind_of_values([value])

    def batch(self, names: Sequence[str] | None = None) -> Batch:
        if names is not None:
            self.require(names)
        return _batch_of(self._data.collect(), self._names)

    def reduce(self, partial: Callable[[Batch], Any], names: Sequence[str]) -> list[Any]:
        self.require(names)
        return list(self._data.map_partition(_Partials(partial, self._names), _ANY).collect())

    def mapped(self, step: Step) -> Frame:
        names = [*self._names, *step.outputs]
        types = [*self._types, *map(type_info_of, step.outputs.values())]
        info = Types.ROW_NAMED(names, types)
        made = self._data.map_partition(_Rows(step, self._names), info)
        return DataSetFrame(made, self._value)

    def only(self, names: Sequence[str]) -> Frame:
        places = [self._names.index(name) for name in names]
        info = Types.ROW_NAMED(list(names), [self._types[at] for at in places])
        return DataSetFrame(self._data.map(_Fields(places, names), info), self._value)

    def made(self, batch: Batch, kinds: Mapping[str, str]) -> Frame:
        names = list(batch.columns)
        info = Types.ROW_NAMED(names, [type_info_of(kinds[name]) for name in names])
        rows = [_row(values, names) for values in rows_of(batch)]
        env = self._data.get_execution_environment()
        return DataSetFrame(env.from_collection(rows, info), self._value)

    def split(self, weights: Sequence[float], seed: int) -> list[Frame]:
        numbered = self._data.zip_with_index()
        info = self._data.get_type()
        bounds = bounds_of(weights)
        return [
            DataSetFrame(
                numbered.filter(_InPart(part, bounds, seed)).map(_second, info), self._value
            )
            for part in range(len(weights))
        ]

    def smallest(self, name: str, count: int) -> Frame:
        parts = self.reduce(lambda batch: _smallest(batch, name, count), [name])
        found = _smallest(Batch.joined(parts), name, count) if parts else self.batch()
        return self.made(found, {each: self.kind(each) for each in self._names})

    def given(self, outputs: Sequence[str]) -> Any:
        return self._data


def _batch_of(elements: Sequence[Any], names: Sequence[str]) -> Batch:
    rows = [tuple(e) if isinstance(e, (tuple, Row)) else (e,) for e in elements]
    return columns_of_rows(rows, names)


def _batches(elements: Iterable[Any], names: Sequence[str]) -> Iterator[Batch]:
    """Some thousand elements at a time."""
    rest = iter(elements)
    while chunk := list(islice(rest, _ROWS)):
        yield _batch_of(chunk, names)


def _row(values: Sequence[Any], names: Sequence[str]) -> Row:
    found = Row(*values)
    found.set_field_names(list(names))
    return found


class _Partials:
    """The results of a function of batches."""

    def __init__(self, partial: Callable[[Batch], Any], names: Sequence[str]) -> None:
        self._partial = partial
        self._names = names

    def __call__(self, elements: Iterable[Any]) -> Iterator[Any]:
        for batch in _batches(elements, self._names):
            yield self._partial(batch)


class _Rows:
    """The rows that a step makes."""

    def __init__(self, step: Step, names: Sequence[str]) -> None:
        self._step = step
        self._names = names

    def __call__(self, elements: Iterable[Any]) -> Iterator[Row]:
        names = [*self._names, *self._step.outputs]
        for batch in _batches(elements, self._names):
            for values in rows_of(self._step.applied(batch), names):
                yield _row(values, names)


class _Fields:
    """Some fields of an element."""

    def __init__(self, places: Sequence[int], names: Sequence[str]) -> None:
        self._places = places
        self._names = names

    def __call__(self, element: Any) -> Row:
        values = tuple(element) if isinstance(element, (tuple, Row)) else (element,)
        return _row([values[at] for at in self._places], self._names)


class _InPart:
    """Whether an element with its number is in a part."""

    def __init__(self, part: int, bounds: list[float], seed: int) -> None:
        self._part = part
        self._bounds = bounds
        self._seed = seed

    def __call__(self, numbered: Any) -> bool:
        drawn = blake2b(f"{self._seed} {numbered[0]}".encode(), digest_size=8).digest()
        return bisect_right(self._bounds, int.from_bytes(drawn, "big") / 2**64) == self._part


def _second(numbered: Any) -> Any:
    return numbered[1]


def _smallest(batch: Batch, name: str, count: int) -> Batch:
    return batch.take(np.argsort(batch.numbers(name), kind="stable")[:count])
