"""Specifications of sources and files: plain data, translated by the runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from millstream.common.errors import CheckpointError, Location, user_code_error

FileFormat = Literal["text", "csv", "json", "parquet"]

_TEXT_COMPRESSION = ("none", "gzip", "bzip2")
FILE_SINK_OPTIONS: Mapping[FileFormat, Mapping[str, tuple[str, ...]]] = {
    "text": {"compression": _TEXT_COMPRESSION},
    "json": {"compression": _TEXT_COMPRESSION},
    "csv": {
        "compression": _TEXT_COMPRESSION,
        "header": ("true", "false"),
        "quoteAll": ("true", "false"),
        **dict.fromkeys(("sep", "quote", "escape", "lineSep", "nullValue"), ()),
    },
    "parquet": {"compression": ("none", "snappy", "gzip", "zstd", "lz4", "brotli")},
}
"""The options of Spark's writers that file sinks have, and the values of those that are a choice."""


@runtime_checkable
class ChannelSource(Protocol):
    """One of Millstream's own sources: ordered channels, each read by position.

    The runtime asks where every channel stands and reads ranges; replaying a range gives the
    same records. ``end(channel)`` is the number of records a bounded channel has, or None.
    """

    def channels(self) -> list[int]: ...

    def end(self, channel: int) -> int | None: ...

    def read(self, channel: int, start: int, stop: int) -> tuple[list[Any], list[Any] | None]:
        """Records start..stop-1 of a channel, and their event times (ms) if they have any."""
        ...


def refuse_shorter(
    source: ChannelSource, channel: int, position: int, name: str, location: Location | None
) -> None:
    """Refuse to go on at a position that a channel does not have: it was longer when it was read."""
    end = source.end(channel)
    if end is not None and position > end:
        raise CheckpointError(
            "SOURCE_SHORTER",
            f"channel {channel} of source {name!r} has {end} records now, and the job stands at "
            f"{position}",
            parameters={"source": name, "channel": channel, "end": end, "position": position},
            location=location,
            hint="give the source the records it had when the job began, or start the job with "
            "another checkpoint directory",
        )


@dataclass(frozen=True, kw_only=True)
class ChannelSpec:
    """Reads a `ChannelSource`, at most ``per_epoch`` records of each channel in an epoch.

    ``rate`` limits an unbounded source to that many records per second and channel.
    """

    source: ChannelSource
    per_epoch: int | Mapping[int, tuple[int, ...]] | None = None
    rate: float | None = None

    @property
    def bounded(self) -> bool:
        return all(self.source.end(channel) is not None for channel in self.source.channels())


@dataclass(frozen=True, kw_only=True)
class FilesSpec:
    """Reads files through Spark; each file is a channel.

    ``watch`` False lists the files once, at the first start, and ends when they are read.
    """

    path: str
    format: FileFormat
    options: Mapping[str, str] = field(default_factory=dict)
    schema: Any = None
    watch: bool = False

    @property
    def bounded(self) -> bool:
        return not self.watch


@dataclass(frozen=True, kw_only=True)
class SocketSpec:
    """Lines from a TCP socket, through Spark's socket source: no replay, so no exactly-once."""

    host: str
    port: int
    bounded: bool = False


@dataclass(frozen=True, kw_only=True)
class DataFrameSpec:
    """Any Spark DataFrame. One channel whose stamps move at epoch ends, unless columns say more.

    ``resume`` makes one that goes on from the offset of another job's, as Spark has written it.
    """

    dataframe: Any
    channel: str | None = None
    position: str | None = None
    resume: Callable[[Any], Any] | None = None

    @property
    def bounded(self) -> bool:
        return not self.dataframe.isStreaming


SourceSpec = ChannelSpec | FilesSpec | SocketSpec | DataFrameSpec


@dataclass(frozen=True, kw_only=True)
class FilesSinkSpec:
    """Files to write: where, and how."""

    path: str
    format: FileFormat
    options: Mapping[str, str] = field(default_factory=dict)
    prefix: str = "part"
    encoder: Callable[[Any], str] | None = None


@dataclass(frozen=True)
class CollectionSource:
    """Elements given by the program: a channel per list, each element with its event time or None."""

    lists: tuple[tuple[Any, ...], ...]
    timestamps: tuple[tuple[int | None, ...] | None, ...]

    @staticmethod
    def of(
        values: Iterable[Any], timestamps: Iterable[int | None] | None = None
    ) -> CollectionSource:
        times = None if timestamps is None else tuple(timestamps)
        return CollectionSource((tuple(values),), (times,))

    def channels(self) -> list[int]:
        return list(range(len(self.lists)))

    def end(self, channel: int) -> int | None:
        return len(self.lists[channel])

    def read(self, channel: int, start: int, stop: int) -> tuple[list[Any], list[Any] | None]:
        times = self.timestamps[channel]
        return (
            list(self.lists[channel][start:stop]),
            None if times is None else list(times[start:stop]),
        )


@dataclass(frozen=True)
class GeneratorSource:
    """Numbers first..last (last None: no end) dealt over ``parts`` channels, mapped by a function."""

    first: int
    last: int | None
    parts: int = 1
    function: Callable[[int], Any] | None = None

    def channels(self) -> list[int]:
        return list(range(self.parts))

    def end(self, channel: int) -> int | None:
        if self.last is None:
            return None
        return max(0, (self.last - self.first - channel) // self.parts + 1)

    def read(self, channel: int, start: int, stop: int) -> tuple[list[Any], list[Any] | None]:
        first = self.first + channel
        numbers = range(first + start * self.parts, first + stop * self.parts, self.parts)
        if self.function is None:
            return list(numbers), None
        return [self._made(number) for number in numbers], None

    def _made(self, number: int) -> Any:
        assert self.function is not None
        try:
            return self.function(number)
        except Exception as error:
            raise user_code_error(error, "generator source", "source", number) from error
