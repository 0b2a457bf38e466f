"""From a record in one topic to its count in another: how long that takes at a low load.

    python benchmarks/kafka_latency.py --rate "Millstream=10000" "PyFlink, thread=1000"

Each engine runs the job of `kafka_count.py` without an end, and gets so many records per second. After a
warm-up, the latency of a record is the time from the moment it was due to be written to the arrival of
its count at a consumer of the other topic. Writes a section for RESULTS.md to .bench/kafka_latency.md.
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
from statistics import median
from typing import Any

import numpy as np

import topics
from data import DEFAULT_CACHE, open_cache
from environments import flink_python
from feeding import Feeder
from process_tree import ProcessTree
from tools.servers import Kafka

HERE = Path(__file__).resolve().parent
KEYS = 1_000
SLOWEST_SECONDS = 5.0
PHASES = {
    "offsets_ms": "asking the source",
    "plan_ms": "planning",
    "log_ms": "log of the offsets",
    "tasks_ms": "tasks: reading, counting, writing",
    "sinks_ms": "commit of the sinks",
    "commit_ms": "log of the commit",
}
PYFLINK = "baselines/pyflink_kafka_count.py"
ENGINES = {
    "Millstream": ("jobs/kafka_count.py", ()),
    "PyFlink, process": (PYFLINK, ("--mode", "process")),
    "PyFlink, thread": (PYFLINK, ("--mode", "thread")),
}


def command(engine: str, servers: str, topic: str, folder: Path) -> list[str]:
    script, arguments = ENGINES[engine]
    python = flink_python() if script == PYFLINK else sys.executable
    endless = ["--endless"] if script == PYFLINK else ["--endless", str(folder / "metrics")]
    places = ["--bootstrap", servers, "--input", f"in-{topic}", "--output", f"out-{topic}"]
    return [str(python), str(HERE / script), *arguments, *endless, *places]


def latencies(servers: str, topic: str, feeder: Feeder, seconds: float) -> np.ndarray:
    """The latencies, in ms, of the records that are due in this time."""
    # A reader that begins with a backlog is late for the records that are measured.
    reader = topics.consumer(servers, f"out-{topic}", from_end=True)
    began = time.time()
    found = []
    while time.time() < began + seconds + SLOWEST_SECONDS:
        messages = reader.consume(10_000, 0.02)
        now = time.time()
        if messages:
            keys, counts = topics.counts([message.value() for message in messages])
            due = feeder.due(keys + (counts - 1) * KEYS)
            meant = (due >= began) & (due < began + seconds)
            found.append((now - due[meant]) * 1e3)
    reader.close()
    return np.concatenate(found) if found else np.empty(0)


def measure(engine: str, rate: float, kafka: Kafka, options: argparse.Namespace) -> dict[str, Any]:
    topic = str(time.monotonic_ns())
    for name in (f"in-{topic}", f"out-{topic}"):
        topics.create(kafka.bootstrap, name)
    feeder = Feeder(kafka.bootstrap, f"in-{topic}", KEYS)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(
                command(engine, kafka.bootstrap, topic, folder),
                stdout=log,
                stderr=log,
                env={**os.environ, "TMPDIR": name},
            )
        tree = ProcessTree(process)
        try:
            feeder.write_at(rate)
            time.sleep(options.warm_up)
            began = time.time()
            found = latencies(kafka.bootstrap, topic, feeder, options.seconds)
            epochs = phases(folder / "metrics", began)
        finally:
            feeder.process.kill()
            failed = process.poll() is not None
            tree.stop()
        if failed:
            raise SystemExit(f"{engine} failed:\n{(folder / 'log').read_text()[-3000:]}")
    if not len(found):
        raise SystemExit(f"{engine}: no record came out in time")
    told = {
        "engine": engine,
        "rate": rate,
        "load": load,
        "records": len(found),
        "percentiles": [float(np.percentile(found, p)) for p in (50, 90, 99)],
        "epochs": epochs,
    }
    print(told, file=sys.stderr, flush=True)
    return told


def phases(path: Path, began: float) -> dict[str, float]:
    """Medians of the epochs after a moment: the number of epochs, and ms of their phases."""
    if not path.exists():
        return {}
    epochs: dict[int, dict[str, Any]] = {}
    for text in path.read_text().splitlines():
        told = json.loads(text) if text.endswith("}") else {"at": 0}
        if told["at"] >= began:
            epochs |= {one["number"]: one for one in told["epochs"] if one["total_ms"] is not None}
    found = {"epochs": float(len(epochs))}
    for name in ("total_ms", *PHASES):
        found[name] = median([one[name] or 0 for one in epochs.values()] or [0])
    return found


def section(found: list[dict[str, Any]], options: argparse.Namespace) -> str:
    lines = [
        "\n## Latency from Kafka to Kafka\n",
        "The count per key of the section above without an end, at a low load: milliseconds from the "
        "moment a record was due to be written to one topic, to the arrival of its count from another. "
        f"Both at least once, parallelism 2, {KEYS:,} keys; {options.seconds:.0f} s after a warm-up of "
        f"{options.warm_up:.0f} s. PyFlink takes a checkpoint every 10 s, Millstream commits each "
        "epoch.\n",
        "| Engine | Records/s | p50 ms | p90 ms | p99 ms | Load average before |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for one in found:
        shown = " | ".join(f"{value:,.0f}" for value in one["percentiles"])
        lines.append(f"| {one['engine']} | {one['rate']:,.0f} | {shown} | {one['load']:.1f} |")
    lines.append("")
    for one in found:
        if one["epochs"]:
            parts = ", ".join(f"{what} {one['epochs'][name]:.0f}" for name, what in PHASES.items())
            lines.append(
                f"- An epoch at {one['rate']:,.0f} records/s (median of {one['epochs']['epochs']:.0f} "
                f"seen): {one['epochs']['total_ms']:.0f} ms = {parts}, the rest is Spark's."
            )
    rates = " ".join(f'"{one["engine"]}={one["rate"]:.0f}"' for one in found)
    lines.append(f"- Command: `python benchmarks/kafka_latency.py --rate {rates}`")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", nargs="+", required=True, metavar="ENGINE=RECORDS_PER_SECOND")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--warm-up", type=float, default=40, help="the start of the job included")
    options = parser.parse_args()
    wanted = [one.rpartition("=") for one in options.rate]
    with Kafka() as kafka:
        found = [measure(name, float(rate), kafka, options) for name, _, rate in wanted]
    text = section(found, options)
    (open_cache(DEFAULT_CACHE) / "kafka_latency.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
