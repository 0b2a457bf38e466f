"""The resident loop on Spark: one job of as many tasks as the loop has, all at the same time."""

from __future__ import annotations

import json
import pickle
import secrets
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.common.errors import Location, MillstreamError
from millstream.common.pickling import dumps
from millstream.common.time import to_millis
from millstream.iteration.kernel.body import Body, Merged
from millstream.iteration.kernel.memory import disagreement
from millstream.iteration.kernel.mesh import (
    Listener,
    Mesh,
    MeshBlocked,
    PeerLost,
    connected,
    secret_of,
)
from millstream.iteration.kernel.resident import mesh_exchange, run_over_mesh
from millstream.iteration.program import LoopJob, LoopProgram, MeshProgram, Task
from millstream.iteration.spark.packing import Unpacked, input_schemas, packed_inputs, unpacked
from millstream.spark.tasks.memory import session_bytes
from millstream.spark.tasks.worker import ProgramRef, errors_that_travel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["NetworkBlocked", "Ran", "run_resident"]

TASK, REPORT = "_loop_task", "_loop_report"
"""Columns beside those of the result: which task a row is of, and what it reports at its end."""


class NetworkBlocked(Exception):
    """The tasks cannot reach each other; says why."""


@dataclass(frozen=True)
class Ran:
    """A loop that has ended on Spark."""

    frame: DataFrame
    end: Merged
    steps: Sequence[tuple[Merged, float]]


# -- in the tasks ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Failure:
    """Why a task could not go on.

    ``kind``: "error" for one of the program, "blocked" if tasks cannot reach each other, "lost" if
    another task is gone.
    """

    kind: str
    error: MillstreamError


@dataclass(frozen=True)
class Ending:
    """The last words of a task: how the loop has ended, or why it did not."""

    task: int
    step: int
    merged: Merged | None = None
    steps: Sequence[tuple[Merged, float]] = ()
    failure: Failure | None = None


@dataclass(frozen=True)
class Resident:
    """The parts of a loop that its tasks need."""

    name: str
    program: LoopProgram
    output: pa.Schema
    max_supersteps: int
    timeout: float
    schemas: Mapping[str, pa.Schema]
    broadcasts: frozenset[str]
    location: Location | None


@dataclass(frozen=True)
class _Tasks:
    """The function that Spark calls for each task."""

    ref: ProgramRef
    tasks: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with errors_that_travel(self.ref):
            # Each task has a copy of its own: a worker process may run several, one after another.
            self.ref.forget()
            loop: Resident = self.ref.get()
            self.ref.forget()
            yield from _Life(loop, self.tasks).run(batches)


class _Life:
    """One task from its inputs to its last words."""

    def __init__(self, loop: Resident, tasks: int) -> None:
        from pyspark import BarrierTaskContext

        self._loop = loop
        self._tasks = tasks
        self._context = BarrierTaskContext.get()
        self._index = self._context.partitionId()
        self._step = 0
        self._steps: list[tuple[Merged, float]] = []

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table, ending = None, None
        try:
            given = unpacked(batches, self._loop.schemas, self._loop.broadcasts)
            with self._mesh() as mesh:
                body, merged = self._loop_over(mesh, given)
            table = body.result()
            steps = self._steps if self._index == 0 else ()
            ending = Ending(self._index, merged.step, merged, steps)
        except MeshBlocked as error:
            ending = self._failed("blocked", MillstreamError("LOOP_NETWORK", str(error)))
        except PeerLost as error:
            ending = self._failed("lost", MillstreamError("LOOP_TASK_LOST", str(error)))
        except MillstreamError as error:
            ending = self._failed("error", error)
        if table is not None:
            yield from _rows(self._loop.output, self._index, table)
        yield _words(self._loop.output, ending)

    def _failed(self, kind: str, error: MillstreamError) -> Ending:
        return Ending(self._index, self._step, failure=Failure(kind, error))

    def _mesh(self) -> Mesh:
        if self._tasks == 1:
            return Mesh(0, [None], self._loop.timeout)
        host = self._context.getTaskInfos()[self._index].address.rpartition(":")[0].strip("[]")
        with Listener(host) as listener:
            words = [secrets.token_hex(32), *listener.address]
            # It takes a second, so it is done once: all else goes over the sockets.
            told = [json.loads(text) for text in self._context.allGather(json.dumps(words))]
            secret = secret_of([word for word, *_ in told])
            addresses = [(address, port) for _, address, port in told]
            sockets = connected(self._index, listener, addresses, secret)
        return Mesh(self._index, sockets, self._loop.timeout)

    def _loop_over(self, mesh: Mesh, given: Unpacked) -> tuple[Body, Merged]:
        loop = self._loop
        mesh_program = isinstance(loop.program, MeshProgram)
        exchange = mesh_exchange(loop.name, mesh) if mesh_program else None
        place = Task(self._index, self._tasks, given.broadcasts, exchange)
        body = Body(loop.name, loop.program, place, loop.output, loop.location)
        try:
            body.load(given.inputs)
            given.inputs.clear()
            return body, run_over_mesh(body, mesh, loop.max_supersteps, self._watch)
        finally:
            self._step = place.superstep

    def _watch(self, merged: Merged, seconds: float) -> None:
        if self._index == 0:
            self._steps.append((merged, seconds))


def _rows(output: pa.Schema, index: int, table: pa.Table) -> Iterator[pa.RecordBatch]:
    for batch in table.to_batches():
        count = batch.num_rows
        own = [pa.repeat(pa.scalar(index, pa.int32()), count), pa.nulls(count, pa.binary())]
        yield pa.record_batch([*batch.columns, *own], names=[*output.names, TASK, REPORT])


def _words(output: pa.Schema, ending: Ending) -> pa.RecordBatch:
    none = [pa.nulls(1, field.type) for field in output]
    own = [pa.array([ending.task], pa.int32()), pa.array([dumps(ending)], pa.binary())]
    return pa.record_batch([*none, *own], names=[*output.names, TASK, REPORT])


# -- in the driver ---------------------------------------------------------------------------------


def run_resident(spark: SparkSession, job: LoopJob, tasks: int) -> Ran:
    """Run a loop as one job.

    Raises
    ------
    NetworkBlocked
        If the tasks cannot reach each other.
    """
    from pyspark.sql import functions as F

    loop = Resident(
        job.name,
        job.program,
        job.output,
        job.max_supersteps,
        to_millis(job.options.timeout, "the timeout of a loop") / 1000,
        input_schemas(job),
        frozenset(name for name, given in job.inputs.items() if given.broadcast),
        job.location,
    )
    ref = ProgramRef.of(f"loop{uuid.uuid4().hex}", loop, session_bytes(spark))
    inputs = packed_inputs(spark, job, tasks)
    beside = [pa.field(TASK, pa.int32()), pa.field(REPORT, pa.binary())]
    schema = spark_schema(pa.schema([*job.output, *beside]))
    # This is the last stage of a job: Spark does not start it again, as the restart strategy decides.
    rows = inputs.mapInArrow(_Tasks(ref, tasks), schema, barrier=True).localCheckpoint()
    reports = rows.where(F.col(REPORT).isNotNull()).select(REPORT).collect()
    endings = sorted((pickle.loads(row[0]) for row in reports), key=lambda ending: ending.task)
    _refuse_failures(job, endings)
    # What follows a barrier stage without an exchange must have as many partitions: no user knows that.
    result = rows.where(F.col(REPORT).isNull()).repartitionById(tasks, rows[TASK])
    first = endings[0]
    return Ran(result.drop(TASK, REPORT).localCheckpoint(), first.merged, first.steps)


def _refuse_failures(job: LoopJob, endings: Sequence[Ending]) -> None:
    """Raise the failure that has caused the others."""
    failed = [(ending, ending.failure) for ending in endings if ending.failure is not None]
    if not failed:
        return
    errors = [(e.step, e.task, f.error) for e, f in failed if f.kind == "error"]
    if errors:
        raise min(errors, key=lambda each: each[:2])[2]
    for _, failure in failed:
        if failure.kind == "blocked":
            raise NetworkBlocked(failure.error.message)
    ended = [ending.step for ending in endings if ending.failure is None]
    if ended and any(ending.step > min(ended) for ending, _ in failed):
        raise disagreement(job.name, min(ended))
    raise failed[0][1].error


def spark_schema(schema: pa.Schema) -> Any:
    """Columns of Arrow as Spark knows them, all of which may be null."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(pa.schema([field.with_nullable(True) for field in schema]))
