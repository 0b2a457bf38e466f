"""What every benchmark script shares: its options, and the one JSON line it ends with."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from data import Dataset, add_arguments

PARALLELISM = 2


@dataclass(frozen=True)
class Outcome:
    """The report of one run. `seconds` is job time: from execute to finished, job start included.

    `startup_seconds` is the time to start the JVM and the session, which `seconds` leaves out.
    """

    system: str
    version: str
    mode: str
    workload: str
    records: int
    keys: int
    seconds: float
    records_per_second: float
    outputs: int
    checksum: int
    notes: str
    startup_seconds: float | None = None


class Stopwatch:
    seconds: float = 0.0


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    watch = Stopwatch()
    started = time.perf_counter()
    try:
        yield watch
    finally:
        watch.seconds = time.perf_counter() - started


def parser(description: str | None) -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    add_arguments(result)
    return result


def report(
    dataset: Dataset,
    *,
    system: str,
    version: str,
    mode: str,
    workload: str,
    seconds: float,
    outputs: int,
    checksum: int,
    notes: str,
    startup_seconds: float | None = None,
) -> int:
    """Check what came out against the manifest, print the JSON line, return the exit status."""
    expected = dataset.expected(workload)
    if (outputs, checksum) != (expected.outputs, expected.checksum):
        print(
            f"{system} {mode} {workload}: {outputs} outputs with checksum {checksum}, "
            f"expected {expected.outputs} with {expected.checksum}",
            file=sys.stderr,
        )
        return 1
    outcome = Outcome(
        system=system,
        version=version,
        mode=mode,
        workload=workload,
        records=dataset.records,
        keys=dataset.keys,
        seconds=round(seconds, 3),
        records_per_second=round(dataset.records / seconds, 1),
        outputs=outputs,
        checksum=checksum,
        notes=notes,
        startup_seconds=None if startup_seconds is None else round(startup_seconds, 3),
    )
    # Engines write to the inherited stdout too, so the line must go out whole and last.
    print(json.dumps(asdict(outcome)), flush=True)
    return 0
