"""A job at full speed for a while: does anything grow that should not?

    python benchmarks/soak.py --minutes 10

A keyed count, a window and a file sink read a generator as fast as they can, in epochs of about half a
second. Every few seconds it samples the memory of driver, JVM and Python workers, their open files, the
files of the checkpoint folder and the time per epoch. The samples go to .bench/soak.csv, the chart to
docs/internals/soak.svg, and a summary with the slope of each curve to the terminal.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from curves import chart, summary
from data import DEFAULT_CACHE

PAGE = os.sysconf("SC_PAGE_SIZE")
EVERY_SECONDS = 3.0
CHART = Path(__file__).resolve().parents[1] / "docs" / "internals" / "soak.svg"


@dataclass(frozen=True)
class Sample:
    """What there is at one moment of a run."""

    seconds: float
    epoch: int
    records: int
    driver_mb: float
    jvm_mb: float
    workers_mb: float
    open_files: int
    checkpoint_files: int
    epoch_ms: float


# -- the job ---------------------------------------------------------------------------------------


def start(folder: Path, per_epoch: int):
    """Start the job; returns its client."""
    from millstream.common import Types, WatermarkStrategy
    from millstream.datastream import StreamExecutionEnvironment
    from millstream.datastream.connectors import (
        DataGeneratorSource,
        FileSink,
        RateLimiterStrategy,
    )
    from millstream.datastream.window import TumblingEventTimeWindows

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2).set_runtime_mode("STREAMING")
    env.set_checkpoint_directory(str(folder / "checkpoint"))
    record = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
    limit = RateLimiterStrategy.per_checkpoint(per_epoch)
    source = DataGeneratorSource(lambda n: (f"k{n % 5_000}", 1, n), 1 << 40, limit, record)
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: value[2]
    )
    stream = env.from_source(source, times, "numbers")
    keyed = stream.key_by(lambda value: value[0])
    counted = keyed.sum(1).filter(lambda value: value[1] % 100 == 0)
    windows = keyed.window(TumblingEventTimeWindows.of(50_000)).sum(1)
    counted.union(windows).sink_to(FileSink.text(str(folder / "out"), str))
    return env.execute_async("soak")


# -- what the operating system says ----------------------------------------------------------------


def children(pid: int) -> Iterator[int]:
    """All processes below one."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found = [int(word) for word in task.read_text().split()]
        except OSError:
            continue
        for child in found:
            yield child
            yield from children(child)


def memory_mb(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / 1e6
    except OSError:
        return 0.0


def open_files(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def is_java(pid: int) -> bool:
    try:
        return "java" in Path(f"/proc/{pid}/exe").resolve().name
    except OSError:
        return False


def samples(client, folder: Path, seconds: float) -> Iterator[Sample]:
    """Samples until the time is over."""
    began, last = time.monotonic(), (time.monotonic(), 0)
    while (now := time.monotonic()) - began < seconds:
        time.sleep(EVERY_SECONDS)
        metrics = client.metrics()
        epoch = metrics.epoch
        below = list(children(os.getpid()))
        jvms = [pid for pid in below if is_java(pid)]
        workers = [pid for pid in below if pid not in jvms]
        passed, epochs = time.monotonic() - last[0], epoch - last[1]
        last = (time.monotonic(), epoch)
        yield Sample(
            seconds=round(now - began, 1),
            epoch=epoch,
            records=metrics.records_in,
            driver_mb=round(memory_mb(os.getpid()), 1),
            jvm_mb=round(sum(map(memory_mb, jvms)), 1),
            workers_mb=round(sum(map(memory_mb, workers)), 1),
            open_files=sum(map(open_files, [os.getpid(), *jvms])),
            checkpoint_files=sum(len(names) for _, _, names in os.walk(folder / "checkpoint")),
            epoch_ms=round(1_000 * passed / epochs, 1) if epochs else 0.0,
        )


# -- what they mean --------------------------------------------------------------------------------

PANELS: dict[str, str] = {
    "driver_mb": "driver, resident MB",
    "jvm_mb": "JVM, resident MB",
    "workers_mb": "Python workers, resident MB",
    "open_files": "open files of driver and JVM",
    "checkpoint_files": "files in the checkpoint folder",
    "epoch_ms": "ms per epoch",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--per-epoch", type=int, default=20_000, help="records per epoch")
    parser.add_argument("--chart", type=Path, default=CHART)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="millstream-soak-"))
    DEFAULT_CACHE.mkdir(parents=True, exist_ok=True)
    found: list[Sample] = []
    try:
        client = start(folder, options.per_epoch)
        with open(DEFAULT_CACHE / "soak.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([field.name for field in fields(Sample)])
            for sample in samples(client, folder, options.minutes * 60):
                found.append(sample)
                writer.writerow(astuple(sample))
                file.flush()
        client.cancel().result(120)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    seconds = [sample.seconds for sample in found]
    curves = {title: [getattr(sample, name) for sample in found] for name, title in PANELS.items()}
    options.chart.write_text(chart(seconds, curves))
    speed = found[-1].records / found[-1].seconds
    print(f"{found[-1].epoch} epochs, {found[-1].records:,} records, {speed:,.0f} records/s")
    print("\n".join(summary(seconds, curves)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
