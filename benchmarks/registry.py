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
        name="millstream-stateless",
        script="jobs/stateless.py",
        workload="stateless",
        python="spark",
    ),
]

REGISTRY: list[Benchmark] = [*MILLSTREAM, *BASELINES]
