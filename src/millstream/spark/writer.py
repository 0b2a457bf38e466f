"""The last stage: one writer that hands each sink its records, once per epoch."""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext

from millstream.checkpoint.lease import Fence
from millstream.common.errors import MillstreamError, user_code_error
from millstream.common.fencing import FencingToken
from millstream.common.text import printed_text
from millstream.common.typeinfo import TypeInformation
from millstream.kernel.buffers import (
    CONTROL,
    DATA,
    NO_TIMESTAMP,
    REPORT,
    Codec,
    Records,
    codec_for,
    decode,
    merged,
    record_count,
)
from millstream.kernel.pages import NEVER
from millstream.kernel.reports import Reports, TaskReport
from millstream.kernel.runtime import KernelRuntimeContext, OperatorInfo
from millstream.kernel.slot_state import States
from millstream.plan.compile import SinkEdge
from millstream.plan.graph import SinkNode
from millstream.plan.specs import (
    CollectSpec,
    FilesSinkSpec,
    ForeachBatchSpec,
    FunctionSinkSpec,
    PrintSpec,
    SparkFormatSpec,
)
from millstream.spark.file_sink import FileSink, StagedFile
from millstream.spark.worker import ProgramRef, errors_that_travel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MESSAGE_SCHEMA = "message binary"


@dataclass(frozen=True)
class SinkPart:
    """A sink as the writing tasks know it. ``files`` and ``function`` say what a task does itself."""

    sink: int
    name: str
    uid: str
    location: Any
    files: FileSink | None = None
    function: Any = None
    to_driver: bool = False


@dataclass(frozen=True)
class WriterTask:
    """A task that writes a part of an epoch.

    ``attempt``: no other attempt of any task of the driver has this number.
    """

    token: FencingToken
    number: int
    attempt: int


@dataclass
class WriterProgram:
    """Program of a writing task: the edges into sinks."""

    sinks: dict[int, SinkPart]
    edges: dict[int, tuple[int, Codec]]
    opened: set[int] = field(default_factory=set)
    reports: Reports = field(default_factory=Reports)

    def run(self, batches: Iterator[pa.RecordBatch], task: WriterTask) -> Iterator[bytes]:
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
                part = self.sinks[sink]
                if part.to_driver:
                    yield pickle.dumps(("records", sink, tag, header, payload))
                elif part.files is not None or part.function is not None:
                    parts.setdefault(sink, []).append(decode(header, payload, codec))
        files: list[tuple[SinkPart, StagedFile]] = []
        for sink, records in parts.items():
            part = self.sinks[sink]
            if part.files is None:
                self._invoke(part, merged(records), task)
            else:
                files.append((part, self._stage(part, part.files, merged(records), task)))
        # The system writes what all sinks have while it is asked to make sure of the first file.
        for part, staged in files:
            assert part.files is not None
            part.files.sync(staged)
            yield pickle.dumps(("file", part.sink, staged))
        yield pickle.dumps(("counts", counts))
        yield pickle.dumps(("report", self.reports.take(task.number).to_bytes()))
        # What a sink function keeps back it writes when it is closed: before the epoch commits.
        self.close()

    def _stage(
        self, part: SinkPart, files: FileSink, records: Records, task: WriterTask
    ) -> StagedFile:
        try:
            return files.stage(records.values, task.token.epoch, task.number, task.attempt)
        except MillstreamError:
            raise
        except BaseException as error:
            raise user_code_error(error, part.name, part.uid, location=part.location) from error

    def _invoke(self, part: SinkPart, records: Records, task: WriterTask) -> None:
        value: Any = None
        invoke = getattr(part.function, "invoke", part.function)
        # The driver has checked before; a worker need not reach the checkpoint directory.
        with suppress(OSError, pa.ArrowException):
            task.token.check()
        try:
            self._open(part, task)
            for value in records.values:
                invoke(value)
        except BaseException as error:
            raise user_code_error(
                error, part.name, part.uid, value, location=part.location
            ) from error

    def _open(self, part: SinkPart, task: WriterTask) -> None:
        """Open a sink function before its first record in this task."""
        if part.sink not in self.opened:
            self.opened.add(part.sink)
            opener = getattr(part.function, "open", None)
            if opener is not None:
                info = OperatorInfo(part.name, part.uid, part.location)
                context = KernelRuntimeContext(info, self.reports, task.number, task.number + 1)
                context.fencing_token = replace(task.token, sink=part.uid)
                opener(context)

    def close(self) -> None:
        """Close the sink functions that this task has opened."""
        for sink in self.opened:
            closer = getattr(self.sinks[sink].function, "close", None)
            if closer is not None:
                closer()
        self.opened.clear()


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
    ) -> None:
        self.job = job
        self.fence = fence
        self.nodes = {node.id: node for node in sinks}
        self.types: dict[int, TypeInformation | None] = {}
        self.codecs = {edge.tag: codec_for(edge.type_info) for edge in edges}
        for edge in edges:
            self.types[edge.sink] = edge.type_info
        self.files: dict[int, FileSink] = {}
        for node in sinks:
            if isinstance(node.sink, FilesSinkSpec):
                sink = FileSink(
                    node.sink,
                    self.types.get(node.id),
                    job,
                    uids[node.id],
                    self.token(0).attempt,
                    node.location,
                )
                sink.open()
                self.files[node.id] = sink
        self.program = WriterProgram(
            {node.id: self._part(node, uids) for node in sinks},
            {edge.tag: (edge.sink, self.codecs[edge.tag]) for edge in edges},
        )
        self.ref = make_ref("writer", self.program)
        self.on_epoch = on_epoch

    def _part(self, node: SinkNode, uids: dict[int, str]) -> SinkPart:
        spec = node.sink
        return SinkPart(
            node.id,
            node.name,
            uids[node.id],
            node.location,
            files=self.files.get(node.id),
            function=spec.function if isinstance(spec, FunctionSinkSpec) else None,
            to_driver=isinstance(spec, PrintSpec | CollectSpec),
        )

    @property
    def frame_sinks(self) -> list[SinkNode]:
        """The sinks that want a DataFrame of their own."""
        wanted = ForeachBatchSpec | SparkFormatSpec
        return [node for node in self.nodes.values() if isinstance(node.sink, wanted)]

    def refuse_later(self, last: int) -> None:
        """Refuse to go on where a sink has epochs that the checkpoint does not know."""
        for sink in self.files.values():
            sink.refuse_later(last)

    def token(self, epoch: int) -> FencingToken:
        """The fencing token of an epoch, checked right before each effect."""
        if self.fence is None:
            return FencingToken(self.job, epoch, 0)
        return FencingToken(self.job, epoch, self.fence.number, check=self.fence.check)

    def write(self, rows: DataFrame, epoch: int) -> None:
        """Write one epoch. A replayed epoch skips the sinks that have it already."""
        token = self.token(epoch)
        frames = self.frame_sinks
        if frames:
            rows = rows.persist()
        try:
            token.check()
            began = time.monotonic()
            messages = self._run_tasks(rows, token)
            ran = time.monotonic()
            for node in frames:
                frame = self._decoded(node, rows)
                token.check()
                self._write_frame(node, frame, token)
            report = self._commit(messages, token)
            report.times_ms = {
                "tasks_ms": round((ran - began) * 1_000),
                "sinks_ms": round((time.monotonic() - ran) * 1_000),
            }
            self.on_epoch(epoch, report)
            # Spark writes down next that the epoch is done.
            token.check()
        finally:
            if frames:
                rows.unpersist()

    def _run_tasks(self, rows: DataFrame, token: FencingToken) -> list[Any]:
        ref = self.ref

        def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with errors_that_travel(ref):
                context = TaskContext.get()
                ids = (0, 0)
                if context is not None:
                    ids = (context.partitionId(), context.taskAttemptId())
                for message in ref.get().run(batches, WriterTask(token, *ids)):
                    yield pa.RecordBatch.from_pydict({"message": pa.array([message], pa.binary())})

        found = rows.mapInArrow(task, MESSAGE_SCHEMA).collect()
        return [pickle.loads(row["message"]) for row in found]

    def _commit(self, messages: list[Any], token: FencingToken) -> EpochReport:
        report = EpochReport()
        files: dict[int, list[StagedFile]] = {sink: [] for sink in self.files}
        records: dict[int, list[Records]] = {}
        for kind, *content in messages:
            if kind == "report":
                report.tasks.append(TaskReport.from_bytes(content[0]))
            elif kind == "ended":
                report.ended |= content[0]
            elif kind == "counts":
                for sink, number in content[0].items():
                    uid = self.program.sinks[sink].uid
                    report.written[uid] = report.written.get(uid, 0) + number
            elif kind == "file":
                files[content[0]].append(content[1])
            else:
                sink, tag, header, payload = content
                part = decode(header, payload, self.codecs[tag])
                records.setdefault(sink, []).append(part)
        for sink, staged in files.items():
            token.check()
            self.files[sink].commit(token.epoch, staged)
        for sink, parts in records.items():
            token.check()
            deliver(self.nodes[sink], merged(parts), token.epoch, self.types.get(sink))
        return report

    def _write_frame(self, node: SinkNode, frame: DataFrame, token: FencingToken) -> None:
        spec = node.sink
        if isinstance(spec, ForeachBatchSpec):
            uid = self.program.sinks[node.id].uid
            more = (replace(token, sink=uid),) if spec.takes_token else ()
            try:
                spec.function(frame, token.epoch, *more)
            except MillstreamError:
                raise
            except BaseException as error:
                # sys.exit() in it would end the thread on which Spark waits.
                raise user_code_error(error, node.name, uid, location=node.location) from error
        elif isinstance(spec, SparkFormatSpec):
            frame.write.format(spec.format).options(**spec.options).mode(spec.mode).save()

    def _decoded(self, node: SinkNode, rows: DataFrame) -> DataFrame:
        """A sink's records as a DataFrame with columns of the stream's type."""
        from millstream.spark.frames import decoded_frame

        edges = {tag: codec for tag, (sink, codec) in self.program.edges.items() if sink == node.id}
        return decoded_frame(rows, edges, self.types.get(node.id), node.location)


def deliver(
    node: SinkNode, records: Records, epoch: int, type_info: TypeInformation | None
) -> None:
    """Hand records to a sink on the driver."""
    spec = node.sink
    if isinstance(spec, CollectSpec):
        times = [None if ts == NO_TIMESTAMP else ts for ts in records.ts.tolist()]
        spec.deliver(epoch, list(zip(records.values, times, strict=True)))
    elif isinstance(spec, PrintSpec):
        stream = sys.stderr if spec.to_stderr else sys.stdout
        prefix = f"{spec.prefix}> " if spec.prefix else ""
        text = printed_text(type_info, spec.text)
        stream.write("".join(f"{prefix}{text(value)}\n" for value in records.values))
        stream.flush()
