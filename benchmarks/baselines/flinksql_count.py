"""Flink SQL, without any Python function: running count or sum per key, each update emitted.

The job itself goes into a black hole, which counts nothing. So after the timed run the same query
runs once more, untimed, with TO_CHANGELOG turning its updates into rows of a file.

The source is CSV. Parquet works too, given the flink-sql-parquet and Hadoop client jars, but showed
no gain in a single trial on 200 000 records, most of whose time is the start of the job.
"""

from __future__ import annotations

import sys
from pathlib import Path

import flink_common as flink
from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.version import __version__ as flink_version

from contract import PARALLELISM, parser, report, stopwatch
from data import Dataset, from_arguments

QUERIES = {
    "count": "SELECT `key`, COUNT(*) AS `count` FROM records GROUP BY `key`",
    "rolling-sum": "SELECT `key`, SUM(`value`) AS `count` FROM records GROUP BY `key`",
}


def open_tables(options: dict[str, str], dataset: Dataset, workload: str) -> TableEnvironment:
    # Given at creation, for the memory of the local cluster is fixed before any table is made.
    configuration = Configuration()
    for name, value in options.items():
        configuration.set_string(name, value)
    configuration.set_string("table.exec.mini-batch.enabled", "false")
    settings = EnvironmentSettings.new_instance().in_streaming_mode()
    tables = TableEnvironment.create(settings.with_configuration(configuration).build())
    tables.execute_sql(flink.csv_table("records", dataset))
    tables.execute_sql(f"CREATE TEMPORARY VIEW counts AS {QUERIES[workload]}")
    tables.execute_sql(
        "CREATE TEMPORARY TABLE nowhere (`key` STRING, `count` BIGINT) "
        "WITH ('connector' = 'blackhole')"
    )
    return tables


def count_updates(tables: TableEnvironment, folder: Path, workload: str) -> tuple[int, int]:
    """Number and checksum of the updates that the query emits, update-before images left out."""
    target = folder / "changelog"
    tables.execute_sql(
        "CREATE TEMPORARY TABLE changelog (`op` STRING, `count` BIGINT) WITH "
        f"('connector' = 'filesystem', 'format' = 'csv', 'path' = '{target.as_uri()}')"
    )
    tables.execute_sql(
        "INSERT INTO changelog SELECT `op`, `count` FROM TO_CHANGELOG(input => TABLE counts)"
    ).wait()
    outputs = checksum = 0
    for path in target.rglob("part-*"):
        for line in path.read_text().splitlines():
            op, _, count = line.partition(",")
            if op != "UPDATE_BEFORE":
                outputs += 1
                checksum += int(count)
            elif workload == "rolling-sum":
                checksum -= int(count)
    return outputs, checksum


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--backend", choices=("hashmap", "rocksdb"), default="rocksdb")
    options.add_argument("--workload", choices=tuple(QUERIES), default="count")
    arguments = options.parse_args()
    dataset = from_arguments(arguments)
    workload = arguments.workload
    with flink.workspace() as folder:
        with stopwatch() as startup:
            tables = open_tables(flink.settings(folder, arguments.backend), dataset, workload)
        with stopwatch() as job:
            tables.execute_sql("INSERT INTO nowhere SELECT * FROM counts").wait()
        found = None if arguments.unchecked else count_updates(tables, folder, workload)
    return report(
        dataset,
        system="Flink SQL",
        version=flink_version,
        mode="sql",
        workload=workload,
        startup=startup,
        job=job,
        found=found,
        notes=f"source csv, parallelism {PARALLELISM}, checkpoints {flink.CHECKPOINT_INTERVAL}, "
        f"mini-batch off, backend {arguments.backend}",
    )


if __name__ == "__main__":
    sys.exit(main())
