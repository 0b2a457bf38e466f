"""A naive simulator of design.md 4: the clock passes through every instant, one thing happens
after the other, all keys together. It shares no code with the kernel.

It knows no order keys: each record runs through the whole program before the next thing happens. Of
several operators that read a record the one with fewer operators behind it takes it first. Timers of one
instant go by the number of keyed operators up to theirs, then by key and operator.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from millstream.common.time import MAX_TIMESTAMP as MAX
from millstream.common.time import MIN_TIMESTAMP as MIN

MAIN = ""
Event = tuple[Any, int]
Emitted = tuple[str, Any] | tuple[str, Any, int]
"""An output tag, a value and, if it is not that of the record or timer, its event time."""

Timed = tuple[str, Any, int]
Sinks = Mapping[str, str | tuple[str, ...]]
State = dict[Any, Any]
States = list[tuple[Any, State]]


@dataclass
class Call:
    """What a callback sees: it may change ``state`` and ``timers`` of its key."""

    key: Any
    state: State
    timers: set[int]
    ts: int
    clock: int


@dataclass(frozen=True)
class Stage:
    uid: str
    key: Callable[[Any], Any]
    process: Callable[[Any, Call], list[Emitted]]
    on_timer: Callable[[int, Call], list[Emitted]]
    rule: Callable[[Any, States], list[Emitted]] | None = None
    namespace: Callable[[int], int] = lambda time: 0
    """The place of a timer among those of one instant and key: for windows, their start."""


Fan = Callable[[Any], list[Any]]
SOURCE = "source"


@dataclass(frozen=True)
class Operator:
    """An operator of a program, and the streams it reads: "source", "name", or "name/side output".

    ``rules``: the streams that are broadcast to it.
    """

    name: str
    inputs: tuple[str, ...]
    does: Stage | Fan
    rules: tuple[str, ...] = ()


def key_hash(key: Any) -> int:
    """The stable hash of the two types of keys that the tests use."""
    small = b"i" + key.to_bytes(1, "little", signed=True) if isinstance(key, int) else b""
    return zlib.crc32(small or b"s" + key.encode())


@dataclass
class Keyed:
    """A keyed operator between callbacks; ``depth``: how many there are up to it."""

    name: str
    stage: Stage
    depth: int
    clock: int = MIN
    states: dict[Any, State] = field(default_factory=dict)
    timers: dict[Any, set[int]] = field(default_factory=dict)

    def record(self, value: Any, ts: int, clock: int) -> list[Timed]:
        """What a record gives, and the timers at or before the clock that it has registered."""
        self.clock = max(self.clock, clock)
        key = self.stage.key(value)
        emitted = self.stage.process(value, self._call(key, ts, self.clock))
        return [*_timed(emitted, ts), *self._overdue(key, self.clock, self.clock)]

    def rule(self, value: Any, ts: int, clock: int) -> list[Timed]:
        """What a broadcast record gives, which sees the state of all keys in the order of hashes."""
        assert self.stage.rule is not None
        self.clock = max(self.clock, clock)
        in_order = sorted(self.states.items(), key=lambda item: (key_hash(item[0]), item[0]))
        return _timed(self.stage.rule(value, in_order), ts)

    def due(self, *, at_end: bool = False) -> list[tuple[int, int, int, Any, int, str]]:
        """The timers: time, depth, key, namespace, operator; at the end no namespace counts."""
        place = (lambda time: 0) if at_end else self.stage.namespace
        uid, times = self.stage.uid, [(t, key) for key, found in self.timers.items() for t in found]
        return [(time, self.depth, key_hash(key), key, place(time), uid) for time, key in times]

    def timer(self, key: Any, time: int, shown: int) -> list[Timed]:
        """What a timer gives; ``shown`` is the clock as the callback sees it."""
        self.clock = max(self.clock, time)
        return [*self._fire(key, time, shown), *self._overdue(key, time, shown)]

    def _overdue(self, key: Any, clock: int, shown: int) -> list[Timed]:
        """Timers at or before the clock fire right after the callback, and keep its place."""
        found: list[Timed] = []
        while due := [time for time in self.timers[key] if time <= clock]:
            found += self._fire(key, min(due), shown)
        return found

    def _fire(self, key: Any, time: int, shown: int) -> list[Timed]:
        self.timers[key].remove(time)
        emitted = self.stage.on_timer(time, self._call(key, time, shown))
        return _timed(emitted, time)

    def _call(self, key: Any, ts: int, clock: int) -> Call:
        timers = self.timers.setdefault(key, set())
        return Call(key, self.states.setdefault(key, {}), timers, ts, clock)


def _timed(emitted: list[Emitted], ts: int) -> list[Timed]:
    return [(one[0], one[1], one[2] if len(one) == 3 else ts) for one in emitted]


class Dataflow:
    """A program that runs: every record through all of it before the next thing happens."""

    def __init__(self, operators: Sequence[Operator], sinks: Sinks) -> None:
        self.sinks = {name: (s,) if isinstance(s, str) else s for name, s in sinks.items()}
        self.out: dict[str, list[Event]] = {name: [] for name in sinks}
        self.keyed: dict[str, Keyed] = {}
        self.readers: dict[str, list[Operator]] = {}
        self.goal = MIN
        depths = {SOURCE: 0}
        for op in operators:
            depth = max(depths[_producer(stream)] for stream in op.inputs + op.rules)
            depths[op.name] = depth + isinstance(op.does, Stage)
            if isinstance(op.does, Stage):
                self.keyed[op.does.uid] = Keyed(op.name, op.does, depths[op.name])
        behind: dict[str, int] = {}
        for op in reversed(operators):
            read_by = [o for o in operators if op.name in map(_producer, o.inputs + o.rules)]
            behind[op.name] = 1 + max((behind[o.name] for o in read_by), default=0)
        for op in sorted(operators, key=lambda op: behind[op.name]):
            for stream in op.inputs + op.rules:
                self.readers.setdefault(stream, []).append(op)

    def epoch(self, records: list[Arrival], goal: int, end: bool) -> None:
        """Records in order, each after the timers before it; then the clock goes on to the goal."""
        self.goal = goal
        for stamp, _, _, _, ts, value in sorted(records, key=lambda record: record[:4]):
            self._move(min(stamp, goal))
            self._give(SOURCE, stamp, ts, value)
        self._move(goal)
        if end:
            self._end()

    def _move(self, clock: int) -> None:
        while due := [t for op in self.keyed.values() for t in op.due() if t[0] <= clock]:
            time, _, _, key, _, uid = min(due)
            op = self.keyed[uid]
            self._emit(op.name, time - 1, op.timer(key, time, time))

    def _end(self) -> None:
        """An operator hears of the end when those before it have fired all of their timers."""
        for depth in sorted({op.depth for op in self.keyed.values()}):
            ops = [op for op in self.keyed.values() if op.depth == depth]
            while due := [t for op in ops for t in op.due(at_end=True)]:
                time, _, _, key, _, uid = min(due)
                op = self.keyed[uid]
                self._emit(op.name, MAX, op.timer(key, time, MAX))

    def _give(self, stream: str, stamp: int, ts: int, value: Any) -> None:
        for name, read in self.sinks.items():
            if stream in read:
                self.out[name].append((value, ts))
        for op in self.readers.get(stream, ()):
            if isinstance(op.does, Stage):
                keyed, clock = self.keyed[op.does.uid], min(stamp, self.goal)
                take = keyed.rule if stream in op.rules else keyed.record
                self._emit(op.name, stamp, take(value, ts, clock))
            else:
                self._emit(op.name, stamp, [(MAIN, part, ts) for part in op.does(value)])

    def _emit(self, name: str, stamp: int, emitted: list[Timed]) -> None:
        for tag, value, ts in emitted:
            self._give(name if tag == MAIN else f"{name}/{tag}", stamp, ts, value)


def _producer(stream: str) -> str:
    return stream.partition("/")[0]


Arrival = tuple[int, int, int, int, int, Any]
"""Stamp, channel, position, number, event time and value of a record."""


def simulate(
    channels: Sequence[list[Event]],
    out_of_orderness: int,
    operators: Sequence[Operator],
    sinks: Sinks,
    epochs: Sequence[Sequence[int]] | None = None,
    expand: Callable[[Any, int], list[Event]] = lambda value, ts: [(value, ts)],
) -> dict[str, list[Event]]:
    """What each sink gets, in order; ``sinks`` says which stream or streams each of them reads.

    ``epochs`` None: the one total order. Otherwise, for channel order "arrival", how many records of
    each channel each epoch reads. ``expand`` is what happens before timestamps are assigned.
    """
    dataflow = Dataflow(operators, sinks)
    whole = [[len(channel) for channel in channels]]
    for records, goal, end in _cut(channels, out_of_orderness, epochs or whole, expand):
        dataflow.epoch(records, goal, end)
    return dataflow.out


def _cut(
    channels: Sequence[list[Event]],
    out_of_orderness: int,
    epochs: Sequence[Sequence[int]],
    expand: Callable[[Any, int], list[Event]],
) -> Iterator[tuple[list[Arrival], int, bool]]:
    """Records, goal of the clock, and whether it is the end, for each epoch; the end comes last."""
    places = [0] * len(channels)
    watermarks = [MIN] * len(channels)
    for counts in epochs:
        records = []
        for c, count in enumerate(counts):
            for position in range(places[c], places[c] + count):
                for number, (value, ts) in enumerate(expand(*channels[c][position])):
                    records.append((watermarks[c], c, position, number, ts, value))
                    watermarks[c] = max(watermarks[c], ts - out_of_orderness - 1)
            places[c] += count
        unread = [c for c, channel in enumerate(channels) if places[c] < len(channel)]
        goal = min((watermarks[c] for c in unread), default=max(watermarks, default=MIN))
        yield records, goal, False
    yield [], goal, True
