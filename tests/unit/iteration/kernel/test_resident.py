"""Tasks over sockets, in threads, give what they give in memory; so does a start from a snapshot."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.errors import PlanError
from millstream.iteration import LoopJob, MeshProgram, Task, run_loop
from millstream.iteration.kernel.body import Body, Merged
from millstream.iteration.kernel.memory import routed_inputs
from millstream.iteration.kernel.mesh import Listener, Mesh, PeerLost, connected, secret_of
from millstream.iteration.kernel.resident import Rhythm, Stayer, mesh_exchange
from millstream.iteration.kernel.snapshots import Snapshot, Snapshots
from tests.support.loops import (
    Counting,
    Crashing,
    SeveralExchanges,
    Unequal,
    Wandering,
    components_job,
    components_of,
    counting_job,
    noted,
    totals_job,
    wandering_job,
)
from tests.support.strategies import examples

SECRET = secret_of(["x"])
fork = multiprocessing.get_context("fork")


class _Task:
    """One task of a job, in a thread."""

    def __init__(self, job: LoopJob, index: int, links: Any, snapshots: Snapshots | None) -> None:
        assert job.tasks is not None
        self.mesh = Mesh(index, links, 20.0)
        exchange = mesh_exchange(job.name, self.mesh)
        inputs, broadcasts = routed_inputs(job, job.tasks)
        place = Task(
            index, job.tasks, broadcasts, exchange if isinstance(job.program, MeshProgram) else None
        )
        program = pickle.loads(pickle.dumps(job.program))
        self.body = Body(job.name, program, place, job.output, job.location)
        self.body.load(inputs[index])
        rhythm = Rhythm(2, 0.0)
        self.stayer = Stayer(self.body, self.mesh, snapshots, rhythm, lambda merged, seconds: None)


def over_sockets(
    job: LoopJob, snapshots: Snapshots | None = None, start: Snapshot | None = None
) -> tuple[pa.Table, list[Merged]]:
    """Run a job with a thread and sockets for each task; all see the same supersteps."""
    assert job.tasks is not None
    count = job.tasks
    with ExitStack() as around, ThreadPoolExecutor(count) as pool:
        listeners = [around.enter_context(Listener("127.0.0.1")) for _ in range(count)]
        addresses = [each.address for each in listeners]

        def work(index: int) -> tuple[pa.Table, list[Merged]]:
            links = connected(index, listeners[index], addresses, SECRET)
            task = _Task(job, index, links, snapshots)
            with task.mesh:
                task.stayer.begin(start)
                end = task.stayer.run(job.max_supersteps)
            return task.body.result(), [merged for merged, _ in task.stayer.steps] or [end]

        found = list(pool.map(work, range(count)))
    assert {steps[-1].step for _, steps in found} == {found[0][1][-1].step}
    return pa.concat_tables([table for table, _ in found]), found[0][1]


@pytest.mark.parametrize("tasks", [1, 2, 4])
def test_several_exchanges(tasks: int) -> None:
    job = totals_job(SeveralExchanges(), tasks)
    assert over_sockets(job)[0] == run_loop(job).to_arrow()


def test_exchanges_that_do_not_match() -> None:
    with pytest.raises((PlanError, PeerLost)):
        over_sockets(totals_job(Unequal(), 3))


@pytest.mark.parametrize("tasks", [1, 2, 4])
def test_inboxes_and_aggregates_are_those_of_memory(tasks: int) -> None:
    job = counting_job(Counting(4), tasks)
    expected = run_loop(job)
    table, steps = over_sockets(job)
    assert table == expected.to_arrow()
    assert [(s.step, s.active, s.aggregates) for s in steps] == [
        (s.step, s.active, s.aggregates) for s in expected.supersteps
    ]


GRAPHS = st.integers(1, 20).flatmap(
    lambda n: st.tuples(
        st.just(list(range(n))),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30),
    )
)


@examples(20)
@given(GRAPHS, st.sampled_from([1, 2, 4]))
def test_components_are_those_of_memory(
    graph: tuple[list[int], list[tuple[int, int]]], tasks: int
) -> None:
    job = components_job(*graph, tasks)
    assert components_of(over_sockets(job)[0]) == components_of(run_loop(job).to_arrow())


@examples(25)
@given(st.integers(0, 2**32), st.sampled_from([1, 2, 4]), st.integers(1, 12))
def test_random_programs_give_the_same_over_sockets_and_from_any_snapshot(
    seed: int, tasks: int, steps: int
) -> None:
    job = wandering_job(Wandering(seed), tasks, steps)
    expected = run_loop(job).to_arrow()
    with TemporaryDirectory() as folder:
        snapshots = Snapshots(folder, "wandering-1", {})
        snapshots.claim()
        assert over_sockets(job, snapshots)[0] == expected
        last = snapshots.last()
        assert (last is None) == (steps <= 2)
        if last is not None:
            table, merged = over_sockets(job, snapshots, last)
            assert table == expected
            # The supersteps before the snapshot are remembered.
            assert [each.step for each in merged] == [*range(1, steps + 1)]


def test_a_snapshot_is_whole_before_the_next_superstep(tmp_path: Path) -> None:
    snapshots = Snapshots(str(tmp_path), "counting-1", {})
    snapshots.claim()
    over_sockets(counting_job(Counting(7), 2), snapshots)
    names = sorted(path.name for path in (tmp_path / "counting-1").iterdir())
    assert names == ["4", "6", "manifest-4.json", "manifest-6.json", "owner"]


def in_processes(job: LoopJob, folder: Path) -> list[int]:
    """Run a job with a process for each task, until all end well; where each start went on from."""
    assert job.tasks is not None
    starts = []
    for _ in range(3):
        snapshots = Snapshots(str(folder), "crashing-1", {})
        snapshots.claim()
        start = snapshots.last()
        starts.append(0 if start is None else start.step)
        pairs = {
            (low, high): socket.socketpair() for high in range(job.tasks) for low in range(high)
        }
        children = [
            fork.Process(target=_live, args=(job, index, pairs, snapshots, start, folder))
            for index in range(job.tasks)
        ]
        for child in children:
            child.start()
        for pair in pairs.values():
            for link in pair:
                link.close()
        for child in children:
            child.join()
        if all(child.exitcode == 0 for child in children):
            return starts
    raise AssertionError(f"started from {starts}")


def _live(
    job: LoopJob,
    index: int,
    pairs: dict[tuple[int, int], tuple[socket.socket, socket.socket]],
    snapshots: Snapshots,
    start: Snapshot | None,
    folder: Path,
) -> None:
    """A task in a process of its own."""
    links: list[socket.socket | None] = [None] * len({*range(job.tasks or 0)})
    for (low, high), (of_low, of_high) in pairs.items():
        for end, link, other in ((low, of_low, high), (high, of_high, low)):
            if end == index:
                links[other] = link
            else:
                link.close()
    task = _Task(job, index, links, snapshots)
    try:
        task.stayer.begin(start)
        task.stayer.run(job.max_supersteps)
    except PeerLost:
        os._exit(1)
    with pa.ipc.new_stream(str(folder / f"result-{index}"), job.output) as stream:
        stream.write_table(task.body.result())
    os._exit(0)


@pytest.mark.parametrize("step", range(1, 8))
@pytest.mark.parametrize(("tasks", "killed"), [(2, 0), (2, 1), (4, 2)])
def test_a_task_that_is_killed_costs_the_supersteps_since_the_snapshot(
    tmp_path: Path, tasks: int, killed: int, step: int
) -> None:
    job = counting_job(Crashing(str(tmp_path), killed, step), tasks)
    snapshot = (step - 1) // 2 * 2
    assert in_processes(job, tmp_path) == [0, snapshot]
    assert noted(tmp_path, killed) == [*range(1, step + 1), *range(snapshot + 1, 8)]
    found = [pa.ipc.open_stream(str(tmp_path / f"result-{n}")).read_all() for n in range(tasks)]
    assert pa.concat_tables(found) == run_loop(counting_job(Counting(7), tasks)).to_arrow()
