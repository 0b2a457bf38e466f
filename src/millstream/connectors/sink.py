"""The contract of sinks: three kinds, by what a reader sees after a crash.

A job writes epoch by epoch. The records of an epoch for a sink are divided into *parts*, one per task.
For each part that has records, a task opens one writer, gives it the records in order, and finishes it.

=================== ============================= ================================================
kind                who makes records visible     after a crash
=================== ============================= ================================================
`FunctionSink`      the writer, at any time       records of the last epoch may come twice
`IdempotentSink`    the writer, with a marker     each record once: marked parts are skipped
`TwoPhaseSink`      the driver, with a `commit`   each record once: an epoch appears as a whole
=================== ============================= ================================================

A task may run twice at the same time (speculation), and a driver or task that was replaced may wake up
later (a zombie). So a writer never shares its place with another attempt of the same part.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

from millstream.common.errors import Location, PlanError, user_location
from millstream.common.fencing import FencingToken, always_current
from millstream.common.typeinfo import TypeInformation
from millstream.connectors.fingerprints import same_records

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "Changelog",
    "Committer",
    "DeliveryGuarantee",
    "FunctionSink",
    "IdempotentSink",
    "IdempotentWriter",
    "PartContext",
    "PartMarker",
    "PartSink",
    "PartWriter",
    "Sink",
    "SinkContext",
    "TwoPhaseSink",
    "refuse_sink",
]

Changelog = Literal["append", "upsert", "retract"]
"""The changes that a stream carries.

``"append"``: new records only. ``"upsert"``: records that replace the one with the same key, or delete
it. ``"retract"``: records that are added, and earlier ones that are taken back.
A sink that takes upserts takes retractions too: a record that is taken back is deleted by its key.
"""

_TAKEN: Mapping[Changelog, frozenset[Changelog]] = {
    "append": frozenset({"append"}),
    # A stream that takes records back before it adds new ones says more than this sink has to know.
    "upsert": frozenset({"append", "upsert", "retract"}),
    "retract": frozenset({"append", "retract"}),
}


class DeliveryGuarantee(Enum):
    """How often a record may reach a sink when something fails."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


@dataclass(frozen=True, kw_only=True)
class SinkContext:
    """A sink of a job, in one attempt to run the job.

    Attributes
    ----------
    job_id : str
        The job, which is the same after each restart; a job restored from a savepoint is another one.
    sink : str
        The uid of the sink. Jobs and sinks may share a table or folder: keep them apart by both ids.
    attempt : int
        Counts the starts of the job; of two attempts, the higher one is valid.
    name : str
        The name of the sink in the program.
    type_info : TypeInformation, optional
        The type of the records; None if it is unknown.
    location : Location, optional
        The line of the program that made the sink.

    Examples
    --------
    >>> context = SinkContext(job_id="a1b2", sink="words", attempt=2)
    >>> context.token(7)
    FencingToken(job_id='a1b2', epoch=7, attempt=2, sink='words')
    """

    job_id: str
    sink: str
    attempt: int = 0
    name: str = ""
    type_info: TypeInformation | None = None
    location: Location | None = None
    check: Callable[[], None] = field(default=always_current, repr=False, compare=False)

    def token(self, epoch: int) -> FencingToken:
        """Return the fencing token of an epoch."""
        return FencingToken(self.job_id, epoch, self.attempt, self.sink, self.check)


@dataclass(frozen=True, kw_only=True)
class PartContext(SinkContext):
    """One part of one epoch of a sink, in one attempt of the task that writes it.

    Attributes
    ----------
    epoch : int
        The number of the epoch. A replayed epoch has the same number and the same records.
    part : int
        The number of the part in the epoch: 0, 1, ...; parts without records are not written.
    task_attempt : int
        No other attempt of a task of this attempt of the job has this number.
    fingerprint : str
        Which records the part has, and how many parts the epoch has, as a short text. An
        `IdempotentSink` keeps it with its marker.
    runtime_context : RuntimeContext, optional
        Metrics and accumulators, as functions have them.

    Examples
    --------
    >>> part = PartContext(job_id="a1b2", sink="words", epoch=7, part=0, task_attempt=12)
    >>> part.key
    ('a1b2', 'words', 7, 0)
    """

    epoch: int
    part: int
    task_attempt: int = 0
    fingerprint: str = ""
    runtime_context: Any = field(default=None, repr=False, compare=False)

    @property
    def key(self) -> tuple[str, str, int, int]:
        """The identity of the part, the same for all attempts: job, sink, epoch, part."""
        return self.job_id, self.sink, self.epoch, self.part

    @property
    def fencing_token(self) -> FencingToken:
        """The fencing token of the part's epoch."""
        return self.token(self.epoch)


class PartMarker(NamedTuple):
    """The sign of an `IdempotentSink` that a part of an epoch is written."""

    epoch: int
    fingerprint: str

    def has_records_of(self, context: PartContext) -> bool:
        """Whether the part has the same records now, by its fingerprint."""
        return same_records(self.fingerprint, context.fingerprint)


class PartWriter(ABC):
    """Writes one part of one epoch: `write` for each batch, then `finish`, then `close`.

    If something fails, `finish` is not called. If the process dies, nothing is called.
    """

    @abstractmethod
    def write(self, batch: Any) -> None:
        """Take records, in order: a list, or a `pyarrow.RecordBatch` if the sink takes columns."""

    def write_timed(self, batch: Any, times: npt.NDArray[np.int64]) -> None:
        """Take records with their event times in milliseconds; by default `write` gets the records.

        ``times``: one per record, `millstream.common.time.MIN_TIMESTAMP` where a record has none.
        """
        self.write(batch)

    @abstractmethod
    def finish(self) -> Any:
        """Make sure of all records of the part.

        The writer of a `TwoPhaseSink` returns what the driver needs for the commit; it is pickled.
        """

    def close(self) -> None:  # noqa: B027
        """Release connections and files. Called once, after `finish` or after a failure."""


class IdempotentWriter(PartWriter):
    """The writer of an `IdempotentSink`: asks first whether its part is there already."""

    @abstractmethod
    def begin(self) -> str | None:
        """Look for the part's marker: return its fingerprint, None if the part is not there yet.

        If there is a marker, neither `write` nor `finish` is called.
        """

    @abstractmethod
    def finish(self) -> None:
        """Write records and marker in one transaction.

        Another attempt of the part may have come first since `begin`: let the database compare the
        marker inside the transaction, and write nothing if it is there.
        """


class Committer(ABC):
    """The driver's side of a `TwoPhaseSink`, for one attempt to run the job."""

    @abstractmethod
    def recover(self) -> int | None:
        """Take over from earlier attempts, and return the last committed epoch (None: there is none).

        Called once, before anything is written. Earlier attempts must not be able to commit from here
        on; what they have half committed is to be finished, what they have only staged is to be
        forgotten. A driver may die in here, so the next one does it again.
        """

    @abstractmethod
    def commit(self, epoch: int, staged: list[Any]) -> None:
        """Make an epoch visible, all parts at once.

        ``staged``: what the writers of the epoch have returned, one per part. Files or rows that are
        not in it belong to attempts that did not count. If the epoch is committed already, it stays
        as it is: a driver that died after the commit replays the epoch.
        """

    @abstractmethod
    def take_back(self, epoch: int) -> None:
        """Remove what is committed of all epochs after this one.

        Called when a savepoint is made of a job that died: it may have committed an epoch that the
        savepoint does not have. A process may die in here, and the next one does it again.
        """

    def check_take_back(self) -> None:  # noqa: B027
        """Raise an error if nothing can be taken back now; asked of all sinks before `take_back`."""

    def abort(self, epoch: int, staged: list[Any]) -> None:  # noqa: B027
        """Forget staged parts of an epoch that fails. It may fail: `recover` forgets them too."""

    def close(self) -> None:  # noqa: B027
        """Release connections."""


class Sink:
    """Where records go. Give it to ``stream.sink_to``.

    Derive a sink from one of the three kinds: `FunctionSink`, `IdempotentSink`, `TwoPhaseSink`.

    Attributes
    ----------
    changelog : "append", "upsert" or "retract"
        What the sink takes. A stream with other changes is refused when the job is planned.
    takes_columns : bool
        Whether writers get Arrow record batches, not lists of records. The stream needs a type then.
    prefers_columns : bool
        The same where the stream has a declared type; writers get lists of records of other streams,
        and of those that have rows of kind DELETE.
    """

    changelog: Changelog = "append"
    takes_columns: bool = False
    prefers_columns: bool = False
    promise: ClassVar[str] = ""
    """What a reader sees after a crash, in a few words."""
    forgets: ClassVar[bool] = False
    """Whether nobody looks at the records: they are counted, and need not leave their task."""

    def validate(self) -> None:
        """Raise a `PlanError` if the sink cannot be used; called when it is given to a stream."""

    def preprocess(self, stream: Any) -> Any:
        """Return the stream whose records the sink takes: the one it is given to, or steps behind it."""
        return stream

    def travelling(self) -> Iterator[tuple[str, Any]]:
        """The parts of the sink that are sent to the workers, with a name for each."""
        return iter(())


class PartSink(Sink, ABC):
    """A sink that tasks write to, part by part."""

    @abstractmethod
    def open_part(self, context: PartContext) -> PartWriter:
        """Open the writer of a part; called in the task, on a copy of the sink.

        A task keeps its copy for many epochs: connections that are worth keeping may stay in it. What
        cannot be pickled must not be there before the first call.
        """

    def start(self, context: SinkContext) -> None:
        """Check what the sink needs: servers, tables, rights. Called on the driver at each start."""

    def close(self) -> None:
        """Release the connections that this copy of the sink keeps; the task's process may go on."""

    def travelling(self) -> Iterator[tuple[str, Any]]:
        yield "sink", self


class FunctionSink(PartSink):
    """A sink that writes at least once: after a crash the records of the last epoch come again.

    Examples
    --------
    >>> class Sending(FunctionSink):
    ...     def open_part(self, context):
    ...         return SendingWriter()
    >>> class SendingWriter(PartWriter):
    ...     def write(self, batch):
    ...         for record in batch:
    ...             print("sent", record)
    ...     def finish(self):
    ...         pass
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> from millstream.testing import run_local
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> env.from_collection([1, 2]).sink_to(Sending())
    DataStreamSink(Sending)
    >>> results = run_local(env, write=True)
    sent 1
    sent 2
    """

    promise = "at least once"


class IdempotentSink(PartSink):
    """A sink that writes each part with a marker, in one transaction, and no marked part again.

    The marker is keyed by job, sink, epoch and part (`PartContext.key`), and keeps the part's
    fingerprint. A replayed epoch finds the markers of the parts that were written, and skips them. If
    such a part has other records now, or none, the job is refused: it runs with another number of tasks.
    """

    promise = "each record once, part by part"

    @abstractmethod
    def open_part(self, context: PartContext) -> IdempotentWriter: ...

    def last_markers(self, context: SinkContext) -> Mapping[int, PartMarker] | None:
        """The last marker of each part of this job and sink; None if they cannot be listed.

        The driver asks once at each start. With them, an epoch that is replayed in another number of
        parts is refused before anything is written: parts that are gone have markers that no task reads.
        """
        return None

    def last_epoch(self, context: SinkContext) -> int | None:
        """The last epoch that has a marker of this job and sink; None if that cannot be told.

        With it, a job whose checkpoint has lost its newest epochs is refused, not skipped over. By
        default it is found in `last_markers`.
        """
        markers = self.last_markers(context) or {}
        return max((marker.epoch for marker in markers.values()), default=None)


class TwoPhaseSink(PartSink):
    """A sink whose tasks stage parts, and whose driver commits an epoch when all parts are staged.

    `millstream savepoint` makes a savepoint of a dead job without its program. To take back what the
    job committed too much, it rebuilds the sink: it imports the class, and calls `from_config` with
    the values of `to_config`. So the class stands in a module that can be imported.
    """

    promise = "each record once"

    @abstractmethod
    def open_committer(self, context: SinkContext) -> Committer:
        """Open the driver's side; it is used by one thread at a time."""

    def to_config(self) -> Mapping[str, Any]:
        """Return the arguments of the sink as JSON values; they are written into the checkpoint.

        By default the fields of a dataclass. Leave out secrets, and paths must be absolute.
        """
        if not dataclasses.is_dataclass(self):
            raise PlanError(
                "SINK_CONFIG",
                f"{type(self).__name__} does not say what it is made of",
                location=user_location(),
                hint="make it a dataclass of plain values, or define to_config() and from_config()",
            )
        return dataclasses.asdict(self)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Make the sink from the values that `to_config` has returned."""
        return cls(**config)


def refuse_sink(
    sink: Sink,
    name: str,
    changelog: Changelog,
    type_info: TypeInformation | None,
    location: Location | None,
) -> None:
    """Refuse a sink that cannot take what a stream gives."""
    taken = _TAKEN.get(sink.changelog)
    if taken is None:
        raise PlanError(
            "BAD_CHANGELOG",
            f"sink {name!r} says that it takes {sink.changelog!r}",
            location=location,
            hint=f"changelog is one of {', '.join(map(repr, _TAKEN))}",
        )
    if changelog not in taken:
        raise PlanError(
            "CHANGELOG_NOT_TAKEN",
            f"the stream gives {changelog} changes, and sink {name!r} takes "
            f"{' and '.join(sorted(taken))} changes",
            location=location,
            hint="use a sink that can replace or take back records, or a query that only adds some",
        )
    if sink.takes_columns and type_info is None:
        raise PlanError(
            "UNTYPED_COLUMNS",
            f"sink {name!r} takes columns, and the type of the stream is unknown",
            location=location,
            hint="declare it: map(..., output_type=Types.ROW_NAMED([...], [...])), or a type hint",
        )
