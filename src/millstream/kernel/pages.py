"""Paged state: the keys of a slot in pages that split as they grow.

A page is a hash bucket of keys, found through a directory (extendible hashing on the leading bits of
the key hash), so a small page stays a single value in the store, a huge state is never rewritten
whole, and a page that does not exist costs no read. The directory also keeps, per page, when its next
timer is due: an epoch with nothing due touches no page, and no index of timers is needed beside.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from millstream.common.errors import CheckpointError
from millstream.common.pickling import dumps
from millstream.common.time import MAX_TIMESTAMP
from millstream.kernel.hashing import stable_hash
from millstream.kernel.order import Ints

FORMAT = 1
SPLIT_BYTES = 16_384
SPLIT_KEYS = 768
MAX_DEPTH = 20
NEVER = MAX_TIMESTAMP

Timers = dict[Any, list[tuple[int, Any]]]
"""Per key, its timers (time, namespace) in firing order."""


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
    """The state of the keys of one bucket; ``cells`` of a key are in the order of the state names."""

    depth: int
    prefix: int
    entries: dict[Any, list[Any]] = field(default_factory=dict)
    event_timers: Timers = field(default_factory=dict)
    tick_timers: Timers = field(default_factory=dict)
    stored: bytes | None = None

    def key_count(self) -> int:
        return max(len(self.entries), len(self.event_timers), len(self.tick_timers))

    def is_empty(self) -> bool:
        return not (self.entries or self.event_timers or self.tick_timers)


def _next_due(timers: Timers) -> int:
    """When the next timer is due; one at the end of time is not the same as none."""
    due = [times[0][0] for times in timers.values()]
    return min(min(due), NEVER - 1) if due else NEVER


@dataclass(slots=True)
class Directory:
    """Where pages are. Arrays have an element per bucket of ``depth`` leading hash bits."""

    depth: int = 0
    depths: npt.NDArray[np.uint8] = field(default_factory=lambda: np.zeros(1, np.uint8))
    present: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(1, np.bool_))
    event_due: Ints = field(default_factory=lambda: np.full(1, NEVER, np.int64))
    tick_due: Ints = field(default_factory=lambda: np.full(1, NEVER, np.int64))
    swept: int = 0

    def buckets(self, hashes: npt.NDArray[np.uint32]) -> Ints:
        """For each hash the first bucket of its page, which names the page."""
        bucket = hashes.astype(np.int64) >> (32 - self.depth)
        shift = self.depth - self.depths[bucket].astype(np.int64)
        firsts: Ints = (bucket >> shift) << shift
        return firsts

    def locate(self, bucket: int) -> tuple[int, int]:
        """Depth and prefix of the page that starts at a bucket."""
        depth = int(self.depths[bucket])
        return depth, bucket >> (self.depth - depth)

    def span(self, depth: int, prefix: int) -> slice:
        """The buckets a page covers."""
        shift = self.depth - depth
        return slice(prefix << shift, (prefix + 1) << shift)

    def with_timers(self) -> list[int]:
        """First buckets of the pages with any timer."""
        return self._firsts(self.present & ((self.event_due < NEVER) | (self.tick_due < NEVER)))

    def due(self, clock: int, now_ms: int) -> list[int]:
        """First buckets of the pages with a timer due."""
        hit = self.present & ((self.event_due <= clock) | (self.tick_due <= now_ms))
        return self._firsts(hit)

    def all_present(self) -> list[int]:
        """First buckets of all pages that exist."""
        return self._firsts(self.present)

    def next_to_sweep(self, number: int) -> list[int]:
        """First buckets of some pages, in turn: over time every page has its turn."""
        pages = self.all_present()
        chosen = [pages[(self.swept + i) % len(pages)] for i in range(min(number, len(pages)))]
        self.swept = (self.swept + number) % max(len(pages), 1)
        return chosen

    def _firsts(self, hit: npt.NDArray[np.bool_]) -> list[int]:
        found = np.flatnonzero(hit)
        shift = self.depth - self.depths[found].astype(np.int64)
        firsts: list[int] = np.unique((found >> shift) << shift).tolist()
        return firsts

    def useful_depth(self) -> int:
        """How deep pages may lie: a few large values must not make a directory of empty buckets."""
        pages = int((1 / (1 << (self.depth - self.depths[self.present].astype(np.int64)))).sum())
        return max(pages, 1).bit_length() + 4

    def split(self, depth: int, prefix: int, bits: int) -> None:
        """Make 2**bits pages of one."""
        missing = depth + bits - self.depth
        if missing > 0:
            self.depth += missing
            for name in ("depths", "present", "event_due", "tick_due"):
                setattr(self, name, np.repeat(getattr(self, name), 1 << missing))
        self.depths[self.span(depth, prefix)] = depth + bits


class PageStore:
    """The pages of one operator in one slot, during one epoch."""

    def __init__(self, store: Store, uid: str, directory: Directory, names: list[str]) -> None:
        self.store = store
        self.uid = uid
        self.directory = directory
        self.names = names

    def load(self, bucket: int) -> Page:
        """The page that starts at a bucket."""
        directory = self.directory
        depth, prefix = directory.locate(bucket)
        if not directory.present[bucket]:
            return Page(depth, prefix)
        data = self.store.get(self._name(depth, prefix))
        if data is None:
            raise CheckpointError(
                "MISSING_PAGE",
                f"page {depth}.{prefix} of operator {self.uid!r} is gone from the state store",
                hint="the checkpoint is damaged: go on from another checkpoint or a savepoint",
            )
        return self._decode(data, depth, prefix)

    def write(self, page: Page) -> None:
        """Write a page back if it changed, in two halves if it has grown too large."""
        directory, name = self.directory, self._name(page.depth, page.prefix)
        span = directory.span(page.depth, page.prefix)
        if page.is_empty():
            if directory.present[span.start]:
                self.store.remove(name)
            directory.present[span] = False
            directory.event_due[span] = directory.tick_due[span] = NEVER
            return
        data = self._encode(page)
        room = min(MAX_DEPTH, directory.useful_depth()) - page.depth
        if len(data) > SPLIT_BYTES and page.key_count() > 1 and room > 0:
            # To half of the limit, so that the parts have room to grow.
            ratio = 2 * len(data) // SPLIT_BYTES
            for part in self.split(page, min(ratio.bit_length() - 1, room)):
                self.write(part)
            return
        directory.present[span] = True
        directory.event_due[span] = _next_due(page.event_timers)
        directory.tick_due[span] = _next_due(page.tick_timers)
        # A user may change a value in place without update(): what counts is the content.
        if data != page.stored:
            self.store.put(name, data)

    def split(self, page: Page, bits: int) -> list[Page]:
        """2**bits pages in place of one; they are not yet in the store."""
        directory = self.directory
        start = directory.span(page.depth, page.prefix).start
        if directory.present[start]:
            self.store.remove(self._name(page.depth, page.prefix))
        depth = page.depth + bits
        directory.split(page.depth, page.prefix, bits)
        first = page.prefix << bits
        parts = [Page(depth, first + number) for number in range(1 << bits)]
        directory.present[directory.span(page.depth, page.prefix)] = False
        for name in ("entries", "event_timers", "tick_timers"):
            targets = [getattr(part, name) for part in parts]
            for key, value in getattr(page, name).items():
                targets[(stable_hash(key) >> (32 - depth)) - first][key] = value
        return parts

    def prepare(self, hashes: npt.NDArray[np.uint32]) -> None:
        """Split pages that many new keys may fall on before they are filled: later it costs more."""
        directory = self.directory
        firsts, counts = np.unique(directory.buckets(np.unique(hashes)), return_counts=True)
        # Buckets are renumbered when the directory grows; the lowest hash of a page is not.
        lowest = firsts << (32 - directory.depth)
        for low, count in zip(lowest.tolist(), counts.tolist(), strict=True):
            bucket = low >> (32 - directory.depth)
            depth, prefix = directory.locate(bucket)
            bits = min((count // SPLIT_KEYS).bit_length(), MAX_DEPTH - depth)
            if bits > 0 and not directory.present[bucket]:
                self.split(Page(depth, prefix), bits)

    def scan(self) -> Iterator[Page]:
        """All pages, one after the other."""
        for bucket in self.directory.all_present():
            yield self.load(bucket)

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
        )
        return dumps(content)

    def _decode(self, data: bytes, depth: int, prefix: int) -> Page:
        version, names, keys, columns, event_timers, tick_timers = pickle.loads(data)
        if version != FORMAT:
            raise CheckpointError(
                "PAGE_FORMAT",
                f"state of operator {self.uid!r} has page format {version}, this is {FORMAT}",
                hint="run the Millstream version that wrote it and take a savepoint there",
            )
        columns = self._arrange(names, columns, len(keys))
        entries = dict(zip(keys, map(list, zip(*columns, strict=True)), strict=True))
        return Page(depth, prefix, entries, event_timers, tick_timers, data)

    def _arrange(self, stored: tuple[str, ...], columns: list[Any], n: int) -> list[Any]:
        """Stored columns in the order of today's names; a name of today only is empty."""
        if list(stored) == self.names:
            return columns
        for name in stored:
            if name not in self.names:
                self.names.append(name)
        by_name = dict(zip(stored, columns, strict=False))
        return [by_name.get(name, [None] * n) for name in self.names]
