"""Streaming sources that Spark's checkpoint knows by name, not by their place in the query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.kernel.keys.hashing import stable_hash

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader

BY_NAME = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
"""With this setting all sources of a query must have names; a user's DataFrame may have none."""


def stream_reader(spark: SparkSession, uid: str) -> DataStreamReader:
    """A reader of a streaming source; its name in the checkpoint comes from its uid."""
    if spark.conf.get(BY_NAME, "false") != "true":
        return spark.readStream
    return spark.readStream.name(source_name(uid))


def source_name(uid: str) -> str:
    """The name of a source in Spark's checkpoint: letters, digits and underscores only."""
    return f"source_{stable_hash(uid):08x}"
