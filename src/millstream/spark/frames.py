"""Records of a sink as a Spark DataFrame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F

from millstream.common.errors import PlanError
from millstream.common.typeinfo import TypeInformation
from millstream.kernel.buffers import DATA, ArrowCodec, Codec, decode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def column_schema(type_info: TypeInformation | None, location: Any) -> pa.Schema:
    """The columns of a typed stream: its fields, or ``value``."""
    if type_info is None:
        raise PlanError(
            "UNTYPED_FRAME",
            "a DataFrame sink needs a typed stream, and this one's type is unknown",
            location=location,
            hint="declare it: map(..., output_type=Types.ROW_NAMED([...], [...])), or a type hint",
        )
    arrow = type_info.to_arrow()
    if pa.types.is_struct(arrow):
        return pa.schema(list(arrow))
    return pa.schema([("value", arrow)])


def decoded_frame(
    rows: DataFrame,
    edges: Mapping[int, Codec],
    type_info: TypeInformation | None,
    location: Any,
) -> DataFrame:
    """The records that came in on some edges, a row each."""
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = column_schema(type_info, location)
    assert type_info is not None

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [batch.column(name).to_pylist() for name in ("tag", "header", "payload")]
            for tag, header, payload in zip(*columns, strict=True):
                records = decode(header, payload, edges[tag])
                arrays = ArrowCodec(type_info).arrays(records.values)[: len(schema)]
                yield pa.RecordBatch.from_arrays(
                    [array.cast(f.type) for array, f in zip(arrays, schema, strict=True)],
                    schema=schema,
                )

    mine = rows.where((F.col("kind") == DATA) & F.col("tag").isin(*edges))
    return mine.mapInArrow(task, from_arrow_schema(schema))
