"""The contract of sources as scenarios: replays, cuts, restarts, other tasks, late arrivals."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from millstream.common.errors import MillstreamError, PlanError, short_repr, user_location
from millstream.connectors.reading import Offset, Progress, Range, opened
from millstream.connectors.source import ChannelSource, Position, Source
from millstream.connectors.source_calls import BEGUN
from millstream.testing.connectors.contract import ContractError
from millstream.testing.connectors.source_trial import (
    Record,
    SourceTrial,
    TrialJob,
    counted,
    counted_wrong,
    hashable,
)

__all__ = ["check_source"]

ROUNDS = 4
"""How often records arrive."""
TASKS = (1, 2, 4)
Arrive = Callable[[], Iterable[Any]]


def check_source(
    make: Callable[[], Source],
    *,
    expected: Iterable[Any] | None = None,
    arrive: Arrive | None = None,
    appear: Arrive | None = None,
    seed: int = 0,
) -> list[str]:
    """Run a source through what happens to it in a job, and compare what it gives.

    Ranges are read again, in pieces and by other tasks; copies of the source go on from offsets that
    were written down; records arrive between two questions. No record may be lost, come twice, or
    come in another order.

    Parameters
    ----------
    make
        Makes the source, as a program would. The kit calls it several times: all must read the same
        data. Have some dozen records ready in each channel, and several channels if it can have them.
    expected
        The records that are there now, in any order. Without them the kit cannot see that a source
        leaves out records every time.
    arrive
        Adds some records to channels that are there, and returns them. For an unbounded source.
    appear
        Makes a channel that was not there, with some records, and returns them: another one each time.
        For an unbounded source whose channels can become more.
    seed
        Of the random cuts.

    Returns
    -------
    list of str
        The scenarios that the source has passed.

    Raises
    ------
    ContractError
        The source does not keep its contract: in which scenario, what it did, and what to look at.

    Examples
    --------
    >>> from millstream.datastream.connectors import NumberSequenceSource
    >>> check_source(lambda: NumberSequenceSource(1, 50, parts=3), expected=range(1, 51))
    ['positions', 'replays', 'cuts', 'limits', 'restarts', 'tasks', 'savepoints', 'open and close']
    """
    found = make()
    for part in found.parts() if isinstance(found, Source) else (found,):
        if not isinstance(part, ChannelSource):
            raise PlanError(
                "NOT_A_SOURCE",
                f"make() gives {short_repr(found)}, and the kit checks sources of channels",
                location=user_location(),
                hint="derive the source from millstream.connectors.ChannelSource",
            )
    return _Scenarios(
        make, expected=expected, arrive=arrive, appear=appear, random=random.Random(seed)
    ).run()


@dataclass
class _Scenarios(SourceTrial):
    """All scenarios of a source, one after the other."""

    expected: Iterable[Any] | None = None
    arrive: Arrive | None = None
    appear: Arrive | None = None
    random: random.Random = field(default_factory=random.Random)
    passed: list[str] = field(default_factory=list)

    def run(self) -> list[str]:
        self._scenario("positions", self._positions)
        self._scenario("replays", self._replays)
        self._scenario("cuts", self._cuts)
        self._scenario("limits", self._limits)
        self._scenario("restarts", self._restarts)
        self._scenario("tasks", self._tasks)
        self._scenario("savepoints", self._savepoints)
        self._scenario("open and close", self._open_and_close)
        if self.arrive is not None:
            self._scenario("slow arrivals", lambda: self._arrivals(self.arrive))
            self._scenario("a job that waits", lambda: self._job_that_waits(self.arrive))
        if self.appear is not None:
            self._scenario("channels that appear", lambda: self._channels_that_appear(self.appear))
        return self.passed

    def _scenario(self, name: str, run: Callable[[], None]) -> None:
        self.scenario = name
        try:
            run()
        except ContractError:
            raise
        except MillstreamError as error:
            message = error.message.removeprefix("source 'source': ")
            raise self.refusal(message, error.hint or "") from error
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            raise self.refusal(what, "the cause is in the traceback") from error
        self.passed.append(name)

    # -- scenarios -------------------------------------------------------------------------------

    def _positions(self) -> None:
        with self.opened() as parts:
            for progress in parts:
                if not progress.latest():
                    raise self.refusal(
                        "latest() names no channel",
                        "let the kit have some records: it has nothing to check otherwise",
                    )
                for name in progress.latest():
                    progress.first(name)
            if self.expected is not None:
                given = [record for p in parts for rs in self.whole(p).values() for record in rs]
                self._check_all([value for value, _ in given], self.expected)

    def _check_all(self, values: list[Any], wanted: Iterable[Any]) -> None:
        found, right = Counter(map(hashable, values)), Counter(map(hashable, wanted))
        if found != right:
            hint = "look at where ranges begin and end: start belongs to a range, stop does not"
            raise self.refusal(counted(found, right), hint)

    def _replays(self) -> None:
        with self.opened() as parts:
            for progress in parts:
                for name, records in self.whole(progress).items():
                    again = self.read(
                        progress, name, progress.first(name), self.latest(progress)[name]
                    )
                    self.same(
                        f"channel {name}, read again by another copy,",
                        again,
                        records,
                        "read() must give the same records for the same range, whenever it is called",
                    )

    def _cuts(self) -> None:
        with self.opened() as parts:
            for progress in parts:
                for name, records in self.whole(progress).items():
                    for borders in self._borders(progress, name):
                        pieces = [self.read(progress, name, a, b) for a, b in pairwise(borders)]
                        self.same(
                            f"channel {name}, read in pieces at {borders},",
                            [record for piece in pieces for record in piece],
                            records,
                            "the ranges [a, b) and [b, c) together have the records of [a, c)",
                        )

    def _borders(self, progress: Progress, name: str) -> Iterator[list[Position]]:
        """Where to cut a channel: by limits, and at any number if the source has no own `advance`."""
        first, end = progress.first(name), self.latest(progress)[name]
        for limit in (1, 2, 7):
            borders = self.advanced(progress, name, first, end, limit)
            yield borders if borders[-1] == end else [*borders, end]
        if progress.calls.cuts_anywhere and isinstance(first, int) and isinstance(end, int):
            for _ in range(3):
                inner = [self.random.randint(first, end) for _ in range(4)]
                yield sorted({first, end, *inner})

    def _limits(self) -> None:
        with self.opened() as parts:
            for progress in parts:
                per_epoch = progress.calls.limits().per_epoch
                for limit in (1, 3, *([] if per_epoch is None else [per_epoch])):
                    for name, end in self.latest(progress).items():
                        first = progress.first(name)
                        if progress.calls.cuts_anywhere and not isinstance(first, int):
                            continue  # No limit applies, as the contract says.
                        for a, b in pairwise(self.advanced(progress, name, first, end, limit)):
                            count = len(self.read(progress, name, a, b))
                            if count > limit:
                                raise self.refusal(
                                    f"an epoch of channel {name} may read {limit} records, and "
                                    f"[{a!r}, {b!r}) has {count}",
                                    "advance() says how far an epoch reads: count records there",
                                )

    def _restarts(self) -> None:
        """Every epoch is planned and read by copies that know only what was written down."""
        with self.opened() as parts:
            for number, progress in enumerate(parts):
                whole = self.whole(progress)
                found: dict[str, list[Record]] = {name: [] for name in whole}
                offset: Offset = {}
                limit = max(5, self._longest(progress) // 6)
                while self._is_before(progress, offset):
                    end = self.planned(number, offset, limit)
                    once = self.read_epoch(number, offset, end)
                    again = self.read_epoch(number, offset, end)
                    for name in once:
                        self.same(
                            f"channel {name}, when the epoch from {offset} to {end} is repeated,",
                            again.get(name, []),
                            once[name],
                            "an offset must mean the same in every copy of the source",
                        )
                        found.setdefault(name, []).extend(once[name])
                    if end == offset:
                        raise self.refusal(
                            f"the job stands at {offset} and does not go on, but there is more",
                            "latest() must say at least once how far a channel can be read",
                        )
                    offset = end
                for name, records in whole.items():
                    self.same(
                        f"channel {name}, with a restart after each epoch,",
                        found[name][: len(records)],
                        records,
                        "positions must mean the same after they were written as JSON",
                    )

    def _longest(self, progress: Progress) -> int:
        number, ends = progress.calls.number, self.latest(progress).items()
        return max(number(end) - number(progress.first(name)) for name, end in ends)

    def _is_before(self, progress: Progress, offset: Offset) -> bool:
        number = progress.calls.number
        ends = self.latest(progress).items()
        return any(name not in offset or number(offset[name]) < number(end) for name, end in ends)

    def _tasks(self) -> None:
        with self.opened() as parts:
            for number, progress in enumerate(parts):
                whole, end = self.whole(progress), self.latest(progress)
                begun = {name: progress.first(name) for name in end}
                for tasks in TASKS:
                    found = self.read_epoch(number, {}, {**end, BEGUN: begun}, tasks)
                    for name, records in whole.items():
                        self.same(
                            f"channel {name}, read beside others by {tasks} tasks,",
                            found.get(name, []),
                            records,
                            "read() must not depend on what the same object has read before",
                        )

    def _savepoints(self) -> None:
        """A job stops in the middle; another one goes on with other tasks."""
        stopped = TrialJob(self.make(), parallelism=1)
        some = stopped.epoch(3)
        for parallelism in TASKS:
            later = TrialJob(self.make(), parallelism, stopped.savepoint())
            rest = later.rest()
            with self.opened() as parts:
                given = [r for p in parts for records in self.whole(p).values() for r in records]
            missing = Counter(hashable(v) for v, _ in given)
            missing.subtract(hashable(v) for v in [*some, *rest])
            wrong = {
                value: n
                for value, n in missing.items()
                if n > 0 or (n < 0 and not later.is_endless)
            }
            if wrong:
                hint = "a savepoint keeps positions by the names of channels: they must stay"
                raise self.refusal(counted_wrong(wrong), hint)

    def _open_and_close(self) -> None:
        for number, source in enumerate(self.copies()):
            with opened(source):
                progress = Progress(source, number)
                name, end = next(iter(self.latest(progress).items()))
                part = Range(progress.channel(name), 0, progress.first(name), end)
                once = self.records(source, [part])
            copy = self.copy(source)
            for again in (source, copy):
                with opened(again):
                    self.same(
                        f"channel {name}, after close() and another open(),",
                        self.records(again, [part]),
                        once,
                        "close() leaves the object as it was before open()",
                    )

    def _arrivals(self, arrive: Arrive | None, rounds: int = ROUNDS) -> None:
        """Records come between two questions; each is read once."""
        assert arrive is not None
        offsets = [self.to_the_end(part, {}) for part in range(len(self.make().parts()))]
        for _ in range(rounds):
            self._check_quiet(offsets)
            wanted = list(arrive())
            found: list[Any] = []
            for part, offset in enumerate(offsets):
                end = self.planned(part, offset)
                self._check_forward(part, offset, end)
                planned = self.read_epoch(part, offset, end)
                found += [value for records in planned.values() for value, _ in records]
                offsets[part] = end
            self._check_arrived(found, wanted)
        self._check_quiet(offsets)

    def _channels_that_appear(self, appear: Arrive | None) -> None:
        """First for one object that lives on, then for copies that know only an offset."""
        assert appear is not None
        job = TrialJob(self.make(), parallelism=2)
        job.rest()
        known = set(job.job.places())
        wanted = list(appear())
        found = job.rest()
        if set(job.job.places()) == known:
            raise self.refusal(
                "a channel has appeared, and latest() does not name it",
                "look for channels whenever latest() is asked, not only in __init__ or open()",
            )
        self._check_arrived(found, wanted)
        self._arrivals(appear, rounds=1)

    def _check_quiet(self, offsets: list[Offset]) -> None:
        for part, offset in enumerate(offsets):
            end = self.planned(part, offset)
            if end != offset:
                raise self.refusal(
                    f"no record has come, and the source goes from {offset} to {end}",
                    "latest() must not promise records that are not there: they would be read as "
                    "missing, and be skipped when they come",
                )

    def _check_forward(self, part: int, start: Offset, end: Offset) -> None:
        with opened(self.copies()[part]) as source:
            latest = Progress(source, part).latest()
        gone = [name for name in start if name not in latest and name != BEGUN]
        if gone:
            raise self.refusal(
                f"latest() does not name channel {gone[0]} any more",
                "it names all channels each time, also those without news",
            )

    def _check_arrived(self, found: list[Any], wanted: list[Any]) -> None:
        given, right = Counter(map(hashable, found)), Counter(map(hashable, wanted))
        if given != right:
            hint = "latest() must cover a record as soon as it can be read, and never before"
            raise self.refusal(
                f"after {len(wanted)} records have come, {counted(given, right)}", hint
            )

    def _job_that_waits(self, arrive: Arrive | None) -> None:
        """A whole job, one object of the source, records between its epochs."""
        assert arrive is not None
        job = TrialJob(self.make(), parallelism=2)
        job.rest()
        for _ in range(ROUNDS):
            wanted = list(arrive())
            self._check_arrived(job.rest(), wanted)
            self._check_arrived(job.epoch(None), [])
