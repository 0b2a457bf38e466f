"""Watermarks of channels, floors of fragments, and the goal of an epoch's clock.

A *timeline* is a place in the program where timestamps are assigned; its channels are those of the
source behind it. Every slot of every stage keeps a `TimeTable` and feeds it the same control
messages, so all slots come to the same clock without talking to each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from millstream.common.errors import CheckpointError
from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.kernel.records.order import Ints, OrderKeys

ChannelId = tuple[int, int]
"""(timeline, channel)"""


def wrapped(number: int) -> int:
    """A number as 64 bits hold it."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of a channel that one task has read: where it starts, its watermark after the last record.

    ``finished``: the channel has no more records. ``at_epoch_end``: its watermark moves at the end
    of the epoch only, so that it is no floor for the other fragments of the same epoch. ``idle``: its
    generator says so.
    """

    timeline: int
    channel: int
    start: int
    watermark: int
    finished: bool = False
    at_epoch_end: bool = False
    idle: bool = False


@dataclass(frozen=True, slots=True)
class Control:
    """A message of a source task or the driver to every slot of the next stage.

    ``finished`` are channels of sources, not of timelines: a watermark generator in the next stage
    has to know of them.
    """

    fragments: tuple[Fragment, ...] = ()
    announced: tuple[ChannelId, ...] = ()
    backlog: frozenset[ChannelId] = frozenset()
    ended: frozenset[int] = frozenset()
    started: bool = False
    finished: frozenset[ChannelId] = frozenset()


def data_after_end(where: str) -> CheckpointError:
    """Everything has fired at the end; nothing right can be done with later records."""
    return CheckpointError(
        "DATA_AFTER_END",
        f"{where} has brought records after the end of its input",
        hint="begin a new run: a finished checkpoint cannot take more data",
    )


def merge_controls(controls: Iterable[Control]) -> Control:
    """One message that says what all of them say."""
    parts = list(controls)
    if len(parts) == 1:
        return parts[0]
    return Control(
        fragments=tuple(f for part in parts for f in part.fragments),
        announced=tuple(a for part in parts for a in part.announced),
        backlog=frozenset().union(*(part.backlog for part in parts)),
        ended=frozenset().union(*(part.ended for part in parts)),
        started=any(part.started for part in parts),
        finished=frozenset().union(*(part.finished for part in parts)),
    )


@dataclass(slots=True)
class Channel:
    """State of a channel between epochs."""

    watermark: int = MIN_TIMESTAMP
    active_ms: int = 0
    idle: bool = False


@dataclass(slots=True)
class TimeTable:
    """The channels of a job between epochs; part of a slot's state."""

    channels: dict[ChannelId, Channel] = field(default_factory=dict)
    peaks: dict[int, int] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    now_ms: int = 0

    def advance(self, control: Control, now_ms: int, idle_after: Mapping[int, int]) -> EpochTime:
        """Take in an epoch's messages: announcements, data, idleness, END, in this order."""
        # Processing time is the epoch's; a clock set back between runs must not turn it back.
        self.now_ms = max(self.now_ms, now_ms)
        self._announce(control)
        floors = self._read(control)
        self._judge_idleness(control, idle_after)
        ended_before = frozenset(self.ended)
        self.ended |= control.ended
        return EpochTime(self, floors, ended_before)

    def _announce(self, control: Control) -> None:
        # Finished channels are not announced again: they are no longer known here.
        for channel_id in control.announced:
            self.channels.setdefault(channel_id, Channel(active_ms=self.now_ms))
        if control.started:
            for channel in self.channels.values():
                channel.active_ms = self.now_ms

    def _read(self, control: Control) -> dict[ChannelId, tuple[Ints, Ints]]:
        by_channel: dict[ChannelId, list[Fragment]] = {}
        for fragment in control.fragments:
            by_channel.setdefault((fragment.timeline, fragment.channel), []).append(fragment)
        floors = {}
        for channel_id, fragments in by_channel.items():
            if channel_id[0] in self.ended:
                raise data_after_end("a source")
            fragments.sort(key=lambda fragment: fragment.start)
            channel = self.channels.setdefault(channel_id, Channel())
            floors[channel_id] = _floors(channel.watermark, fragments)
            channel.watermark = max(channel.watermark, *(f.watermark for f in fragments))
            channel.active_ms = self.now_ms
            channel.idle = fragments[-1].idle
            timeline = channel_id[0]
            peak = self.peaks.get(timeline, MIN_TIMESTAMP)
            self.peaks[timeline] = max(peak, channel.watermark)
            if any(fragment.finished for fragment in fragments):
                del self.channels[channel_id]
        return floors

    def _judge_idleness(self, control: Control, idle_after: Mapping[int, int]) -> None:
        for channel_id, channel in self.channels.items():
            timeout = idle_after.get(channel_id[0])
            if timeout is None:
                continue
            if channel_id in control.backlog:
                channel.active_ms, channel.idle = self.now_ms, False
            elif self.now_ms - channel.active_ms >= timeout:
                channel.idle = True


def _floors(carried: int, fragments: list[Fragment]) -> tuple[Ints, Ints]:
    """Start and floor of each fragment: the carried watermark and the ends of earlier fragments."""
    starts, floors = [], []
    floor = carried
    for fragment in fragments:
        starts.append(fragment.start)
        floors.append(floor)
        if not fragment.at_epoch_end:
            floor = max(floor, fragment.watermark)
    return np.array(starts, np.int64), np.array(floors, np.int64)


@dataclass(slots=True)
class EpochTime:
    """Time in one epoch: floors for the stamps of its records, and where clocks end."""

    table: TimeTable
    floors: Mapping[ChannelId, tuple[Ints, Ints]]
    ended_before: frozenset[int] = frozenset()

    @property
    def now_ms(self) -> int:
        return self.table.now_ms

    def has_ended(self, timelines: frozenset[int]) -> bool:
        """Whether none of the timelines will bring anything any more."""
        return timelines <= self.table.ended

    def goal(self, timelines: frozenset[int], untimed: frozenset[int]) -> int:
        """G: the minimum over the non-idle channels of the given timelines at the end of the epoch.

        No active channel: the largest watermark seen. A source without watermarks holds the clock
        until it ends, as in Flink. When all end, G is what it was before: infinity comes after it.
        """
        table = self.table
        everything = timelines | untimed
        ended = self.ended_before if self.has_ended(everything) else table.ended
        if untimed - ended:
            return MIN_TIMESTAMP
        active = [
            channel.watermark
            for (timeline, _), channel in table.channels.items()
            if timeline in timelines and timeline not in ended and not channel.idle
        ]
        if active:
            return min(active)
        return max(
            (table.peaks.get(line, MIN_TIMESTAMP) for line in timelines), default=MIN_TIMESTAMP
        )

    def raise_stamps(self, timeline: int, keys: OrderKeys) -> None:
        """Raise the stamps a source task gave to the floors of their fragments, in place."""
        if len(keys) == 0:
            return
        if keys.channel.min() == keys.channel.max():
            segments: list[tuple[int, Any]] = [(int(keys.channel[0]), slice(None))]
        else:
            order = np.argsort(keys.channel, kind="stable")
            channels, first = np.unique(keys.channel[order], return_index=True)
            ends = [*first[1:].tolist(), len(order)]
            rows = zip(channels.tolist(), first.tolist(), ends, strict=True)
            segments = [(channel, order[start:end]) for channel, start, end in rows]
        stamps = keys.stamp.copy()
        for channel, where in segments:
            known = self.floors.get((timeline, channel))
            if known is not None:
                starts, floors = known
                places = np.searchsorted(starts, keys.frag[where], "right") - 1
                stamps[where] = np.maximum(stamps[where], floors[np.maximum(places, 0)])
        keys.stamp = stamps

    def releasable(self, keys: OrderKeys, timelines: frozenset[int]) -> npt.NDArray[np.bool_]:
        """Which records precede, in the one total order, all that other channels may still bring.

        That is (stamp, birth, channel) < (watermark of c, 0, c) for every other non-idle channel c of
        the timelines that the records wait for. What timers emit has no channel of its own.
        """
        bounds = sorted(
            (channel.watermark, channel_id[1])
            for channel_id, channel in self.table.channels.items()
            if channel_id[0] in timelines - self.table.ended and not channel.idle
        )
        if not bounds:
            return np.ones(len(keys), np.bool_)
        least, second = [*bounds, _BEYOND][:2]
        of_record = keys.born == 0
        own = of_record & (keys.channel == least[1])
        stamp_bound = np.where(own, second[0], least[0])
        channel_bound = np.where(own, second[1], least[1])
        first = np.where(of_record, keys.channel < channel_bound, keys.born < 0)
        free: npt.NDArray[np.bool_] = keys.stamp < stamp_bound
        free |= (keys.stamp == stamp_bound) & first
        return free


_BEYOND = (MAX_TIMESTAMP, MAX_TIMESTAMP)
