"""The resident loop on Spark: one job of as many tasks as the loop has, all at the same time."""

from __future__ import annotations

import json
import pickle
import secrets
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from millstream.common.errors import Location, MillstreamError
from millstream.common.pickling import dumps
from millstream.common.time import positive_millis
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
from millstream.iteration.kernel.progress import Teller, TellerAddress
from millstream.iteration.kernel.resident import Rhythm, Stayer, Steps, mesh_exchange
from millstream.iteration.kernel.snapshots import Snapshot, Snapshots
from millstream.iteration.program import LoopJob, LoopProgram, MeshProgram, Task
from millstream.iteration.spark.obstacles import (
    Needs,
    NetworkBlocked,
    StateTooLarge,
    limit_of,
    needs_of,
    too_large,
)
from millstream.iteration.spark.packing import Unpacked, input_schemas, packed_inputs, unpacked
from millstream.iteration.spark.ran import Ran, rhythm_of, spark_schema
from millstream.spark.tasks.memory import out_of_memory, session_bytes
from millstream.spark.tasks.worker import ProgramRef, errors_that_travel

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["run_resident"]

TASK, REPORT = "_loop_task", "_loop_report"
"""Columns beside those of the result: which task a row is of, and what it reports at its end."""


# -- in the tasks ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Failure:
    """Why a task could not go on.

    ``kind``: "error" for one of the program, "blocked" if tasks cannot reach each other, "large" if
    their memory is too small, "lost" if another task is gone.
    """

    kind: str
    why: str
    error: MillstreamError | None = None


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
    check_size: bool
    memory: int | None
    schemas: Mapping[str, pa.Schema]
    broadcasts: frozenset[str]
    location: Location | None
    snapshots: Snapshots | None
    rhythm: Rhythm
    start: Snapshot | None
    driver: TellerAddress | None


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
        self._steps: Steps = []

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table, ending = None, None
        try:
            given = unpacked(batches, self._loop.schemas, self._loop.broadcasts)
            with self._mesh(given.size) as mesh:
                body, merged = self._loop_over(mesh, given)
            table = body.result()
            ending = Ending(self._index, merged.step, merged, self._steps)
        except MeshBlocked as error:
            ending = self._failed("blocked", str(error))
        except StateTooLarge as error:
            ending = self._failed("large", str(error))
        except PeerLost as error:
            ending = self._failed("lost", str(error))
        except MillstreamError as error:
            found = out_of_memory(error, self._loop.memory) or error
            ending = self._failed("error", found.message, found)
        if table is not None:
            yield from _rows(self._loop.output, self._index, table)
        yield _words(self._loop.output, ending)

    def _failed(self, kind: str, why: str, error: MillstreamError | None = None) -> Ending:
        return Ending(self._index, self._step, failure=Failure(kind, why, error))

    def _mesh(self, size: int) -> Mesh:
        address = self._context.getTaskInfos()[self._index].address
        # Without a port it would be an empty text, which means all addresses of the machine.
        host = (address.rpartition(":")[0] or address).strip("[]")
        needs = needs_of(size, self._loop.memory, host)
        if self._tasks == 1:
            self._check_size([needs])
            return Mesh(0, [None], self._loop.timeout)
        listener = self._listener(host)
        with nullcontext() if listener is None else listener:
            place = None if listener is None else listener.address
            words = [secrets.token_hex(32), place, needs]
            # It takes a second, so it is done once: all else goes over the sockets.
            told = [json.loads(text) for text in self._context.allGather(json.dumps(words))]
            self._check_size([each for _, _, each in told])
            silent = [task for task, (_, place, _) in enumerate(told) if place is None]
            if listener is None or silent:
                raise MeshBlocked(f"task {silent[0]} cannot listen at its address")
            addresses = [(place[0], place[1]) for _, place, _ in told]
            secret = secret_of([word for word, *_ in told])
            sockets = connected(self._index, listener, addresses, secret)
        return Mesh(self._index, sockets, self._loop.timeout)

    def _listener(self, host: str) -> Listener | None:
        """The socket for others; None if there can be none, which all must hear."""
        try:
            return Listener(host)
        except MeshBlocked:
            return None

    def _check_size(self, needs: Sequence[Needs]) -> None:
        """All tasks look at the same numbers, so all decide equally."""
        why = too_large(needs) if self._loop.check_size else None
        if why is not None:
            raise StateTooLarge(why)

    def _loop_over(self, mesh: Mesh, given: Unpacked) -> tuple[Body, Merged]:
        loop = self._loop
        mesh_program = isinstance(loop.program, MeshProgram)
        exchange = mesh_exchange(loop.name, mesh) if mesh_program else None
        place = Task(self._index, self._tasks, given.broadcasts, exchange)
        body = Body(loop.name, loop.program, place, loop.output, loop.location)
        try:
            body.load(given.inputs)
            given.inputs.clear()
            teller = Teller(loop.driver if self._index == 0 else None)
            with closing(teller):
                stayer = Stayer(body, mesh, loop.snapshots, loop.rhythm, teller.tell)
                stayer.begin(loop.start)
                merged = stayer.run(loop.max_supersteps)
            self._steps = stayer.steps
            return body, merged
        finally:
            self._step = place.superstep


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


def run_resident(
    spark: SparkSession,
    job: LoopJob,
    tasks: int,
    snapshots: Snapshots | None = None,
    start: Snapshot | None = None,
    driver: TellerAddress | None = None,
) -> Ran:
    """Run a loop as one job, from its beginning or from a snapshot.

    Raises
    ------
    NetworkBlocked
        If the tasks cannot reach each other.
    StateTooLarge
        If their memory is too small.
    """
    from pyspark.sql import functions as F

    loop = Resident(
        job.name,
        job.program,
        job.output,
        job.max_supersteps,
        positive_millis(job.options.timeout, "the timeout of a loop") / 1000,
        job.options.mode != "resident",
        limit_of(spark),
        input_schemas(job),
        frozenset(name for name, given in job.inputs.items() if given.broadcast),
        job.location,
        snapshots,
        rhythm_of(job),
        start,
        driver,
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
    errors = [(e.step, e.task, f.error) for e, f in failed if f.error is not None]
    if errors:
        raise min(errors, key=lambda each: each[:2])[2]
    whys = {failure.kind: failure.why for _, failure in reversed(failed)}
    if "large" in whys:
        raise StateTooLarge(whys["large"])
    if "blocked" in whys:
        raise NetworkBlocked(whys["blocked"])
    ended = [ending.step for ending in endings if ending.failure is None]
    if ended and any(ending.step > min(ended) for ending, _ in failed):
        raise disagreement(job.name, min(ended))
    raise MillstreamError(
        "LOOP_TASK_LOST",
        f"loop {job.name!r} has ended in superstep {failed[0][0].step}: {whys['lost']}",
        location=job.location,
        hint="see the log of its worker; raise LoopOptions.timeout if supersteps take longer than that",
    )
