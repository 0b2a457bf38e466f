"""What every benchmark script shares: its options, and the one JSON line it ends with."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from data import Dataset, add_arguments
from process_tree import cpu_of_tree

PARALLELISM = 2


@dataclass(frozen=True)
class Outcome:
    """The report of one run. `seconds` is job time: from execute to finished, job start included.

    `startup_seconds` is the time to start the JVM and the session, which `seconds` leaves out.
    `job_cpu` and `startup_cpu` are the processor seconds of all processes in these times.
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
    startup_seconds: float
    job_cpu: float
    startup_cpu: float
    checked: bool


class Stopwatch:
    """Seconds that something took, and the processor seconds of this process and all below it."""

    seconds: float = 0.0
    cpu: float = 0.0


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    watch = Stopwatch()
    started, cpu = time.perf_counter(), cpu_of_tree(os.getpid())
    try:
        yield watch
    finally:
        watch.seconds = time.perf_counter() - started
        watch.cpu = cpu_of_tree(os.getpid()) - cpu


def parser(description: str | None) -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    add_arguments(result)
    result.add_argument(
        "--unchecked",
        action="store_true",
        help="leave out a second run that only checks the outputs of the timed one",
    )
    return result


def report(
    dataset: Dataset,
    *,
    system: str,
    version: str,
    mode: str,
    workload: str,
    startup: Stopwatch,
    job: Stopwatch,
    found: tuple[int, int] | None,
    notes: str,
) -> int:
    """Check what came out against the manifest, print the JSON line, return the exit status.

    ``found``: the number of outputs and their checksum; None if nobody has looked.
    """
    expected = dataset.expected(workload)
    if found is not None and found != (expected.outputs, expected.checksum):
        print(
            f"{system} {mode} {workload}: {found[0]} outputs with checksum {found[1]}, "
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
        seconds=round(job.seconds, 3),
        records_per_second=round(dataset.records / job.seconds, 1),
        outputs=expected.outputs,
        checksum=expected.checksum,
        notes=notes,
        startup_seconds=round(startup.seconds, 3),
        job_cpu=round(job.cpu, 2),
        startup_cpu=round(startup.cpu, 2),
        checked=found is not None,
    )
    # Engines write to the inherited stdout too, so the line must go out whole and last.
    print(json.dumps(asdict(outcome)), flush=True)
    return 0
