"""What transactions of Kafka cost in a steady job, and how often a task has to make a new producer.

    python benchmarks/kafka_transactions.py [--rate 2000] [--seconds 60]

The job of `kafka_count.py`, exactly once, without an end. Each part of each epoch tells how long its
transaction took, and whether it had to make a producer, because the process had none for its part or
had one that another process had fenced. Writes a section for RESULTS.md to .bench/kafka_transactions.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import topics
from data import DEFAULT_CACHE, open_cache
from feeding import Feeder
from process_tree import ProcessTree
from tools.servers import Kafka

HERE = Path(__file__).resolve().parent
KEYS = 1_000
CALLS = ("opened_ms", "begin_ms", "finish_ms", "close_ms")


def measure(kafka: Kafka, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The parts of all epochs after the warm-up."""
    for name in ("in", "out"):
        topics.create(kafka.bootstrap, name)
    feeder = Feeder(kafka.bootstrap, "in", KEYS)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        command = [sys.executable, str(HERE / "jobs" / "kafka_count.py")]
        command += ["--bootstrap", kafka.bootstrap, "--input", "in", "--output", "out"]
        command += ["--guarantee", "EXACTLY_ONCE", "--checkpoint", str(folder / "checkpoint")]
        command += ["--endless", str(folder / "metrics"), "--timings", str(folder / "timings")]
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        tree = ProcessTree(process)
        try:
            feeder.write_at(options.rate)
            time.sleep(options.warm_up)
            before = len(parts(folder))
            time.sleep(options.seconds)
            found = parts(folder)[before:]
        finally:
            feeder.process.kill()
            failed = process.poll() is not None
            tree.stop()
        if failed or not found:
            raise SystemExit(f"the job has failed:\n{(folder / 'log').read_text()[-3000:]}")
    return found


def parts(folder: Path) -> list[dict[str, Any]]:
    path = folder / "timings"
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def section(found: list[dict[str, Any]], load: float, options: argparse.Namespace) -> str:
    kept = [part for part in found if not part["made"]]
    new = [part for part in found if part["made"]]
    epochs = {part["epoch"] for part in found}
    lines = [
        "\n## Transactions in a steady job\n",
        f"The count per key from Kafka to Kafka, exactly once, {options.rate:,.0f} records/s, "
        f"parallelism 2: {len(epochs)} epochs in {options.seconds:.0f} s after a warm-up, "
        f"{len(found)} parts, {median(part['records'] for part in found):,.0f} records per part. "
        "Milliseconds from opening the writer of a part to its end.\n",
        "| Parts | Number | median ms | p90 ms | before writing | writing and commit |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, chosen in (("with the kept producer", kept), ("with a new producer", new)):
        if len(chosen) > 1:
            totals = [sum(part[call] for call in CALLS) for part in chosen]
            before = median(part["opened_ms"] + part["begin_ms"] for part in chosen)
            after = median(part["finish_ms"] for part in chosen)
            p90 = quantiles(totals, n=10)[-1]
            numbers = f"{median(totals):.1f} | {p90:.1f} | {before:.1f} | {after:.1f}"
            lines.append(f"| {name} | {len(chosen)} | {numbers} |")
        else:
            lines.append(f"| {name} | {len(chosen)} | | | | |")
    lines.append("")
    lines.append(
        f"- A new producer in {len(new) / len(found):.0%} of the parts; the parts ran in "
        f"{len({part['process'] for part in found})} processes."
    )
    lines.append(
        f"- Command: `python benchmarks/kafka_transactions.py --rate {options.rate:.0f} "
        f"--seconds {options.seconds:.0f}`; load average before {load:.1f}"
    )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=2_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--warm-up", type=float, default=30, help="the start of the job included")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with Kafka() as kafka:
        found = measure(kafka, options)
    text = section(found, load, options)
    (open_cache(DEFAULT_CACHE) / "kafka_transactions.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
