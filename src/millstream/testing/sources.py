"""A source whose course a test writes down: elements, watermarks, crashes and ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import combinations
from typing import Any

from millstream.common.errors import PlanError, user_location
from millstream.common.typeinfo import TypeInformation, infer_from_values
from millstream.common.typesystem.certainty import inferred
from millstream.common.watermark_strategy import (
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from millstream.connectors.source import ChannelName, ChannelSource, Chunk, Source
from millstream.testing.engine.marks import (
    Abort,
    AbortError,
    Eof,
    Epoch,
    Fuses,
    MarkedChannel,
    SetWatermark,
    parsed,
)

__all__ = ["MarkedChannels", "TestSource"]


class MarkedChannels(ChannelSource):
    """The channels of a `TestSource`, as the runtime reads them."""

    bounded = True

    def __init__(self, channels: tuple[MarkedChannel, ...]) -> None:
        self.tables = channels
        self.fuses = Fuses()

    def channel_count(self) -> int:
        return len(self.tables)

    def latest(self) -> Mapping[ChannelName, int]:
        return {channel: len(table) for channel, table in enumerate(self.tables)}

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        position = self.abort(channel, start, stop)
        if position is not None:
            raise abort_error(channel, position)
        table = self._table(channel)
        times = None if all(t is None for t in table.times) else list(table.times[start:stop])
        yield Chunk(list(table.values[start:stop]), times)

    def _table(self, channel: ChannelName) -> MarkedChannel:
        assert isinstance(channel, int)
        return self.tables[channel]

    def advance(self, channel: ChannelName, start: int, stop: int, records: int | None) -> int:
        """EPOCH marks cut, whatever the limit is."""
        end: int = super().advance(channel, start, stop, records)
        return min([end, *(mark for mark in self._table(channel).epochs if mark > start)])

    def abort(self, channel: ChannelName, start: int, stop: int) -> int | None:
        """The position of an ABORT mark in a range that has not acted yet; now it has.

        The mark stands before the record at its position; one behind the last record acts when the
        end is reached.
        """
        end = len(self._table(channel))
        for position in self._table(channel).aborts:
            reached = start <= position < stop or position == stop == end
            if reached and self.fuses.burn(f"{channel}-{position}"):
                return position
        return None

    def run_end(self, channel: ChannelName, start: int) -> int:
        """Where a run that begins at a position ends: at the next EOF mark, or at the last record."""
        table = self._table(channel)
        return next((eof for eof in table.eofs if eof > start), len(table))


def abort_error(channel: ChannelName, position: int) -> AbortError:
    """The error that an ABORT mark raises."""
    return AbortError(
        "TEST_ABORT",
        f"channel {channel} of a TestSource has come to an ABORT mark before record {position}",
        parameters={"channel": channel, "position": position},
        hint="run the job again: the mark acts once",
    )


class TestSource(Source):
    """A source that reads what a test gives it, and does what its marks say.

    ============================ =============================================================
    ``TestSource.WATERMARK(ts)`` sets the channel's watermark; needs ``source.watermarks()``
    ``TestSource.EPOCH()``       ends the epoch
    ``TestSource.ABORT()``       lets the run fail before the epoch is committed, once
    ``TestSource.EOF()``         ends the channel in this run; the next run goes on behind it
    ============================ =============================================================

    Parameters
    ----------
    *channels
        For each channel its elements and marks, in order.
    timestamped
        Elements are pairs (value, timestamp). A `TimestampedValue` has its time in any case.

    Notes
    -----
    A run that has come to EOF marks stops without the end of the job: nothing fires, and `run_local`
    with the same `Checkpoint` goes on. On Spark EOF marks are read over.

    Examples
    --------
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> from millstream.testing import Checkpoint, collect, run_local
    >>> source = TestSource([1, 2, TestSource.EPOCH(), 3, TestSource.ABORT(), 4])
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    >>> numbers = collect(stream.map(lambda n: n * 10))
    >>> checkpoint = Checkpoint()
    >>> run_local(env, checkpoint=checkpoint)
    Traceback (most recent call last):
    millstream.testing.engine.marks.AbortError: [TEST_ABORT] channel 0 of a TestSource has come to an \
ABORT mark before record 3
    ...
    >>> numbers.values()
    [10, 20]
    >>> results = run_local(env, checkpoint=checkpoint)
    >>> numbers.by_epoch()[1]
    [StreamRecord(value=30, timestamp=None), StreamRecord(value=40, timestamp=None)]
    """

    __test__ = False  # The name begins with "Test", but it is no test class for pytest.

    WATERMARK = SetWatermark
    ABORT = Abort
    EOF = Eof
    EPOCH = Epoch

    def __init__(self, *channels: Iterable[Any], timestamped: bool = False) -> None:
        if not channels:
            raise PlanError(
                "BAD_TEST_SOURCE",
                "a TestSource needs at least one channel",
                location=user_location(),
                hint="write TestSource([1, 2, 3])",
            )
        self._channels = MarkedChannels(tuple(parsed(part, timestamped) for part in channels))

    def parts(self) -> tuple[MarkedChannels]:
        return (self._channels,)

    def get_produced_type(self) -> TypeInformation | None:
        values = [value for table in self._channels.tables for value in table.values]
        return inferred(infer_from_values(values))

    def watermarks(self) -> WatermarkStrategy:
        """The strategy that follows the WATERMARK marks, and nothing else.

        Timestamps are those of the elements; ``with_timestamp_assigner`` gives others.

        Examples
        --------
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> source = TestSource(
        ...     [("a", 3), TestSource.WATERMARK(5), ("b", 4), ("c", 9)], timestamped=True
        ... )
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> stream = env.from_source(source, source.watermarks(), "letters")
        """
        tables = self._channels.tables
        for one, other in combinations(range(len(tables)), 2):
            if _look_alike(tables[one], tables[other]):
                raise PlanError(
                    "BAD_TEST_SOURCE",
                    f"channels {one} and {other} have the same records before their watermarks "
                    "differ, so that a watermark generator cannot tell them apart",
                    location=user_location(),
                    hint="change a record, or union two sources of one channel each",
                )
        return WatermarkStrategy.for_generator(partial(_HandDriven, tables))

    def rearm(self) -> None:
        """Let all ABORT marks act once more."""
        self._channels.fuses.mend()


def _look_alike(one: MarkedChannel, other: MarkedChannel) -> bool:
    """Whether two channels have the same records up to where their watermarks differ."""
    places = one.watermarks.keys() | other.watermarks.keys()
    differing = [p for p in places if one.watermarks.get(p) != other.watermarks.get(p)]
    if not differing:
        return False
    place = min(differing)
    return (one.values[:place], one.times[:place]) == (other.values[:place], other.times[:place])


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # Arrays, for example, do not tell.
        return False


class _HandDriven(WatermarkGenerator):
    """Says what the marks of its channel say.

    Nobody tells a generator which channel it is for. It finds out by the records it sees.
    """

    def __init__(self, tables: tuple[MarkedChannel, ...]) -> None:
        self._tables = list(tables)
        self._seen = 0

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        place = self._seen
        self._seen += 1
        tables = [table for table in self._tables if place < len(table)]
        self._narrow([table for table in tables if _equal(table.values[place], event)])
        self._narrow([table for table in self._tables if table.times[place] == timestamp])
        watermark = self._tables[0].watermarks.get(self._seen)
        if watermark is not None:
            output.emit_watermark(Watermark(watermark))

    def _narrow(self, tables: list[MarkedChannel]) -> None:
        # A value may come back from storage unequal to itself, a time from an assigner.
        self._tables = tables or self._tables

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass
