"""PySpark transformWithState used directly: running count per key, one output for each record.

`--api row` is the Row interface, `--api pandas` is transformWithStateInPandas. The query groups by
the user's key, as Spark's interface asks for, so each key present in an epoch is one call of the
processor with one read and one write of its state.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pandas as pd
import pyspark
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from contract import PARALLELISM, parser, report, stopwatch
from data import Dataset, from_arguments

INPUT = "key STRING, value LONG, ts LONG"
OUTPUT = "key STRING, count LONG"


class RunningCountRows(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.state = handle.getValueState("count", "count LONG")

    def handleInputRows(self, key, rows, timerValues) -> Iterator[Row]:
        held = self.state.get()
        count = held[0] if held else 0
        for _ in rows:
            count += 1
            yield Row(key=key[0], count=count)
        self.state.update((count,))

    def close(self) -> None:
        pass


class RunningCountPandas(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.state = handle.getValueState("count", "count LONG")

    def handleInputRows(self, key, rows, timerValues) -> Iterator[pd.DataFrame]:
        held = self.state.get()
        count = held[0] if held else 0
        for frame in rows:
            end = count + len(frame)
            yield pd.DataFrame({"key": key[0], "count": range(count + 1, end + 1)})
            count = end
        self.state.update((count,))

    def close(self) -> None:
        pass


def open_session(folder: str) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    store = "spark.sql.streaming.stateStore"
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    session = (
        SparkSession.builder.master(f"local[{PARALLELISM}]")
        .appName("tws-count")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.local.dir", f"{folder}/local")
        .config("spark.sql.shuffle.partitions", PARALLELISM)
        .config(f"{store}.providerClass", provider)
        .config(f"{store}.rocksdb.changelogCheckpointing.enabled", "true")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session


def running_counts(session: SparkSession, dataset: Dataset, api: str, epochs: int) -> DataFrame:
    grouped = (
        session.readStream.schema(INPUT)
        .option("maxFilesPerTrigger", -(-dataset.files // epochs))
        .parquet(str(dataset.parquet))
        .groupBy("key")
    )
    if api == "row":
        counts = grouped.transformWithState(RunningCountRows(), OUTPUT, "Update", "None")
    else:
        counts = grouped.transformWithStateInPandas(RunningCountPandas(), OUTPUT, "Update", "None")
    # Counted in the JVM, on rows that are there already.
    return counts.observe(
        "emitted", F.count(F.lit(1)).alias("outputs"), F.sum("count").alias("checksum")
    )


def run(counts: DataFrame, checkpoint: str) -> list[Row]:
    query = (
        counts.writeStream.format("noop")
        .outputMode("update")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    emitted = [progress.observedMetrics.get("emitted") for progress in query.recentProgress]
    return [metrics for metrics in emitted if metrics is not None and metrics["outputs"]]


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--api", choices=("row", "pandas"), default="row")
    options.add_argument("--epochs", type=int, default=4)
    arguments = options.parse_args()
    dataset = from_arguments(arguments)
    with tempfile.TemporaryDirectory(prefix="tws-bench-", ignore_cleanup_errors=True) as folder:
        with stopwatch() as startup:
            session = open_session(folder)
        counts = running_counts(session, dataset, arguments.api, arguments.epochs)
        with stopwatch() as job:
            metrics = run(counts, f"{folder}/checkpoint")
        session.stop()
    return report(
        dataset,
        system="PySpark transformWithState",
        version=pyspark.__version__,
        mode=arguments.api,
        workload="count",
        startup=startup,
        job=job,
        found=(
            sum(row["outputs"] for row in metrics),
            sum(row["checksum"] for row in metrics),
        ),
        notes=f"source parquet, {len(metrics)} epochs, local[{PARALLELISM}], "
        "RocksDB with changelog checkpointing",
    )


if __name__ == "__main__":
    sys.exit(main())
