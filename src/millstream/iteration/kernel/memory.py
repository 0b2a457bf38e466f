"""Loops in this process: the tasks take turns, or run in threads if they talk within a superstep."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.by_value import dumps_by_value
from millstream.common.errors import PlanError
from millstream.iteration.kernel.body import Body, Exchange, Merged, Report
from millstream.iteration.kernel.copies import copied
from millstream.iteration.kernel.owners import owners
from millstream.iteration.program import LoopJob, LoopProgram, MeshProgram, Task

__all__ = ["disagreement", "routed_inputs", "run_in_memory", "unequal_exchanges"]

Watch = Callable[[Merged, float], None]


def run_in_memory(job: LoopJob, tasks: int, watch: Watch) -> tuple[list[pa.Table], Merged]:
    """The results of all tasks, and how the loop has ended."""
    inputs, broadcasts = routed_inputs(job, tasks)
    mesh = _Threads(job.name, tasks)
    exchange = mesh.exchange_of if isinstance(job.program, MeshProgram) else lambda index: None
    places = [Task(index, tasks, broadcasts, exchange(index)) for index in range(tasks)]
    blob = dumps_by_value(job.program)
    programs: list[LoopProgram] = [pickle.loads(blob) for _ in places]
    bodies = [
        Body(job.name, program, task, job.output, job.location)
        for program, task in zip(programs, places, strict=True)
    ]
    for body, own in zip(bodies, inputs, strict=True):
        body.load(own)
    step = mesh.steps if isinstance(job.program, MeshProgram) else _steps
    while True:
        started = perf_counter()
        merged = _merged(job, bodies, step(bodies))
        watch(merged, perf_counter() - started)
        if merged.finished or merged.step >= job.max_supersteps:
            return [body.result() for body in bodies], merged


def _steps(bodies: Sequence[Body]) -> list[Exchange]:
    return [_step(body) for body in bodies]


def _step(body: Body) -> Exchange:
    outbox = body.step()
    # Copied at once: the task may go on with what it has sent.
    parts = [copied(part) for part in outbox.parts] or [None] * body.task.count
    return Exchange(parts, copied(Report(dict(outbox.aggregates), outbox.active)))


def _merged(job: LoopJob, bodies: Sequence[Body], sent: Sequence[Exchange]) -> Merged:
    ends = [
        body.take([each.parts[index] for each in sent], [copied(each.report) for each in sent])
        for index, body in enumerate(bodies)
    ]
    if len({end.finished for end in ends}) > 1:
        raise disagreement(job.name, ends[0].step)
    return ends[0]


def disagreement(name: str, step: int) -> PlanError:
    """Some tasks have ended, others wait for them."""
    return PlanError(
        "LOOP_DISAGREES",
        f"finished() of loop {name!r} gave different answers in its tasks after superstep {step}",
        hint="decide by the arguments of finished() only: they are the same in all tasks",
    )


def unequal_exchanges(name: str) -> PlanError:
    """A task waits for an exchange that another one does not make."""
    return PlanError(
        "LOOP_EXCHANGES",
        f"the tasks of loop {name!r} did not call exchange() equally often in a superstep",
        hint="call it in every task, with parts of None where there is nothing to send",
    )


def routed_inputs(
    job: LoopJob, tasks: int
) -> tuple[list[dict[str, pa.Table]], dict[str, pa.Table]]:
    """The inputs of each task, and those that all have."""
    parts: list[dict[str, pa.Table]] = [{} for _ in range(tasks)]
    broadcasts = {}
    for name, given in job.inputs.items():
        data = given.data
        if not isinstance(data, pa.Table):
            raise PlanError(
                "LOOP_INPUT",
                f"input {name!r} of loop {job.name!r} is a {type(data).__name__}: in memory it must be "
                "a pyarrow.Table",
                location=job.location,
            )
        if given.broadcast:
            broadcasts[name] = data
            continue
        if given.key is None:
            where = np.arange(data.num_rows) * tasks // max(data.num_rows, 1)
        else:
            where = owners(data[given.key], tasks)
        for index, part in enumerate(parts):
            part[name] = data if tasks == 1 else data.take(np.flatnonzero(where == index))
    return parts, broadcasts


class _Stopped(BaseException):
    """Another task has failed: what this one does is not needed. No `except Exception` catches it."""


_END = "the end of the superstep"
_EXCHANGE = "exchange()"


class _Threads:
    """Tasks that exchange messages within a superstep, one thread each."""

    def __init__(self, name: str, tasks: int) -> None:
        self._name = name
        self._tasks = tasks
        self._barrier = threading.Barrier(tasks)
        self._sent: list[Sequence[Any]] = [()] * tasks
        self._places: list[str] = [_END] * tasks

    def exchange_of(self, index: int) -> Callable[[Sequence[Any]], list[Any]]:
        """The exchange of one task."""

        def exchange(parts: Sequence[Any]) -> list[Any]:
            self._sent[index] = [copied(part) for part in parts] or [None] * self._tasks
            self._meet(index, _EXCHANGE)
            received = [each[index] for each in self._sent]
            # Nobody may send again before all have read.
            self._wait()
            return received

        return exchange

    def _meet(self, index: int, place: str) -> None:
        """Wait for all tasks, which must have come to the same place."""
        self._places[index] = place
        self._wait()
        if len({*self._places}) > 1:
            raise unequal_exchanges(self._name)

    def _wait(self) -> None:
        try:
            self._barrier.wait()
        except threading.BrokenBarrierError:
            raise _Stopped from None

    def steps(self, bodies: Sequence[Body]) -> list[Exchange]:
        """A superstep of all tasks at once."""
        sent: dict[int, Exchange] = {}
        failures: list[BaseException] = []

        def run(index: int) -> None:
            try:
                sent[index] = _step(bodies[index])
                self._meet(index, _END)
            except _Stopped:
                pass
            except BaseException as error:
                failures.append(error)
                self._barrier.abort()

        threads = [
            threading.Thread(target=copy_context().run, args=(run, index), daemon=True)
            for index in range(len(bodies))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return [sent[index] for index in range(len(bodies))]
