"""The rows of VALUES: expressions without columns, computed when the plan is made."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from millstream.table.logical.algebra import Values
from millstream.table.physical.compiled import Compiled
from millstream.table.types.arrow import arrow_type

__all__ = ["literal_rows"]

_ONE_ROW = pa.RecordBatch.from_arrays([pa.nulls(1)], names=["nothing"])


def literal_rows(relation: Values, zone: str = "UTC") -> list[tuple[Any, ...]]:
    """The values of the rows, in Python, as the columns of the table have them."""
    types = [arrow_type(each.type) for each in relation.row_type.fields]
    return [
        tuple(
            Compiled(each, zone)(_ONE_ROW).cast(kind)[0].as_py()
            for each, kind in zip(row, types, strict=True)
        )
        for row in relation.rows
    ]
