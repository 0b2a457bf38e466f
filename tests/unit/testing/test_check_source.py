"""The kit for sources: right ones pass, and each wrong one is refused with what is wrong about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.common.errors import PlanError
from millstream.connectors import ChannelName, ChannelSource, Chunk, Limits, Source
from millstream.connectors.collection import CollectionSource
from millstream.connectors.generator import GeneratorSource
from millstream.datastream.connectors import (
    DataGeneratorSource,
    FileSource,
    NumberSequenceSource,
    RateLimiterStrategy,
)
from millstream.testing import TestSource
from millstream.testing.connectors import ContractError, check_source
from millstream.testing.connectors.source_trial import TrialJob
from tests.support.kit_sources import (
    BoundedWithoutEnd,
    FewNumbers,
    FewTimes,
    Forgets,
    ForgetsNewChannels,
    FromTheMiddle,
    GivesLists,
    GivesNothing,
    GoesBack,
    HasACursor,
    HoldsALock,
    IgnoresStop,
    LeavesOut,
    Logs,
    LosesAtCuts,
    NamesByNumber,
    NoLimit,
    NoNumbers,
    NotReplayable,
    Numbered,
    NumbersByRange,
    NumbersOfOthers,
    OneBehind,
    OpensOnce,
    OtherOrder,
    PairsAsNames,
    Promises,
    SameNames,
    Segments,
    Sparse,
    Stuck,
    TooMuchAtOnce,
    Tuples,
)
from tests.support.strategies import thinned

BOUNDED = [
    "positions",
    "replays",
    "cuts",
    "limits",
    "restarts",
    "tasks",
    "savepoints",
    "open and close",
]
UNBOUNDED = [*BOUNDED, "slow arrivals", "a job that waits", "channels that appear"]


class Folder:
    """Logs with some records, and those to come."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self.logs = 0
        self.there = [*self.write("m", 20), *self.write("n", 11)]

    def write(self, name: str, records: int) -> list[str]:
        lines = [f"record {self.count + n}" for n in range(records)]
        self.count += records
        with (self.path / f"{name}.log").open("a") as log:
            log.writelines(f"{line}\n" for line in lines)
        return lines

    def arrive(self) -> list[str]:
        return [*self.write("n", 3), *self.write("m", 1)]

    def appear(self) -> list[str]:
        self.logs += 1
        return self.write(f"a{self.logs}", 3)

    def check(self, make: Callable[[Path], Source], **options: Any) -> list[str]:
        return check_source(
            lambda: make(self.path), arrive=self.arrive, appear=self.appear, **options
        )


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


# -- right ones -----------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [Logs, Segments, Sparse, Numbered])
def test_a_right_source_passes(folder: Folder, source: Callable[[Path], Source]) -> None:
    assert folder.check(source, expected=folder.there) == UNBOUNDED


def test_a_source_that_begins_in_the_middle_passes(folder: Folder) -> None:
    """Records of a new channel before its first position are not expected."""
    made = check_source(lambda: FromTheMiddle(folder.path), arrive=folder.arrive)
    assert made == UNBOUNDED[:-1]


@pytest.mark.parametrize(
    ("make", "expected"),
    thinned(
        [
            (lambda: CollectionSource((("a", "b", "c"), ("d",), ()), (None, (5,), None)), "abcd"),
            (
                lambda: CollectionSource((tuple(range(40)),), (None,), Limits(per_epoch=4)),
                range(40),
            ),
            (lambda: CollectionSource.of(range(20_000)), range(20_000)),
            (lambda: NumberSequenceSource(1, 50, parts=3), range(1, 51)),
            (lambda: DataGeneratorSource(lambda n: n * n, 30), [n * n for n in range(30)]),
            (
                lambda: DataGeneratorSource(str, 30, RateLimiterStrategy.per_second(5), parts=2),
                map(str, range(30)),
            ),
            (lambda: DataGeneratorSource(str, None), map(str, range(50))),
            (lambda: GeneratorSource(7, None, 2), range(7, 107)),
            (
                lambda: TestSource([1, 2, TestSource.EPOCH(), 3], [4, TestSource.EOF(), 5]),
                range(1, 6),
            ),
        ],
        "built in",
        one_in=2,
    ),
)
def test_built_in_sources_pass(make: Callable[[], Source], expected: Iterable[Any]) -> None:
    assert check_source(make, expected=expected) == BOUNDED


# -- wrong ones -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "scenario", "message"),
    [
        (NotReplayable, "replays", "read again by another copy, gives"),
        (OtherOrder, "cuts", "read in pieces at"),
        (LosesAtCuts, "cuts", "read in pieces at"),
        (IgnoresStop, "cuts", "more records than there are positions"),
        (HasACursor, "cuts", "read in pieces at"),
        (Promises, "slow arrivals", "after 4 records have come, 'record 31' is missing"),
        (OneBehind, "slow arrivals", "after 4 records have come"),
        (GoesBack, "replays", "15 records, and gave 20 before"),
        (ForgetsNewChannels, "channels that appear", "latest() does not name it"),
        (Forgets, "slow arrivals", "latest() does not name channel n any more"),
        (NamesByNumber, "channels that appear", "ends at 3 now"),
        (NoNumbers, "positions", "number([2, 4]) is [2, 4]"),
        (Tuples, "replays", "TypeError: unhashable type: 'list'"),
        (Stuck, "cuts", "advance('m', 0, 20, 1) gives 0"),
        (NoLimit, "limits", "may read 1 records, and [0, 20) has 20"),
        (TooMuchAtOnce, "limits", "may read 1 records"),
        (HoldsALock, "positions", "cannot be sent to other processes"),
        (OpensOnce, "open and close", "the connection is closed"),
        (NumbersByRange, "cuts", "read in pieces at"),
        (NumbersOfOthers, "cuts", "gives a chunk with the positions 0 to"),
        (FewNumbers, "replays", "a chunk of 20 records and 1 positions"),
        (GivesLists, "replays", "read('m', 0, 20) yields ['record"),
        (GivesNothing, "replays", "read('m', 0, 20) returns None"),
        (FewTimes, "replays", "a chunk of 20 records and 1 timestamps"),
        (PairsAsNames, "positions", "('logs', 'm'), which is neither a text nor a whole number"),
        (SameNames, "positions", "latest() names the channels"),
        (BoundedWithoutEnd, "positions", "gives no end of channel 'm', and the source is bounded"),
    ],
)
def test_a_wrong_source_is_refused(
    folder: Folder, source: type[ChannelSource], scenario: str, message: str
) -> None:
    with pytest.raises(ContractError) as caught:
        folder.check(source)
    error = caught.value
    assert (error.code, error.parameters["scenario"]) == ("SOURCE_CONTRACT", scenario)
    assert error.message.startswith(f"{source.__name__} does not keep its contract: {scenario}:")
    assert message in error.message
    assert error.hint


def test_what_a_source_always_leaves_out_shows_if_the_author_says_what_is_there(
    folder: Folder,
) -> None:
    with pytest.raises(ContractError, match="record 7' is missing"):
        folder.check(LeavesOut, expected=folder.there)


def test_a_source_without_a_channel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="names no channel"):
        check_source(lambda: Logs(tmp_path))


@pytest.mark.parametrize("thing", [FileSource.text("/in"), 7])
def test_a_source_without_channels_of_its_own_is_no_case_for_the_kit(thing: Any) -> None:
    with pytest.raises(PlanError, match="NOT_A_SOURCE"):
        check_source(lambda: thing)


class Lines(ChannelSource):
    """Lines of a text; positions are bytes, and only `advance` knows where lines begin."""

    text = b"".join(b"line %d\n" % n for n in range(30))

    def latest(self) -> dict[ChannelName, int]:
        return {"text": len(self.text)}

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        yield Chunk(self.text[start:stop].decode().splitlines())

    def advance(self, channel: ChannelName, start: int, stop: int, records: int | None) -> int:
        lines = self.text[start:stop].splitlines(keepends=True)[:records]
        return start + sum(map(len, lines))


class AnyByte(Lines):
    advance = ChannelSource.advance  # type: ignore[assignment]


def test_a_source_says_where_its_positions_are() -> None:
    """The kit once cut such a source at any byte, and refused it."""
    expected = Lines.text.decode().splitlines()
    assert "cuts" in check_source(Lines, expected=expected)

    for splits in (1, 3):
        job = TrialJob(Lines(), parallelism=2)
        found = [value for value, _ in job.job.epoch(7, splits=splits)["out"]]
        assert found == expected[:7]
    with pytest.raises(ContractError, match="cuts: channel text, read in pieces"):
        check_source(AnyByte, expected=expected)
