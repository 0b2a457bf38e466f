"""A loop that has run on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.iteration.kernel.body import Merged

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Ran", "spark_schema"]


@dataclass(frozen=True)
class Ran:
    """The result of a loop, how it has ended, and how long each superstep took."""

    frame: DataFrame
    end: Merged
    steps: Sequence[tuple[Merged, float]]


def spark_schema(schema: pa.Schema) -> Any:
    """Columns of Arrow as Spark knows them, all of which may be null."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(pa.schema([field.with_nullable(True) for field in schema]))
