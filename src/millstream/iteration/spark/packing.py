"""Inputs of a loop on their way to its tasks: columns in one cell, with the task that owns them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from millstream.common.errors import PlanError
from millstream.iteration.kernel.owners import owners
from millstream.iteration.program import LoopInput, LoopJob
from millstream.spark.tasks.worker import ProgramRef, errors_that_travel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["CONTROL", "PACKED", "Unpacked", "input_schemas", "packed_inputs", "split", "unpacked"]

PACKED = pa.schema({"task": pa.int32(), "input": pa.string(), "rows": pa.binary()})
"""Rows of an input that belong to a task, as an Arrow stream."""

PACKED_SQL = "task int, input string, rows binary"
CONTROL = ""
"""The input of the row that every task gets, so that no task is without rows."""

_MOST_ROWS = 1 << 18
"""Of a table: a cell of Spark is best far below its limit of 2 GB."""


def packed_inputs(spark: SparkSession, job: LoopJob, tasks: int) -> DataFrame:
    """All inputs, each row at the partition of the task that it belongs to."""
    from pyspark.sql import functions as F

    control = spark.range(0, tasks, 1, 1).select(
        F.col("id").cast("int").alias("task"),
        F.lit(CONTROL).alias("input"),
        F.lit(b"").alias("rows"),
    )
    frames = [_packed(spark, job, name, tasks) for name in job.inputs]
    together = reduce(lambda left, right: left.union(right), frames, control)
    routed: DataFrame = together.repartitionById(tasks, together["task"])
    return routed


def _packed(spark: SparkSession, job: LoopJob, name: str, tasks: int) -> DataFrame:
    given = job.inputs[name]
    if isinstance(given.data, pa.Table):
        begins = range(0, given.data.num_rows, _MOST_ROWS)
        slices = [(begin, given.data.slice(begin, _MOST_ROWS)) for begin in begins]
        batches = [
            cells for begin, rows in slices for cells in split(name, given, rows, tasks, begin)
        ]
        return spark.createDataFrame(pa.Table.from_batches(batches, PACKED), PACKED_SQL)
    if not hasattr(given.data, "mapInArrow"):
        raise PlanError(
            "LOOP_INPUT",
            f"input {name!r} of loop {job.name!r} is a {type(given.data).__name__}: on Spark it must be "
            "a DataFrame or a pyarrow.Table",
            location=job.location,
        )
    frame: DataFrame = given.data
    return frame.mapInArrow(_Packing(name, given.key, given.broadcast, tasks), PACKED_SQL)


def input_schemas(job: LoopJob) -> dict[str, pa.Schema]:
    """The columns of each input, for tasks that have no row of it."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return {
        name: given.data.schema
        if isinstance(given.data, pa.Table)
        else to_arrow_schema(given.data.schema, timezone="UTC")
        for name, given in job.inputs.items()
    }


@dataclass(frozen=True)
class _Packing:
    """The task of Spark that packs a part of an input."""

    name: str
    key: str | None
    broadcast: bool
    tasks: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        at = 0 if context is None else context.partitionId()
        ref = ProgramRef("loop-input", b"", 0)
        with errors_that_travel(ref):
            given = LoopInput(None, self.key, self.broadcast)
            for batch in batches:
                if batch.num_rows:
                    table = pa.Table.from_batches([batch])
                    yield from split(self.name, given, table, self.tasks, at)
                    at += batch.num_rows


def split(
    name: str, given: LoopInput, table: pa.Table, tasks: int, first: int
) -> Iterator[pa.RecordBatch]:
    """The rows of each task."""
    if given.broadcast:
        yield _cells(range(tasks), name, [_stream(table)] * tasks)
        return
    if given.key is None:
        where = (np.arange(table.num_rows) + first) % tasks
    else:
        where = owners(table[given.key], tasks)
    order = np.argsort(where, kind="stable")
    ends = np.cumsum(np.bincount(where, minlength=tasks))
    rows = table if tasks == 1 else table.take(order)
    begin = 0
    for task, end in enumerate(ends.tolist()):
        if end > begin:
            yield _cells([task], name, [_stream(rows.slice(begin, end - begin))])
        begin = end


def _cells(tasks: Iterable[int], name: str, rows: list[bytes]) -> pa.RecordBatch:
    which = pa.array(tasks, pa.int32())
    return pa.record_batch([which, [name] * len(which), pa.array(rows, pa.binary())], schema=PACKED)


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


@dataclass
class Unpacked:
    """The inputs of one task."""

    inputs: dict[str, pa.Table]
    broadcasts: dict[str, pa.Table]
    size: int = 0


def unpacked(
    batches: Iterable[pa.RecordBatch], schemas: Mapping[str, pa.Schema], broadcasts: frozenset[str]
) -> Unpacked:
    """The inputs of a task, from its packed rows."""
    parts: dict[str, list[pa.Table]] = {name: [] for name in schemas}
    size = 0
    for batch in batches:
        for name, cell in zip(batch.column("input").to_pylist(), batch.column("rows"), strict=True):
            if name != CONTROL:
                buffer = cell.as_buffer()
                size += buffer.size
                parts[name].append(pa.ipc.open_stream(buffer).read_all())
    tables = {
        name: pa.concat_tables(part) if part else schemas[name].empty_table()
        for name, part in parts.items()
    }
    own = {name: table for name, table in tables.items() if name not in broadcasts}
    everyone = {name: table for name, table in tables.items() if name in broadcasts}
    return Unpacked(own, everyone, size)
