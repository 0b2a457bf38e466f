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
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from xml.sax.saxutils import escape

from data import DEFAULT_CACHE

PAGE = os.sysconf("SC_PAGE_SIZE")
EVERY_SECONDS = 3.0
CHART = Path(__file__).resolve().parents[1] / "docs" / "internals" / "soak.svg"
WARM_UP = 0.3
"""The share of a run that does not count: JIT, caches, and the epochs that Spark retains."""


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

PANELS: dict[str, tuple[str, Callable[[Sample], float]]] = {
    "driver_mb": ("driver, resident MB", lambda s: s.driver_mb),
    "jvm_mb": ("JVM, resident MB", lambda s: s.jvm_mb),
    "workers_mb": ("Python workers, resident MB", lambda s: s.workers_mb),
    "open_files": ("open files of driver and JVM", lambda s: s.open_files),
    "checkpoint_files": ("files in the checkpoint folder", lambda s: s.checkpoint_files),
    "epoch_ms": ("ms per epoch", lambda s: s.epoch_ms),
}


def growth(values: list[float], times: list[float]) -> float:
    """The growth over the time of a least-squares line, as a share of the mean."""
    n, mean_v, mean_t = len(values), sum(values) / len(values), sum(times) / len(times)
    spread = sum((t - mean_t) ** 2 for t in times)
    if n < 2 or not spread or not mean_v:
        return 0.0
    slope = sum((t - mean_t) * (v - mean_v) for t, v in zip(times, values, strict=True)) / spread
    return slope * (times[-1] - times[0]) / mean_v


def summary(found: list[Sample]) -> list[str]:
    """A line for each curve: first, last and largest value, and how it grows after the warm-up."""
    settled = [s for s in found if s.seconds >= WARM_UP * found[-1].seconds]
    lines = []
    for title, value in PANELS.values():
        values = [value(s) for s in settled]
        share = growth(values, [s.seconds for s in settled])
        lines.append(
            f"{title}: {values[0]:.0f} to {values[-1]:.0f}, at most {max(values):.0f}, "
            f"{share:+.1%} over the time after the warm-up"
        )
    return lines


def chart(found: list[Sample]) -> str:
    """Six small curves over time, as SVG."""
    width, height, pad = 320, 150, 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {3 * width} {2 * height + 20}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{3 * width}" height="{2 * height + 20}" fill="white"/>',
    ]
    end = found[-1].seconds or 1
    for number, (title, value) in enumerate(PANELS.values()):
        left, top = number % 3 * width + pad, number // 3 * height + 28
        inner_w, inner_h = width - pad - 14, height - 50
        values = [value(s) for s in found]
        limit = max(values) * 1.1 or 1
        points = " ".join(
            f"{left + s.seconds / end * inner_w:.1f},{top + inner_h - v / limit * inner_h:.1f}"
            for s, v in zip(found, values, strict=True)
        )
        parts += [
            f'<text x="{left}" y="{top - 8}" font-weight="bold">{escape(title)}</text>',
            f'<path d="M{left},{top} v{inner_h} h{inner_w}" fill="none" stroke="#888"/>',
            f'<text x="{left - 4}" y="{top + 8}" text-anchor="end">{limit / 1.1:.0f}</text>',
            f'<text x="{left - 4}" y="{top + inner_h}" text-anchor="end">0</text>',
            f'<text x="{left + inner_w}" y="{top + inner_h + 14}" text-anchor="end">'
            f"{end / 60:.0f} min</text>",
            f'<polyline points="{points}" fill="none" stroke="#1f6feb" stroke-width="1.5"/>',
        ]
    return "\n".join([*parts, "</svg>\n"])


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
    options.chart.write_text(chart(found))
    speed = found[-1].records / found[-1].seconds
    print(f"{found[-1].epoch} epochs, {found[-1].records:,} records, {speed:,.0f} records/s")
    print("\n".join(summary(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
