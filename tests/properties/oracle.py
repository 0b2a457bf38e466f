"""A naive simulator of DESIGN section 4: the clock passes through every instant, one thing happens
after the other, all keys together. It shares no code with the kernel."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from millstream.common.time import MAX_TIMESTAMP as MAX
from millstream.common.time import MIN_TIMESTAMP as MIN

MAIN = ""
Event = tuple[Any, int]
Emitted = tuple[str, Any]
"""An output tag and a value."""


@dataclass(frozen=True)
class Record:
    order: tuple[Any, ...]
    ts: int
    value: Any


@dataclass
class Call:
    """What a callback sees: it may change ``state`` and ``timers`` of its key."""

    key: Any
    state: dict[str, Any]
    timers: set[int]
    ts: int
    clock: int


@dataclass(frozen=True)
class Stage:
    uid: str
    key: Callable[[Any], Any]
    process: Callable[[Any, Call], list[Emitted]]
    on_timer: Callable[[int, Call], list[Emitted]]


def key_hash(key: Any) -> int:
    """The stable hash of the two types of keys that the tests use."""
    small = b"i" + key.to_bytes(1, "little", signed=True) if isinstance(key, int) else b""
    return zlib.crc32(small or b"s" + key.encode())


@dataclass
class Running:
    """A stage between epochs."""

    stage: Stage
    clock: int = MIN
    states: dict[Any, dict[str, Any]] = field(default_factory=dict)
    timers: dict[Any, set[int]] = field(default_factory=dict)
    out: dict[str, list[Record]] = field(default_factory=dict)

    def epoch(self, records: list[Record], goal: int, end: bool) -> dict[str, list[Record]]:
        """Records in order, each after the timers before it; then the clock goes on to the goal."""
        self.out = {}
        for record in sorted(records, key=lambda record: record.order):
            self._move(max(self.clock, min(record.order[0], goal)))
            self._record(record)
        self._move(max(self.clock, goal))
        if end:
            self._move(MAX)
        return self.out

    def _move(self, clock: int) -> None:
        while due := [
            (t, key_hash(k), k) for k, ts in self.timers.items() for t in ts if t <= clock
        ]:
            time, hashed, key = min(due)
            self.clock = MAX if clock == MAX else time
            order = (time - 1, 1, hashed, key, self.stage.uid)
            self._overdue(key, time, order, self._fire(key, time, order, 0))
        self.clock = clock

    def _record(self, record: Record) -> None:
        key = self.stage.key(record.value)
        call = self._call(key, record.ts)
        emitted = self.stage.process(record.value, call)
        number = self._emit(emitted, record.order, 0, record.ts)
        self._overdue(key, self.clock, record.order, number)

    def _overdue(self, key: Any, clock: int, order: tuple[Any, ...], number: int) -> None:
        """Timers at or before the clock fire right after the callback, and keep its place."""
        while due := [time for time in self.timers[key] if time <= clock]:
            number = self._fire(key, min(due), order, number)

    def _fire(self, key: Any, time: int, order: tuple[Any, ...], number: int) -> int:
        self.timers[key].remove(time)
        return self._emit(self.stage.on_timer(time, self._call(key, time)), order, number, time)

    def _call(self, key: Any, ts: int) -> Call:
        timers = self.timers.setdefault(key, set())
        return Call(key, self.states.setdefault(key, {}), timers, ts, self.clock)

    def _emit(self, emitted: list[Emitted], order: tuple[Any, ...], number: int, ts: int) -> int:
        for tag, value in emitted:
            self.out.setdefault(tag, []).append(Record((*order, number), ts, value))
            number += 1
        return number


Run = Callable[[list[Record]], dict[str, list[Record]]]
Wiring = Callable[[list[Record], Sequence[Run]], dict[str, list[Record]]]
"""Takes the source's records and the stages, gives what each sink gets."""


def simulate(
    channels: Sequence[list[Event]],
    out_of_orderness: int,
    stages: Sequence[Stage],
    wiring: Wiring,
    epochs: Sequence[Sequence[int]] | None = None,
    expand: Callable[[Any, int], list[Event]] = lambda value, ts: [(value, ts)],
) -> dict[str, list[Event]]:
    """What each sink gets, in order.

    ``epochs`` None: the one total order. Otherwise, for channel order "arrival", how many records of
    each channel each epoch reads. ``expand`` is what happens before timestamps are assigned.
    """
    running = [Running(stage) for stage in stages]
    sinks: dict[str, list[Event]] = {}
    whole = [[len(channel) for channel in channels]]
    for records, goal, end in _cut(channels, out_of_orderness, epochs or whole, expand):
        runs = [partial(stage.epoch, goal=goal, end=end) for stage in running]
        for name, got in wiring(records, runs).items():
            got = sorted(got, key=lambda record: record.order)
            sinks.setdefault(name, []).extend((record.value, record.ts) for record in got)
    return sinks


def _cut(
    channels: Sequence[list[Event]],
    out_of_orderness: int,
    epochs: Sequence[Sequence[int]],
    expand: Callable[[Any, int], list[Event]],
) -> Iterator[tuple[list[Record], int, bool]]:
    """Records, goal of the clock, and whether it is the end, for each epoch; the end comes last."""
    places = [0] * len(channels)
    watermarks = [MIN] * len(channels)
    for counts in epochs:
        records = []
        for c, count in enumerate(counts):
            for position in range(places[c], places[c] + count):
                for number, (value, ts) in enumerate(expand(*channels[c][position])):
                    order = (watermarks[c], 0, c, position, number)
                    records.append(Record(order, ts, value))
                    watermarks[c] = max(watermarks[c], ts - out_of_orderness - 1)
            places[c] += count
        unread = [c for c, channel in enumerate(channels) if places[c] < len(channel)]
        goal = min((watermarks[c] for c in unread), default=max(watermarks, default=MIN))
        yield records, goal, False
    yield [], goal, True
