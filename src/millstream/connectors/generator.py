"""Records made by a function of their number, as a source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from millstream.common.errors import user_code_error
from millstream.connectors.collection import CHUNK
from millstream.connectors.source import NO_LIMITS, ChannelName, ChannelSource, Chunk, Limits


@dataclass(frozen=True)
class GeneratorSource(ChannelSource):
    """Numbers first..last (last None: no end) dealt over ``count`` channels, mapped by a function."""

    begin: int
    last: int | None
    count: int = 1
    function: Callable[[int], Any] | None = None
    limited: Limits = NO_LIMITS

    @property
    def bounded(self) -> bool:
        return self.last is not None

    def channel_count(self) -> int:
        return self.count

    def latest(self) -> Mapping[ChannelName, int | None]:
        return {channel: self._end(channel) for channel in range(self.count)}

    def _end(self, channel: int) -> int | None:
        if self.last is None:
            return None
        return max(0, (self.last - self.begin - channel) // self.count + 1)

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        assert isinstance(channel, int)
        first = self.begin + channel
        for at in range(start, stop, CHUNK):
            end = min(at + CHUNK, stop)
            numbers = range(first + at * self.count, first + end * self.count, self.count)
            if self.function is None:
                yield Chunk(list(numbers))
            else:
                yield Chunk([self._made(self.function, number) for number in numbers])

    def limits(self) -> Limits:
        return self.limited

    def _made(self, function: Callable[[int], Any], number: int) -> Any:
        try:
            return function(number)
        except Exception as error:
            raise user_code_error(error, "generator source", "source", number) from error
