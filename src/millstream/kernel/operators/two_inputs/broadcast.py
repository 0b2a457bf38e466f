"""Broadcast state: maps that every slot holds in full, and the operators that read and write them.

The records of the broadcast input come to every slot. One takes effect at its place in the order, so a
slot walks through all its records and timers in that order, with all loaded pages in memory, and not
page by page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from heapq import heappop, heappush
from typing import Any

import numpy as np

from millstream.common.errors import MillstreamError, PlanError
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo
from millstream.kernel.calls.policy import Unkeyed
from millstream.kernel.keys.identity import shown
from millstream.kernel.operators.contexts import Context
from millstream.kernel.operators.keyed import NO_ROW, KeyedOperator
from millstream.kernel.operators.two_inputs.broadcast_maps import BroadcastMaps
from millstream.kernel.operators.two_inputs.connected import Pair
from millstream.kernel.operators.two_inputs.reach import Reach
from millstream.kernel.operators.two_inputs.specs import BroadcastSpec
from millstream.kernel.operators.two_inputs.told import Buffers, Told
from millstream.kernel.records.outputs import FLUSH, Emit, Outputs
from millstream.kernel.records.sorted_input import Incoming
from millstream.kernel.state.info import BROADCAST as BROADCAST_TABLE
from millstream.kernel.state.info import StateInfo
from millstream.kernel.state.pages import Page, PageStore
from millstream.kernel.state.sweep import in_key_order, key_order
from millstream.kernel.time.clock import Clock

BROADCAST = 1
"""The number of the broadcast input."""
EMITTING_SLOT = 0
FLUSH_EVERY = 1024


class _Circumstances:
    """Common part of the contexts of both sides."""

    def __init__(self, operator: BroadcastOperator) -> None:
        self._owner = operator

    def timestamp(self) -> int | None:
        return self._owner.context.timestamp()

    def current_processing_time(self) -> int:
        return self._owner.cursor.now_ms

    def current_watermark(self) -> int:
        return self._owner.watermark()


class ElementContext(_Circumstances):
    """The context of a record without a key."""

    def get_broadcast_state(self, descriptor: Any) -> Any:
        maps = self._owner.maps
        return maps.find(maps.read_only, descriptor)


class BroadcastContext(_Circumstances):
    """The context of a broadcast record."""

    def get_broadcast_state(self, descriptor: Any) -> Any:
        maps = self._owner.maps
        return maps.find(maps.writable, descriptor)


class BroadcastOperator(KeyedOperator):
    """Runs a `BroadcastProcessFunction`: no keys, no timers.

    Only records of the other input can be skipped. A broadcast record changes the state of every slot.
    If one of them could skip it, slots would not agree any more, so there a failure fails the job.
    """

    has_two_inputs = True
    copied_input = BROADCAST

    def __init__(
        self,
        info: OperatorInfo,
        spec: BroadcastSpec,
        selector: Callable[[Any], Any],
        *,
        timed: bool,
        freeze: bool = True,
    ) -> None:
        super().__init__(info, spec.function, selector, timed=timed, freeze=freeze)
        self.maps = BroadcastMaps(info, spec.states)
        self.has_heard = False
        self.told: Told | None = None
        self._element_call: Callable[[Any, Any], Any] = spec.function.process_element
        self._buffers: Buffers | None = None
        self.element_context: Any = ElementContext(self)
        self.broadcast_context: Any = BroadcastContext(self)

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        # Without a cursor the context refuses keyed state.
        super().open(lambda info, cursor: make_context(info, None))
        self._buffers = Buffers(self.function)
        self._say_states()

    def _say_states(self) -> None:
        assert self.opened is not None
        for name in self.maps.names:
            table = f"{BROADCAST_TABLE}/{name}"
            self.opened.infos[table] = StateInfo(table, "map", opened=True)

    def run(self, records: Incoming | None, pages: PageStore, clock: Clock, emit: Emit) -> None:
        assert self.opened is not None and self._buffers is not None
        self.clock = clock
        self.cursor.now_ms = clock.now_ms
        pairs: list[Pair] = []
        if records is not None:
            self._moments = records.ts, clock.at(records.keys.stamp) if self.timed else None
            pairs = records.values_at(np.arange(len(records)))
        outputs = Outputs(emit, records, self.freeze)
        self.maps.load(pages.store)
        self.has_heard = False
        self._run_epoch(records, pairs, pages, outputs)
        if self.has_heard:
            self.maps.save()
        outputs.flush()

    def _run_epoch(
        self, records: Incoming | None, pairs: list[Pair], pages: PageStore, outputs: Outputs
    ) -> None:
        self._walk(pairs, outputs)

    def _walk(self, pairs: list[Pair], outputs: Outputs) -> None:
        """All records, in order."""
        plain = self.function.process_element
        self._element_call = self._carefully(outputs) if self.policy.skips else plain
        for row, (number, value) in enumerate(pairs):
            self._before(row, outputs)
            if number == BROADCAST:
                self._broadcast(row, value, outputs)
            else:
                self._element(row, value, outputs)
            if row % FLUSH_EVERY == 0:
                outputs.flush(FLUSH)

    def _before(self, row: int, outputs: Outputs) -> None:
        """Do what is due before a record."""

    def _element(self, row: int, value: Any, outputs: Outputs) -> None:
        self._call(self._element_call, self.element_context, row, value, outputs)

    def _carefully(self, outputs: Outputs) -> Callable[[Any, Any], None]:
        """How to call the function with a record that may be skipped."""
        call, original = self.function.process_element, self.policy.original

        def attempt(value: Any, context: Any) -> None:
            self.attempt(partial(call, value, context), original(value), outputs)

        return attempt

    def _broadcast(self, row: int, value: Any, outputs: Outputs) -> None:
        """Every slot runs it; `Told` says who says what."""
        assert self.opened is not None
        assert self._buffers is not None
        self.has_heard = True
        speaks = self.opened.subtask == EMITTING_SLOT
        alone, call = self._buffers.differ(), self.function.process_broadcast_element
        told = self.told = Told(outputs, row, value, speaks=speaks, alone=alone)

        def tell(value: Any, context: Any) -> None:
            told.take_all(call(value, context))

        self._call(tell, self.broadcast_context, row, value, outputs)

    def _call(self, call: Any, context: Any, row: int, value: Any, outputs: Outputs) -> None:
        self.row = outputs.row = row
        try:
            results = call(value, context)
            if results is not None:
                outputs.extend(results)
        except MillstreamError:
            raise
        except Exception as error:
            raise self._failure(error, value) from error
        finally:
            self.row = NO_ROW


# -- with keys -------------------------------------------------------------------------------------


class KeyedElementContext(Context, ElementContext):
    """The context of a record with a key, and of a timer."""

    def __init__(self, operator: KeyedBroadcastOperator) -> None:
        Context.__init__(self, operator)
        ElementContext.__init__(self, operator)


class KeyedBroadcastContext(BroadcastContext):
    """The context of a broadcast record among keyed ones."""

    _owner: KeyedBroadcastOperator

    def apply_to_keyed_state(self, descriptor: Any, function: Any) -> None:
        self._owner.apply_to_keyed_state(descriptor, getattr(function, "process", function))


class _NoCells(list[Any]):
    """Stands for the cells of the current key where there is none."""

    def __init__(self, info: OperatorInfo) -> None:
        super().__init__()
        self._info = info

    def _refuse(self, *_: Any) -> Any:
        raise PlanError(
            "NEEDS_KEY",
            f"operator {self._info.name!r} uses keyed state for a broadcast record, which has no key",
            location=self._info.location,
            hint="call ctx.apply_to_keyed_state(descriptor, function), or use broadcast state",
        )

    __getitem__ = __setitem__ = _refuse


class KeyedBroadcastOperator(BroadcastOperator):
    """Runs a `KeyedBroadcastProcessFunction`. Loaded pages stay in memory until the epoch ends."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.context = self.element_context = KeyedElementContext(self)
        self.broadcast_context = KeyedBroadcastContext(self)
        self._no_cells = _NoCells(self.info)
        self._pages: PageStore | None = None
        self._met: dict[int, Page] = {}
        self._buckets: list[int] = []
        self._keys: dict[int, Any] = {}
        self._due: list[tuple[int, int, int, int, Any, Page]] = []
        self._waits = 0

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        KeyedOperator.open(self, make_context)
        self._buffers = Buffers(self.function)
        self._say_states()

    def _run_epoch(
        self, records: Incoming | None, pairs: list[Pair], pages: PageStore, outputs: Outputs
    ) -> None:
        self._meet(records, pairs, pages)
        self._fire_all_ticks(outputs)
        self._walk(pairs, outputs)
        for goal in self.clock.goals:
            self._fire_due(goal, outputs)
        self._put_back(pages)

    def _widen(self) -> None:
        super()._widen()
        width = len(self.names)
        for page in self._met.values():
            for cells in page.entries.values():
                cells.extend([None] * (width - len(cells)))

    # -- pages -----------------------------------------------------------------------------------

    def _meet(self, records: Incoming | None, pairs: list[Pair], pages: PageStore) -> None:
        """Find where the records' keys lie, and take the pages with something due."""
        pages.names, pages.growing = self.names, self.cursor.growing
        directory = pages.directory
        self._pages, self._met, self._keys = pages, {}, {}
        if records is not None:
            assert records.hashes is not None
            keyed = [row for row, (number, _) in enumerate(pairs) if number != BROADCAST]
            if keyed:
                pages.prepare(records.hashes[keyed])
                keys = self.keys_of(records, np.array(keyed), [pairs[row][1] for row in keyed])
                self._keys = dict(zip(keyed, keys, strict=True))
            self._buckets = directory.buckets(records.hashes).tolist()
        for bucket in self._due_pages(directory):
            self._page_at(bucket)

    def _page_at(self, bucket: int) -> Page:
        page = self._met.get(bucket)
        if page is None:
            assert self._pages is not None
            page = self._met[bucket] = self._pages.load(bucket)
        return page

    def _put_back(self, pages: PageStore) -> None:
        for page in self._met.values():
            self._drop_ticks(page)
            self._sweep(page)
            pages.write(page)
        self._met = {}
        self.page = Page(0, 0)

    # -- records ---------------------------------------------------------------------------------

    def _before(self, row: int, outputs: Outputs) -> None:
        if self._due:
            self._fire_due(self._clock_before(row), outputs)

    def _element(self, row: int, value: Any, outputs: Outputs) -> None:
        key = self._keys[row]
        if key.__class__ is Unkeyed:
            outputs.begin(row)
            self.policy.skip(key.error, self.policy.original(value), outputs)
            return
        self.page = self._page_at(self._buckets[row])
        self._enter(self.page.first_form(key))
        super()._element(row, value, outputs)
        self._fire_overdue(row, self._clock_before(row), outputs)
        self._wait()
        self._leave(self.key)

    def _broadcast(self, row: int, value: Any, outputs: Outputs) -> None:
        self.cursor.cells = self._no_cells
        super()._broadcast(row, value, outputs)

    def apply_to_keyed_state(self, descriptor: Any, function: Callable[[Any, Any], Any]) -> None:
        """Call a function with each key that has a value of the state."""
        assert self.opened is not None and self._pages is not None and self.told is not None
        getter = "get_state" if descriptor.kind == "value" else f"get_{descriptor.kind}_state"
        state = getattr(self.opened, getter)(descriptor)
        index = self.names.index(descriptor.name)
        for bucket in self._pages.directory.all_present():
            self._page_at(bucket)
        pages = dict(in_key_order(self._met.values(), index))

        def visited() -> Iterator[Any]:
            cursor = self.cursor
            for key, page in pages.items():
                cells = page.entries.get(key)
                if cells is None or cells[index] is None:
                    continue  # the function has cleared it in the place of another key
                self.key, self.page, cursor.cells = key, page, cells
                yield key
                if cells[index] is None:
                    self._leave(key)

        assert self._buffers is not None
        reach = Reach(function, self.function)
        self._buffers.note([reach])
        self.told.sweep(visited(), lambda key: function(shown(key), state), reach)
        self.cursor.cells = self._no_cells

    # -- timers ----------------------------------------------------------------------------------

    def _fire_all_ticks(self, outputs: Outputs) -> None:
        """Fire the processing-time timers that are due; then wait for the event-time timers."""
        self._due = []
        for page in list(self._met.values()):
            self.page = page
            self._fire_ticks(outputs)
            for key in page.event_timers:
                self.key = key
                self._wait()

    def _wait(self) -> None:
        """Remember the next timer of the current key, if it is due in this epoch."""
        times = self.page.event_timers.get(self.key)
        if times and times[0][0] <= self.clock.last:
            # The number keeps keys and pages, which have no order, from being compared.
            self._waits += 1
            order = (times[0][0], *key_order(self.key), self._waits)
            heappush(self._due, (*order, self.key, self.page))

    def _fire_due(self, clock: int, outputs: Outputs) -> None:
        """Fire timers of all keys up to the clock, in the order of time, key hash and key."""
        while self._due and self._due[0][0] <= clock:
            # It may have been deleted meanwhile, or have fired: then there is nothing to do.
            time_ms, _, _, _, key, self.page = heappop(self._due)
            self._enter(key)
            self._fire_until(time_ms, outputs)
            self._wait()
            self._leave(key)
