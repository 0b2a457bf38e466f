"""Spark's own windowed aggregation in Structured Streaming, without any Python function.

Append mode: a window's sum comes once, when the watermark has passed its end.
"""

from __future__ import annotations

import sys

import pyspark
import spark_common as spark
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from contract import parser, report, stopwatch
from data import SESSION_GAP_MS, SLIDE_MS, SLIDING_MS, TUMBLING_MS, from_arguments
from expectations import SUM_MODULUS, WEIGHTS

PERIODS = {"tumbling": TUMBLING_MS, "sliding": SLIDE_MS, "session": 1}


def window(workload: str) -> Column:
    if workload == "session":
        return F.session_window("time", f"{SESSION_GAP_MS} milliseconds")
    if workload == "sliding":
        return F.window("time", f"{SLIDING_MS} milliseconds", f"{SLIDE_MS} milliseconds")
    return F.window("time", f"{TUMBLING_MS} milliseconds")


def window_sums(records: DataFrame, workload: str) -> DataFrame:
    grouped = records.groupBy(window(workload).alias("window"), "key")
    sums = grouped.agg(F.sum("value").alias("total"))
    period = F.expr(f"unix_millis(window.end) div {PERIODS[workload]}")
    # Counted in the JVM, on rows that are there already.
    return sums.observe(
        "emitted",
        F.count(F.lit(1)).alias("outputs"),
        F.sum(F.col("total") % SUM_MODULUS * (period % WEIGHTS + 1)).alias("checksum"),
    )


def main() -> int:
    options = parser(__doc__)
    spark.add_spark_arguments(options)
    options.add_argument("--workload", choices=tuple(PERIODS), default="tumbling")
    options.add_argument("--source", choices=("csv", "parquet"), default="csv")
    arguments = options.parse_args()
    dataset, source = from_arguments(arguments), arguments.source
    with spark.workspace() as folder:
        parts = dataset.csv if source == "csv" else dataset.parquet
        files = spark.copy_parts(parts, folder / "input", sentinel=True)
        with stopwatch() as startup:
            session = spark.open_session(folder, arguments.workload)
        records = spark.timed_stream(session, folder / "input", files, arguments.epochs, source)
        sums = window_sums(records, arguments.workload)
        with stopwatch() as job:
            emitted, batches = spark.run(sums, folder)
        session.stop()
    return report(
        dataset,
        system="PySpark",
        version=pyspark.__version__,
        mode="native",
        workload=arguments.workload,
        startup=startup,
        job=job,
        found=spark.added_up(emitted),
        notes=spark.notes(arguments.epochs, batches, source),
    )


if __name__ == "__main__":
    sys.exit(main())
