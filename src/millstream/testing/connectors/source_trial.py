"""A source under test: copies of it read ranges and epochs, and the records are compared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import cloudpickle

from millstream.common.by_value import dumps_by_value
from millstream.common.errors import short_repr
from millstream.common.watermark_strategy import WatermarkStrategy
from millstream.connectors.reading import Offset, Progress, Range, Reads, blocks, opened
from millstream.connectors.source import ChannelSource, Position, Source
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.kernel.records.columns import as_list
from millstream.plan.options import JobOptions
from millstream.testing.connectors.contract import ContractError
from millstream.testing.engine.local import LocalJob, LocalSavepoint
from millstream.testing.sinks import CollectSink

ENDLESS_RECORDS = 50
"""How far the kit reads a channel without end."""
MOST_EPOCHS = 24
Record = tuple[Any, Any]
"""(value, event time); if the source gives positions, (value, (event time, position))"""


@dataclass
class SourceTrial:
    """The source under test, in a scenario."""

    make: Callable[[], Source]
    scenario: str = ""

    def refusal(self, message: str, hint: str) -> ContractError:
        return ContractError(
            "SOURCE_CONTRACT",
            f"{type(self.make()).__name__} does not keep its contract: {self.scenario}: {message}",
            parameters={"scenario": self.scenario},
            hint=hint,
        )

    def copies(self) -> list[ChannelSource]:
        """The parts of the source, as another process gets them."""
        return [self.copy(part) for part in self.make().parts()]

    def copy(self, source: Any) -> ChannelSource:
        try:
            copy: ChannelSource = cloudpickle.loads(dumps_by_value(source))
        except Exception as error:
            raise self.refusal(
                f"it cannot be sent to other processes: {error}",
                "connect in open(), and let close() leave nothing behind",
            ) from error
        return copy

    @contextmanager
    def opened(self) -> Iterator[list[Progress]]:
        """The progress of all parts, each with a copy that nobody has used."""
        sources = self.copies()
        with ExitStack() as stack:
            for source in sources:
                stack.enter_context(opened(source))
            yield [Progress(source, number) for number, source in enumerate(sources)]

    def latest(self, progress: Progress) -> dict[str, Position]:
        """How far the kit reads the channels."""
        found = {}
        for name, latest in progress.latest().items():
            found[name] = progress.first(name) + ENDLESS_RECORDS if latest is None else latest
        return found

    def whole(self, progress: Progress) -> dict[str, list[Record]]:
        """All records of each channel, read at once."""
        ends = self.latest(progress)
        return {
            name: self.read(progress, name, progress.first(name), end) for name, end in ends.items()
        }

    def read(self, progress: Progress, name: str, start: Position, stop: Position) -> list[Record]:
        """The records of a range, by a copy of their own."""
        with opened(self.copy(self.make().parts()[progress.source_id])) as source:
            return self.records(source, [Range(progress.channel(name), 0, start, stop)])

    def records(self, source: ChannelSource, ranges: Iterable[Range]) -> list[Record]:
        records: list[Record] = []
        for block in blocks(source, ranges):
            times: list[Any] = [None] * len(block.values)
            if block.ts is not None:
                times = block.ts.tolist()
            if block.positions is not None:
                times = list(zip(times, block.positions.tolist(), strict=True))
            records += zip(as_list(block.values), times, strict=True)
        return records

    def same(self, what: str, found: list[Record], wanted: list[Record], hint: str) -> None:
        if found == wanted:
            return
        raise self.refusal(f"{what} gives {difference(found, wanted)}", hint)

    def planned(self, part: int, offset: Offset, limit: int | None = None) -> Offset:
        """The offset after the next epoch, by a copy that knows only the one before."""
        with opened(self.copies()[part]) as source:
            progress = Progress(source, part, limit=limit, clock=count(step=1_000).__next__)
            if progress.calls.limits().per_second is not None:
                # A rate counts from the first question.
                progress.next(plain(offset))
            end: Offset = plain(progress.next(plain(offset)))
        return end

    def read_epoch(
        self, part: int, start: Offset, end: Offset, tasks: int = 2
    ) -> dict[str, list[Record]]:
        """The records of an epoch by channel, read by so many tasks."""
        with opened(self.copies()[part]) as source:
            reads: Reads = Progress(source, part).reads(plain(start), plain(end))
        found: dict[str, list[Record]] = {}
        for _, task in reads.dealt(tasks):
            with opened(self.copies()[part]) as source:
                for one in task.ranges:
                    found.setdefault(str(one.channel), []).extend(self.records(source, [one]))
        return found

    def to_the_end(self, part: int, offset: Offset) -> Offset:
        while (end := self.planned(part, offset)) != offset:
            offset = end
        return offset

    def advanced(
        self, progress: Progress, name: str, start: Position, end: Position, limit: int | None
    ) -> list[Position]:
        """The borders of the first epochs of a channel."""
        borders = [start]
        calls, channel = progress.calls, progress.channel(name)
        while calls.number(borders[-1]) < calls.number(end):
            stop = calls.advance(channel, borders[-1], end, limit)
            if calls.number(borders[-1]) == calls.number(stop):
                raise self.refusal(
                    f"advance({channel!r}, {borders[-1]!r}, {end!r}, {limit}) gives {stop!r}",
                    "it must come further than its start, and not further than its stop",
                )
            borders.append(stop)
            if len(borders) == MOST_EPOCHS:
                break
        return borders


class TrialJob:
    """A job that only reads."""

    def __init__(
        self, source: Source, parallelism: int, savepoint: LocalSavepoint | None = None
    ) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "source")
        stream.sink_to(CollectSink()).name("out")
        options = JobOptions(parallelism=parallelism, slots=parallelism)
        self.job = LocalJob(env._job_graph(), options, savepoint=savepoint)

    @property
    def is_endless(self) -> bool:
        return any(self.job.latest(place) is None for place in self.job.places())

    def epoch(self, reads: int | None) -> list[Any]:
        found = self.job.epoch(reads).get("out", [])
        return [value for value, _ in found]

    def rest(self) -> list[Any]:
        """Everything that is there, in as many epochs as there are turns."""
        found = self.epoch(ENDLESS_RECORDS if self.is_endless else None)
        while not self.is_endless and not self.job.exhausted():
            found += self.epoch(None)
        return found

    def savepoint(self) -> LocalSavepoint:
        return self.job.savepoint()


def plain(value: Any) -> Any:
    """A value as it comes back from a log."""
    return json.loads(json.dumps(value))


def hashable(value: Any) -> str:
    return repr(value)


def counted(found: Counter[str], wanted: Counter[str]) -> str:
    missing = Counter(wanted)
    missing.subtract(found)
    return counted_wrong({value: n for value, n in missing.items() if n})


def counted_wrong(wrong: dict[str, int]) -> str:
    value, count = next(iter(wrong.items()))
    times = "" if abs(count) == 1 else f" {abs(count)} times"
    others = "" if len(wrong) == 1 else f", and {len(wrong) - 1} others are wrong"
    verb = "is missing" if count > 0 else "comes too often"
    return f"{value[:200]} {verb}{times}{others}"


def difference(found: list[Record], wanted: list[Record]) -> str:
    for index, (one, other) in enumerate(zip(found, wanted, strict=False)):
        if one != other:
            return f"{short_repr(one)} as record {index}, and gave {short_repr(other)} before"
    return f"{len(found)} records, and gave {len(wanted)} before"
