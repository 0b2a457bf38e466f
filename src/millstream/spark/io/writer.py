"""The last stage: one writer that hands each sink its records, once per epoch."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext

from millstream.checkpoint.lease import Fence
from millstream.common.fencing import always_current
from millstream.connectors.sink import SinkContext
from millstream.kernel.calls.reports import Reports, TaskReport
from millstream.kernel.records.buffers import (
    CONTROL,
    DATA,
    REPORT,
    Codec,
    Records,
    codec_for,
    decode,
    decode_columns,
    merged,
    record_count,
)
from millstream.kernel.state.pages import NEVER
from millstream.kernel.state.slot import States
from millstream.plan.compile import SinkEdge
from millstream.plan.graph import SinkNode
from millstream.plan.sinks import BoundSink, SinkDriver, SinkTask, write_parts
from millstream.spark.tasks.worker import ProgramRef, errors_that_travel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MESSAGE_SCHEMA = "message binary"


@dataclass
class WriterProgram:
    """Program of a writing task: the edges into sinks.

    ``parts``: the sinks that tasks write to; ``to_driver``: those whose records the driver gets.
    """

    edges: dict[int, tuple[int, Codec]]
    parts: dict[int, BoundSink]
    to_driver: frozenset[int]
    reports: Reports = field(default_factory=Reports)

    def run(self, batches: Iterator[pa.RecordBatch], task: SinkTask) -> Iterator[bytes]:
        """Write what a task has for each sink; yields the messages the driver commits by."""
        parts: dict[int, list[Records]] = {}
        counts: dict[int, int] = {}
        for kind, tag, header, payload in _data(batches):
            if kind == REPORT:
                yield pickle.dumps(("report", payload))
            elif kind == CONTROL:
                yield pickle.dumps(("ended", bool(pickle.loads(payload).ended)))
            elif kind == DATA and tag in self.edges:
                sink, codec = self.edges[tag]
                counts[sink] = counts.get(sink, 0) + record_count(header)
                if sink in self.to_driver:
                    yield pickle.dumps(("records", sink, tag, header, payload))
                elif sink in self.parts:
                    read = decode_columns if self.parts[sink].takes_columns else decode
                    parts.setdefault(sink, []).append(read(header, payload, codec))
        # Only one sink's records are there twice at a time.
        records = ((sink, merged(parts.pop(sink))) for sink in list(parts))
        for sink, staged in write_parts(self.parts, records, task, self.reports).items():
            yield pickle.dumps(("staged", sink, staged))
        yield pickle.dumps(("counts", counts))
        yield pickle.dumps(("report", self.reports.take(task.part).to_bytes()))

    def close(self) -> None:
        """Release what the sinks keep in this process."""
        for bound in self.parts.values():
            bound.close()


def _data(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, int, bytes, bytes]]:
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("kind", "tag", "header", "payload")]
        yield from zip(*columns, strict=True)


@dataclass
class EpochReport:
    """Report of a written epoch to the driver.

    ``written``: the records of each sink; ``times_ms``: how long the phases took, named as in
    `EpochMetrics`.
    """

    tasks: list[TaskReport] = field(default_factory=list)
    written: dict[str, int] = field(default_factory=dict)
    times_ms: dict[str, int] = field(default_factory=dict)
    ended: bool = False

    @property
    def due_ms(self) -> int:
        """When the next processing-time timer is due."""
        return min((task.due_ms for task in self.tasks), default=NEVER)

    @property
    def states(self) -> States:
        """The states that functions have asked for."""
        found: States = {}
        for task in self.tasks:
            for uid, infos in task.states.items():
                found.setdefault(uid, {}).update(infos)
        return found


class Writer:
    """The driver's side: runs the writing tasks of an epoch, then commits to every sink."""

    def __init__(
        self,
        sinks: tuple[SinkNode, ...],
        edges: list[SinkEdge],
        uids: dict[int, str],
        job: str,
        make_ref: Callable[[str, Any], ProgramRef],
        on_epoch: Callable[[int, EpochReport], None],
        fence: Fence | None = None,
        *,
        streaming: bool = False,
    ) -> None:
        self.streaming = streaming
        types = {edge.sink: edge.type_info for edge in edges}
        self.check = always_current if fence is None else fence.check
        self.sinks = {
            node.id: BoundSink(
                node.sink,
                SinkContext(
                    job_id=job,
                    sink=uids[node.id],
                    attempt=0 if fence is None else fence.number,
                    name=node.name,
                    type_info=types.get(node.id),
                    location=node.location,
                    check=self.check,
                ),
            )
            for node in sinks
        }
        self.codecs = {edge.tag: codec_for(edge.type_info) for edge in edges}
        self.driver = SinkDriver(self.sinks)
        self.driver.recover()
        self.program = WriterProgram(
            {edge.tag: (edge.sink, self.codecs[edge.tag]) for edge in edges},
            {n: bound for n, bound in self.sinks.items() if bound.is_written_by_tasks},
            frozenset(n for n, bound in self.sinks.items() if bound.comes_to_driver),
        )
        self.ref = make_ref("writer", self.program)
        self.on_epoch = on_epoch

    @property
    def frame_sinks(self) -> list[int]:
        """The sinks that want a DataFrame of their own."""
        return [number for number, bound in self.sinks.items() if bound.wants_frame]

    def refuse_later(self, last: int) -> None:
        """Refuse to go on where a sink has epochs that the checkpoint does not know."""
        self.driver.refuse_later(last)

    def close(self) -> None:
        """Release what the sinks hold on the driver."""
        self.driver.close()

    def write(self, rows: DataFrame, epoch: int) -> None:
        """Write one epoch. A replayed epoch skips the sinks that have it already."""
        parts = self._number_of_parts(rows)
        frames = self.frame_sinks
        if frames:
            rows = rows.persist()
        try:
            self.check()
            began = time.monotonic()
            epoch_output = self._read(self._run_tasks(rows, epoch, parts))
            ran = time.monotonic()
            self._commit(rows, epoch, epoch_output)
            report = epoch_output.report
            report.times_ms = {
                "tasks_ms": round((ran - began) * 1_000),
                "sinks_ms": round((time.monotonic() - ran) * 1_000),
            }
            self.on_epoch(epoch, report)
            # Spark writes down next that the epoch is done.
            self.check()
        finally:
            if frames:
                rows.unpersist()

    def _run_tasks(self, rows: DataFrame, epoch: int, parts: int) -> list[Any]:
        ref = self.ref
        marked = self.driver.marked(epoch, parts)

        def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with errors_that_travel(ref):
                context = TaskContext.get()
                ids = (0, 0)
                if context is not None:
                    ids = (context.partitionId(), context.taskAttemptId())
                for message in ref.get().run(batches, SinkTask(epoch, *ids, parts, marked)):
                    yield pa.RecordBatch.from_pydict({"message": pa.array([message], pa.binary())})

        found = rows.mapInArrow(task, MESSAGE_SCHEMA).collect()
        return [pickle.loads(row["message"]) for row in found]

    def _number_of_parts(self, rows: DataFrame) -> int:
        """How many tasks write an epoch, where a sink wants to know; 0: unknown.

        The rows of a streaming query are planned already, so that the answer is cheap. A batch is
        planned while it runs, and is never replayed.
        """
        if not self.streaming or not self.driver.counts_parts:
            return 0
        return rows.rdd.getNumPartitions()

    def _read(self, messages: list[Any]) -> _EpochOutput:
        output = _EpochOutput()
        report = output.report
        for kind, *content in messages:
            if kind == "report":
                report.tasks.append(TaskReport.from_bytes(content[0]))
            elif kind == "ended":
                report.ended |= content[0]
            elif kind == "counts":
                for sink, number in content[0].items():
                    uid = self.sinks[sink].context.sink
                    report.written[uid] = report.written.get(uid, 0) + number
            elif kind == "staged":
                output.staged.setdefault(content[0], []).append(content[1])
            else:
                sink, tag, header, payload = content
                part = decode(header, payload, self.codecs[tag])
                output.records.setdefault(sink, []).append(part)
        return output

    def _commit(self, rows: DataFrame, epoch: int, output: _EpochOutput) -> None:
        try:
            for number in self.frame_sinks:
                self.driver.write_frame(number, epoch, self._decoded(number, rows))
        except BaseException:
            self.driver.abort(epoch, output.staged)
            raise
        self.driver.commit(epoch, output.staged)
        for number, parts in output.records.items():
            self.driver.deliver(number, epoch, merged(parts))

    def _decoded(self, number: int, rows: DataFrame) -> DataFrame:
        """A sink's records as a DataFrame with columns of the stream's type."""
        from millstream.spark.io.frames import decoded_frame

        edges = {tag: codec for tag, (sink, codec) in self.program.edges.items() if sink == number}
        context = self.sinks[number].context
        return decoded_frame(rows, edges, context.type_info, context.location)


@dataclass
class _EpochOutput:
    """The messages of the tasks of an epoch: by sink, what is staged and the records to deliver."""

    report: EpochReport = field(default_factory=EpochReport)
    staged: dict[int, list[Any]] = field(default_factory=dict)
    records: dict[int, list[Records]] = field(default_factory=dict)
