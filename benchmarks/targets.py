"""What was aimed at, held against what was measured."""

from __future__ import annotations

from dataclasses import dataclass

GIBIBYTE = 2**30


@dataclass(frozen=True)
class Ratio:
    """A benchmark that should be so many times as fast as the fastest of some others."""

    what: str
    name: str
    others: tuple[str, ...]
    at_least: float


RATIOS = [
    Ratio(
        "running count against PyFlink, its better mode",
        "millstream-count",
        ("pyflink-count-thread", "pyflink-count-process", "pyflink-count-process-tuned"),
        25,
    ),
    Ratio(
        "running count against PySpark transformWithState, its better API",
        "millstream-count",
        ("pyspark-tws-row-count", "pyspark-tws-pandas-count"),
        25,
    ),
    Ratio("running count against Flink SQL", "millstream-count", ("flinksql-count",), 2.5),
    Ratio(
        "stateless lambdas against PyFlink, its better mode",
        "millstream-stateless",
        ("pyflink-stateless-thread", "pyflink-stateless-process"),
        20,
    ),
    Ratio(
        "5,000,000 keys against 100,000",
        "millstream-count-5m-keys",
        ("millstream-count",),
        1 / 3,
    ),
    Ratio(
        "tumbling sum over 1,000 keys against the better of Flink SQL and Spark",
        "millstream-tumbling-1k",
        ("flinksql-tumbling-1k-hashmap", "flinksql-tumbling-1k-rocksdb", "pyspark-tumbling-1k"),
        1.5,
    ),
    Ratio(
        "tumbling sum over 100,000 keys against the better of Flink SQL and Spark",
        "millstream-tumbling-100k",
        (
            "flinksql-tumbling-100k-hashmap",
            "flinksql-tumbling-100k-rocksdb",
            "pyspark-tumbling-100k",
        ),
        4,
    ),
    Ratio(
        "sliding sum against Flink SQL, its better backend",
        "millstream-sliding",
        ("flinksql-sliding-hashmap", "flinksql-sliding-rocksdb"),
        1,
    ),
    Ratio(
        "session sum against Flink SQL, its better backend",
        "millstream-session",
        ("flinksql-session-hashmap", "flinksql-session-rocksdb"),
        1,
    ),
    Ratio(
        "Python function of windows against PyFlink, its better mode",
        "millstream-process-window",
        (
            "pyflink-process-window-thread",
            "pyflink-process-window-thread-hashmap",
            "pyflink-process-window-process",
            "pyflink-process-window-process-tuned",
        ),
        20,
    ),
    Ratio(
        "interval join against Spark's own",
        "millstream-interval-join",
        ("pyspark-interval-join-v2", "pyspark-interval-join-v4"),
        1,
    ),
]
WORKER_LIMIT = 1.5 * GIBIBYTE


def verdicts(results: dict[str, dict]) -> list[list[str]]:
    """Rows of (target, aim, measured, verdict), for what has been measured."""
    rows = []
    for target in RATIOS:
        others = [results[name]["records_per_second"] for name in target.others if name in results]
        if target.name in results and others:
            found = results[target.name]["records_per_second"] / max(others)
            aim = f"at least {target.at_least:.2g} times"
            rows.append([target.what, aim, f"{found:.2f}", _verdict(found >= target.at_least)])
    grown = results.get("millstream-count-5m-keys")
    if grown is not None:
        peak = max(run["peak_worker_rss"] for run in grown["runs"])
        found = f"{peak / GIBIBYTE:.2f} GiB"
        what = "largest Python worker with 5,000,000 keys"
        rows.append([what, "below 1.5 GiB", found, _verdict(peak < WORKER_LIMIT)])
    return rows


def _verdict(reached: bool) -> str:
    return "reached" if reached else "missed"
