"""The tasks of a driver loop without Spark: cells go in any order, and the result is that of memory."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.errors import UserCodeError
from millstream.common.pickling import dumps
from millstream.iteration import LoopJob, Task, run_loop
from millstream.iteration.kernel.body import Body
from millstream.iteration.kernel.snapshots import Snapshot, Snapshots
from millstream.iteration.spark import driver
from millstream.iteration.spark.driver import (
    Driven,
    LoadWork,
    ResultWork,
    StepWork,
    WriteWork,
    words_of,
)
from millstream.iteration.spark.packing import split
from millstream.spark.tasks.worker import ProgramRef
from tests.support.loops import (
    Counting,
    Failing,
    Wandering,
    components_job,
    components_of,
    counting_job,
    wandering_job,
)
from tests.support.strategies import examples

REF = ProgramRef("none", b"")
Rows = list[dict[str, Any]]


class _Cluster:
    """Cells between the tasks of a loop, shuffled by a seed."""

    def __init__(self, job: LoopJob, seed: int, snapshots: Snapshots | None = None) -> None:
        assert job.tasks is not None
        self.job, self.tasks, self.random = job, job.tasks, Random(seed)
        self.snapshots = snapshots

    def loop(self, start: Snapshot | None) -> bytes:
        job = self.job
        schemas = {name: each.data.schema for name, each in job.inputs.items()}
        broadcasts = frozenset(name for name, each in job.inputs.items() if each.broadcast)
        return pickle.dumps(
            Driven(
                job.name,
                job.program,
                job.output,
                self.tasks,
                schemas,
                broadcasts,
                None,
                self.snapshots,
                start,
            )
        )

    def inputs(self) -> Rows:
        given = self.job.inputs.items()
        batches = [b for name, each in given for b in split(name, each, each.data, self.tasks, 0)]
        return [row for batch in batches for row in batch.to_pylist()]

    def run(self, loop: bytes, work: Any, rows: Rows, schema: pa.Schema) -> list[pa.RecordBatch]:
        """All tasks of one job of Spark."""
        found = []
        for index in range(self.tasks):
            mine = [row for row in rows if row["task"] == index]
            self.random.shuffle(mine)
            batches: Iterable[pa.RecordBatch] = (
                pa.RecordBatch.from_pylist([row], schema) for row in mine
            )
            found += list(work.work(pickle.loads(loop), index, iter(batches)))
        return found


def rows_of(batches: list[pa.RecordBatch]) -> Rows:
    return [row for batch in batches for row in batch.to_pylist()]


def by_cells(
    job: LoopJob, seed: int, snapshots: Snapshots | None = None, start: Snapshot | None = None
) -> pa.Table:
    """Run a job as the driver does, with a snapshot after each second superstep."""
    cluster = _Cluster(job, seed, snapshots)
    loop = cluster.loop(start)
    packed = pa.schema({"task": pa.int32(), "input": pa.string(), "rows": pa.binary()})
    cells = rows_of(cluster.run(loop, LoadWork(REF), cluster.inputs(), packed))
    loaded = [row for row in cells if row["kind"] == driver.LOADED]
    place = Task(0, cluster.tasks)
    body = Body(job.name, pickle.loads(pickle.dumps(job.program)), place, job.output, None)
    if start is not None and snapshots is not None:
        place.superstep, place.aggregates = start.step, snapshots.read(start, 0)["aggregates"]
    while True:
        changing = [row for row in cells if row["kind"] in (driver.STATE, driver.MESSAGE)]
        aggregates = dumps(dict(place.aggregates))
        if snapshots is not None and place.superstep and place.superstep % 2 == 0:
            work = WriteWork(REF, place.superstep, aggregates, dumps([]))
            written = rows_of(cluster.run(loop, work, changing, driver.CELLS))
            snapshots.commit(place.superstep, words_of(written))
        step = StepWork(REF, place.superstep + 1, aggregates)
        cells = rows_of(cluster.run(loop, step, loaded + changing, driver.CELLS))
        reports = [row for row in cells if row["kind"] == driver.REPORT]
        place.superstep += 1
        merged = body.take([], words_of(reports))
        if merged.finished or merged.step >= job.max_supersteps:
            changing = [row for row in cells if row["kind"] in (driver.STATE, driver.MESSAGE)]
            result = ResultWork(REF, place.superstep, dumps(dict(place.aggregates)))
            batches = cluster.run(loop, result, loaded + changing, driver.CELLS)
            return pa.Table.from_batches(batches, job.output)


@pytest.fixture
def small_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """States and messages are many pieces."""
    monkeypatch.setattr(driver, "MOST_BYTES", 100)


@pytest.mark.parametrize("tasks", [1, 2, 4])
def test_inboxes_are_those_of_memory(tasks: int, small_cells: None) -> None:
    job = counting_job(Counting(4), tasks)
    assert by_cells(job, 3) == run_loop(job).to_arrow()


@examples(25)
@given(st.integers(0, 2**32), st.sampled_from([1, 2, 4]), st.integers(1, 8))
def test_random_programs_give_what_they_give_in_memory(seed: int, tasks: int, steps: int) -> None:
    job = wandering_job(Wandering(seed), tasks, steps)
    assert by_cells(job, seed) == run_loop(job).to_arrow()


def test_components_with_more_tasks_than_vertices() -> None:
    job = components_job([1, 2, 3], [(1, 2)], 5)
    assert components_of(by_cells(job, 1)) == {1: 1, 2: 1, 3: 3}


@examples(10)
@given(st.integers(0, 2**32), st.sampled_from([1, 2]), st.integers(3, 7))
def test_a_loop_goes_on_from_a_snapshot(seed: int, tasks: int, steps: int) -> None:
    job = wandering_job(Wandering(seed), tasks, steps)
    expected = run_loop(job).to_arrow()
    with TemporaryDirectory() as folder:
        snapshots = Snapshots(folder, "wandering-1", {})
        snapshots.claim()
        assert by_cells(job, seed, snapshots) == expected
        last = snapshots.last()
        assert last is not None
        assert by_cells(job, seed, snapshots, last) == expected


def test_an_error_of_a_task_is_a_cell(tmp_path: Path) -> None:
    cluster = _Cluster(counting_job(Failing(), 2), 1)
    with pytest.raises(UserCodeError):
        by_cells(cluster.job, 1)
    error = UserCodeError("USER_CODE", "it failed")
    failed = StepWork(REF, 1, b"").failed(pickle.loads(cluster.loop(None)), 1, error)
    with pytest.raises(UserCodeError, match="it failed"):
        words_of(rows_of(list(failed)))
