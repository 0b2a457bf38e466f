"""DataFrames of Spark: steps run in `mapInArrow`, sums of parts come to the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pickle import loads
from typing import Any

import pyarrow as pa
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from millstream.common.pickling import dumps
from millstream.ml.frames.base import Frame, Step
from millstream.ml.kernel.batch import Batch
from millstream.ml.kernel.kinds import arrow_of, batch_of, batch_to_arrow

__all__ = ["DataFrameFrame"]

_TYPES: dict[str, DataType] = {
    "vector": VectorUDT(),
    "double": DoubleType(),
    "int": IntegerType(),
    "long": LongType(),
    "string": StringType(),
    "boolean": BooleanType(),
    "array<string>": ArrayType(StringType()),
    "array<double>": ArrayType(DoubleType()),
    "array<long>": ArrayType(LongType()),
    "array<vector>": ArrayType(VectorUDT()),
    "array<array<double>>": ArrayType(ArrayType(DoubleType())),
    "array<array<string>>": ArrayType(ArrayType(StringType())),
    "map<string,double>": MapType(StringType(), DoubleType()),
    "map<int,map<double,int>>": MapType(IntegerType(), MapType(DoubleType(), IntegerType())),
    "any": BinaryType(),
}


def _kind_of(type_: DataType) -> str:
    if isinstance(type_, (FloatType, DecimalType)):
        return "double"
    if isinstance(type_, (ByteType, ShortType)):
        return "int"
    simple = type_.simpleString()
    return next((kind for kind, each in _TYPES.items() if each.simpleString() == simple), "any")


def _schema(kinds: Mapping[str, str]) -> StructType:
    return StructType([StructField(name, _TYPES[kind]) for name, kind in kinds.items()])


class DataFrameFrame(Frame):
    """A DataFrame of Spark, and steps that are applied to it in one pass through Python."""

    def __init__(self, source: DataFrame, steps: Sequence[Step] = ()) -> None:
        self._source = source
        self._steps = tuple(steps)

    @cached_property
    def _frame(self) -> DataFrame:
        if not self._steps:
            return self._source
        work, found = _Steps(self._steps, tuple(self._source.columns)), self.names

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                yield work.applied(batch).rename_columns(_places(found))

        made = [field for each in self._steps for field in _schema(each.outputs).fields]
        fields = [*self._source.schema.fields, *made]
        schema = StructType(
            [
                StructField(place, field.dataType, field.nullable)
                for place, field in zip(_places(fields), fields, strict=True)
            ]
        )
        return _numbered(self._source).mapInArrow(run, schema).toDF(*found)

    @property
    def names(self) -> list[str]:
        return [*self._source.columns, *(name for each in self._steps for name in each.outputs)]

    def kind(self, name: str) -> str:
        for step in self._steps:
            if name in step.outputs:
                return step.outputs[name]
        return _kind_of(self._source.schema[name].dataType)

    def batch(self, names: Sequence[str] | None = None) -> Batch:
        if names is not None:
            self.require(names)
        return batch_of(self._selected(names).toArrow())

    def _selected(self, names: Sequence[str] | None) -> DataFrame:
        if names is None:
            return self._frame
        return self._frame.select(*_quoted(names))

    @property
    def dataframe(self) -> DataFrame:
        return self._frame

    def head(self, rows: int, names: Sequence[str]) -> Batch:
        self.require(names)
        return batch_of(self._selected(names).limit(rows).toArrow())

    def only(self, names: Sequence[str]) -> Frame:
        return DataFrameFrame(self._selected(names))

    def reduce(self, partial: Callable[[Batch], Any], names: Sequence[str]) -> list[Any]:
        self.require(names)
        known = list(names)
        # The steps may read any column.
        given = self._source if self._steps else self._selected(names)
        work = _Steps(self._steps, tuple(given.columns))

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                found = work.applied(batch)
                if found.num_rows:
                    state = dumps(partial(batch_of(found.select(known))))
                    yield pa.record_batch([pa.array([state], pa.binary())], ["state"])

        rows = _numbered(given).mapInArrow(run, "state binary").collect()
        return [loads(bytes(row.state)) for row in rows]

    def mapped(self, step: Step) -> Frame:
        return DataFrameFrame(self._source, [*self._steps, step])

    def made(self, batch: Batch, kinds: Mapping[str, str]) -> Frame:
        table = batch_to_arrow(batch, kinds)
        names = table.column_names
        numbered = table.rename_columns(_places(names))
        plain = self._source.sparkSession.createDataFrame(numbered)
        schema = _schema(
            {place: kinds[name] for place, name in zip(_places(names), names, strict=True)}
        )
        # Arrow knows the layout of vectors, and not that they are vectors.
        return DataFrameFrame(plain.mapInArrow(lambda batches: batches, schema).toDF(*names))

    def split(self, weights: Sequence[float], seed: int) -> list[Frame]:
        return [DataFrameFrame(each) for each in self._frame.randomSplit(list(weights), seed)]

    def smallest(self, name: str, count: int) -> Frame:
        (quoted,) = _quoted([name])
        return DataFrameFrame(self._frame.orderBy(quoted).limit(count))

    def given(self, outputs: Sequence[str]) -> Any:
        return self._frame


def _quoted(names: Sequence[str]) -> list[str]:
    return ["`" + name.replace("`", "``") + "`" for name in names]


def _places(columns: Sequence[Any]) -> list[str]:
    return [f"_{at}" for at in range(len(columns))]


def _numbered(frame: DataFrame) -> DataFrame:
    """The same columns with other names: mapInArrow finds none that has a dot in its name."""
    return frame.toDF(*_places(frame.columns))


def queried_frame(frame: DataFrame, statement: str, place: str) -> DataFrame:
    """The result of a query in which a word stands for a frame."""
    query = statement.replace("{", "{{").replace("}", "}}").replace(place, "{this}")
    return frame.sparkSession.sql(query, this=frame)


@dataclass(frozen=True)
class _Steps:
    """Steps one after another, on batches of the columns of some names."""

    steps: tuple[Step, ...]
    names: tuple[str, ...]

    def applied(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        found = batch.rename_columns(list(self.names))
        for step in self.steps:
            found = _applied(step, found)
        return found


def _applied(step: Step, batch: pa.RecordBatch) -> pa.RecordBatch:
    place = "\0row"
    before = batch_of(batch)
    numbered = before.with_columns({place: list(range(len(before)))})
    after = step.applied(numbered)
    kept = batch.take(pa.array(after.columns[place], pa.int64())) if step.drops else batch
    arrays = [arrow_of(after.columns[name], kind) for name, kind in step.outputs.items()]
    names = [*batch.schema.names, *step.outputs]
    return pa.RecordBatch.from_arrays([*kept.columns, *arrays], names)
