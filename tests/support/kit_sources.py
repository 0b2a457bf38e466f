"""Sources for the tests of the kit: a right one, and wrong ones that differ from it in one thing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from millstream.connectors import ChannelName, ChannelSource, Chunk, Limits


class Logs(ChannelSource):
    """A folder of logs that grow; a line is a record, its length an event time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> list[str]:
        return sorted(log.stem for log in self.folder.glob("*.log"))

    def lines(self, channel: ChannelName) -> list[str]:
        return (self.folder / f"{channel}.log").read_text().splitlines()

    def latest(self) -> dict[Any, Any]:
        return {name: len(self.lines(name)) for name in self.names()}

    def read(self, channel: ChannelName, start: Any, stop: Any) -> Iterator[Chunk]:
        lines = self.lines(channel)[start:stop]
        for at in range(0, len(lines), 4):
            part = lines[at : at + 4]
            yield Chunk(part, [len(line) for line in part])


class Segments(Logs):
    """A position is a pair: segments of 8 records, and records in a segment."""

    def latest(self) -> dict[Any, Any]:
        return {name: divmod(len(self.lines(name)), 8) for name in self.names()}

    def first(self, channel: ChannelName) -> Any:
        return (0, 0)

    def number(self, position: Any) -> int:
        segment, record = position
        return int(segment) * 8 + int(record)

    def read(self, channel: ChannelName, start: Any, stop: Any) -> Iterator[Chunk]:
        yield Chunk(self.lines(channel)[self.number(start) : self.number(stop)])


class Sparse(Logs):
    """Positions have gaps: each record takes three."""

    def latest(self) -> dict[Any, Any]:
        return {name: 3 * len(self.lines(name)) for name in self.names()}

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        yield Chunk(self.lines(channel)[-(-start // 3) : -(-stop // 3)])


class Numbered(Sparse):
    """It says which positions its records have."""

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        first, last = -(-start // 3), -(-stop // 3)
        yield Chunk(self.lines(channel)[first:last], None, [3 * n for n in range(first, last)])


class FromTheMiddle(Logs):
    def first(self, channel: ChannelName) -> int:
        return min(2, len(self.lines(channel)))


# -- wrong ones ------------------------------------------------------------------------------------


class LeavesOut(Logs):
    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        yield Chunk([line for line in self.lines(channel)[start:stop] if "7" not in line])


class NumbersByRange(Numbered):
    """Positions that count from the start of the range."""

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        for chunk in super().read(channel, start, stop):
            yield Chunk(chunk.values, None, [start + n for n in range(len(chunk))])


class NumbersOfOthers(Numbered):
    """Positions before the range."""

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        for chunk in super().read(channel, start, stop):
            yield Chunk(chunk.values, None, list(range(len(chunk))))


class FewNumbers(Numbered):
    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        for chunk in super().read(channel, start, stop):
            yield Chunk(chunk.values, None, [start])


class NotReplayable(Logs):
    """Every read gives what nobody has read before."""

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        seen = self.folder / "seen"
        count = int(seen.read_text()) if seen.exists() else 0
        seen.write_text(str(count + 1))
        yield Chunk([f"{line} {count}" for line in self.lines(channel)[start:stop]])


class OtherOrder(Logs):
    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        yield Chunk(sorted(self.lines(channel)[start:stop], reverse=True))


class LosesAtCuts(Logs):
    """Like a client that begins behind the position that it is given."""

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        yield Chunk(self.lines(channel)[start + (start > 0) : stop])


class IgnoresStop(Logs):
    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        yield Chunk(self.lines(channel)[start:])


class HasACursor(Logs):
    """Goes on where it stands, and not where it is told to."""

    cursor = 0

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        begin, self.cursor = self.cursor, self.cursor + stop - start
        yield Chunk(self.lines(channel)[begin : self.cursor])


class Promises(Logs):
    """Says that there is more than there is, as the runtime once assumed."""

    def latest(self) -> dict[Any, Any]:
        return {name: end + 100_000 for name, end in super().latest().items()}


class OneBehind(Logs):
    """Covers a record when the next one comes."""

    def latest(self) -> dict[Any, Any]:
        return {name: max(end - 1, 0) for name, end in super().latest().items()}


class GoesBack(Logs):
    """Asks two replicas in turn, and one of them is behind."""

    def latest(self) -> dict[Any, Any]:
        asked = self.folder / "asked"
        count = int(asked.read_text()) if asked.exists() else 0
        asked.write_text(str(count + 1))
        return {name: end - (count % 2) * 5 for name, end in super().latest().items()}


class ForgetsNewChannels(Logs):
    """Looks for channels when it is made."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.known = super().names()

    def names(self) -> list[str]:
        return self.known


class Forgets(Logs):
    """Does not name a channel that has 14 records."""

    def latest(self) -> dict[Any, Any]:
        return {name: end for name, end in super().latest().items() if end != 14}


class NamesByNumber(Logs):
    """A channel's name is its place in a list, which changes when another channel comes."""

    def latest(self) -> dict[Any, Any]:
        return {number: len(self.lines(name)) for number, name in enumerate(self.names())}

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        assert isinstance(channel, int)
        yield from super().read(self.names()[channel], start, stop)


class NoNumbers(Segments):
    def number(self, position: Any) -> Any:
        return position


class Tuples(Segments):
    """Looks positions up that are tuples where it makes them, and lists when they come back."""

    def read(self, channel: ChannelName, start: Any, stop: Any) -> Iterator[Chunk]:
        places = {divmod(at, 8): at for at in range(1_000)}
        yield Chunk(self.lines(channel)[places[start] : places[stop]])


class Stuck(Logs):
    def advance(self, channel: ChannelName, start: Any, stop: Any, records: Any) -> Any:
        return start


class NoLimit(Logs):
    def advance(self, channel: ChannelName, start: Any, stop: Any, records: Any) -> Any:
        return stop


class HoldsALock(Logs):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.lock = threading.Lock()


class OpensOnce(Logs):
    handle: Any = "connection"

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        assert self.handle, "the connection is closed"
        yield from super().read(channel, start, stop)

    def close(self) -> None:
        self.handle = None


class GivesLists(Logs):
    def read(self, channel: ChannelName, start: int, stop: int) -> Any:
        yield self.lines(channel)[start:stop]


class GivesNothing(Logs):
    def read(self, channel: ChannelName, start: int, stop: int) -> Any:
        return None


class FewTimes(Logs):
    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        yield Chunk(self.lines(channel)[start:stop], [1])


class PairsAsNames(Logs):
    def latest(self) -> dict[Any, Any]:
        return {("logs", name): len(self.lines(name)) for name in self.names()}


class SameNames(Logs):
    def latest(self) -> dict[Any, Any]:
        return {"1": 3, 1: 4}


class BoundedWithoutEnd(Logs):
    bounded = True

    def latest(self) -> dict[Any, Any]:
        return dict.fromkeys(self.names())


class TooMuchAtOnce(NoLimit):
    def limits(self) -> Limits:
        return Limits(per_epoch=2)
