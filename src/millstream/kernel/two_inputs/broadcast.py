"""Broadcast state: maps that every slot holds in full, and the operators that read and write them.

The records of the broadcast input come to every slot. One takes effect at its place in the order, so a
slot walks through all its records and timers in that order, with all loaded pages in memory, and not
page by page.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from typing import Any

import numpy as np

from millstream.common import state as api
from millstream.common.errors import CheckpointError, MillstreamError, PlanError
from millstream.common.pickling import dumps
from millstream.common.time import MAX_TIMESTAMP
from millstream.kernel import large
from millstream.kernel.arrivals import Incoming
from millstream.kernel.clock import Clock
from millstream.kernel.keyed import NO_ROW, Context, KeyedOperator
from millstream.kernel.keys import identity, shown
from millstream.kernel.large import LargeCell, moved_out
from millstream.kernel.outputs import FLUSH, Emit, Outputs
from millstream.kernel.pages import Page, PageStore, Store
from millstream.kernel.runtime import KernelRuntimeContext, OperatorInfo
from millstream.kernel.snapshot.tables import BROADCAST as BROADCAST_TABLE
from millstream.kernel.snapshot.tables import StateInfo
from millstream.kernel.state import Cursor, MapCell
from millstream.kernel.sweep import in_key_order, key_order
from millstream.kernel.two_inputs.connected import Pair
from millstream.kernel.two_inputs.reach import Reach
from millstream.kernel.two_inputs.specs import BroadcastSpec
from millstream.kernel.two_inputs.told import Buffers, Told

FORMAT = 2
BROADCAST = 1
"""The number of the broadcast input."""
EMITTING_SLOT = 0
FLUSH_EVERY = 1024


class BroadcastCell(MapCell, api.BroadcastState[Any, Any]):
    """A broadcast map as the broadcast side sees it."""


class ReadOnlyCell(BroadcastCell):
    """A broadcast map as the other side sees it."""

    __slots__ = ("_info",)

    def __init__(self, cursor: Cursor, index: Any, info: OperatorInfo) -> None:
        super().__init__(cursor, index)
        self._info = info

    def clear(self) -> None:
        raise PlanError(
            "READ_ONLY_STATE",
            f"operator {self._info.name!r} writes broadcast state {self._index!r} for a record of "
            "its other input: only broadcast records may write it",
            location=self._info.location,
            hint="write it in process_broadcast_element, or keep state per key",
        )

    def put(self, key: Any, value: Any) -> None:
        self.clear()

    def put_all(self, dict_value: Any) -> None:
        self.clear()

    def remove(self, key: Any) -> None:
        self.clear()


class BroadcastMaps:
    """The broadcast maps of the slot at hand; a large one lies in store values of its own."""

    def __init__(self, info: OperatorInfo, names: Iterable[str]) -> None:
        self._info = info
        self.names = tuple(names)
        self._cursor = Cursor()
        self._store: Store | None = None
        self._stored: bytes | None = None
        self._handles: list[LargeCell] = []
        self.writable = {name: BroadcastCell(self._cursor, name) for name in self.names}
        self.read_only = {name: ReadOnlyCell(self._cursor, name, info) for name in self.names}

    @property
    def _place(self) -> str:
        return f"{self._info.uid}/broadcast"

    def load(self, store: Store) -> None:
        """Read what the slot has stored."""
        self._store = store
        self._stored = store.get(self._place)
        maps = {} if self._stored is None else decoded_maps(self._stored, self._info.uid)
        self._handles = [content for content in maps.values() if isinstance(content, LargeCell)]
        for handle in self._handles:
            handle.bind(store, self._info.uid)
        self._cursor.cells = dict.fromkeys(self.names) | maps

    def save(self) -> None:
        """Write what has changed. A value may have been changed in place: the content counts."""
        assert self._store is not None
        maps = {name: content for name, content in self._cursor.cells.items() if content}
        kept = {id(content) for content in maps.values()}
        for handle in self._handles:
            if id(handle) in kept:
                handle.flush()
            else:
                handle.drop()
        data = dumps((FORMAT, maps))
        if len(data) > large.LARGE_BYTES:
            moved = {name: self._moved(name, content) for name, content in maps.items()}
            data = dumps((FORMAT, moved))
        if not maps:
            if self._stored is not None:
                self._store.remove(self._place)
        elif data != self._stored:
            self._store.put(self._place, data)

    def _moved(self, name: str, content: Any) -> Any:
        if isinstance(content, LargeCell):
            return content
        assert self._store is not None
        place = f"broadcast/{name}"
        return moved_out(content, place, self._store, self._info.uid) or content

    def find(self, among: dict[str, Any], descriptor: Any) -> Any:
        """The map of a descriptor, which must be one that was given to ``broadcast``."""
        name = getattr(descriptor, "name", descriptor)
        found = among.get(name)
        if found is None:
            raise PlanError(
                "UNKNOWN_BROADCAST_STATE",
                f"operator {self._info.name!r} asks for broadcast state {name!r}, "
                "which it does not have",
                location=self._info.location,
                hint=f"give its descriptor to broadcast(...); there {_are(self.names)}",
            )
        return found


def decoded_maps(data: bytes, uid: str) -> dict[str, Any]:
    """The stored broadcast maps of an operator by name, or the handles of large ones."""
    version, maps = pickle.loads(data)
    if version != FORMAT:
        raise CheckpointError(
            "BROADCAST_FORMAT",
            f"broadcast state of operator {uid!r} has format {version}, this is {FORMAT}",
            hint="run the Millstream version that wrote it and take a savepoint there",
        )
    found: dict[str, Any] = maps
    return found


def _are(names: tuple[str, ...]) -> str:
    return ("is " if len(names) == 1 else "are ") + ", ".join(map(repr, names))


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
    """Runs a `BroadcastProcessFunction`: no keys, no timers."""

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
        self._call(self.function.process_element, self.element_context, row, value, outputs)

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
        self.row = row
        try:
            results = call(value, context)
            if results is not None:
                outputs.row = row
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
        self._fire_due(self.clock.after, outputs)
        if self.clock.ends:
            self._fire_due(MAX_TIMESTAMP, outputs)
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
        self._pages, self._met = pages, {}
        if records is not None:
            assert records.hashes is not None
            keyed = [row for row, (number, _) in enumerate(pairs) if number != BROADCAST]
            if keyed:
                pages.prepare(records.hashes[keyed])
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
            if self.clock.ends:
                page.tick_timers.clear()
            self._sweep(page)
            pages.write(page)
        self._met = {}
        self.page = Page(0, 0)

    # -- records ---------------------------------------------------------------------------------

    def _before(self, row: int, outputs: Outputs) -> None:
        if self._due:
            self._fire_due(self._clock_before(row), outputs)

    def _element(self, row: int, value: Any, outputs: Outputs) -> None:
        self.page = self._page_at(self._buckets[row])
        self._enter(self.page.first_form(self.key_of(value)))
        super()._element(row, value, outputs)
        self._fire_overdue(row, self._clock_before(row), outputs)
        self._wait()
        self._leave(self.key)

    def key_of(self, value: Any) -> Any:
        return identity(self._guarded(lambda: self.selector(value), value))

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
            for key, self.page in pages.items():
                self._enter(key)
                yield key
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
        if times and (self.clock.ends or times[0][0] <= self.clock.after):
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
            # At the end nothing comes between the timers of a key any more.
            self._fire_until(clock if clock == MAX_TIMESTAMP else time_ms, outputs)
            self._wait()
            self._leave(key)
