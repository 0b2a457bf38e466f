"""What the baselines of Spark's own streaming operators share: session, source and the run."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from contract import PARALLELISM
from data import FIRST_TS

SCHEMA = "key STRING, value LONG, ts LONG"
# Files are read oldest first and each is later than all before it.
WATERMARK_DELAY = "1 second"
SENTINEL_TS = FIRST_TS + 10 * 86_400_000


def add_spark_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--epochs", type=int, default=2)


@contextmanager
def workspace() -> Iterator[Path]:
    """A folder for input, checkpoint and local files that goes when the run ends."""
    with tempfile.TemporaryDirectory(prefix="spark-bench-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def open_session(folder: Path, name: str) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    store = "spark.sql.streaming.stateStore"
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    session = (
        SparkSession.builder.master(f"local[{PARALLELISM}]")
        .appName(name)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.local.dir", str(folder / "local"))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", PARALLELISM)
        .config(f"{store}.providerClass", provider)
        .config(f"{store}.rocksdb.changelogCheckpointing.enabled", "true")
        # To count rows costs Spark a read for each write; Millstream's session does not either.
        .config(f"{store}.rocksdb.trackTotalNumberOfRows", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session


def copy_parts(source: Path, target: Path, *, sentinel: bool) -> int:
    """Copy the parts, with modification times by which Spark orders them, and return their number.

    Spark emits a window when a later batch finds it over, so the last ones would never come. The
    sentinel is one more part, of a single record days after all others. It makes them come; its own
    window does not.
    """
    target.mkdir()
    parts = [shutil.copy(path, target) for path in sorted(source.glob("part-*"))]
    if sentinel:
        parts.append(_write_sentinel(target / "sentinel", Path(parts[0]).suffix))
    first = int(os.path.getmtime(parts[0])) - len(parts)
    for number, path in enumerate(parts):
        os.utime(path, (first + number, first + number))
    return len(parts)


def _write_sentinel(path: Path, suffix: str) -> str:
    path = path.with_suffix(suffix)
    if suffix == ".csv":
        path.write_text(f"sentinel,0,{SENTINEL_TS}\n")
    else:
        import pyarrow as pa
        import pyarrow.parquet as parquet

        row = {"key": ["sentinel"], "value": [0], "ts": [SENTINEL_TS]}
        parquet.write_table(pa.table(row), path)
    return str(path)


def timed_stream(
    session: SparkSession, folder: Path, files: int, epochs: int, source: str = "csv"
) -> DataFrame:
    return (
        session.readStream.schema(SCHEMA)
        .option("maxFilesPerTrigger", -(-files // epochs))
        .format(source)
        .load(str(folder))
        .withColumn("time", F.timestamp_millis("ts"))
        .withWatermark("time", WATERMARK_DELAY)
    )


def run(results: DataFrame, folder: Path) -> tuple[list[Row], int]:
    """What was observed of each batch with results, as ``emitted``, and the number of batches."""
    query = (
        results.writeStream.format("noop")
        .outputMode("append")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    progress = query.recentProgress
    emitted = [report.observedMetrics.get("emitted") for report in progress]
    return [row for row in emitted if row is not None and row["outputs"]], len(progress)


def added_up(emitted: list[Row]) -> tuple[int, int]:
    """The number of outputs and their checksum."""
    return sum(row["outputs"] for row in emitted), sum(row["checksum"] for row in emitted)


def notes(epochs: int, batches: int, source: str = "csv") -> str:
    return (
        f"source {source}, {epochs} epochs with records and {batches - epochs} without, "
        f"local[{PARALLELISM}], RocksDB with changelog checkpointing"
    )
