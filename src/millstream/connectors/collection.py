"""Elements that the program has, as a source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from millstream.connectors.source import NO_LIMITS, ChannelName, ChannelSource, Chunk, Limits

CHUNK = 16_384
"""How many records a built-in source reads at a time."""


@dataclass(frozen=True)
class CollectionSource(ChannelSource):
    """Elements given by the program: a channel per list, each element with its event time or None."""

    lists: tuple[tuple[Any, ...], ...]
    timestamps: tuple[tuple[int | None, ...] | None, ...]
    limited: Limits = NO_LIMITS

    bounded = True

    @staticmethod
    def of(
        values: Iterable[Any], timestamps: Iterable[int | None] | None = None
    ) -> CollectionSource:
        times = None if timestamps is None else tuple(timestamps)
        return CollectionSource((tuple(values),), (times,))

    def channel_count(self) -> int:
        return len(self.lists)

    def latest(self) -> Mapping[ChannelName, int]:
        return {channel: len(values) for channel, values in enumerate(self.lists)}

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        assert isinstance(channel, int)
        values, times = self.lists[channel], self.timestamps[channel]
        for at in range(start, stop, CHUNK):
            end = min(at + CHUNK, stop)
            yield Chunk(list(values[at:end]), None if times is None else list(times[at:end]))

    def limits(self) -> Limits:
        return self.limited

    def travelling(self) -> None:
        """Elements were looked at when the stream was made."""
        return None
