"""How long a person waits: from start to first output, and for an epoch of 1,000 records.

    python benchmarks/latency.py

Writes a section for RESULTS.md to .bench/latency.md; `run.py` appends it. The word count reads a few
lines of text; the epochs count 1,000 records each over 100,000 keys.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent / "jobs"))

import common

from contract import PARALLELISM
from data import DEFAULT_CACHE, ensure
from millstream.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from millstream.datastream.connectors.print import DiscardingSink
from millstream.spark.query.component_query import Stream
from millstream.spark.session.session import get_session

EPOCHS = 30


def word_count(env: StreamExecutionEnvironment, folder: Path) -> float:
    """Seconds from building the program to its first output."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hamlet.txt").write_text("to be or not to be\nthat is the question\n")
    began = time.perf_counter()
    words = env.read_text_file(str(folder)).flat_map(lambda line: line.split())
    counts = words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1)
    with counts.execute_and_collect() as found:
        next(iter(found))
        return time.perf_counter() - began


@contextmanager
def spark_reports() -> Iterator[dict[int, dict]]:
    """Spark's reports of the epochs that run within, which are gone when a query has stopped."""
    reports: dict[int, dict] = {}
    stop = Stream.stop

    def keep_and_stop(stream: Stream) -> None:
        reports.update({report["batchId"]: report for report in stream.query.recentProgress})
        stop(stream)

    Stream.stop = keep_and_stop
    try:
        yield reports
    finally:
        Stream.stop = stop


def small_epochs(env: StreamExecutionEnvironment) -> dict[int, dict]:
    dataset = ensure(EPOCHS * 1000, 100_000, EPOCHS, DEFAULT_CACHE)
    pairs = env.read_text_file(str(dataset.csv)).map(common.parse)
    pairs.key_by(lambda pair: pair[0]).sum(1).sink_to(DiscardingSink())
    with spark_reports() as reports:
        env.execute("small epochs")
    return reports


def section(lines: list[str]) -> str:
    return "\n## Waiting times\n\n" + "\n".join(lines) + "\n"


def main() -> int:
    imported = time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)
    began = time.perf_counter()
    spark = get_session(None, PARALLELISM, {})
    session = time.perf_counter() - began
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    env.configure({"millstream.epoch.max-files": "1"})
    env.set_parallelism(PARALLELISM).set_runtime_mode(RuntimeExecutionMode.STREAMING)
    first = word_count(env, DEFAULT_CACHE / "words")
    again = word_count(env, DEFAULT_CACHE / "words")
    reports = small_epochs(env)
    durations = [reports[batch]["durationMs"] for batch in sorted(reports) if 5 <= batch < EPOCHS]
    parts = {name: median(d.get(name, 0) for d in durations) for name in durations[0]}
    shown = ", ".join(f"{name} {ms:.0f}" for name, ms in sorted(parts.items()))
    lines = [
        "- Start to first output of the word count, streaming, in a new process: "
        f"{imported + session + first:.1f} s = imports {imported:.1f} s, JVM and session "
        f"{session:.1f} s, first query to its first committed epoch {first:.1f} s.",
        f"- The same program again in the warm process: {again:.1f} s.",
        f"- An epoch of 1,000 records over 100,000 keys (median of {len(durations)}): "
        f"{parts['triggerExecution']:.0f} ms. Spark's own breakdown in ms: {shown}; addBatch is the "
        "job itself: source stage, exchange, keyed stage with its state, writer.",
        "- Command: `python benchmarks/latency.py`",
    ]
    (DEFAULT_CACHE / "latency.md").write_text(section(lines))
    print(section(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
