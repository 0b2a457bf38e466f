"""A naive simulator of event-time windows with the default trigger, by design.md 4 and 5.

Windows end where 64 bits end, at both ends of time; sessions are not followed to there.
It keeps all windows of all keys in one dictionary, lets the clock stop at every instant at which
something is due, and looks at everything each time. It shares no code with the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from millstream.common.time import MAX_TIMESTAMP as MAX
from millstream.common.time import MIN_TIMESTAMP as MIN

Span = tuple[int, int]
"""Start and end of a window."""
Order = tuple[Any, ...]


@dataclass(frozen=True)
class Spec:
    """Which windows: a session has a ``gap``, the others a size, a slide and an offset."""

    size: int = 0
    slide: int = 0
    offset: int = 0
    gap: int = 0
    lateness: int = 0

    @property
    def merges(self) -> bool:
        return self.gap > 0

    def spans(self, ts: int) -> list[Span]:
        """The windows of a record, the latest first."""
        if self.merges:
            return [(ts, ts + self.gap)]
        ts = min(ts, MAX - 1)  # no window can begin at the last instant
        last = ts - (ts - self.offset) % self.slide
        starts = range(last, ts - self.size, -self.slide)
        return [(max(s, MIN + 1), min(s + self.size, MAX)) for s in starts]

    def fires_at(self, span: Span) -> int:
        """Sessions that touch are one, so a session waits until its end, not its last instant."""
        return span[1] if self.merges else span[1] - 1

    def cleaned_at(self, span: Span) -> int:
        return self.fires_at(span) + self.lateness

    def is_late(self, span: Span, stamp: int) -> bool:
        return span[1] - 1 + self.lateness <= stamp


class Firing(NamedTuple):
    """A window's content when its function is called."""

    key: Any
    span: Span
    values: tuple[Any, ...]

    @property
    def timestamp(self) -> int:
        return self.span[1] - 1


@dataclass
class Pane:
    """A window of one key: the records with their places in the order, and whether it has fired."""

    records: list[tuple[Order, Any]] = field(default_factory=list)
    fired: bool = False


class Simulator:
    """Takes records and watermarks one after the other, and says what fires."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.panes: dict[tuple[Any, Span], Pane] = {}
        self.clock = MIN
        self.count = 0

    def advance(self, clock: int) -> list[Firing]:
        """Move the clock through every instant up to a time."""
        fired = []
        while due := sorted(self._due(clock)):
            time, _, key, span = due[0]
            pane = self.panes[key, span]
            if not pane.fired and time == self.spec.fires_at(span):
                fired.append(self._fire(key, span))
            if time == self.spec.cleaned_at(span):
                del self.panes[key, span]
        self.clock = max(self.clock, clock)
        return fired

    def _due(self, clock: int) -> list[tuple[int, int, Any, Span]]:
        found = []
        for (key, span), pane in self.panes.items():
            time = self.spec.cleaned_at(span) if pane.fired else self.spec.fires_at(span)
            if time <= clock:
                found.append((time, int(pane.fired), key, span))
        return found

    def element(
        self, key: Any, value: Any, ts: int, order: Order | None = None
    ) -> list[Firing] | None:
        """Take a record, whose stamp is the clock; None if it is late."""
        self.count += 1
        spans = self.spec.spans(ts)
        record = (order or (self.count,), value)
        taken = [span for span in (self._add(key, span, record) for span in spans) if span]
        if not taken and (spans or ts + self.spec.lateness <= self.clock):
            return None
        ended = [span for span in taken if self.spec.fires_at(span) <= self.clock]
        return [self._fire(key, span) for span in ended]

    def _add(self, key: Any, span: Span, record: tuple[Order, Any]) -> Span | None:
        """Put a record into a window, merged with those it touches; None if that is late."""
        others = []
        if self.spec.merges:
            others = [w for k, w in self.panes if k == key and w[0] <= span[1] and span[0] <= w[1]]
        merged = min(s for s, _ in [span, *others]), max(e for _, e in [span, *others])
        if self.spec.is_late(merged, self.clock):
            return None
        records = [record for w in others for record in self.panes.pop((key, w)).records]
        self.panes.setdefault((key, merged), Pane()).records += [*records, record]
        return merged

    def _fire(self, key: Any, span: Span) -> Firing:
        pane = self.panes[key, span]
        pane.fired = True
        return Firing(key, span, tuple(value for _, value in sorted(pane.records)))


class Outcome(NamedTuple):
    """What a whole run brings: per key the firings and the late records, in order."""

    firings: dict[Any, list[Firing]]
    late: dict[Any, list[Any]]


Event = tuple[tuple[Any, Any], int]
"""(key, value) and event time."""


def in_order(channels: Sequence[Sequence[Event]], bound: int) -> list[tuple[Order, Event]]:
    """The records of all channels in the one total order: by stamp, channel and position."""
    ordered = []
    for channel, events in enumerate(channels):
        stamp = MIN
        for position, event in enumerate(events):
            ordered.append(((stamp, channel, position), event))
            stamp = max(stamp, event[1] - bound - 1)
    return sorted(ordered, key=lambda pair: pair[0])


def simulate(channels: Sequence[Sequence[Event]], bound: int, spec: Spec) -> Outcome:
    """What comes of channels with bounded out-of-orderness, in the total order."""
    simulator = Simulator(spec)
    outcome = Outcome({}, {})
    firings: list[Firing] = []
    for order, ((key, value), ts) in in_order(channels, bound):
        firings += simulator.advance(order[0])
        fired = simulator.element(key, value, ts, order)
        if fired is None:
            outcome.late.setdefault(key, []).append(value)
        firings += fired or []
    for firing in firings + simulator.advance(MAX):
        outcome.firings.setdefault(firing.key, []).append(firing)
    return outcome
