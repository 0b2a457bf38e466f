"""Rows of another system in the types of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millstream.common.typeinfo import RowTypeInfo
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.datastream.streams.data_stream import DataStream
from millstream.kernel.steps.columns import ProjectStep
from millstream.plan.tables import add_columns

__all__ = ["fitted_rows"]


@dataclass(frozen=True)
class _Cast:
    """A column in the type that the table declares."""

    place: int
    type: pa.DataType

    def __call__(self, batch: pa.RecordBatch) -> pa.Array:
        found = batch.column(self.place)
        if found.type == self.type:
            return found
        if pa.types.is_decimal(self.type) and pa.types.is_floating(found.type):
            found = found.cast(pa.string())
        # What is too fine for the table goes, as in Flink.
        return found.cast(self.type, safe=not pa.types.is_timestamp(self.type))


def fitted_rows(
    env: StreamExecutionEnvironment, read: DataStream, info: RowTypeInfo
) -> DataStream[Any]:
    """A stream of rows, whose columns are in the order of a table, in the table's types."""
    kinds = [each.to_arrow() for each in info.field_types]
    casts = tuple(_Cast(place, kind) for place, kind in enumerate(kinds))
    step = ProjectStep(casts, info, tuple(range(len(kinds))), "types of the table")
    return DataStream(env, env._graph, add_columns(env._graph, "Types", read._id, step).id)
