"""A version of a table as channels: the files of a channel in a fixed order, read by row.

The names of the channels carry the version that is read: ``12.0-of-4`` is the first of four channels of
version 12. A job that was started again, or goes on from a savepoint, knows its channels by name, so it
reads the same version, whatever was written to the table since then. The position in a channel is the
number of rows before it, over all files of the channel.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from millstream.connectors.source import ChannelName, Chunk

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DataFile", "channel_names", "dealt", "ends", "pinned_version", "read_rows"]

DEFAULT_CHANNELS = 8
_NAME = re.compile(r"(?P<version>-?\d+)\.(?P<number>\d+)-of-(?P<count>\d+)")


@dataclass(frozen=True)
class DataFile:
    """A file of a version. ``rows``: how many it has at most; ``file``: what opens it."""

    rows: int
    file: Any


@dataclass(frozen=True)
class Channel:
    """A channel, as its name says."""

    version: int
    number: int
    count: int

    @staticmethod
    def of(name: ChannelName) -> Channel:
        found = _NAME.fullmatch(str(name))
        assert found is not None, f"{name} is no channel of a table"
        return Channel(*(int(found[part]) for part in ("version", "number", "count")))

    def __str__(self) -> str:
        return f"{self.version}.{self.number}-of-{self.count}"


def pinned_version(names: Iterable[str]) -> tuple[int, int] | None:
    """The version that a job reads, and in how many channels; None if it has not begun.

    Examples
    --------
    >>> pinned_version(["12.0-of-2", "12.1-of-2"]), pinned_version([])
    ((12, 2), None)
    """
    found = next(iter(names), None)
    channel = None if found is None else Channel.of(found)
    return None if channel is None else (channel.version, channel.count)


def channel_names(version: int, count: int) -> list[str]:
    """The channels of a version."""
    return [str(Channel(version, number, count)) for number in range(count)]


def dealt(files: list[DataFile], count: int) -> list[list[DataFile]]:
    """The files of each channel: each file in turn goes to the channel with the fewest rows.

    Files that were written one after the other are read at about the same time, so the event times of
    the channels stay together.

    Examples
    --------
    >>> files = [DataFile(rows, rows) for rows in (5, 1, 2, 9)]
    >>> [[file.rows for file in channel] for channel in dealt(files, 2)]
    [[5], [1, 2, 9]]
    """
    channels: list[list[DataFile]] = [[] for _ in range(count)]
    load = [(0, number) for number in range(count)]
    for file in files:
        rows, number = heapq.heappop(load)
        channels[number].append(file)
        heapq.heappush(load, (rows + file.rows, number))
    return channels


def ends(version: int, count: int, files: list[DataFile]) -> Mapping[ChannelName, int]:
    """All channels of a version, and how many rows each has."""
    sizes = [sum(file.rows for file in channel) for channel in dealt(files, count)]
    return dict(zip(channel_names(version, count), sizes, strict=True))


def read_rows(
    files: list[DataFile],
    start: int,
    stop: int,
    batches: Any,
) -> Iterator[Chunk]:
    """Read rows of a channel.

    ``batches(file, first)`` gives the batches of a file from a row on or an earlier one, each with the
    number of its first row. A file may have fewer rows than it says: where a filter leaves some out,
    positions are those of the rows that are left.
    """
    begin = 0
    for file in files:
        end = begin + file.rows
        if end > start and begin < stop:
            first, last = max(start - begin, 0), min(stop - begin, file.rows)
            for at, batch in batches(file, first):
                if at >= last:
                    break
                skipped = max(first - at, 0)
                cut: pa.RecordBatch = batch.slice(skipped, min(len(batch), last - at) - skipped)
                if cut.num_rows > 0:
                    yield Chunk(cut)
        begin = end
