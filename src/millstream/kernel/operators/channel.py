"""Operators that follow channels instead of keys: watermark generators, watermark readers.

A custom watermark generator is stateful, so it runs in a stage keyed by channel and is part of the
state there; after a keyed stage there are no source channels any more, and one slot sees all records
in the one order. Either way the operator begins a timeline: it stamps the records it passes on, and
tells the next stage how far each of its channels has come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from millstream.common.errors import MillstreamError
from millstream.common.time import MAX_TIMESTAMP, MIN_TIMESTAMP
from millstream.common.watermark_strategy import WatermarkStrategy
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo
from millstream.kernel.keys.hashing import stable_hash
from millstream.kernel.operators.contexts import Context, TimerService
from millstream.kernel.operators.keyed import KeyedOperator
from millstream.kernel.records.buffers import Records
from millstream.kernel.records.columns import as_list
from millstream.kernel.records.order import Ints, OrderKeys, distinct
from millstream.kernel.records.outputs import MAIN, Emit
from millstream.kernel.records.sorted_input import Incoming
from millstream.kernel.state.pages import PageStore
from millstream.kernel.steps.chain import event_times
from millstream.kernel.steps.stateless import needs_key
from millstream.kernel.time.clock import Clock
from millstream.kernel.time.watermarks import Control, Fragment


class ChannelOperator(KeyedOperator):
    """A process function without a key that reads the watermark; its key is the channel."""

    def __init__(self, info: OperatorInfo, function: Any, *, timed: bool, freeze: bool) -> None:
        super().__init__(info, function, _no_key, timed=timed, freeze=freeze)
        self.context = _ChannelContext(self)

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        # Without a cursor the context refuses keyed state: a channel is no key of the user's.
        super().open(lambda info, cursor: make_context(info, None))

    def keys_of(self, records: Incoming, rows: Ints, values: list[Any]) -> list[Any]:
        keys: list[Any] = records.keys.channel[rows].tolist()
        return keys


class _ChannelContext(Context):
    """The context of a function without a key, where the watermark is known."""

    def __init__(self, operator: ChannelOperator) -> None:
        super().__init__(operator)
        self._timers = _ChannelTimers(operator)

    def get_current_key(self) -> Any:
        raise needs_key(self._operator.info, "asks for the current key")


class _ChannelTimers(TimerService):
    """The clock alone: timers belong to keys."""

    def register_event_time_timer(self, timestamp: int) -> None:
        raise needs_key(self._operator.info, "registers a timer")

    register_processing_time_timer = register_event_time_timer
    delete_event_time_timer = register_event_time_timer
    delete_processing_time_timer = register_event_time_timer


class _Output:
    """The output of a generator: the watermark of its channel never goes back."""

    def __init__(self, watermark: int, idle: bool) -> None:
        self.watermark = watermark
        self.idle = idle

    def emit_watermark(self, watermark: Any) -> None:
        # Beyond the last time there is none, and the first is behind every watermark.
        self.watermark = max(self.watermark, min(watermark.timestamp, MAX_TIMESTAMP))
        self.idle = False

    def mark_idle(self) -> None:
        self.idle = True

    def mark_active(self) -> None:
        self.idle = False


class TimelineOperator(KeyedOperator):
    """Assigns timestamps and watermarks in a keyed stage.

    Its state is, per channel: the generator, the watermark, the number of records so far, and whether
    the generator has called the channel idle. ``offsets``: by source, what its channels have been
    moved by to be this timeline's own.
    """

    def __init__(
        self,
        info: OperatorInfo,
        timeline: int,
        strategy: WatermarkStrategy,
        *,
        offsets: Mapping[int, int],
        one_channel: bool,
    ) -> None:
        super().__init__(info, strategy, _no_selector, timed=False)
        self.timeline = timeline
        self.strategy = strategy
        self.offsets = dict(offsets)
        self.one_channel = one_channel
        self.control = Control()
        self.fragments: list[Fragment] = []

    @property
    def in_one_slot(self) -> bool:
        return self.one_channel

    def note_control(self, control: Control) -> None:
        self.control = control

    def news(self) -> Control | None:
        return Control(fragments=tuple(self.fragments)) if self.fragments else None

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        self.opened = context = make_context(self.info, self.cursor)
        self.policy.open(lambda: context.counts)
        self.names = context.names
        self.names.extend(("generator", "watermark", "count", "idle"))

    def close(self) -> None:
        self.opened = None

    def run(self, records: Incoming | None, pages: PageStore, clock: Clock, emit: Emit) -> None:
        pages.names = self.names
        self.fragments = []
        finished = {
            int(np.int64(channel) + np.int64(self.offsets[source]))
            for source, channel in self.control.finished
            if source in self.offsets
        }
        spoken = self._by_channel(records)
        known = {key for page in pages.scan() for key in page.entries}
        for channel in sorted(spoken.keys() | known):
            page = pages.load(int(pages.directory.buckets(_hash_of(channel))[0]))
            cells = page.entries.setdefault(channel, [None, MIN_TIMESTAMP, 0, False])
            if cells[0] is None:
                cells[0] = self.strategy.create_generator()
            output = _Output(cells[1], cells[3])
            if channel in spoken:
                assert records is not None
                self._stamp(records.take(spoken[channel]), channel, cells, output, emit)
            self._periodic(cells[0], output)
            done = channel in finished and not self.one_channel
            changed = (cells[1], cells[3]) != (output.watermark, output.idle)
            cells[1], cells[3] = output.watermark, output.idle
            if channel in spoken or changed or done:
                self.fragments.append(
                    Fragment(self.timeline, channel, 0, output.watermark, done, idle=output.idle)
                )
            if done:
                del page.entries[channel]
            pages.write(page)
        if not self.one_channel:
            self._report_unheard(finished - spoken.keys() - known)

    def _report_unheard(self, channels: set[int]) -> None:
        """Channels that have finished without a record that came as far as here."""
        for channel in sorted(channels):
            self.fragments.append(Fragment(self.timeline, channel, 0, MIN_TIMESTAMP, True))

    def _by_channel(self, records: Incoming | None) -> dict[int, Any]:
        if records is None:
            return {}
        if self.one_channel:
            return {self.channel: np.arange(len(records))}
        channels = distinct(records.keys.channel).tolist()
        return {channel: np.flatnonzero(records.keys.channel == channel) for channel in channels}

    @property
    def channel(self) -> int:
        """The one channel of a timeline behind a keyed stage."""
        return self.timeline << 32

    def _stamp(
        self, records: Records, channel: int, cells: list[Any], output: _Output, emit: Emit
    ) -> None:
        """Send on records with their event times, and stamps by what the generator says of each.

        A record that the timestamp assigner fails on, and that is skipped, is not shown to the
        generator: the watermark stays, and the dead letter has the stamp of the place.
        """
        values = as_list(records.values)
        times, found = event_times(
            self.strategy, values, records.ts, self.info, self._failure, self.policy
        )
        generator, skipped = cells[0], set(found.failed)
        stamps = []
        for place, (value, ts) in enumerate(zip(values, times.tolist(), strict=True)):
            stamps.append(output.watermark)
            if place in skipped:
                continue
            output.idle = False
            try:
                generator.on_event(value, ts, output)
            except MillstreamError:
                raise
            except Exception as error:
                raise self._failure(error, value) from error
            self._periodic(generator, output)
        keys = records.keys
        keys = OrderKeys(
            np.array(stamps, np.int64), keys.born, keys.channel, keys.frag, keys.pos, keys.path
        )
        if self.one_channel:
            first = cells[2]
            keys = OrderKeys.of_fragment(keys.stamp, channel, 0, first)
        cells[2] += len(records)
        stamped = Records(values, times, keys)
        if found.places is None:
            emit(MAIN, stamped)
            return
        if found.places:
            emit(MAIN, stamped.take(np.array(found.places, np.int64)))
        if self.policy.tag is not None:
            failed = np.array(found.failed, np.int64)
            emit(self.policy.tag, Records(found.letters, records.ts[failed], keys.take(failed)))

    def _periodic(self, generator: Any, output: _Output) -> None:
        self._guarded(lambda: generator.on_periodic_emit(output), None)


def _no_key(value: Any) -> int:
    """Where records have no channel, as in a harness, they all belong together."""
    return 0


def _no_selector(value: Any) -> Any:
    raise AssertionError("a timeline has no key selector")


def _hash_of(channel: int) -> Any:
    return np.array([stable_hash(channel)], np.uint32)
