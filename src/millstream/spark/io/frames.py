"""Records of a sink as a Spark DataFrame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F

from millstream.common.errors import PlanError
from millstream.common.typeinfo import TypeInformation
from millstream.kernel.records.buffers import DATA, Codec, decode
from millstream.kernel.records.columns import column_schema, record_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def decoded_frame(
    rows: DataFrame,
    edges: Mapping[int, Codec],
    type_info: TypeInformation | None,
    location: Any,
) -> DataFrame:
    """The records that came in on some edges, a row each."""
    from pyspark.sql.pandas.types import from_arrow_schema

    if type_info is None:
        raise PlanError(
            "UNTYPED_FRAME",
            "a DataFrame sink needs a typed stream, and this one's type is unknown",
            location=location,
            hint="declare it: map(..., output_type=Types.ROW_NAMED([...], [...])), or a type hint",
        )
    schema = column_schema(type_info)

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [batch.column(name).to_pylist() for name in ("tag", "header", "payload")]
            for tag, header, payload in zip(*columns, strict=True):
                yield record_batch(decode(header, payload, edges[tag]).values, type_info)

    mine = rows.where((F.col("kind") == DATA) & F.col("tag").isin(*edges))
    return mine.mapInArrow(task, from_arrow_schema(schema))
