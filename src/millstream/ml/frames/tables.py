"""Tables and streams: rows are transformed in the job that reads them, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from millstream.common.typeinfo import RowTypeInfo, TypeInformation, Types
from millstream.common.types import Row
from millstream.ml.errors import ml_error
from millstream.ml.frames.base import Frame, Step, planning
from millstream.ml.frames.splitting import split_stream
from millstream.ml.kernel.batch import Batch, Column
from millstream.ml.kernel.kinds import AnyTypeInfo, kind_of_info, type_info_of
from millstream.ml.linalg import (
    DenseMatrixTypeInfo,
    DenseVectorTypeInfo,
    SparseVectorTypeInfo,
    VectorTypeInfo,
)
from millstream.table.expressions import col
from millstream.table.table import Table
from millstream.table.types.logical import ArrayType
from millstream.table.types.type_infos import info_of_type

__all__ = ["StreamFrame", "TableFrame", "TableHome", "columns_of_rows"]

_RAW: dict[str, TypeInformation] = {
    each.class_name: each
    for each in (
        VectorTypeInfo(),
        DenseVectorTypeInfo(),
        SparseVectorTypeInfo(),
        DenseMatrixTypeInfo(),
        AnyTypeInfo(),
    )
}


def columns_of_rows(rows: Sequence[Any], names: Sequence[str]) -> Batch:
    """The columns of some rows."""
    parts = zip(*rows, strict=True) if rows else ((),) * len(names)
    columns = {name: _column(list(values)) for name, values in zip(names, parts, strict=True)}
    return Batch(columns, len(rows))


def _column(values: list[Any]) -> Column:
    classes = set(map(type, values))
    if classes and classes <= {int, float, bool} and len(classes) == 1:
        return np.array(values) if classes != {int} or _small(values) else values
    return np.array(values, np.float64) if classes == {int, float} else values


def _small(values: list[int]) -> bool:
    return all(-(2**63) <= each < 2**63 for each in values)


@dataclass(frozen=True)
class _RowStep:
    """A step for streams: a row in, at most one row out."""

    step: Step
    names: tuple[str, ...]

    def __call__(self, row: Any) -> Iterator[Row]:
        after = self.step.applied(columns_of_rows([tuple(row)], self.names))
        if len(after):
            made = [after.values(name)[0] for name in self.step.outputs]
            found = Row(*row, *made)
            found.set_field_names([*self.names, *self.step.outputs])
            yield found


@dataclass(frozen=True)
class _Chosen:
    """Some of the fields of rows."""

    places: tuple[int, ...]
    names: tuple[str, ...]

    def __call__(self, row: Any) -> Row:
        found = Row(*(row[at] for at in self.places))
        found.set_field_names([*self.names])
        return found


class StreamFrame(Frame):
    """A stream of rows. Nothing is fitted on it; what a model makes of its rows is a stream."""

    def __init__(self, stream: Any) -> None:
        info = stream.get_type()
        if not isinstance(info, RowTypeInfo):
            message = f"a stream of {info} has no named columns"
            hint = "declare them: output_type=Types.ROW_NAMED([...], [...])"
            raise ml_error("ML_INPUT_KIND", message, hint)
        self._stream = stream
        self._info: RowTypeInfo = info

    @property
    def names(self) -> list[str]:
        return self._info.get_field_names()

    def kind(self, name: str) -> str:
        return _kind_of(self._info, name)

    def batch(self, names: Sequence[str] | None = None) -> Batch:
        hint = "fit on a Table, a DataSet or a DataFrame, or use an online algorithm"
        raise ml_error("ML_INPUT_KIND", "a DataStream cannot be read as a whole", hint)

    def mapped(self, step: Step) -> Frame:
        return StreamFrame(_mapped(self._stream, self._info, step))

    def only(self, names: Sequence[str]) -> Frame:
        all_names, types = self._info.get_field_names(), self._info.get_field_types()
        places = [all_names.index(name) for name in names]
        info = Types.ROW_NAMED(list(names), [types[at] for at in places])
        return StreamFrame(self._stream.map(_Chosen(tuple(places), tuple(names)), info))

    def made(self, batch: Batch, kinds: Mapping[str, str]) -> Frame:
        raise ml_error(
            "ML_INPUT_KIND", "this operator has results for whole tables, not for streams"
        )

    def split(self, weights: Sequence[float], seed: int) -> list[Frame]:
        parts = split_stream(self._stream, self._info, weights, seed)
        return [StreamFrame(each) for each in parts]

    def smallest(self, name: str, count: int) -> Frame:
        raise ml_error("ML_INPUT_KIND", "a stream has no smallest rows", "give a table or a frame")

    def given(self, outputs: Sequence[str]) -> Any:
        return self._stream


def _kind_of(info: RowTypeInfo, name: str) -> str:
    return kind_of_info(info.get_field_types()[info.get_field_names().index(name)])


def _mapped(stream: Any, info: RowTypeInfo, step: Step) -> Any:
    names = [*info.get_field_names(), *step.outputs]
    types = [*info.get_field_types(), *map(type_info_of, step.outputs.values())]
    function = _RowStep(step, tuple(info.get_field_names()))
    with planning():
        return stream.flat_map(function, Types.ROW_NAMED(names, types))


class TableFrame(Frame):
    """A table. To fit on it, its rows are collected; what is made of it is a query that runs later."""

    later = True

    def __init__(self, table: Table) -> None:
        self._table = table
        self._batch: Batch | None = None

    @property
    def names(self) -> list[str]:
        return [each.name for each in self._table.relation.row_type.fields]

    def kind(self, name: str) -> str:
        return _kind_of(self._info(), name)

    @property
    def _env(self) -> Any:
        return self._table._t_env

    def batch(self, names: Sequence[str] | None = None) -> Batch:
        if names is not None:
            self.require(names)
            if self._batch is None and set(names) < set(self.names):
                return self.only(list(dict.fromkeys(names))).batch()
        if self._batch is None:
            self._batch = columns_of_rows([*self._env.final_rows(self._table)], self.names)
        return self._batch

    def mapped(self, step: Step) -> Frame:
        stream = self._env.to_data_stream(self._table)
        return TableFrame(self._env.from_data_stream(_mapped(stream, self._info(), step)))

    def _info(self) -> RowTypeInfo:
        fields = self._table.relation.row_type.fields
        return RowTypeInfo([_info_of(each.type) for each in fields], [each.name for each in fields])

    def only(self, names: Sequence[str]) -> Frame:
        return TableFrame(self._table.select(*map(col, names)))

    def made(self, batch: Batch, kinds: Mapping[str, str]) -> Frame:
        names = list(batch.columns)
        return self._of_rows(
            batch, Types.ROW_NAMED(names, [type_info_of(kinds[name]) for name in names])
        )

    def _of_rows(self, batch: Batch, info: TypeInformation) -> Frame:
        columns = [batch.values(name) for name in batch.columns]
        rows = [Row(*values) for values in zip(*columns, strict=True)]
        env = self._env._statements.env
        return TableFrame(self._env.from_data_stream(env.from_collection(rows, info)))

    def split(self, weights: Sequence[float], seed: int) -> list[Frame]:
        stream = self._env.to_data_stream(self._table)
        parts = split_stream(stream, self._info(), weights, seed)
        return [TableFrame(self._env.from_data_stream(each)) for each in parts]

    def smallest(self, name: str, count: int) -> Frame:
        batch = self.batch()
        places = np.argsort(batch.numbers(name), kind="stable")[:count]
        return self._of_rows(batch.take(places), self._info())

    def given(self, outputs: Sequence[str]) -> Any:
        return self._table


class TableHome(TableFrame):
    """An environment where tables are made: those of the data of a model that was loaded there."""

    def __init__(self, t_env: Any) -> None:
        self._t_env = t_env

    @property
    def _env(self) -> Any:
        return self._t_env


def _info_of(type_: Any) -> TypeInformation:
    if isinstance(type_, ArrayType):
        return Types.LIST(_info_of(type_.element))
    return _RAW.get(getattr(type_, "class_name", ""), info_of_type(type_))
