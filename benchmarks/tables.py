"""SQL in Millstream, in Flink (RocksDB and hashmap), and for the tumbling sum in native Spark.

    python benchmarks/tables.py [--records FEW MANY] [--keys N] [--only NAME ...] [--repeats N]

Writes a section for RESULTS.md to .bench/tables.md; `run.py` appends it. All systems read the same CSV
files and write nothing; ratios are those of processor seconds in one run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from data import DEFAULT_CACHE, TUMBLING_MS, Dataset, ensure
from sql_compare import HERE, SYSTEMS, Job, Runner, compared, rendered, run_child

COLUMNS = "`key` STRING, `value` BIGINT, `ts` BIGINT"
TIMED = (
    f"{COLUMNS}, `time` AS TO_TIMESTAMP_LTZ(`ts`, 3), "
    "WATERMARK FOR `time` AS `time` - INTERVAL '1' SECOND"
)
SPAN = f"INTERVAL '{TUMBLING_MS // 1000}.{TUMBLING_MS % 1000:03}' SECOND(7, 3)"
QUERIES = {
    "count and sum by key": (
        "`key` STRING, n BIGINT, s BIGINT",
        "SELECT `key`, COUNT(*), SUM(`value`) FROM records GROUP BY `key`",
    ),
    "tumbling sum": (
        "`key` STRING, window_start TIMESTAMP(3), s BIGINT",
        "SELECT `key`, window_start, SUM(`value`) "
        f"FROM TABLE(TUMBLE(TABLE timed, DESCRIPTOR(`time`), {SPAN})) "
        "GROUP BY `key`, window_start, window_end",
    ),
    "join": (
        "`key` STRING, a BIGINT, b BIGINT",
        "SELECT l.`key`, l.`value`, r.n FROM records AS l "
        "JOIN (SELECT `key`, MAX(`value`) AS n FROM records GROUP BY `key`) AS r ON l.`key` = r.`key`",
    ),
    "top 3 by key": (
        "`key` STRING, v BIGINT",
        "SELECT `key`, `value` FROM (SELECT `key`, `value`, ROW_NUMBER() OVER "
        "(PARTITION BY `key` ORDER BY `value` DESC) AS n FROM records) WHERE n <= 3",
    ),
}


def job(name: str, dataset: Dataset) -> Job:
    """A query over the files of a data set, into nothing."""
    columns, query = QUERIES[name]
    files = "WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '{}')"
    statements = (
        f"CREATE TABLE records ({COLUMNS}) {files.format(dataset.csv.as_uri())}",
        f"CREATE TABLE timed ({TIMED}) {files.format(dataset.lanes.as_uri())}",
        f"CREATE TABLE nowhere ({columns}) WITH ('connector' = 'blackhole')",
    )
    return Job(name, statements, f"INSERT INTO nowhere {query}")


def native_spark(dataset: Dataset, runner: Runner) -> float | None:
    """The processor seconds of Spark's own tumbling sum."""
    script = HERE / "baselines/pyspark_windows.py"
    line = [sys.executable, str(script), "--workload", "tumbling", "--unchecked"]
    line += ["--records", str(dataset.records), "--keys", str(dataset.keys)]
    line += ["--files", str(dataset.files), "--cache", str(runner.cache)]
    with tempfile.TemporaryDirectory(prefix="spark-", dir=runner.cache) as name:
        found = run_child(line, Path(name), runner.time_limit)
    return None if found is None else found["job_cpu"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs=2, default=(2_000_000, 10_000_000))
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--time-limit", type=float, default=1800, help="seconds for one run")
    parser.add_argument("--only", nargs="+", choices=tuple(QUERIES), default=tuple(QUERIES))
    parser.add_argument("--systems", nargs="+", choices=tuple(SYSTEMS), default=tuple(SYSTEMS))
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE)
    parser.add_argument("--flink-env", help="an existing virtual environment with PyFlink")
    arguments = parser.parse_args()
    runner = Runner(arguments.cache, arguments.repeats, arguments.time_limit, arguments.flink_env)
    sizes = tuple(arguments.records)
    few, many = (ensure(size, arguments.keys, arguments.files, runner.cache) for size in sizes)
    jobs = [(job(name, few), job(name, many)) for name in arguments.only]
    results = compared(runner, jobs, arguments.systems)
    if "tumbling sum" in results:
        seconds = native_spark(few, runner), native_spark(many, runner)
        print(f"tumbling sum, Spark: {seconds} s of processor time", flush=True)
        if None not in seconds:
            results["tumbling sum"]["Spark"] = seconds
    text = rendered(
        "SQL",
        f"{arguments.keys:,} keys, CSV files, results go nowhere: seconds of processor time of the job, "
        f"median of {arguments.repeats} runs; M are millions of records.",
        sizes,
        results,
        f"python benchmarks/tables.py --records {sizes[0]} {sizes[1]} --keys {arguments.keys}",
    )
    (runner.cache / "tables.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
