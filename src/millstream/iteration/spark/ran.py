"""A loop that has run on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.common.time import to_millis
from millstream.iteration.kernel.body import Merged
from millstream.iteration.kernel.resident import Rhythm
from millstream.iteration.program import LoopJob

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Ran", "rhythm_of", "spark_schema"]


@dataclass(frozen=True)
class Ran:
    """The result of a loop, how it has ended, and how long each superstep took."""

    frame: DataFrame
    end: Merged
    steps: Sequence[tuple[Merged, float]]


def rhythm_of(job: LoopJob) -> Rhythm:
    """When a loop has its snapshots."""
    options = job.options
    interval = to_millis(options.snapshot_interval, "the interval of snapshots")
    return Rhythm(options.snapshot_every, interval / 1000)


def spark_schema(schema: pa.Schema) -> Any:
    """Columns of Arrow as Spark knows them, all of which may be null."""
    from pyspark.sql.pandas.types import from_arrow_schema

    nullable = pa.schema([field.with_nullable(True) for field in schema])
    # A time without a zone stays one.
    return from_arrow_schema(nullable, prefer_timestamp_ntz=True)
