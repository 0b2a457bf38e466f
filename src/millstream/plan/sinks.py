"""Running sinks: the task's side and the driver's side, the same on Spark and in memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from millstream.common.errors import CheckpointError
from millstream.common.types import Row, RowKind
from millstream.common.typesystem.certainty import is_declared
from millstream.connectors.fingerprints import parts_of, with_parts
from millstream.connectors.simple_sinks import DriverSink, FrameSink
from millstream.connectors.sink import (
    Committer,
    IdempotentSink,
    IdempotentWriter,
    PartContext,
    PartMarker,
    PartSink,
    PartWriter,
    Sink,
    SinkContext,
    TwoPhaseSink,
)
from millstream.connectors.sink_calls import (
    begun,
    committer_of,
    markers_of,
    named_call,
    refuse_other_parts,
    same_part,
    stageable,
    vanished_part,
    whole_epoch,
    writer_of,
)
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo
from millstream.kernel.calls.reports import Reports
from millstream.kernel.records.buffers import NO_TIMESTAMP, Records
from millstream.kernel.records.columns import as_list, record_batch

__all__ = ["BoundSink", "SinkDriver", "SinkTask", "begins", "fingerprint", "write_parts"]


@dataclass(frozen=True)
class BoundSink:
    """A sink, and the context in which it works in this attempt to run the job."""

    sink: Sink
    context: SinkContext

    @property
    def is_written_by_tasks(self) -> bool:
        return isinstance(self.sink, PartSink)

    @property
    def comes_to_driver(self) -> bool:
        return isinstance(self.sink, DriverSink)

    @property
    def wants_frame(self) -> bool:
        return isinstance(self.sink, FrameSink)

    @property
    def takes_columns(self) -> bool:
        """Whether its writers get record batches of this stream."""
        prefers = self.sink.prefers_columns and is_declared(self.context.type_info)
        return self.sink.takes_columns or prefers

    def close(self) -> None:
        """Release what the copy of the sink in this process keeps."""
        if isinstance(self.sink, PartSink):
            with suppress(Exception):
                self.sink.close()


# -- in the tasks ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class SinkTask:
    """A task that writes a part of an epoch.

    ``attempt``: no other attempt of any task of the driver has this number. ``parts``: how many parts
    the epoch has, 0 if that is not known. ``marked``: the parts that sinks have of the epoch already.
    """

    epoch: int
    part: int
    attempt: int
    parts: int = 0
    marked: Mapping[int, frozenset[int]] = field(default_factory=dict)


def write_parts(
    sinks: Mapping[int, BoundSink],
    records: Iterable[tuple[int, Records]],
    task: SinkTask,
    reports: Reports,
) -> dict[int, Any]:
    """Write the records that a task has for each sink; returns what is staged, by sink.

    ``records`` is read sink by sink: those of the next one need not be there before.
    """
    parts: dict[int, _Part] = {}
    try:
        for number, found in records:
            parts[number] = _Part(sinks[number], found, task, reports)
            parts[number].write(found)
        _refuse_vanished(sinks, parts, task)
        # The system writes what all sinks have while it is asked to make sure of the first file.
        finished = {number: part.finish() for number, part in parts.items()}
    except BaseException:
        for part in parts.values():
            with suppress(Exception):  # the failure is what the user has to see
                part.close()
        raise
    for part in parts.values():
        part.close()
    return {
        number: staged
        for number, staged in finished.items()
        if isinstance(sinks[number].sink, TwoPhaseSink)
    }


def _refuse_vanished(
    sinks: Mapping[int, BoundSink], parts: Mapping[int, _Part], task: SinkTask
) -> None:
    """Refuse to go on if a sink has the task's part already, and the task has no records for it."""
    for number, marked in task.marked.items():
        if task.part in marked and number not in parts:
            raise vanished_part(sinks[number].context, task.epoch, task.part)


class _Part:
    """One part of one sink, while a task writes it."""

    def __init__(
        self, bound: BoundSink, records: Records, task: SinkTask, reports: Reports
    ) -> None:
        assert isinstance(bound.sink, PartSink)
        self.bound = bound
        context = _part_context(bound, records, task, reports)
        if not isinstance(bound.sink, TwoPhaseSink):
            # The driver has checked before; a worker need not reach the checkpoint directory.
            with suppress(OSError, pa.ArrowException):
                context.check()
        self.context = context
        self.writer = writer_of(bound.sink, context)
        try:
            self.is_new = begins(bound.sink, self.writer, context)
        except BaseException:
            with suppress(Exception):
                self.writer.close()
            raise

    def write(self, records: Records) -> None:
        if self.is_new:
            batch = _batch(self.bound, records)
            with named_call(self.context, "write()"):
                self.writer.write_timed(batch, records.ts)

    def finish(self) -> Any:
        if not self.is_new:
            return None
        with named_call(self.context, "finish()"):
            staged = self.writer.finish()
        return (
            stageable(staged, self.context) if isinstance(self.bound.sink, TwoPhaseSink) else None
        )

    def close(self) -> None:
        with named_call(self.context, "close()"):
            self.writer.close()


def begins(sink: PartSink, writer: PartWriter, context: PartContext) -> bool:
    """Whether a part is to be written now: False if it is there already.

    Raises
    ------
    CheckpointError
        ``PART_CHANGED`` if it is there with other records.
    """
    if not isinstance(sink, IdempotentSink):
        return True
    assert isinstance(writer, IdempotentWriter), "`writer_of` has looked"
    found = begun(writer, context)
    if found is not None:
        same_part(found, context)
    return found is None


def _part_context(
    bound: BoundSink, records: Records, task: SinkTask, reports: Reports
) -> PartContext:
    context = bound.context
    info = OperatorInfo(context.name, context.sink, context.location)
    runtime = KernelRuntimeContext(info, reports, task.part, task.part + 1)
    runtime.fencing_token = context.token(task.epoch)
    return PartContext(
        **vars(context),
        epoch=task.epoch,
        part=task.part,
        task_attempt=task.attempt,
        fingerprint=(
            with_parts(fingerprint(records), task.parts)
            if isinstance(bound.sink, IdempotentSink)
            else ""
        ),
        runtime_context=runtime,
    )


def fingerprint(records: Records) -> str:
    """Which records these are, by their number and order keys: the same for each replay."""
    keys = records.keys
    found = 0
    for column in (records.ts, keys.stamp, keys.born, keys.channel, keys.pos):
        found = zlib.crc32(column.tobytes(), found)
    path = keys.path
    paths = [path] * len(records) if isinstance(path, bytes) else path.tolist()
    return f"{len(records)}-{zlib.crc32(b'/'.join(paths), found):08x}"


def _batch(bound: BoundSink, records: Records) -> list[Any] | pa.RecordBatch:
    if not bound.takes_columns or (not bound.sink.takes_columns and _has_kinds(records)):
        return as_list(records.values)
    assert bound.context.type_info is not None, "the plan refuses streams without a type"
    return record_batch(records.values, bound.context.type_info)


def _has_kinds(records: Records) -> bool:
    """Whether a row is taken back: a column could not say so."""
    values = records.values
    return isinstance(values, list) and any(
        isinstance(value, Row) and value.get_row_kind() is not RowKind.INSERT for value in values
    )


# -- on the driver ---------------------------------------------------------------------------------


_TAKE_BACK = (
    "make a savepoint of the checkpoint with `millstream savepoint`, which takes back what the sink has "
    "of later epochs, and start from that"
)
_BRING_BACK = (
    "bring the newest checkpoint back; or delete from the sink what it has of later epochs, with the "
    "markers"
)


class SinkDriver:
    """The driver's side of all sinks of a query, in one attempt to run the job."""

    def __init__(self, sinks: Mapping[int, BoundSink]) -> None:
        self.sinks = sinks
        self.committers: dict[int, Committer] = {}
        self._last: dict[int, int | None] = {}
        self._markers: dict[int, Mapping[int, PartMarker]] = {}

    def recover(self) -> None:
        """Take over from earlier attempts."""
        for number, bound in self.sinks.items():
            context = bound.context
            if isinstance(bound.sink, PartSink):
                with named_call(context, "start()"):
                    bound.sink.start(context)
            if isinstance(bound.sink, TwoPhaseSink):
                committer = self.committers[number] = committer_of(bound.sink, context)
                with named_call(context, "recover()"):
                    found = committer.recover()
                self._last[number] = whole_epoch(found, context, "recover()")
            elif isinstance(bound.sink, IdempotentSink):
                self._last[number] = self._last_epoch(number, bound.sink, context)

    def _last_epoch(self, number: int, sink: IdempotentSink, context: SinkContext) -> int | None:
        markers = markers_of(sink, context)
        if markers is not None:
            self._markers[number] = markers
            return max((marker.epoch for marker in markers.values()), default=None)
        with named_call(context, "last_epoch()"):
            found = sink.last_epoch(context)
        return whole_epoch(found, context, "last_epoch()")

    def refuse_later(self, last: int) -> None:
        """Refuse a checkpoint that only knows epochs up to ``last`` if a sink has a later one.

        The epochs after it would come again, with other records than those that were committed.
        """
        for number, epoch in self._last.items():
            if epoch is not None and epoch > last:
                uid = self.sinks[number].context.sink
                raise CheckpointError(
                    "CHECKPOINT_BEHIND",
                    f"sink {uid!r} has epoch {epoch} of the job, but the last epoch in its checkpoint "
                    f"is {last}: the checkpoint has lost its newest files, or it is an older copy",
                    hint=_TAKE_BACK if number in self.committers else _BRING_BACK,
                )

    @property
    def counts_parts(self) -> bool:
        """Whether a sink keeps the number of parts of an epoch with its markers."""
        return any(isinstance(bound.sink, IdempotentSink) for bound in self.sinks.values())

    def marked(self, epoch: int, parts: int) -> dict[int, frozenset[int]]:
        """The parts that sinks have of an epoch which begins now, as ``parts`` parts (0: unknown).

        Raises
        ------
        CheckpointError
            ``PART_CHANGED`` if a sink has parts of an epoch with another number of parts.
        """
        found: dict[int, frozenset[int]] = {}
        for number, markers in self._markers.items():
            context = self.sinks[number].context
            of_epoch = {n: marker for n, marker in markers.items() if marker.epoch == epoch}
            for marker in of_epoch.values():
                refuse_other_parts(context, epoch, parts_of(marker.fingerprint), parts)
            gone = [part for part in of_epoch if parts and part >= parts]
            if gone:
                raise vanished_part(context, epoch, min(gone))
            if of_epoch:
                found[number] = frozenset(of_epoch)
        # Only the first epoch of an attempt can be a replayed one.
        self._markers = {}
        return found

    def commit(self, epoch: int, staged: Mapping[int, Sequence[Any]]) -> None:
        """Commit an epoch to all two-phase sinks. If one fails, the later ones forget their parts."""
        waiting = [number for number in self.committers if staged.get(number)]
        try:
            while waiting:
                bound = self.sinks[waiting[0]]
                bound.context.check()
                number = waiting.pop(0)
                with named_call(bound.context, f"commit({epoch}, ...)"):
                    self.committers[number].commit(epoch, list(staged[number]))
        except BaseException:
            self.abort(epoch, {number: staged[number] for number in waiting})
            raise

    def abort(self, epoch: int, staged: Mapping[int, Sequence[Any]]) -> None:
        """Forget what is staged of an epoch that fails, as far as that is possible now."""
        for number, parts in staged.items():
            with suppress(Exception):  # the next attempt forgets it when it recovers
                self.committers[number].abort(epoch, list(parts))

    def deliver(self, number: int, epoch: int, records: Records) -> None:
        """Hand the records of an epoch, in order, to a sink on the driver."""
        bound = self.sinks[number]
        assert isinstance(bound.sink, DriverSink)
        bound.context.check()
        times = [None if ts == NO_TIMESTAMP else ts for ts in records.ts.tolist()]
        with named_call(bound.context, f"deliver(..., {epoch}, ...)"):
            bound.sink.deliver(bound.context, epoch, list(zip(records.values, times, strict=True)))

    def write_frame(self, number: int, epoch: int, frame: Any) -> None:
        """Hand the records of an epoch to a sink as a DataFrame."""
        bound = self.sinks[number]
        assert isinstance(bound.sink, FrameSink)
        bound.context.check()
        with named_call(bound.context, f"write_frame(..., {epoch}, ...)"):
            bound.sink.write_frame(bound.context, epoch, frame)

    def close(self) -> None:
        """Release what the sinks hold."""
        for committer in self.committers.values():
            with suppress(Exception):
                committer.close()
