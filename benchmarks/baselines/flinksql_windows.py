"""Flink SQL, without any Python function: sums of event-time windows by its table functions.

The job itself goes into a black hole, which counts nothing. So after the timed run the same query
runs once more, untimed, into files.

The optimizer is left as it is: it adds up each reader's records of a window before it sends them on.
"""

from __future__ import annotations

import sys
from pathlib import Path

import flink_common as flink
from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.version import __version__ as flink_version

from contract import PARALLELISM, parser, report, stopwatch
from data import SESSION_GAP_MS, SLIDE_MS, SLIDING_MS, TUMBLING_MS, Dataset, from_arguments
from expectations import checksum

PERIODS = {"tumbling": TUMBLING_MS, "sliding": SLIDE_MS, "session": 1}


def milliseconds(number: int) -> str:
    return f"INTERVAL '{number // 1000}.{number % 1000:03}' SECOND(7, 3)"


WINDOWS = {
    "tumbling": f"TUMBLE(TABLE records, DESCRIPTOR(`time`), {milliseconds(TUMBLING_MS)})",
    "sliding": f"HOP(TABLE records, DESCRIPTOR(`time`), {milliseconds(SLIDE_MS)}, "
    f"{milliseconds(SLIDING_MS)})",
    "session": "SESSION(TABLE records PARTITION BY `key`, DESCRIPTOR(`time`), "
    f"{milliseconds(SESSION_GAP_MS)})",
}


def open_tables(options: dict[str, str], dataset: Dataset, workload: str) -> TableEnvironment:
    # Given at creation, for the memory of the local cluster is fixed before any table is made.
    configuration = Configuration()
    for name, value in options.items():
        configuration.set_string(name, value)
    configuration.set_string("table.local-time-zone", "UTC")
    settings = EnvironmentSettings.new_instance().in_streaming_mode()
    tables = TableEnvironment.create(settings.with_configuration(configuration).build())
    tables.execute_sql(flink.timed_table("records", dataset))
    tables.execute_sql(
        "CREATE TEMPORARY VIEW sums AS "
        "SELECT `key`, window_start, window_end, SUM(`value`) AS total "
        f"FROM {WINDOWS[workload]} GROUP BY `key`, window_start, window_end"
    )
    tables.execute_sql(
        "CREATE TEMPORARY TABLE nowhere (`key` STRING, window_start TIMESTAMP(3), "
        "window_end TIMESTAMP(3), total BIGINT) WITH ('connector' = 'blackhole')"
    )
    return tables


def check_sums(tables: TableEnvironment, folder: Path, period: int) -> tuple[int, int]:
    """Number and checksum of the sums the query emits."""
    import pyarrow as pa
    import pyarrow.csv as csv

    target = folder / "sums"
    tables.execute_sql(
        "CREATE TEMPORARY TABLE files (window_end TIMESTAMP(3), total BIGINT) WITH "
        f"('connector' = 'filesystem', 'format' = 'csv', 'path' = '{target.as_uri()}')"
    )
    tables.execute_sql("INSERT INTO files SELECT window_end, total FROM sums").wait()
    named = csv.ReadOptions(column_names=["end", "total"])
    typed = csv.ConvertOptions(column_types={"end": pa.timestamp("ms"), "total": pa.int64()})
    outputs = found = 0
    for path in target.rglob("part-*"):
        part = csv.read_csv(path, read_options=named, convert_options=typed)
        ends = part["end"].cast(pa.int64()).to_numpy()
        outputs += part.num_rows
        found += checksum(part["total"].to_numpy(), ends // period)
    return outputs, found


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--workload", choices=tuple(WINDOWS), default="tumbling")
    options.add_argument("--backend", choices=("hashmap", "rocksdb"), default="rocksdb")
    arguments = options.parse_args()
    dataset = from_arguments(arguments)
    with flink.workspace() as folder:
        with stopwatch() as startup:
            tables = open_tables(
                flink.settings(folder, arguments.backend), dataset, arguments.workload
            )
        with stopwatch() as job:
            tables.execute_sql("INSERT INTO nowhere SELECT * FROM sums").wait()
        period = PERIODS[arguments.workload]
        found = None if arguments.unchecked else check_sums(tables, folder, period)
    return report(
        dataset,
        system="Flink SQL",
        version=flink_version,
        mode="sql",
        workload=arguments.workload,
        startup=startup,
        job=job,
        found=found,
        notes=f"source csv lanes, parallelism {PARALLELISM}, "
        f"checkpoints {flink.CHECKPOINT_INTERVAL}, backend {arguments.backend}",
    )


if __name__ == "__main__":
    sys.exit(main())
