"""Spark's own stream-stream join with watermarks and a time range, without any Python function."""

from __future__ import annotations

import sys
from pathlib import Path

import pyspark
import spark_common as spark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contract import parser, report, stopwatch
from data import JOIN_MS, SIDES, from_arguments
from expectations import WEIGHTS


def pairs(session: SparkSession, folder: Path, files: int, epochs: int) -> DataFrame:
    left, right = (
        spark.timed_stream(session, folder / side, files, epochs).select(
            *(F.col(name).alias(f"{side}_{name}") for name in ("key", "value", "time"))
        )
        for side in SIDES
    )
    distance = f"INTERVAL {JOIN_MS / 1000} SECONDS"
    joined = left.join(
        right,
        F.expr(
            "left_key = right_key "
            f"AND right_time BETWEEN left_time - {distance} AND left_time + {distance}"
        ),
    )
    # Counted in the JVM, on rows that are there already.
    return joined.observe(
        "emitted",
        F.count(F.lit(1)).alias("outputs"),
        F.sum(F.expr(f"left_value * (right_value % {WEIGHTS} + 1)")).alias("checksum"),
    )


def main() -> int:
    options = parser(__doc__)
    spark.add_spark_arguments(options)
    options.add_argument("--state-format", default="2", help="version of the join's state")
    arguments = options.parse_args()
    dataset = from_arguments(arguments)
    with spark.workspace() as folder:
        for side in SIDES:
            spark.copy_parts(dataset.sides / side, folder / side, sentinel=False)
        with stopwatch() as startup:
            session = spark.open_session(folder, "interval join")
        session.conf.set("spark.sql.streaming.join.stateFormatVersion", arguments.state_format)
        joined = pairs(session, folder, dataset.files, arguments.epochs)
        with stopwatch() as job:
            emitted, batches = spark.run(joined, folder)
        session.stop()
    return report(
        dataset,
        system="PySpark",
        version=pyspark.__version__,
        mode="native",
        workload="interval-join",
        startup=startup,
        job=job,
        found=spark.added_up(emitted),
        notes=f"{spark.notes(arguments.epochs, batches)}, state format {arguments.state_format}",
    )


if __name__ == "__main__":
    sys.exit(main())
