"""The contract of sources: channels with positions, which a connector's author implements.

A job asks a source on the driver how far each of its channels can be read (`ChannelSource.latest`), and
reads ranges of positions in tasks (`ChannelSource.read`). Everything else has a default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from millstream.common.typeinfo import TypeInformation

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from millstream.kernel.steps.decode import Decoder

__all__ = [
    "ChannelName",
    "ChannelSource",
    "Chunk",
    "Conversion",
    "Limits",
    "Position",
    "Source",
    "SourceSpec",
]

ChannelName = str | int
"""The name of a channel. It never changes: a savepoint knows the position by the name."""
Position = Any
"""A place in a channel, between two records: a whole number, or another JSON value."""


@dataclass(frozen=True)
class Conversion:
    """Makes any number of records of each that is read."""

    function: Callable[[Any], Iterable[Any]]
    read_type: TypeInformation


class Source(ABC):
    """Where records come from. Give it to ``env.from_source``.

    To write one, subclass `ChannelSource`.
    """

    @abstractmethod
    def parts(self) -> tuple[SourceSpec, ...]:
        """Return what is read: itself, or several for a source that stands for others."""

    @property
    def bounded(self) -> bool:
        """Whether the source has an end."""
        return all(part.bounded for part in self.parts())

    def get_produced_type(self) -> TypeInformation | None:
        """Return the type of the records, None if only reading them will tell."""
        return None

    def conversion(self) -> Conversion | None:
        """Return what makes records of what is read, None if that is the same."""
        return None

    def decoder(self) -> Decoder | None:
        """Return what decodes what is read, many records at a time; None if nothing has to be.

        Records that cannot be decoded fail the job, or follow ``on_error`` of the stream.
        """
        return None


class SourceSpec(Source):
    """A source that a job reads as one. The plan knows sources by these methods only."""

    kind: ClassVar[str]
    """How its offsets are to be read: the word for it in manifests and savepoints."""
    has_name: ClassVar[bool] = True
    """Whether Spark's checkpoint knows it by its name; otherwise it goes by its place in the query."""
    positions_in: ClassVar[str | None] = None
    """What its positions belong to, if they mean nothing to sources of something else."""

    def parts(self) -> tuple[SourceSpec, ...]:
        return (self,)

    @property
    @abstractmethod
    def bounded(self) -> bool:
        """Whether the source has an end."""

    @property
    def batch_only(self) -> bool:
        """Whether it can be read in a batch only."""
        return False

    @property
    def keeps_order(self) -> bool:
        """Whether the records of a channel come in order; if not, watermarks move at epoch ends."""
        return True

    def channel_count(self) -> int | None:
        """Return the number of channels; None if it can change, or is not known before the job runs."""
        return None

    @abstractmethod
    def describe_channels(self) -> str:
        """Return what `explain` says about the channels."""

    def describe_reading(self, configuration: Mapping[str, str]) -> str | None:
        """Return what `explain` says about who reads it, None if there is no choice."""
        return None

    def signature(self) -> str:
        """Return what tells this source from others where the program gives no uid."""
        inner: Any = getattr(self, "function", None) or self
        named = inner if hasattr(inner, "__qualname__") else type(inner)
        return f"source {named.__qualname__}"

    def details(self) -> dict[str, Any]:
        """Return what a savepoint has to know besides the kind."""
        return {} if self.positions_in is None else {"positions": self.positions_in}

    def travelling(self) -> object | None:
        """Return what is sent to the workers and has to be pickled, if that could fail."""
        return None


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some consecutive records of a channel.

    Parameters
    ----------
    values
        The records: a list of Python objects, a ``pyarrow.RecordBatch`` (its rows are the records) or a
        ``pyarrow.Array`` of plain values.
    timestamps
        Their event times in milliseconds, one for each, None for a record without one. By default no
        record has one; a timestamp assigner of the watermark strategy overrides them.
    positions
        The whole number of each record's position, growing. To be given where positions have gaps: the
        job otherwise counts records from the start of the range, so that the same record would have
        another number after another cut into epochs.

    Examples
    --------
    >>> len(Chunk(["a", "b"], [1_000, 2_000]))
    2
    """

    values: list[Any] | pa.RecordBatch | pa.Array
    timestamps: Sequence[int | None] | npt.NDArray[np.int64] | None = None
    positions: Sequence[int] | npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Limits:
    """How much of each channel an epoch reads at most; None: as much as there is.

    Parameters
    ----------
    per_epoch
        Records of each channel in an epoch.
    per_second
        Records of each channel per second.
    """

    per_epoch: int | None = None
    per_second: float | None = None


NO_LIMITS = Limits()


class ChannelSource(SourceSpec):
    """A source of ordered channels, each of which is read by position.

    A *channel* is an ordered sequence of records with a name: a partition, a shard, a table, a file. A
    *position* lies between two records. A range ``[start, stop)`` of a channel gives the same records
    in the same order whenever it is read: after a crash a job reads it again.

    Two methods are required, `latest` and `read`. The object is pickled and copied: copies on the driver
    answer `latest`, `first` and `commit`, copies in the workers `read`. A copy is opened once in its
    process; connections belong into `open`.

    Examples
    --------
    >>> class Countdown(ChannelSource):
    ...     '''The numbers from n to 1.'''
    ...
    ...     bounded = True
    ...
    ...     def __init__(self, n):
    ...         self.n = n
    ...
    ...     def latest(self):
    ...         return {"numbers": self.n}
    ...
    ...     def read(self, channel, start, stop):
    ...         yield Chunk([self.n - position for position in range(start, stop)])
    >>> from millstream.common import WatermarkStrategy
    >>> from millstream.testing import run_local
    >>> def program(env):
    ...     return env.from_source(Countdown(3), WatermarkStrategy.no_watermarks(), "countdown")
    >>> run_local(program).values()
    [3, 2, 1]
    """

    kind = "channels"

    # -- required --------------------------------------------------------------------------------

    @abstractmethod
    def latest(self) -> Mapping[ChannelName, Position | None]:
        """Return all channels there are now, and how far each can be read.

        Asked on the driver before every epoch, so it should cost little. A channel that is here for
        the first time is new, and is read from `first`. None as the position: records can be made
        without end, as a generator does; the limits say how many.

        If the source is `bounded`, it is asked once, when the job starts, and the answer is the end.
        """

    @abstractmethod
    def read(self, channel: ChannelName, start: Position, stop: Position) -> Iterator[Chunk]:
        """Yield the records of a channel from one position up to another, in order.

        Runs in a task. Yield chunks of some thousand records, so that a large range need not fit in
        memory. The range may hold fewer records than positions, if positions have gaps, but never more.
        """

    # -- where channels begin and end ------------------------------------------------------------

    @property
    def bounded(self) -> bool:
        """Whether the source has an end. A class can say ``bounded = True``.

        The job then reads each channel as far as `latest` says when it starts, and ends.
        """
        return False

    def first(self, channel: ChannelName) -> Position:
        """Return where a channel begins that the job has not seen before."""
        return 0

    def is_final(self, channel: ChannelName) -> bool:
        """Return whether a channel of an unbounded source ends where `latest` says.

        Event time does not wait for a channel that has ended: a closed shard, a file. Say so before its
        last record is read. All channels of a bounded source end.
        """
        return False

    def number(self, position: Position) -> int:
        """Return a whole number for a position, which grows along the channel.

        Needed if positions are no whole numbers. A range has at most ``number(stop) - number(start)``
        records.
        """
        return position  # type: ignore[no-any-return]

    def latest_after(
        self, positions: Mapping[str, Position]
    ) -> Mapping[ChannelName, Position | None]:
        """Return `latest` for a job that stands at these positions, by the names as texts.

        For a source that has to compare them with what is there, to see that records were lost; or that
        sees by them what it chose to read when the job began, such as a version of a table. A bounded
        source is asked once in each start of the job, with no positions in the first.
        """
        return self.latest()

    def turn(self, channel: ChannelName) -> int:
        """Return when a channel is read: after all channels with smaller numbers have ended.

        Channels of a later turn are announced in the epoch that reads the last records before them, and
        are read from the next epoch on. Channels that others wait for must end: those of a bounded
        source do, and those of which `is_final` says so.
        """
        return 0

    # -- how much an epoch reads -----------------------------------------------------------------

    def limits(self) -> Limits:
        """Return how much of each channel an epoch reads at most."""
        return NO_LIMITS

    def advance(
        self, channel: ChannelName, start: Position, stop: Position, records: int | None
    ) -> Position:
        """Return where an epoch that begins at ``start`` ends, not beyond ``stop``.

        ``records``: how many records it may read, None for all. It must come further than ``start``. The
        default counts positions if they are whole numbers; if they are not, no limit applies. Override
        it if not every number between two positions is one: bytes of a file, where records are lines.
        """
        limited = records is not None and isinstance(start, int)
        return min(start + records, stop) if limited else stop

    def announces(self, channel: ChannelName) -> bool:
        """Return whether event time waits for a channel that has not spoken yet; by default it does."""
        return True

    # -- life ------------------------------------------------------------------------------------

    def open(self) -> None:
        """Called once in each process before anything else, to connect to something."""

    def close(self) -> None:
        """Called when the process does not need it any more; leaves the object as before `open`."""

    def commit(self, positions: Mapping[ChannelName, Position]) -> None:
        """Hear that everything before these positions is done; a job never goes back behind them.

        Called on the driver some time after an epoch, for those who watch: a job itself keeps its
        positions in its checkpoint. After a crash a call may be missing or come twice.
        """

    # -- what the plan asks ----------------------------------------------------------------------

    def describe_channels(self) -> str:
        """Return what `explain` says about the channels."""
        count = self.channel_count()
        number = "found when the job runs" if count is None else str(count)
        return f"{number}, read by position"

    def travelling(self) -> object | None:
        return self
