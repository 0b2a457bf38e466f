"""Loops whose workers or drivers are killed: the right result, and few supersteps again."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from subprocess import run

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from millstream.common.errors import CheckpointError, MillstreamError
from millstream.common.restart_strategy import RestartStrategies
from millstream.iteration import LoopMode, LoopOptions, LoopResult, run_loop
from tests.support.loops import COUNTS, Counting, Crashing, counting_job, noted

pytestmark = pytest.mark.spark

AT_ONCE = RestartStrategies.fixed_delay_restart(2, 1)
EXPECTED = run_loop(counting_job(Counting(7))).to_arrow()


def crashing(folder: Path, mode: LoopMode, task: int, step: int, every: int = 2) -> LoopResult:
    options = LoopOptions(
        mode=mode,
        checkpoint=str(folder / "checkpoint"),
        snapshot_every=every,
        restart_strategy=AT_ONCE,
    )
    return run_loop(counting_job(Crashing(str(folder), task, step), options=options))


@pytest.mark.parametrize(
    ("mode", "task", "step"),
    [
        ("resident", 0, 1),
        ("resident", 1, 3),
        ("resident", 1, 6),
        ("driver", 1, 3),
    ],
)
def test_a_killed_worker_costs_the_supersteps_since_the_snapshot(
    spark: SparkSession, tmp_path: Path, mode: LoopMode, task: int, step: int
) -> None:
    result = crashing(tmp_path, mode, task, step)
    assert result.to_arrow() == EXPECTED
    snapshot = (step - 1) // 2 * 2
    assert (result.restarts, result.resumed_from) == (1, snapshot)
    assert noted(tmp_path, task) == [*range(1, step + 1), *range(snapshot + 1, 8)]
    assert [each.step for each in result.supersteps] == [*range(1, 8)]
    # Nothing is left: the next loop of this name begins from its beginning.
    assert list((tmp_path / "checkpoint").iterdir()) == []


def test_without_a_checkpoint_a_loop_begins_again(spark: SparkSession, tmp_path: Path) -> None:
    options = LoopOptions(mode="resident", restart_strategy=AT_ONCE)
    result = run_loop(counting_job(Crashing(str(tmp_path), 0, 3), options=options))
    assert result.to_arrow() == EXPECTED
    assert noted(tmp_path, 0) == [1, 2, 3, *range(1, 8)]
    assert result.restarts == 1


def test_a_loop_that_is_not_to_start_again_says_why_it_ended(
    spark: SparkSession, tmp_path: Path
) -> None:
    options = LoopOptions(mode="resident", restart_strategy=RestartStrategies.no_restart())
    with pytest.raises(MillstreamError, match=r"WORKER_DIED") as caught:
        run_loop(counting_job(Crashing(str(tmp_path), 0, 3), options=options))
    assert caught.value.location is None or "loops.py" in caught.value.location.file


DRIVER = """
import json, os, sys
from millstream.iteration import LoopOptions, run_loop
from tests.support.loops import Crashing, counting_job
folder = sys.argv[1]
options = LoopOptions(mode="resident", checkpoint=folder + "/checkpoint", snapshot_every=2)
result = run_loop(counting_job(Crashing(folder, 1, 6, os.getpid()), options=options))
print(json.dumps([result.to_arrow().to_pylist(), result.resumed_from, len(result.supersteps)]))
"""


def test_a_killed_driver_goes_on_from_the_snapshot(tmp_path: Path) -> None:
    command = [sys.executable, "-c", DRIVER, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    first = run(command, env=environment, capture_output=True, check=False)
    assert first.returncode == -signal.SIGKILL, first.stderr.decode()
    second = run(command, env=environment, capture_output=True, check=True, text=True)
    rows, resumed_from, count = json.loads(second.stdout)
    assert pa.Table.from_pylist(rows, COUNTS) == EXPECTED
    assert (resumed_from, count) == (4, 7)
    assert noted(tmp_path, 1) == [1, 2, 3, 4, 5, 6, 5, 6, 7]


def test_a_snapshot_of_another_number_of_tasks_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    options = LoopOptions(
        mode="resident",
        checkpoint=str(tmp_path / "checkpoint"),
        snapshot_every=2,
        restart_strategy=RestartStrategies.no_restart(),
    )
    with pytest.raises(MillstreamError, match="WORKER_DIED"):
        run_loop(counting_job(Crashing(str(tmp_path), 0, 5), options=options))
    with pytest.raises(CheckpointError, match=r"LOOP_SNAPSHOT_TASKS.*with 1 tasks.*of 2"):
        run_loop(counting_job(Crashing(str(tmp_path), 0, 5), tasks=1, options=options))
    with pytest.raises(CheckpointError, match="LOOP_OTHER_SNAPSHOT"):
        run_loop(counting_job(Counting(7), options=options))
    result = run_loop(counting_job(Crashing(str(tmp_path), 0, 5), options=options))
    assert (result.to_arrow(), result.resumed_from) == (EXPECTED, 4)
