"""Partitions of an Iceberg table, for rows that are to be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from millstream.common.errors import PlanError
from millstream.connectors.sink import SinkContext

__all__ = ["partition_keys"]


def partition_keys(
    table: Any, target: pa.Schema, context: SinkContext
) -> Callable[[pa.Table], list[pa.Array]]:
    """Columns that divide rows into files: a file has one value of each partition field."""
    schema, parts = table.schema(), []
    for part in table.spec().fields:
        name = schema.find_column_name(part.source_id)
        if name not in target.names or not part.transform.preserves_order:
            raise PlanError(
                "LAKE_TABLE",
                f"the table of sink {context.sink!r} is partitioned by {part.name} "
                f"({part.transform} of {name!r}), which a sink cannot write to",
                location=context.location,
                hint="partition by columns of the stream, or by their year, month, day or hour",
            )
        parts.append((name, part.transform.transform(schema.find_type(part.source_id))))
    return lambda rows: [_transformed(rows[name].combine_chunks(), one) for name, one in parts]


def _transformed(column: pa.Array, transform: Callable[[Any], Any]) -> pa.Array:
    """The partition of each value; each different value is asked for once."""
    encoded = column.dictionary_encode(null_encoding="encode")
    values = encoded.dictionary
    if pa.types.is_temporal(values.type):
        values = values.cast(pa.int32() if values.type.bit_width == 32 else pa.int64())
    found = [None if value is None else transform(value) for value in values.to_pylist()]
    return pa.array(found).take(encoded.indices)
