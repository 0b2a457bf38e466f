"""Kafka -> count per key -> Kafka under a steady load: do lag and memory stay flat, is nothing lost?

    python benchmarks/load.py [--seconds 900] [--rate RECORDS_PER_SECOND]

Without `--rate` it measures first how many records per second the job can do, while as many are written,
and takes 80 % of them. The sink is exactly-once. Every three seconds it samples the lag (records that
are written and not yet counted by a committed epoch), the memory of driver, JVM, workers and broker,
how many workers there are and how large the largest is, and the time per epoch. At the end it reads all
counts and checks that none is missing and none there twice.

The samples go to .bench/load.csv, the chart to docs/internals/load.svg, a summary to the terminal.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import topics
from curves import chart, summary
from data import DEFAULT_CACHE, open_cache
from feeding import Feeder
from process_tree import ProcessTree, below, sample_all
from tools.servers import Kafka

HERE = Path(__file__).resolve().parent
CHART = HERE.parent / "docs" / "internals" / "load.svg"
KEYS = 10_000
PER_EPOCH = 100_000
"""Records of each partition that an epoch reads at most."""
SHARE = 0.8
EVERY_SECONDS = 3.0
PATIENCE_SECONDS = 120.0
MEGABYTE = 1e6


@dataclass(frozen=True)
class Sample:
    """What there is at one moment of a run."""

    seconds: float
    written: int
    lag: int
    driver_mb: float
    jvm_mb: float
    workers_mb: float
    broker_mb: float
    workers: int
    largest_mb: float
    load: float
    epoch: int
    epoch_ms: float


PANELS = {
    "lag": "lag, records",
    "epoch_ms": "ms per epoch",
    "driver_mb": "driver, resident MB",
    "jvm_mb": "JVM, resident MB",
    "workers_mb": "Python workers, resident MB",
    "broker_mb": "broker, resident MB",
    "workers": "Python workers",
    "largest_mb": "largest worker, resident MB",
    "load": "load average of the machine",
}


class Job:
    """The job in a process of its own, and what it says of itself."""

    def __init__(self, servers: str, name: str, folder: Path) -> None:
        self.told = folder / "metrics"
        self.log = folder / "log"
        command = [sys.executable, str(HERE / "jobs" / "kafka_count.py")]
        command += ["--bootstrap", servers, "--input", f"in-{name}", "--output", f"out-{name}"]
        command += ["--per-epoch", str(PER_EPOCH), "--guarantee", "EXACTLY_ONCE"]
        command += ["--endless", str(self.told), "--checkpoint", str(folder / "checkpoint")]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ)
        self.tree = ProcessTree(self.process)

    def metrics(self) -> dict[str, Any]:
        """The last metrics; empty before the first epoch."""
        if self.process.poll() is not None:
            raise SystemExit(f"the job has ended:\n{self.log.read_text()[-4000:]}")
        if not self.told.exists():
            return {}
        with self.told.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 65_536))
            lines = file.read().split(b"\n")
        # The last line may be half written.
        return json.loads(lines[-2]) if len(lines) > 1 and lines[-2].startswith(b"{") else {}

    def counted(self) -> int:
        """The records whose counts are committed."""
        return sum(sink["written"] for sink in self.metrics().get("sinks", {}).values())

    def epoch(self) -> int:
        return max((epoch["number"] for epoch in self.metrics().get("epochs", [])), default=-1)

    def stop(self) -> None:
        self.tree.stop()


def wait_until(what: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            raise SystemExit(f"waited {seconds:.0f} s in vain")
        time.sleep(0.1)


def maximum(job: Job, feeder: Feeder, seconds: float) -> float:
    """Records per second while there is always more to read; the first third does not count."""
    ahead = 2 * PER_EPOCH * topics.PARTITIONS
    began = time.monotonic()
    start: tuple[float, int] | None = None
    while (now := time.monotonic()) < began + seconds:
        counted = job.counted()
        feeder.write_up_to(counted + ahead)
        if start is None and now > began + seconds / 3:
            start = (now, counted)
        time.sleep(0.05)
    assert start is not None
    return (job.counted() - start[1]) / (time.monotonic() - start[0])


def samples(job: Job, feeder: Feeder, broker: int | None, seconds: float) -> Iterator[Sample]:
    began = time.monotonic()
    last, epoch_ms = (began, job.epoch()), 0.0
    while time.monotonic() < began + seconds:
        time.sleep(min(EVERY_SECONDS, seconds / 3))
        now, epoch = time.monotonic(), job.epoch()
        if epoch > last[1]:
            # An epoch may take longer than the time between two samples.
            epoch_ms = 1e3 * (now - last[0]) / (epoch - last[1])
            last = (now, epoch)
        found = sample_all()
        members = [found[pid] for pid in below(found, {job.process.pid}) if pid in found]
        driver = found[job.process.pid].rss
        workers = [one.rss for one in members if one.python and one.pid != job.process.pid]
        yield Sample(
            seconds=round(now - began, 1),
            written=feeder.written,
            lag=max(feeder.written - job.counted(), 0),
            driver_mb=round(driver / MEGABYTE, 1),
            jvm_mb=round(sum(one.rss for one in members if not one.python) / MEGABYTE, 1),
            workers_mb=round(sum(workers) / MEGABYTE, 1),
            broker_mb=0.0 if broker is None else round(found[broker].rss / MEGABYTE, 1),
            workers=len(workers),
            largest_mb=round(max(workers, default=0) / MEGABYTE, 1),
            load=round(os.getloadavg()[0], 1),
            epoch=epoch,
            epoch_ms=round(epoch_ms, 1),
        )


def recorded(found: Iterator[Sample], path: Path) -> list[Sample]:
    kept = []
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Sample)])
        writer.writeheader()
        for sample in found:
            kept.append(sample)
            writer.writerow(asdict(sample))
            file.flush()
    return kept


def run(options: argparse.Namespace, folder: Path) -> list[str]:
    """Run the load, write samples and chart; returns the summary."""
    load = os.getloadavg()[0]
    with ExitStack() as around:
        broker = None
        if options.bootstrap is None:
            kafka = around.enter_context(Kafka())
            options.bootstrap, broker = kafka.bootstrap, kafka.pid
        name = folder.name
        for topic in (f"in-{name}", f"out-{name}"):
            topics.create(options.bootstrap, topic)
        feeder = Feeder(options.bootstrap, f"in-{name}", options.keys)
        job = Job(options.bootstrap, name, folder)
        try:
            feeder.write_up_to(1_000)
            wait_until(lambda: job.counted() >= 1_000)
            lines, rate = [], options.rate
            if rate is None:
                most = maximum(job, feeder, options.measure)
                rate = most * SHARE
                lines.append(f"measured maximum: {most:,.0f} records/s, with as many written")
            wait_until(lambda: job.counted() >= feeder.written)
            feeder.write_at(rate)
            found = recorded(samples(job, feeder, broker, options.seconds), options.samples)
            written = feeder.close()
            wait_until(lambda: job.counted() >= written)
        finally:
            feeder.process.kill()
            job.stop()
        topics.check(options.bootstrap, f"out-{name}", written, options.keys)
    seconds = [sample.seconds for sample in found]
    curves = {title: [getattr(sample, name) for sample in found] for name, title in PANELS.items()}
    options.chart.write_text(chart(seconds, curves))
    done = found[-1].epoch - found[0].epoch
    lines += [
        f"{rate:,.0f} records/s for {seconds[-1]:.0f} s in {done} epochs; load average {load:.1f} "
        f"before, {os.getloadavg()[2]:.1f} over the last 15 minutes",
        *summary(seconds, curves, warm_up=0.2),
        f"all {written:,} records were counted, each once",
    ]
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=900)
    parser.add_argument("--rate", type=float, help="records per second; 80 %% of the maximum else")
    parser.add_argument("--measure", type=float, default=90, help="seconds to find the maximum")
    parser.add_argument("--keys", type=int, default=KEYS)
    parser.add_argument("--bootstrap", help="a broker that runs; one of its own else")
    parser.add_argument("--chart", type=Path, default=CHART)
    parser.add_argument("--samples", type=Path, default=open_cache(DEFAULT_CACHE) / "load.csv")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="millstream-load-"))
    try:
        print("\n".join(run(options, folder)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
