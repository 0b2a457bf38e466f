"""Files, read and written by Spark."""

from __future__ import annotations

from typing import Any

from pyspark.errors import AnalysisException

from millstream.common.errors import PlanError
from millstream.common.paths import absolute_path
from millstream.dataset.kernel.files import exists
from millstream.dataset.plan.columns import stored
from millstream.dataset.plan.nodes import ReadLines, ReadParquet
from millstream.dataset.spark.columns import frame_type, stored_frame
from millstream.dataset.spark.engine import Flow, SparkEngine, compiles
from millstream.spark.tasks.failures import readable_errors

__all__ = ["parquet_node", "write_frame"]


@compiles(ReadLines)
def _lines(engine: SparkEngine, node: ReadLines) -> Flow:
    reader = engine.spark.read
    if node.end != "\n":
        reader = reader.option("lineSep", node.end)
    frame = found(node, lambda: reader.text(absolute_path(node.path)))
    return Flow(stored_frame(frame, node.type), node.type, result=node.type)


@compiles(ReadParquet)
def _parquet(engine: SparkEngine, node: ReadParquet) -> Flow:
    frame = node.frame
    if frame is None:
        frame = found(node, lambda: engine.spark.read.parquet(absolute_path(node.path)))
    kind = stored(node.type)
    return Flow(stored_frame(frame, kind), kind, result=node.type)


def parquet_node(engine: SparkEngine, path: str, location: Any) -> ReadParquet:
    """The rows of Parquet files, whose schema is read now."""
    node = ReadParquet(path=path, location=location, name="Parquet")
    node.frame = found(node, lambda: engine.spark.read.parquet(absolute_path(path)))
    node.type = frame_type(node.frame)
    return node


def found(node: Any, read: Any) -> Any:
    """A DataFrame of files, if they exist."""
    try:
        return read()
    except AnalysisException as error:
        if "PATH_NOT_FOUND" not in str(error):
            raise
        raise PlanError(
            "DATASET_PATH", f"there is no file or folder {node.path!r}", location=node.location
        ) from None


def write_frame(frame: Any, sink: Any, kind: str, end: str) -> None:
    """Write a folder of files."""
    writer = frame.write.mode("overwrite" if sink.overwrite else "error")
    try:
        with readable_errors():
            if kind == "parquet":
                writer.parquet(absolute_path(sink.path))
            else:
                writer.text(absolute_path(sink.path), lineSep=end)
    except AnalysisException as error:
        if "ALREADY_EXISTS" not in str(error):
            raise
        raise exists(sink.path, sink.location) from None
