"""How a job goes along the channels of a source: all rules on positions are here.

An *offset* is what Spark's log and savepoints keep of a source: a JSON object with the position of each
channel by its name. Channels enter it when they are found, and are announced in the same epoch. A
channel that is gone keeps its position, so that it goes on there if it comes back. A channel that ends
before its position has lost records, and is refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.errors import CheckpointError, Location
from millstream.common.time import MIN_TIMESTAMP
from millstream.common.typeinfo import TypeInformation, Types
from millstream.connectors.source import ChannelName, ChannelSource, Chunk, Position
from millstream.connectors.source_calls import BEGUN, SourceCalls
from millstream.kernel.records.columns import Columns, Values
from millstream.kernel.records.order import Ints
from millstream.kernel.stages.programs import Block

Offset = dict[str, Any]
"""Position by name of the channel, and `BEGUN`."""
ENDLESS = 100_000
"""How many records an epoch makes of a channel without end and without a limit."""
CATCH_UP_SECONDS = 10.0
"""An epoch of a source with a rate has at most the records of so long a time."""


@dataclass(frozen=True)
class Range:
    """A part of a channel that a task reads. ``number`` is the channel's in the kernel.

    ``finished``: the channel has nothing behind it.
    """

    channel: ChannelName
    number: int
    start: Position
    stop: Position
    finished: bool = False


@dataclass(frozen=True)
class Reads:
    """The ranges that one epoch reads, the channels that are new, and those with a backlog."""

    ranges: tuple[Range, ...]
    announced: tuple[int, ...] = ()
    backlog: tuple[int, ...] = ()

    def dealt(self, tasks: int) -> list[tuple[int, Reads]]:
        """The number and the reads of each task; the first speaks for channels without records."""
        parts = [Reads(self.ranges[task::tasks]) for task in range(tasks)]
        parts[0] = Reads(parts[0].ranges, self.announced, self.backlog)
        return [(task, part) for task, part in enumerate(parts) if part.ranges or part.announced]


@contextmanager
def opened(
    source: ChannelSource, name: str = "source", location: Location | None = None
) -> Iterator[ChannelSource]:
    """A source that is open for a moment."""
    calls = SourceCalls(source, name, location)
    calls.open()
    try:
        yield source
    finally:
        calls.close()


def channel_number(source_id: int, channel: ChannelName) -> int:
    """A number for a channel that no other channel of the job has.

    Small numbers keep their order. Names are hashed to 64 bits.

    Examples
    --------
    >>> channel_number(2, 1), channel_number(2, "orders-1")
    (8589934593, 7568564670404554322)
    """
    if isinstance(channel, int) and 0 <= channel < 1 << 32:
        return source_id << 32 | channel
    digest = blake2b(f"{source_id}:{channel}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


class Progress:
    """Where a source stands, and how far the next epoch reads it.

    Parameters
    ----------
    source
        The source, open.
    source_id
        Its number in the job.
    ends
        Where the channels of a bounded source end, if somebody has asked it before.
    limit
        How many records of a channel an epoch reads at most, if the source has no limit of its own.
    name, location
        The source in the program, for errors.
    clock
        Gives seconds and never goes back, whatever happens to the time of day.
    """

    def __init__(
        self,
        source: ChannelSource,
        source_id: int = 0,
        *,
        ends: Mapping[ChannelName, Position | None] | None = None,
        limit: int | None = None,
        name: str = "source",
        location: Location | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.source = source
        self.calls = SourceCalls(source, name, location)
        self.source_id = source_id
        self.ends = ends
        self.limit = limit
        self.name = name
        self.location = location
        self.clock = clock
        self.names: dict[str, ChannelName] = {}
        self.found: dict[str, Position | None] | None = None
        self.due: dict[str, tuple[float, int, float]] = {}

    # -- how far channels can be read ------------------------------------------------------------

    def latest(self, offset: Offset | None = None) -> dict[str, Position | None]:
        """All channels by name, and how far they can be read now; asks a bounded source only once."""
        if self.ends is None:
            answer = self.calls.latest(_positions(offset or {}))
            if self.source.bounded:
                self.ends = answer
        else:
            answer = dict(self.ends)
        self.names |= {str(channel): channel for channel in answer}
        self.found = {str(channel): at for channel, at in answer.items()}
        return self.found

    def known(self) -> dict[str, Position | None]:
        """The last answer of the source."""
        return self.latest() if self.found is None else self.found

    def channel(self, name: str) -> ChannelName:
        """The source's own name of a channel."""
        return self.names.get(name, name)

    def first(self, name: str) -> Position:
        """Where a channel begins."""
        found, latest = self.calls.first(self.channel(name)), self.known().get(name)
        if latest is not None and self.calls.number(found) > self.calls.number(latest):
            raise self.calls.broken(
                f"channel {name} begins at {found!r}, behind its end {latest!r}",
                "first() must not be behind latest()",
            )
        if latest is None and name in self.known() and not isinstance(found, int):
            raise self.calls.broken(
                f"channel {name} has no end, and begins at {found!r}",
                "positions of a channel without end are whole numbers",
            )
        return found

    # -- the next epoch --------------------------------------------------------------------------

    def next(self, start: Offset) -> Offset:
        """The offset after an epoch that begins at one."""
        before = _positions(start)
        latest = self.latest(start)
        end, first = self.take_turns(
            before, lambda name, at: self._next_position(name, at, latest[name])
        )
        begun = {name: at for name, at in first.items() if at != 0}
        if begun:
            return {**end, BEGUN: begun}
        # Spark runs an epoch whenever the offset differs.
        return start if end == before else end

    def take_turns(
        self, before: Offset, read: Callable[[str, Position], Position]
    ) -> tuple[Offset, Offset]:
        """Positions after an epoch, and where the channels begin that are new in it.

        The epoch reads the channels whose turn it is. When it has read them to their ends, the next ones
        enter, too, before they are read, so that event time waits for them: otherwise it would run ahead
        to the end of those that have finished. ``read`` says how far an epoch comes.
        """
        first: Offset = {}
        end, reads = dict(before), True
        for names in self._turns():
            first |= {name: self.first(name) for name in names if name not in before}
            start = {name: before[name] if name in before else first[name] for name in names}
            for name, at in start.items():
                end[name] = read(name, at) if reads else at
            reads = reads and all(self.is_finished(name, at) for name, at in start.items())
            if not all(self.is_finished(name, end[name]) for name in names):
                break
        return end, first

    def _turns(self) -> list[list[str]]:
        """The channels that are there, by their turns."""
        turns: dict[int, list[str]] = {}
        for name in self.known():
            turns.setdefault(self.calls.turn(self.channel(name)), []).append(name)
        return [turns[turn] for turn in sorted(turns)]

    def _next_position(self, name: str, start: Position, latest: Position | None) -> Position:
        self.refuse_shorter(name, start)
        records = self._allowed(name, start, endless=latest is None)
        if records == 0 or start == latest:
            return start
        if latest is None:
            return start + records
        return self.calls.advance(self.channel(name), start, latest, records)

    def _allowed(self, name: str, start: Position, *, endless: bool) -> int | None:
        limits = self.calls.limits()
        records = self.limit if limits.per_epoch is None else limits.per_epoch
        if records is None and endless:
            records = ENDLESS
        if limits.per_second is not None:
            due = self._due(name, self.calls.number(start), limits.per_second)
            return due if records is None else min(records, due)
        return records

    def _due(self, name: str, start: int, rate: float) -> int:
        """How many records the rate allows by now, from where this run found the channel.

        A driver that stood still for long does not make up for all of it at once.
        """
        now = self.clock()
        # Counted from where the run found the channel: positions may be too large for a float.
        asked, begin, due = self.due.get(name, (now, start, 0.0))
        due = min(due + (now - asked) * rate, start - begin + max(1.0, CATCH_UP_SECONDS * rate))
        self.due[name] = now, begin, due
        return max(int(due) - (start - begin), 0)

    # -- what an epoch reads ---------------------------------------------------------------------

    def reads(self, start: Offset, end: Offset) -> Reads:
        """The reads of an epoch between two offsets; the same whenever it is asked."""
        if self.found is None:
            self.latest(start)
        before, after, begun = _positions(start), _positions(end), end.get(BEGUN, {})
        ranges, announced, backlog = [], [], []
        for name, stop in after.items():
            number = channel_number(self.source_id, self.channel(name))
            at = before[name] if name in before else begun.get(name, 0)
            if self.calls.number(stop) > self.calls.number(at):
                self.refuse_shorter(name, stop)
                finished = self.is_finished(name, stop)
                ranges.append(Range(self.channel(name), number, at, stop, finished))
            if name not in before and not self.is_finished(name, at):
                if self.calls.announces(self.channel(name)):
                    announced.append(number)
            if self._has_more(name, stop):
                backlog.append(number)
        return Reads(tuple(ranges), tuple(announced), tuple(backlog))

    def all_reads(self, start: Offset) -> Reads:
        """Everything from an offset to the ends of a bounded source."""
        end = _positions(start)
        begun = {name: self.first(name) for name in self.latest(start) if name not in end}
        for name, latest in self.known().items():
            self.refuse_shorter(name, end.get(name, begun.get(name)))
            end[name] = latest
        return self.reads(start, {**end, BEGUN: begun})

    def commit(self, offset: Offset) -> None:
        """Tell the source that everything before an offset is done."""
        self.known()
        self.calls.commit({self.channel(n): at for n, at in _positions(offset).items()})

    def is_finished(self, name: str, position: Position) -> bool:
        """Whether a channel has nothing behind a position, and never will."""
        latest = self.known().get(name)
        if latest is None or self.calls.number(position) < self.calls.number(latest):
            return False
        return self.is_final(name)

    def is_final(self, name: str) -> bool:
        """Whether a channel ends where the source says now."""
        return self.source.bounded or self.calls.is_final(self.channel(name))

    def lags(self, end: Offset) -> dict[str, int] | None:
        """How many positions of each channel wait behind an offset; None if a channel has no end."""
        waiting = {}
        for name, latest in self.known().items():
            if latest is None:
                return None
            at = end[name] if name in end else self.first(name)
            waiting[name] = max(self.calls.number(latest) - self.calls.number(at), 0)
        return waiting

    def _has_more(self, name: str, position: Position) -> bool:
        latest = self.known().get(name)
        return latest is not None and self.calls.number(latest) > self.calls.number(position)

    # -- refusals --------------------------------------------------------------------------------

    def refuse_shorter(self, name: str, position: Position) -> None:
        """Refuse to go on at a position that a channel does not have: it was longer when it was read."""
        latest, number = self.known().get(name), self.calls.number
        if latest is not None and number(position) > number(latest):
            raise CheckpointError(
                "SOURCE_SHORTER",
                f"channel {name} of source {self.name!r} ends at {latest} now, and the job stands at "
                f"{position}",
                parameters={
                    "source": self.name,
                    "channel": name,
                    "end": latest,
                    "position": position,
                },
                location=self.location,
                hint="give the source the records it had when the job began, or start the job with "
                "another checkpoint directory",
            )


def _positions(offset: Offset) -> Offset:
    return {name: position for name, position in offset.items() if name != BEGUN}


# -- in a task -------------------------------------------------------------------------------------


def blocks(
    source: ChannelSource,
    ranges: Iterable[Range],
    name: str = "source",
    location: Location | None = None,
) -> Iterator[Block]:
    """The records of some ranges, as the source stage takes them."""
    calls = SourceCalls(source, name, location)
    for part in ranges:
        first, stop = calls.number(part.start), calls.number(part.stop)
        at = first
        for chunk in calls.read(part.channel, part.start, part.stop):
            positions = _positions_of(calls, part, chunk, at, stop)
            count = len(chunk)
            if positions is None and at + count > stop:
                raise calls.broken(
                    f"read({part.channel!r}, {part.start!r}, {part.stop!r}) gives more records than "
                    "there are positions",
                    "stop before the position `stop`, or give `number` more room",
                )
            times = _times(chunk.timestamps)
            yield Block(values_of(chunk), times, part.number, first, at, part.finished, positions)
            at = at + count if positions is None else int(positions[-1]) + 1
        if at == first:
            yield Block([], None, part.number, first, first, part.finished)


def _positions_of(calls: SourceCalls, part: Range, chunk: Chunk, at: int, stop: int) -> Ints | None:
    """The positions that a chunk gives; None: they follow each other without a gap."""
    if chunk.positions is None or not len(chunk):
        return None
    positions = np.asarray(chunk.positions, np.int64)
    rises = bool((positions[1:] > positions[:-1]).all())
    if not rises or positions[0] < at or positions[-1] >= stop:
        raise calls.broken(
            f"read({part.channel!r}, {part.start!r}, {part.stop!r}) gives a chunk with the positions "
            f"{positions[0]} to {positions[-1]}, at {at}",
            "positions grow along the channel, and lie in the range that is read",
        )
    return positions


def _times(times: Sequence[int | None] | Ints | None) -> Ints | None:
    if times is None or isinstance(times, np.ndarray):
        return times
    return np.array([MIN_TIMESTAMP if ts is None else ts for ts in times], np.int64)


def values_of(chunk: Chunk) -> Values:
    """The records of a chunk, as the kernel has them."""
    values = chunk.values
    if isinstance(values, pa.RecordBatch):
        types = [TypeInformation.from_arrow(field.type) for field in values.schema]
        return Columns(Types.ROW_NAMED(values.schema.names, types), values.columns)
    if isinstance(values, pa.Array):
        return Columns(TypeInformation.from_arrow(values.type), [values])
    return values
