"""Large cells: lists and maps of one key that have outgrown its page.

The content of such a cell lies in store values of its own, ``{uid}/{cell}/...``, and the page keeps a
small handle: a `LongList` has segments that are written once, a `BigMap` has parts by the hash of the
map key. So what an epoch writes follows from what it changes, not from the size of the list or map.
Store values go when the page is written, not before: until then an iterator may still read them.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, ItemsView, Iterator, MutableMapping, ValuesView
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from millstream.common.errors import CheckpointError
from millstream.common.pickling import dumps
from millstream.kernel.keys.encoding import KeyEncodingError
from millstream.kernel.keys.hashing import stable_hash
from millstream.kernel.keys.identity import encoding_of
from millstream.kernel.state.buckets import MAX_DEPTH, Buckets, bits_for, spread

if TYPE_CHECKING:
    from millstream.kernel.state.pages import Store

LARGE_BYTES = 32_768
SEGMENT_BYTES = 16_384
PART_BYTES = 16_384

Expired = Callable[[tuple[Any, int]], bool]
"""Whether a pair (value, last use) has expired."""


def fetch(store: Store, name: str, what: str) -> bytes:
    """A value that must be in the store."""
    data = store.get(name)
    if data is None:
        raise CheckpointError(
            "MISSING_PAGE",
            f"{what} is gone from the state store",
            hint="the checkpoint is damaged: go on from another checkpoint or a savepoint",
        )
    return data


def cell_id(key: Any, state: str) -> str:
    """Names the cell of a key and a state, within an operator; a replay gives the same name."""
    encoded = encoding_of(key)
    content = len(encoded).to_bytes(4, "little") + encoded + state.encode()
    return blake2b(content, digest_size=16).hexdigest()


class LargeCell(ABC):
    """The handle in the page; pickled without the content, and bound to the store when loaded."""

    def __init__(self, cell: str) -> None:
        self._cell = cell

    def bind(self, store: Store, uid: str) -> None:
        self._store = store
        self._uid = uid

    @abstractmethod
    def flush(self) -> None:
        """Bring the store values up to date."""

    @abstractmethod
    def drop(self) -> None:
        """Remove all store values."""

    def _name(self, value: str) -> str:
        # Page names end in "depth.prefix": a value has no dot and cannot be taken for a page.
        return f"{self._uid}/{self._cell}/{value}"

    def _get(self, value: str) -> bytes:
        what = f"value {value} of a large state of operator {self._uid!r}"
        return fetch(self._store, self._name(value), what)


class LongList(LargeCell):
    """A list in segments that never change, and a tail in the page that takes what is added.

    An iterator gives the elements that were there when it was made. Elements of segments are read
    again each time: one changed in place does not change the list.
    """

    def __init__(
        self, cell: str, tail: list[Any], first: int = 0, end: int = 0, newest: int | None = None
    ) -> None:
        super().__init__(cell)
        self._tail = tail
        self._first = first
        self._end = end
        # The last use of the leading segment's newest element, once it has been looked up.
        self._newest = newest
        self._oldest_stored = first

    def __reduce__(self) -> tuple[Any, ...]:
        return LongList, (self._cell, self._tail, self._first, self._end, self._newest)

    def append(self, element: Any) -> None:
        self._tail.append(element)

    def __iter__(self) -> Iterator[Any]:
        segments = map(self._segment, range(self._first, self._end))
        return chain(chain.from_iterable(segments), islice(self._tail, len(self._tail)))

    def _segment(self, number: int) -> list[Any]:
        elements: list[Any] = pickle.loads(self._get(str(number)))
        return elements

    def seal(self) -> bool:
        """Make segments of the tail if it is large enough for one."""
        tail = self._tail
        parts = min(len(dumps(tail)) // SEGMENT_BYTES, len(tail))
        if not parts:
            return False
        for number in range(parts):
            part = tail[number * len(tail) // parts : (number + 1) * len(tail) // parts]
            self._store.put(self._name(str(self._end)), dumps(part))
            self._end += 1
        self._tail = []
        return True

    def without_expired(self, expired: Expired) -> LongList | list[Any] | None:
        """A list of pairs without the leading segments that have expired whole.

        Elements are added in the order of their last use, so those of the other segments are alive,
        except for the first of them: readers leave out the expired ones.
        """
        while self._first < self._end:
            if self._newest is None:
                self._newest = max(map(itemgetter(1), self._segment(self._first)))
            if not expired((None, self._newest)):
                return self
            self._first += 1
            self._newest = None
        return [pair for pair in self._tail if not expired(pair)] or None

    def flush(self) -> None:
        self._remove_before(self._first)

    def drop(self) -> None:
        self._remove_before(self._end)

    def _remove_before(self, end: int) -> None:
        for number in range(self._oldest_stored, end):
            self._store.remove(self._name(str(number)))
        self._oldest_stored = end


@dataclass(slots=True)
class _Part:
    """Some entries of a map, each with its number; a later number is a later insertion."""

    entries: dict[Any, tuple[int, Any]]
    stored: bytes | None = None


class BigMap(LargeCell, MutableMapping[Any, Any]):
    """A map in parts by the hash of the map key, in the order of insertion like a dict.

    A part is loaded when it is touched first, and written with the page if its content has changed.
    """

    def __init__(self, cell: str, buckets: Buckets, count: int = 0, next_number: int = 0) -> None:
        super().__init__(cell)
        self._buckets = buckets
        self._count = count
        self._next = next_number
        self._loaded: dict[tuple[int, int], _Part] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return BigMap, (self._cell, self._buckets, self._count, self._next)

    def fill(self, content: dict[Any, Any], size: int) -> None:
        """Write the entries of a dict, which has that size when pickled, as an empty map's first."""
        # Never more parts than entries; there are no parts yet to go by.
        bits = min(bits_for(size, PART_BYTES), len(content).bit_length() - 1, MAX_DEPTH)
        self._buckets.split(0, 0, bits)
        self._count = self._next = len(content)
        numbered = dict(zip(content, enumerate(content.values()), strict=True))
        for prefix, entries in enumerate(spread(numbered, 0, 0, bits, map(_place, numbered))):
            self._write(bits, prefix, _Part(entries))

    # -- as a mapping ----------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, key: Any) -> Any:
        return self._entries_near(key)[key][1]

    def __setitem__(self, key: Any, value: Any) -> None:
        entries = self._entries_near(key)
        known = entries.get(key)
        if known is not None:
            entries[key] = known[0], value
            return
        entries[key] = self._next, value
        self._next += 1
        self._count += 1

    def __delitem__(self, key: Any) -> None:
        del self._entries_near(key)[key]
        self._count -= 1

    def __iter__(self) -> Iterator[Any]:
        return iter(self._as_dict())

    def items(self) -> ItemsView[Any, Any]:
        return self._as_dict().items()

    def values(self) -> ValuesView[Any]:
        return self._as_dict().values()

    def _as_dict(self) -> dict[Any, Any]:
        """All entries in the order of insertion."""
        for bucket in self._buckets.all_present():
            self._part_at(bucket)
        found = chain.from_iterable(part.entries.items() for part in self._loaded.values())
        return {key: entry[1] for key, entry in sorted(found, key=_number_of)}

    # -- time to live ----------------------------------------------------------------------------

    def sweep(self, expired: Expired) -> None:
        """Remove the expired pairs of one part; each has its turn."""
        for bucket in self._buckets.next_to_sweep(1):
            entries = self._part_at(bucket).entries
            for key in [key for key, (_, pair) in entries.items() if expired(pair)]:
                del entries[key]
                self._count -= 1

    # -- parts -----------------------------------------------------------------------------------

    def _entries_near(self, key: Any) -> dict[Any, tuple[int, Any]]:
        """The entries of the part where a key has its place."""
        return self._part_at(_place(key) >> (32 - self._buckets.depth)).entries

    def _part_at(self, bucket: int) -> _Part:
        where = self._buckets.locate(bucket)
        part = self._loaded.get(where)
        if part is None:
            part = self._loaded[where] = self._load(*where)
        return part

    def _load(self, depth: int, prefix: int) -> _Part:
        if not self._buckets.present[self._buckets.span(depth, prefix).start]:
            return _Part({})
        data = self._get(_part_name(depth, prefix))
        keys, numbers, values = pickle.loads(data)
        return _Part(dict(zip(keys, zip(numbers, values, strict=True), strict=True)), data)

    def flush(self) -> None:
        for where, part in self._loaded.items():
            self._write(*where, part)
        self._loaded.clear()

    def _write(self, depth: int, prefix: int, part: _Part) -> None:
        buckets, name = self._buckets, self._name(_part_name(depth, prefix))
        span = buckets.span(depth, prefix)
        was_present = bool(buckets.present[span.start])
        data = _encode(part.entries)
        bits = buckets.bits_to_split(depth, len(part.entries), len(data), PART_BYTES)
        if was_present and (bits or not part.entries):
            self._store.remove(name)
        if bits:
            buckets.split(depth, prefix, bits)
            pieces = spread(part.entries, depth, prefix, bits, map(_place, part.entries))
            for number, entries in enumerate(pieces, start=prefix << bits):
                self._write(depth + bits, number, _Part(entries))
            return
        buckets.present[span] = bool(part.entries)
        if part.entries and data != part.stored:
            self._store.put(name, data)

    def drop(self) -> None:
        for bucket in self._buckets.all_present():
            self._store.remove(self._name(_part_name(*self._buckets.locate(bucket))))


def moved_out(
    content: list[Any] | dict[Any, Any], cell: str, store: Store, uid: str
) -> LargeCell | None:
    """The handle of a cell whose content now lies in the store; None if it is not large enough."""
    size = len(dumps(content))
    if size <= LARGE_BYTES:
        return None
    if isinstance(content, list):
        elements = LongList(cell, content)
        elements.bind(store, uid)
        elements.seal()
        return elements
    entries = BigMap(cell, Buckets())
    entries.bind(store, uid)
    entries.fill(content, size)
    return entries


def _number_of(item: tuple[Any, tuple[int, Any]]) -> int:
    return item[1][0]


def _part_name(depth: int, prefix: int) -> str:
    return f"{depth}-{prefix}"


def _encode(entries: dict[Any, tuple[int, Any]]) -> bytes:
    numbers, values = zip(*entries.values(), strict=True) if entries else ((), ())
    return dumps((list(entries), numbers, values))


def _place(key: Any) -> int:
    """The hash of a map key. It may be anything that has a Python hash, unlike the key of a stream:
    what has no stable encoding lies at 0."""
    try:
        return stable_hash(key)
    except KeyEncodingError:
        return 0
