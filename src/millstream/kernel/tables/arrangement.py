"""The point arrangement: one row for each key, in pages by ranges of key hashes.

Pages are columns, and larger than those of single cells: each visit of a page has a fixed cost, so a few
thousand rows at a time are quicker than a few hundred. An epoch loads the pages of all its keys at once,
and works on the rows of all of them together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from millstream.kernel.keys.hashing import Hashes
from millstream.kernel.records.order import Ints
from millstream.kernel.state.buckets import MAX_DEPTH, bits_for
from millstream.kernel.state.large import fetch
from millstream.kernel.state.pages import PageStore
from millstream.kernel.tables.rows import RowForm, Rows, concat_rows

PAGE_BYTES = 65_536
"""A page that is larger is split into pages of half this size."""
VISITED_BYTES = 64 << 20
"""So many bytes of pages are visited at once, and about a page more."""
VISITED_RECORDS = 1 << 20
ROWS = "rows"
"""What the names of pages of rows begin with, behind the uid of their operator."""


@dataclass
class Visit:
    """Some neighbouring pages: their rows, and the places of an epoch's records that belong there.

    ``places`` None: all of them. ``loaded``: the bytes of the pages by name, as they were.
    """

    rows: Rows
    places: Ints | None = None
    loaded: dict[str, bytes] = field(default_factory=dict)


@dataclass
class _Reach:
    """Pages that are gathered for a visit: their names, and the range of hashes that they cover."""

    low: int = 0
    end: int = 0
    pages: list[str] = field(default_factory=list)
    records: int = 0


class PointArrangement:
    """The rows of one operator in one slot, during one epoch."""

    def __init__(self, pages: PageStore, form: RowForm) -> None:
        self._pages = pages
        self._store = pages.store
        self._uid = pages.uid
        self._directory = pages.directory
        self.form = form

    def visits(self, hashes: Hashes) -> Iterator[Visit]:
        """The pages that keys with these hashes belong to, some at a time."""
        for reach, loaded in self._reaches(hashes):
            rows = [self.form.decode(data, self._uid) for data in loaded.values()]
            stored = concat_rows(rows) if rows else self.form.nothing()
            whole = reach.records == len(hashes)
            within = None if whole else (hashes >= reach.low) & (hashes < reach.end)
            places = None if within is None else np.flatnonzero(within)
            self._grow(stored, loaded, -1)
            yield Visit(stored, places, loaded)

    def _reaches(self, hashes: Hashes) -> Iterator[tuple[_Reach, dict[str, bytes]]]:
        """Touched pages in the order of their hashes, as many at a time as may be in memory."""
        directory = self._directory
        counts = np.bincount(directory.buckets(hashes))
        # Buckets are renumbered when the directory doubles; depth and prefix of a page are not.
        touched = [
            (*directory.locate(bucket), int(counts[bucket]), bool(directory.present[bucket]))
            for bucket in np.flatnonzero(counts).tolist()
        ]
        reach, loaded, size = _Reach(), dict[str, bytes](), 0
        for depth, prefix, records, present in touched:
            if size > VISITED_BYTES or reach.records > VISITED_RECORDS:
                yield reach, loaded
                reach, loaded, size = _Reach(low=prefix << (32 - depth)), {}, 0
            reach.end = (prefix + 1) << (32 - depth)
            reach.records += records
            if present:
                name = self._name(depth, prefix)
                what = f"page {depth}.{prefix} of operator {self._uid!r}"
                loaded[name] = fetch(self._store, name, what)
                size += len(loaded[name])
        if reach.records:
            yield reach, loaded

    def replace(self, visit: Visit, rows: Rows) -> None:
        """Write the rows that have come of those of a visit; pages without rows go."""
        written = dict[str, bytes]()
        if len(rows):
            self._split(rows)
            buckets = self._directory.buckets(rows.hashes)
            order = np.argsort(buckets, kind="stable")
            rows = rows.take(order)
            firsts, starts = np.unique(buckets[order], return_index=True)
            ends = [*starts[1:].tolist(), len(order)]
            for bucket, start, end in zip(firsts.tolist(), starts.tolist(), ends, strict=True):
                place = self._directory.locate(bucket)
                data = self.form.encode(rows.slice(start, end))
                name = self._name(*place)
                written[name] = data
                self._directory.present[self._directory.span(*place)] = True
                if data != visit.loaded.get(name):
                    self._store.put(name, data)
        for name in visit.loaded.keys() - written.keys():
            self._store.remove(name)
            self._forget(name)
        self._grow(rows, written, 1)

    def _split(self, rows: Rows) -> None:
        """Split the pages that these rows are too many for."""
        directory, each = self._directory, rows.bytes_each
        buckets, counts = np.unique(directory.buckets(rows.hashes), return_counts=True)
        large = counts * each > PAGE_BYTES
        places = [directory.locate(bucket) for bucket in buckets[large].tolist()]
        for (depth, prefix), count in zip(places, counts[large].tolist(), strict=True):
            # A few large rows must not make a directory of empty buckets.
            most = max(directory.useful_depth(), depth + count.bit_length() - 1)
            bits = min(bits_for(count * each, PAGE_BYTES), most - depth, MAX_DEPTH - depth)
            if count > 1 and bits > 0:
                directory.split(depth, prefix, bits)

    def _forget(self, name: str) -> None:
        """A page has no rows any more, or has been split: its directory knows that already then."""
        depth, prefix = map(int, name.rpartition("/")[2].split("."))
        directory = self._directory
        if depth > directory.depth:
            return
        span = directory.span(depth, prefix)
        if directory.locate(span.start) == (depth, prefix):
            directory.present[span] = False

    def _grow(self, rows: Rows, pages: dict[str, bytes], sign: int) -> None:
        size = sum(map(len, pages.values()))
        self._pages.grow((len(rows), 0, size), sign)

    def _name(self, depth: int, prefix: int) -> str:
        return f"{self._uid}/{ROWS}/{depth}.{prefix}"
