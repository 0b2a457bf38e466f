"""The benchmarks there are. `run.py` runs them in this order, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Benchmark:
    """One row of the results: a script under benchmarks/ and the options it is given.

    Each script takes the options of `contract.parser` and ends with the line of `contract.report`.
    """

    name: str
    script: str
    workload: str
    python: Literal["spark", "flink"]
    arguments: tuple[str, ...] = ()
    # The most records a run is asked for. Set where the full number would take far too long and
    # the cost of a record does not depend on their number; the results then say so, and how long
    # the full number would take at the measured rate.
    most_records: int | None = None
    # The most repeats, for what takes many minutes.
    most_repeats: int | None = None
    # Keys of its own instead of the number all others have.
    keys: int | None = None
    # Records of its own, if the workload is meant for fewer than all others have.
    records: int | None = None
    # The heading in the results, where the workload alone does not say with what it is compared.
    section: str | None = None
    # Baselines are what the others are compared with.
    baseline: bool = False


BASELINES = [
    Benchmark(
        name="pyflink-count-process",
        script="baselines/pyflink_count.py",
        workload="count",
        python="flink",
        arguments=("--mode", "process"),
        most_records=100_000,
        baseline=True,
    ),
    # The defaults cache 1000 states in a worker; with more keys than that nearly each record goes
    # back to the JVM for its state. This one is given room for all of them.
    Benchmark(
        name="pyflink-count-process-tuned",
        script="baselines/pyflink_count.py",
        workload="count",
        python="flink",
        arguments=("--mode", "process", "--bundle-size", "20000", "--state-cache", "200000"),
        most_repeats=1,
        most_records=200_000,
        baseline=True,
    ),
    Benchmark(
        name="pyflink-count-thread",
        script="baselines/pyflink_count.py",
        workload="count",
        python="flink",
        arguments=("--mode", "thread"),
        most_records=1_000_000,
        baseline=True,
    ),
    Benchmark(
        name="flinksql-count",
        script="baselines/flinksql_count.py",
        workload="count",
        python="flink",
        baseline=True,
    ),
    Benchmark(
        name="flinksql-rolling-sum",
        script="baselines/flinksql_count.py",
        workload="rolling-sum",
        python="flink",
        arguments=("--workload", "rolling-sum"),
        baseline=True,
    ),
    Benchmark(
        name="pyspark-tws-row-count",
        script="baselines/pyspark_tws_count.py",
        workload="count",
        python="spark",
        arguments=("--api", "row"),
        most_records=400_000,
        baseline=True,
    ),
    Benchmark(
        name="pyspark-tws-pandas-count",
        script="baselines/pyspark_tws_count.py",
        workload="count",
        python="spark",
        arguments=("--api", "pandas"),
        most_repeats=1,
        most_records=200_000,
        baseline=True,
    ),
    Benchmark(
        name="pyflink-stateless-process",
        script="baselines/pyflink_stateless.py",
        workload="stateless",
        python="flink",
        arguments=("--mode", "process"),
        baseline=True,
    ),
    Benchmark(
        name="pyflink-stateless-thread",
        script="baselines/pyflink_stateless.py",
        workload="stateless",
        python="flink",
        arguments=("--mode", "thread"),
        baseline=True,
    ),
]

MILLSTREAM = [
    Benchmark(
        name="millstream-count",
        script="jobs/count.py",
        workload="count",
        python="spark",
    ),
    Benchmark(
        name="millstream-count-batch",
        script="jobs/count.py",
        workload="count",
        python="spark",
        arguments=("--mode", "batch"),
    ),
    # Growth: fifty times the keys, nearly every record of a key of its own.
    Benchmark(
        name="millstream-count-5m-keys",
        script="jobs/count.py",
        workload="count",
        python="spark",
        keys=5_000_000,
    ),
    Benchmark(
        name="millstream-rolling-sum",
        script="jobs/rolling_sum.py",
        workload="rolling-sum",
        python="spark",
    ),
    # The same by a key that the planner cannot see: record by record.
    Benchmark(
        name="millstream-rolling-sum-by-record",
        script="jobs/rolling_sum.py",
        workload="rolling-sum",
        python="spark",
        arguments=("--by-record",),
    ),
    Benchmark(
        name="millstream-stateless",
        script="jobs/stateless.py",
        workload="stateless",
        python="spark",
    ),
]


@dataclass(frozen=True)
class WindowSum:
    """A sum of windows that Millstream, Flink SQL and Spark all have."""

    name: str
    workload: str
    keys: int
    section: str
    # Spark makes ten rows of a record for sliding windows, and sorts for sessions.
    most_spark_records: int | None = None


WINDOW_SUMS = [
    WindowSum("tumbling-1k", "tumbling", 1_000, "tumbling sum, 1,000 keys"),
    WindowSum("tumbling-100k", "tumbling", 100_000, "tumbling sum, 100,000 keys"),
    WindowSum("sliding", "sliding", 1_000, "sliding sum", 1_000_000),
    WindowSum("session", "session", 1_000, "session sum", 1_000_000),
]

MILLSTREAM_WINDOWS = [
    *(
        Benchmark(
            name=f"millstream-{windows.name}",
            script="jobs/windows.py",
            workload=windows.workload,
            python="spark",
            arguments=("--workload", windows.workload),
            keys=windows.keys,
            section=windows.section,
        )
        for windows in WINDOW_SUMS
    ),
    *(
        Benchmark(
            name=f"millstream-{windows.name}-batch",
            script="jobs/windows.py",
            workload=windows.workload,
            python="spark",
            arguments=("--workload", windows.workload, "--mode", "batch"),
            keys=windows.keys,
            section=windows.section,
        )
        for windows in WINDOW_SUMS
        if windows.workload == "tumbling"
    ),
    Benchmark(
        name="millstream-process-window",
        script="jobs/windows.py",
        workload="process-window",
        python="spark",
        arguments=("--workload", "process-window"),
        keys=1_000,
    ),
    Benchmark(
        name="millstream-interval-join",
        script="jobs/interval_join.py",
        workload="interval-join",
        python="spark",
        keys=100_000,
        records=2_000_000,
    ),
]

WINDOW_BASELINES = [
    *(
        Benchmark(
            name=f"flinksql-{windows.name}-{backend}",
            script="baselines/flinksql_windows.py",
            workload=windows.workload,
            python="flink",
            arguments=("--workload", windows.workload, "--backend", backend),
            keys=windows.keys,
            section=windows.section,
            baseline=True,
        )
        for windows in WINDOW_SUMS
        for backend in ("hashmap", "rocksdb")
    ),
    *(
        Benchmark(
            name=f"pyspark-{windows.name}",
            script="baselines/pyspark_windows.py",
            workload=windows.workload,
            python="spark",
            arguments=("--workload", windows.workload),
            keys=windows.keys,
            section=windows.section,
            most_records=windows.most_spark_records,
            baseline=True,
        )
        for windows in WINDOW_SUMS
    ),
    Benchmark(
        name="pyflink-process-window-thread",
        script="baselines/pyflink_process_window.py",
        workload="process-window",
        python="flink",
        arguments=("--mode", "thread"),
        most_records=1_000_000,
        keys=1_000,
        baseline=True,
    ),
    Benchmark(
        name="pyflink-process-window-thread-hashmap",
        script="baselines/pyflink_process_window.py",
        workload="process-window",
        python="flink",
        arguments=("--mode", "thread", "--backend", "hashmap"),
        most_records=1_000_000,
        keys=1_000,
        baseline=True,
    ),
    Benchmark(
        name="pyflink-process-window-process",
        script="baselines/pyflink_process_window.py",
        workload="process-window",
        python="flink",
        arguments=("--mode", "process"),
        most_records=1_000_000,
        most_repeats=1,
        keys=1_000,
        baseline=True,
    ),
    # As for the running count: room for the state of all keys.
    Benchmark(
        name="pyflink-process-window-process-tuned",
        script="baselines/pyflink_process_window.py",
        workload="process-window",
        python="flink",
        arguments=("--mode", "process", "--bundle-size", "20000", "--state-cache", "200000"),
        most_records=1_000_000,
        most_repeats=1,
        keys=1_000,
        baseline=True,
    ),
    # The format of the state that Spark has by default, and its newest.
    *(
        Benchmark(
            name=f"pyspark-interval-join-v{version}",
            script="baselines/pyspark_interval_join.py",
            workload="interval-join",
            python="spark",
            arguments=("--state-format", version),
            keys=100_000,
            records=2_000_000,
            baseline=True,
        )
        for version in ("2", "4")
    ),
]

REGISTRY: list[Benchmark] = [
    *MILLSTREAM,
    *MILLSTREAM_WINDOWS,
    *BASELINES,
    *WINDOW_BASELINES,
]
