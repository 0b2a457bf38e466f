"""The driver loop: a Spark job per superstep, for clusters where tasks cannot stay or cannot talk.

Between two supersteps the states and messages of the tasks are rows of a DataFrame. What a task has
loaded is kept beside them, so that a superstep does not index the inputs again.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.common.errors import Location, MillstreamError
from millstream.common.pickling import dumps
from millstream.iteration.kernel.body import Body, Merged, Report
from millstream.iteration.kernel.memory import Watch
from millstream.iteration.kernel.resident import Steps, snapshot_of
from millstream.iteration.kernel.snapshots import Snapshot, Snapshots
from millstream.iteration.kernel.wire import decoded, encoded
from millstream.iteration.program import LoopJob, LoopProgram, Task
from millstream.iteration.spark.packing import input_schemas, packed_inputs, unpacked
from millstream.iteration.spark.ran import Ran, rhythm_of, spark_schema
from millstream.spark.tasks.memory import out_of_memory, session_bytes
from millstream.spark.tasks.worker import ProgramRef, errors_that_travel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Driven", "LoadWork", "ResultWork", "StepWork", "WriteWork", "run_by_driver", "words_of"]

CELLS = pa.schema(
    {
        "task": pa.int32(),
        "kind": pa.int32(),
        "sender": pa.int32(),
        "piece": pa.int32(),
        "cell": pa.binary(),
    }
)
CELLS_SQL = "task int, kind int, sender int, piece int, cell binary"

LOADED, STATE, MESSAGE, REPORT, FAILURE = range(5)
"""What a cell holds: a loaded program, its state, a message to it, the words of a task."""

MOST_BYTES = 16 << 20
"""Of a cell: more are several pieces."""

Batches = Iterator[pa.RecordBatch]


# -- in the tasks ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Driven:
    """The parts of a loop that its tasks need."""

    name: str
    program: LoopProgram
    output: pa.Schema
    tasks: int
    schemas: Mapping[str, pa.Schema]
    broadcasts: frozenset[str]
    location: Location | None
    snapshots: Snapshots | None
    start: Snapshot | None


class _Work:
    """A function that Spark calls for each task: all of its cells in, cells or rows out."""

    def __init__(self, ref: ProgramRef) -> None:
        self._ref = ref

    def __call__(self, batches: Batches) -> Batches:
        with errors_that_travel(self._ref):
            self._ref.forget()
            loop: Driven = self._ref.get()
            self._ref.forget()
            index = _index()
            try:
                yield from self.work(loop, index, batches)
            except MillstreamError as error:
                # The driver raises the one of the first task, as in memory. No task is run again.
                found = out_of_memory(error, self._ref.memory) or error
                yield from self.failed(loop, index, found)

    def work(self, loop: Driven, index: int, batches: Batches) -> Batches:
        raise NotImplementedError

    def failed(self, loop: Driven, index: int, error: MillstreamError) -> Batches:
        return _cells(index, FAILURE, index, dumps(error))


class LoadWork(_Work):
    """Let the programs index their inputs, and take up the states of a snapshot."""

    def work(self, loop: Driven, index: int, batches: Batches) -> Batches:
        given = unpacked(batches, loop.schemas, loop.broadcasts)
        body = _body(loop, loop.program, Task(index, loop.tasks, given.broadcasts))
        body.load(given.inputs)
        # Together: a program may have kept its task.
        yield from _cells(index, LOADED, index, dumps((body.program, body.task)))
        if loop.snapshots is not None and loop.start is not None:
            part = loop.snapshots.read(loop.start, index)
            yield from _cells(index, STATE, index, b"".join(encoded(part["state"])))
            for sender, message in part["inbox"].items():
                if message is not None:
                    yield from _cells(index, MESSAGE, int(sender), b"".join(encoded(message)))


@dataclass
class _Kept:
    """The cells of a task."""

    loaded: bytes
    state: Any
    inbox: list[Any]

    @staticmethod
    def of(batches: Batches, tasks: int) -> _Kept:
        pieces: dict[tuple[int, int], dict[int, Any]] = {}
        for batch in batches:
            names = [batch.column(name).to_pylist() for name in ("kind", "sender", "piece")]
            for kind, sender, piece, cell in zip(*names, batch.column("cell"), strict=True):
                pieces.setdefault((kind, sender), {})[piece] = cell.as_buffer()
        # Rows come in no order.
        cells = {
            key: bytearray().join(found[piece] for piece in sorted(found))
            for key, found in pieces.items()
        }
        state = [cell for (kind, _), cell in cells.items() if kind == STATE]
        loaded = [cell for (kind, _), cell in cells.items() if kind == LOADED]
        messages = {sender: cell for (kind, sender), cell in cells.items() if kind == MESSAGE}
        inbox = [decoded(messages[s]) if s in messages else None for s in range(tasks)]
        return _Kept(
            bytes(loaded[0]) if loaded else b"", decoded(state[0]) if state else None, inbox
        )


def _restored(loop: Driven, kept: _Kept, step: int, aggregates: Mapping[str, Any]) -> Body:
    """A task as it was after a superstep."""
    program, place = pickle.loads(kept.loaded)
    body = _body(loop, program, place)
    if step:
        place.superstep, place.aggregates = step, aggregates
        body.inbox = kept.inbox
        body.restore(kept.state)
    return body


class StepWork(_Work):
    """One superstep of each task."""

    def __init__(self, ref: ProgramRef, step: int, aggregates: bytes) -> None:
        super().__init__(ref)
        self._step = step
        self._aggregates = aggregates

    def work(self, loop: Driven, index: int, batches: Batches) -> Batches:
        kept = _Kept.of(batches, loop.tasks)
        body = _restored(loop, kept, self._step - 1, pickle.loads(self._aggregates))
        outbox = body.step()
        for target, part in enumerate(outbox.parts):
            if part is not None:
                yield from _cells(target, MESSAGE, index, b"".join(encoded(part)))
        yield from _cells(index, STATE, index, b"".join(encoded(body.state())))
        report = Report(dict(outbox.aggregates), outbox.active)
        yield from _cells(index, REPORT, index, dumps(report))


class WriteWork(_Work):
    """Write the parts of a snapshot."""

    def __init__(self, ref: ProgramRef, step: int, aggregates: bytes, steps: bytes) -> None:
        super().__init__(ref)
        self._step = step
        self._aggregates = aggregates
        self._steps = steps

    def work(self, loop: Driven, index: int, batches: Batches) -> Batches:
        kept = _Kept.of(batches, loop.tasks)
        body = _body(loop, loop.program, Task(index, loop.tasks))
        body.task.aggregates = pickle.loads(self._aggregates)
        part = snapshot_of(body, kept.state, kept.inbox, pickle.loads(self._steps))
        if loop.snapshots is not None:
            checksum = loop.snapshots.write(self._step, index, part)
            yield from _cells(index, REPORT, index, dumps(checksum))


class ResultWork(_Work):
    """The rows of the result."""

    def __init__(self, ref: ProgramRef, step: int, aggregates: bytes) -> None:
        super().__init__(ref)
        self._step = step
        self._aggregates = aggregates

    def work(self, loop: Driven, index: int, batches: Batches) -> Batches:
        kept = _Kept.of(batches, loop.tasks)
        body = _restored(loop, kept, self._step, pickle.loads(self._aggregates))
        yield from body.result().to_batches()

    def failed(self, loop: Driven, index: int, error: MillstreamError) -> Batches:
        raise error


def _index() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        raise RuntimeError("not in a task of Spark")
    return int(context.partitionId())


def _body(loop: Driven, program: LoopProgram, place: Task) -> Body:
    return Body(loop.name, program, place, loop.output, loop.location)


def _cells(task: int, kind: int, sender: int, data: bytes) -> Batches:
    for piece, begin in enumerate(range(0, len(data), MOST_BYTES)):
        row = [[task], [kind], [sender], [piece], [data[begin : begin + MOST_BYTES]]]
        columns = [pa.array(value, field.type) for value, field in zip(row, CELLS, strict=True)]
        yield pa.record_batch(columns, schema=CELLS)


# -- in the driver ---------------------------------------------------------------------------------


def run_by_driver(
    spark: SparkSession,
    job: LoopJob,
    tasks: int,
    snapshots: Snapshots | None = None,
    start: Snapshot | None = None,
    watch: Watch = lambda merged, seconds: None,
) -> Ran:
    """Run a loop as a job per superstep, from its beginning or from a snapshot."""
    return _DriverLoop(spark, job, tasks, snapshots, start).run(watch)


class _DriverLoop:
    """The driver's side: it starts supersteps, merges what the tasks report, and decides."""

    def __init__(
        self,
        spark: SparkSession,
        job: LoopJob,
        tasks: int,
        snapshots: Snapshots | None,
        start: Snapshot | None,
    ) -> None:
        loop = Driven(
            job.name,
            job.program,
            job.output,
            tasks,
            input_schemas(job),
            frozenset(name for name, given in job.inputs.items() if given.broadcast),
            job.location,
            snapshots,
            start,
        )
        self._rhythm = rhythm_of(job)
        self._snapshots = snapshots
        self._start = start
        self._job = job
        self._tasks = tasks
        self._spark = spark
        self._ref = ProgramRef.of(f"loop{uuid.uuid4().hex}", loop, session_bytes(spark))
        # Merges and decides as a task would.
        copy = pickle.loads(dumps(job.program))
        self._body = _body(loop, copy, Task(0, tasks))

    def run(self, watch: Watch) -> Ran:
        inputs = packed_inputs(self._spark, self._job, self._tasks)
        self._loaded = inputs.mapInArrow(LoadWork(self._ref), CELLS_SQL).localCheckpoint()
        self._words(self._loaded)
        cells, steps = self._loaded, self._steps_before()
        while True:
            started = perf_counter()
            cells, merged = self._superstep(cells)
            steps.append((merged, perf_counter() - started))
            watch(*steps[-1])
            if merged.finished or merged.step >= self._job.max_supersteps:
                return Ran(self._result(cells), merged, steps)
            if self._snapshots is not None and self._rhythm.is_due(merged.step):
                self._write(self._snapshots, cells, steps)

    def _steps_before(self) -> Steps:
        """The supersteps until the snapshot that the loop goes on from."""
        if self._snapshots is None or self._start is None:
            return []
        part = self._snapshots.read(self._start, 0)
        place = self._body.task
        place.superstep, place.aggregates = self._start.step, part["aggregates"]
        steps: Steps = part["steps"]
        return steps

    def _write(self, snapshots: Snapshots, cells: DataFrame, steps: Steps) -> None:
        place = self._body.task
        aggregates = dumps(dict(place.aggregates))
        work = WriteWork(self._ref, place.superstep, aggregates, dumps(steps))
        changing = changing_of(cells)
        own = changing.repartitionById(self._tasks, changing["task"])
        snapshots.commit(place.superstep, self._words(own.mapInArrow(work, CELLS_SQL)))

    def _superstep(self, before: DataFrame) -> tuple[DataFrame, Merged]:
        place = self._body.task
        work = StepWork(self._ref, place.superstep + 1, dumps(dict(place.aggregates)))
        cells = self._together(before).mapInArrow(work, CELLS_SQL).localCheckpoint()
        reports = self._words(cells)
        place.superstep += 1
        return cells, self._body.take([], reports)

    def _result(self, cells: DataFrame) -> DataFrame:
        place = self._body.task
        work = ResultWork(self._ref, place.superstep, dumps(dict(place.aggregates)))
        schema = spark_schema(self._job.output)
        return self._together(cells).mapInArrow(work, schema).localCheckpoint()

    def _together(self, cells: DataFrame) -> DataFrame:
        """All cells of each task in its partition."""
        loaded = self._loaded.where(self._loaded["kind"] == LOADED)
        every = loaded.union(changing_of(cells))
        return every.repartitionById(self._tasks, every["task"])

    def _words(self, cells: DataFrame) -> list[Any]:
        """The words of all tasks; raises the failure of the first one that has failed."""
        from pyspark.sql import functions as F

        return words_of(cells.where(F.col("kind").isin(REPORT, FAILURE)).collect())


def words_of(cells: Sequence[Any]) -> list[Any]:
    """The words of all tasks in their order; raises the failure of the first one that has failed."""
    pieces: dict[tuple[int, int], dict[int, bytes]] = {}
    for cell in cells:
        pieces.setdefault((cell["task"], cell["kind"]), {})[cell["piece"]] = cell["cell"]
    words = []
    for (_, kind), found in sorted(pieces.items()):
        value = pickle.loads(b"".join(found[piece] for piece in sorted(found)))
        if kind == FAILURE:
            raise value
        words.append(value)
    return words


def changing_of(cells: DataFrame) -> DataFrame:
    """The states of tasks, and the messages to them."""
    return cells.where(cells["kind"].isin(STATE, MESSAGE))
