"""Kafka -> count per key -> Kafka: Millstream, PyFlink and Flink SQL on one broker.

    python benchmarks/kafka_count.py [--records 2000000 500000] [--keys 10000] [--rounds 3]

Each program reads all messages of a topic with 4 partitions (lines of key,number), counts per key,
and writes a message for each record into another topic, at least once. A program runs with both numbers
of records; the difference divided by the difference of the records is the cost of a record without the
start of the engine. Processor time of the engine (with its JVM and workers) and of the broker is
counted apart. The output is checked: each key's counts go from 1 to its number of records.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import topics
from data import DEFAULT_CACHE
from environments import flink_python
from process_tree import ProcessTree, sample_all
from tools.servers import Kafka

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Engine:
    name: str
    script: str
    on_flink: bool = False
    arguments: tuple[str, ...] = ()
    most_records: int | None = None


ENGINES = [
    Engine("Millstream", "jobs/kafka_count.py"),
    Engine("Flink SQL", "baselines/flinksql_kafka_count.py", on_flink=True),
    # It takes minutes for a million records.
    Engine("PyFlink, process", "baselines/pyflink_kafka_count.py", True, (), 80_000),
    Engine(
        "PyFlink, thread",
        "baselines/pyflink_kafka_count.py",
        True,
        ("--mode", "thread"),
        200_000,
    ),
]


@dataclass(frozen=True)
class Run:
    records: int
    seconds: float
    engine_cpu: float
    broker_cpu: float


def run(engine: Engine, kafka: Kafka, records: int, arguments: argparse.Namespace) -> Run:
    output = f"out-{engine.script.split('/')[-1][:-3]}-{time.monotonic_ns()}"
    topics.create(kafka.bootstrap, output)
    python = flink_python(cache=arguments.cache) if engine.on_flink else sys.executable
    command = [str(python), str(HERE / engine.script), *engine.arguments]
    command += ["--bootstrap", kafka.bootstrap, "--input", f"in-{records}", "--output", output]
    before, began = sample_all()[kafka.pid].cpu, time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ)
    tree = ProcessTree(process)
    try:
        process.wait()
    finally:
        tree.stop()
    seconds, after = time.monotonic() - began, sample_all()[kafka.pid].cpu
    if process.returncode:
        raise SystemExit(f"{engine.name} failed with exit code {process.returncode}")
    topics.check(kafka.bootstrap, output, records, arguments.keys)
    result = Run(records, seconds, tree.cpu_seconds, after - before)
    print(f"{engine.name}: {result}", file=sys.stderr, flush=True)
    return result


def row(engine: Engine, runs: list[Run]) -> str:
    sizes = sorted({run.records for run in runs})
    few, many = (
        {
            what: median(getattr(run, what) for run in runs if run.records == size)
            for what in ("seconds", "engine_cpu", "broker_cpu")
        }
        for size in sizes
    )
    more = sizes[1] - sizes[0]
    slope = {what: (many[what] - few[what]) * 1e6 / more for what in many}
    return (
        f"| {engine.name} | {sizes[0]:,} and {sizes[1]:,} | {many['seconds']:.1f} | "
        f"{many['engine_cpu']:.1f} | {slope['engine_cpu']:.2f} | {slope['broker_cpu']:.2f} | "
        f"{1e6 / slope['seconds']:,.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, nargs=2, default=[2_000_000, 500_000])
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", help="names of engines")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE)
    arguments = parser.parse_args()
    engines = [e for e in ENGINES if not arguments.only or e.name in arguments.only]
    found: dict[str, list[Run]] = {engine.name: [] for engine in engines}
    small = {engine.most_records for engine in engines if engine.most_records}
    sizes = {*arguments.records, *small, *(size // 4 for size in small)}
    with Kafka() as kafka:
        for size in sorted(sizes):
            topics.create(kafka.bootstrap, f"in-{size}")
            writer = topics.producer(kafka.bootstrap)
            topics.write(writer, f"in-{size}", 0, size, arguments.keys)
            writer.flush()
        for _ in range(arguments.rounds):
            for engine in engines:
                most = engine.most_records
                for size in (most, most // 4) if most else arguments.records:
                    found[engine.name].append(run(engine, kafka, size, arguments))
    print("## Kafka to Kafka: count per key\n")
    print(
        "| engine | records | wall s | engine CPU s | engine us/record | broker us/record ", end=""
    )
    print("| records/s |\n|---|---:|---:|---:|---:|---:|---:|")
    for engine in engines:
        print(row(engine, found[engine.name]))
    options = f"--records {' '.join(map(str, arguments.records))} --keys {arguments.keys}"
    print(
        f"\n- Wall and CPU seconds are of the larger run, start included; {arguments.rounds} rounds,"
    )
    print("  medians. Microseconds and records/s are slopes between both sizes: without the start.")
    print(f"- Command: `python benchmarks/kafka_count.py {options} --rounds {arguments.rounds}`")


if __name__ == "__main__":
    main()
