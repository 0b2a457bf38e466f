"""Paged state: the keys of a slot in pages that split as they grow.

A page is a hash bucket of keys, found through a directory (extendible hashing on the leading bits of
the key hash), so a small page stays a single value in the store, a huge state is never rewritten
whole, and a page that does not exist costs no read. The directory also keeps, per page, when its next
timer is due: an epoch with nothing due touches no page, and no index of timers is needed beside.
What splitting by keys cannot make smaller, a long list or a big map of one key, moves out of its page.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from millstream.common.errors import CheckpointError
from millstream.common.pickling import dumps
from millstream.common.time import MAX_TIMESTAMP
from millstream.kernel.keys.hashing import stable_hashes
from millstream.kernel.keys.identity import KeyForm, looks_like
from millstream.kernel.records.order import Ints, distinct
from millstream.kernel.state import large, stored_pickles
from millstream.kernel.state.buckets import MAX_DEPTH, Buckets, bits_for, spread
from millstream.kernel.state.large import LargeCell, LongList, cell_id, fetch, moved_out

FORMAT = 3
SPLIT_BYTES = 16_384
SPLIT_KEYS = 768
NEVER = MAX_TIMESTAMP

Timer = tuple[Any, ...]
"""When it is due, the namespace it belongs to, and what else its operator has to know of it."""
Timers = dict[Any, list[Timer]]
"""Per key, its timers in firing order."""
Size = tuple[int, int, int]
"""How many keys with state, timers and bytes there are in pages."""
NO_SIZE: Size = (0, 0, 0)


class Store(Protocol):
    """A slot's part of the state store."""

    def get(self, name: str) -> bytes | None: ...

    def put(self, name: str, value: bytes) -> None: ...

    def remove(self, name: str) -> None: ...


class MemoryStore(dict[str, bytes]):
    """A store in memory: batch mode and tests."""

    def put(self, name: str, value: bytes) -> None:
        self[name] = value

    def remove(self, name: str) -> None:
        del self[name]


@dataclass(slots=True)
class Page:
    """The state of the keys of one bucket; ``cells`` of a key are in the order of the state names.

    ``large``: per key that has some, the handles of its large cells when the page was loaded.
    ``forms``: the keys with state or timers that do not stand for themselves, as they were first seen.
    ``loaded``: its size when it was loaded.
    """

    depth: int
    prefix: int
    entries: dict[Any, list[Any]] = field(default_factory=dict)
    event_timers: Timers = field(default_factory=dict)
    tick_timers: Timers = field(default_factory=dict)
    large: dict[Any, list[LargeCell]] = field(default_factory=dict)
    stored: bytes | None = None
    loaded: Size = NO_SIZE
    forms: dict[Any, KeyForm] = field(init=False)

    def __post_init__(self) -> None:
        self.forms = {}
        for table in (self.tick_timers, self.event_timers, self.entries):
            if KeyForm in set(map(type, table)):
                self.forms.update((key, key) for key in table if key.__class__ is KeyForm)

    def first_form(self, key: Any) -> Any:
        """A key as it was first seen: that counts as long as it has state or timers."""
        found = self.forms.get(key)
        if found is not None or key.__class__ is not KeyForm:
            return key if found is None else found
        if self._knows(key):
            return key.plain  # else it would be among the forms
        self.forms[key] = key
        return key

    def look_alike(self, keys: list[Any]) -> bool:
        """Whether all keys that are equal, of these and the known ones, look alike."""
        if not self.forms and KeyForm not in set(map(type, keys)):
            return True
        first: dict[Any, Any] = {}
        for key in keys:
            if key not in first:
                known = key.plain if key.__class__ is KeyForm and self._knows(key) else key
                first[key] = self.forms.get(key, known)
            if not looks_like(first[key], key):
                return False
        self.forms.update((key, form) for key, form in first.items() if form.__class__ is KeyForm)
        return True

    def forget_form(self, key: Any) -> None:
        """A key has been processed: without state and timers it is seen for the first time again."""
        if key in self.forms and not self._knows(key):
            del self.forms[key]

    def _knows(self, key: Any) -> bool:
        return key in self.entries or key in self.event_timers or key in self.tick_timers

    def key_count(self) -> int:
        return max(len(self.entries), len(self.event_timers), len(self.tick_timers))

    def timer_count(self) -> int:
        timers = [*self.event_timers.values(), *self.tick_timers.values()]
        return sum(map(len, timers)) if timers else 0

    def is_empty(self) -> bool:
        return not (self.entries or self.event_timers or self.tick_timers)


def _next_due(timers: Timers) -> int:
    """When the next timer is due; one at the end of time is not the same as none."""
    due = [times[0][0] for times in timers.values()]
    return min(min(due), NEVER - 1) if due else NEVER


@dataclass(slots=True)
class Directory(Buckets):
    """Where pages are, and when their next timers are due."""

    ARRAYS: ClassVar[tuple[str, ...]] = ("depths", "present", "event_due", "tick_due")

    event_due: Ints = field(default_factory=lambda: np.full(1, NEVER, np.int64))
    tick_due: Ints = field(default_factory=lambda: np.full(1, NEVER, np.int64))

    def with_timers(self) -> list[int]:
        """First buckets of the pages with any timer."""
        return self._firsts(self.present & ((self.event_due < NEVER) | (self.tick_due < NEVER)))

    def due(self, clock: int, now_ms: int) -> list[int]:
        """First buckets of the pages with a timer due."""
        hit = self.present & ((self.event_due <= clock) | (self.tick_due <= now_ms))
        return self._firsts(hit)


class PageStore:
    """The pages of one operator in one slot, during one epoch.

    ``growing``: which cells are lists and maps of a list or map state, which may become large.
    ``size``: the size of all pages, kept up to date.
    """

    def __init__(
        self,
        store: Store,
        uid: str,
        directory: Directory,
        names: list[str],
        size: Size | None = None,
    ) -> None:
        self.store = store
        self.uid = uid
        self.directory = directory
        self.names = names
        self.growing: Collection[int] = ()
        self.size = size or NO_SIZE

    def load(self, bucket: int) -> Page:
        """The page that starts at a bucket."""
        directory = self.directory
        depth, prefix = directory.locate(bucket)
        if not directory.present[bucket]:
            return Page(depth, prefix)
        what = f"page {depth}.{prefix} of operator {self.uid!r}"
        return self._decode(fetch(self.store, self._name(depth, prefix), what), depth, prefix)

    def write(self, page: Page) -> None:
        """Write a page back if it changed, in parts if it has grown too large."""
        if page.large:
            self._settle(page)
        self.grow(page.loaded, -1)
        self._write(page)

    def _write(self, page: Page) -> None:
        directory, name = self.directory, self._name(page.depth, page.prefix)
        span = directory.span(page.depth, page.prefix)
        if page.is_empty():
            if directory.present[span.start]:
                self.store.remove(name)
            directory.present[span] = False
            directory.event_due[span] = directory.tick_due[span] = NEVER
            return
        data = self._encode(page)
        if len(data) > SPLIT_BYTES:
            bits = directory.bits_to_split(page.depth, page.key_count(), len(data), SPLIT_BYTES)
            if bits:
                for part in self.split(page, bits):
                    self._write(part)
                return
            if self._move_out(page, len(data)):
                data = self._encode(page)
        directory.present[span] = True
        directory.event_due[span] = _next_due(page.event_timers)
        directory.tick_due[span] = _next_due(page.tick_timers)
        self.grow((len(page.entries), page.timer_count(), len(data)), 1)
        # A user may change a value in place without update(): what counts is the content.
        if data != page.stored:
            self.store.put(name, data)

    def grow(self, size: Size, sign: int) -> None:
        keys, timers, stored = self.size
        self.size = keys + sign * size[0], timers + sign * size[1], stored + sign * size[2]

    def split(self, page: Page, bits: int) -> list[Page]:
        """2**bits pages in place of one; they are not yet in the store."""
        directory, depth, prefix = self.directory, page.depth, page.prefix
        if directory.present[directory.span(depth, prefix).start]:
            self.store.remove(self._name(depth, prefix))
        directory.split(depth, prefix, bits)
        tables = (page.entries, page.event_timers, page.tick_timers, page.large)
        parts = [spread(table, depth, prefix, bits, stable_hashes(list(table))) for table in tables]
        first = prefix << bits
        return [
            Page(depth + bits, first + number, *of_page)
            for number, of_page in enumerate(zip(*parts, strict=True))
        ]

    def prepare(self, hashes: npt.NDArray[np.uint32], size: int = 0) -> None:
        """Split pages that many new keys may fall on before they are filled: later it costs more.

        ``size``: about how many bytes the state of the keys takes, where that is known.
        """
        directory, keys = self.directory, distinct(hashes)
        firsts, counts = np.unique(directory.buckets(keys), return_counts=True)
        # Buckets are renumbered when the directory grows; the lowest hash of a page is not.
        lowest = firsts << (32 - directory.depth)
        for low, count in zip(lowest.tolist(), counts.tolist(), strict=True):
            bucket = low >> (32 - directory.depth)
            depth, prefix = directory.locate(bucket)
            by_size = min(bits_for(size * count // len(keys), SPLIT_BYTES), count.bit_length() - 1)
            bits = min(max((count // SPLIT_KEYS).bit_length(), by_size), MAX_DEPTH - depth)
            if bits > 0 and not directory.present[bucket]:
                self.split(Page(depth, prefix), bits)

    def scan(self) -> Iterator[Page]:
        """All pages, one after the other."""
        for bucket in self.directory.all_present():
            yield self.load(bucket)

    # -- large cells -----------------------------------------------------------------------------

    def _settle(self, page: Page) -> None:
        """Bring the values of large cells up to date; those of cells that are gone go too."""
        for key, handles in list(page.large.items()):
            in_place = {id(cell) for cell in page.entries.get(key, ())}
            kept = [handle for handle in handles if id(handle) in in_place]
            for handle in kept:
                handle.flush()
            for handle in handles:
                if id(handle) not in in_place:
                    handle.drop()
            if kept:
                page.large[key] = kept
            else:
                del page.large[key]

    def _move_out(self, page: Page, size: int) -> bool:
        """Make a page smaller that splitting cannot: True if something has moved out of it."""
        moved = False
        for key, cells in page.entries.items():
            for index in self.growing:
                cell = cells[index]
                if isinstance(cell, LongList):
                    moved |= cell.seal()
                elif size > large.LARGE_BYTES and isinstance(cell, list | dict):
                    name = cell_id(key, self.names[index])
                    handle = moved_out(cell, name, self.store, self.uid)
                    if handle is not None:
                        cells[index] = handle
                        page.large.setdefault(key, []).append(handle)
                        moved = True
        return moved

    def _bound(self, cells: list[Any]) -> list[LargeCell]:
        """The large cells among a key's cells, now with their store."""
        handles = [cell for cell in cells if isinstance(cell, LargeCell)]
        for handle in handles:
            handle.bind(self.store, self.uid)
        return handles

    # -- bytes -----------------------------------------------------------------------------------

    def _name(self, depth: int, prefix: int) -> str:
        return f"{self.uid}/{depth}.{prefix}"

    def _encode(self, page: Page) -> bytes:
        columns = list(zip(*page.entries.values(), strict=True))
        content = (
            FORMAT,
            tuple(self.names),
            list(page.entries),
            columns,
            page.event_timers,
            page.tick_timers,
            list(page.large),
        )
        return dumps(content)

    def _decode(self, data: bytes, depth: int, prefix: int) -> Page:
        found = decoded_page(data, self.uid)
        columns = self._arrange(found.names, found.columns, len(found.keys))
        entries = dict(zip(found.keys, map(list, zip(*columns, strict=True)), strict=True))
        handles = {key: self._bound(entries[key]) for key in found.with_large}
        page = Page(depth, prefix, entries, found.event_timers, found.tick_timers, handles, data)
        page.loaded = len(entries), page.timer_count(), len(data)
        return page

    def _arrange(self, stored: tuple[str, ...], columns: list[Any], n: int) -> list[Any]:
        """Stored columns in the order of today's names; a name of today only is empty."""
        if list(stored) == self.names:
            return columns
        for name in stored:
            if name not in self.names:
                self.names.append(name)
        by_name = dict(zip(stored, columns, strict=False))
        return [by_name.get(name, [None] * n) for name in self.names]


class PageContent(NamedTuple):
    """The content of a stored page; ``columns`` are the cells of all keys by name."""

    names: tuple[str, ...]
    keys: list[Any]
    columns: list[Any]
    event_timers: Timers
    tick_timers: Timers
    with_large: list[Any]


def decoded_page(data: bytes, uid: str) -> PageContent:
    """The content of a stored page of an operator."""
    version, *content = stored_pickles.loads(data)
    if version != FORMAT:
        raise CheckpointError(
            "PAGE_FORMAT",
            f"state of operator {uid!r} has page format {version}, this is {FORMAT}",
            hint="run the Millstream version that wrote it and take a savepoint there",
        )
    return PageContent(*content)
