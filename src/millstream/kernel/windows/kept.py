"""Records that wait for a window function, kept by column until their windows are over.

Python objects are made of a window's records when it fires, and no sooner: in between they are buffers
in the state that are written once, see `pane_store`. The state that the function keeps for a key is
in pages, as with any other operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.errors import MillstreamError
from millstream.common.typeinfo import TypeInformation, Types
from millstream.common.windows import TimeWindow
from millstream.kernel.keys.hashing import tie_breaker
from millstream.kernel.records.buffers import TARGET_RECORDS, ArrowCodec, Hashes, Records, merged
from millstream.kernel.records.columns import Columns, field_types
from millstream.kernel.records.groups import Groups
from millstream.kernel.records.key_columns import KeyColumns
from millstream.kernel.records.order import Ints
from millstream.kernel.records.outputs import FLUSH, Emit, Outputs
from millstream.kernel.records.sorted_input import Arrivals, Incoming
from millstream.kernel.state.pages import PageStore
from millstream.kernel.time.clock import Clock
from millstream.kernel.windows.operator import WindowOperator
from millstream.kernel.windows.pane_store import PaneStore, by_pane, refuse_other_key
from millstream.kernel.windows.panes import Panes


class KeptWindowOperator(WindowOperator):
    """Runs a `WindowSpec` with aligned windows, `EventTimeTrigger`, lateness 0 and nothing to fold.

    ``key``: the fields that are the key.
    """

    wants_columns = True
    keeps_panes = True
    keeps_windows = False

    def __init__(
        self, *args: Any, key: KeyColumns, type_info: TypeInformation, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        assert self.spec.alignment is not None
        self.panes = Panes.of(self.spec.alignment)
        self.key_columns = key
        self.type_info = type_info
        # The last column is the first window that a record counts for.
        self.codec = ArrowCodec(Types.TUPLE([*field_types(type_info), Types.LONG()]))

    def run(self, records: Incoming | None, pages: PageStore, clock: Clock, emit: Emit) -> None:
        super().run(None, pages, clock, emit)
        self.window_cursor.now_ms = self.cursor.now_ms
        store = PaneStore(pages.store, pages.uid, self.codec, merged)
        new = {} if records is None else self._by_pane(records, clock)
        outputs = Outputs(emit, None, self.freeze)
        for windows, parts in store.epoch(new, self.panes, clock):
            self._fire_windows(windows, merged(parts), pages, outputs)
        outputs.flush()

    def pane_rows(self, key: Any, value: Any, pane: int) -> list[tuple[Any, ...]]:
        """The columns of a record in a window that is one pane."""
        refuse_other_key(self.info, self.selector(value), key)
        return [(*value, pane)]

    def _by_pane(self, records: Incoming, clock: Clock) -> dict[int, Records]:
        """The records that are not late, with the first windows that they count for."""
        assert isinstance(records, Arrivals)
        panes = self.panes.at(records.ts)
        firsts = self.panes.first_windows(panes, clock.limits(records.keys.stamp))
        arrays = [*records.in_columns().arrays, pa.array(firsts)]
        values = Columns(self.codec.type_info, arrays)
        found = Records(values, records.ts, records.keys, records.hashes)
        live = firsts <= self.panes.last_windows(panes)
        if not live.all():
            self._late.inc(int((~live).sum()))
            rows = np.flatnonzero(live)
            found, panes = found.take(rows), panes[rows]
        return by_pane(found, panes)

    def _fire_windows(
        self, windows: list[int], records: Records, pages: PageStore, outputs: Outputs
    ) -> None:
        """Call the function with the records of some windows, page after page, key after key."""
        assert isinstance(records.values, Columns) and records.hashes is not None
        *fields, firsts = records.values.arrays
        panes = self.panes.at(records.ts)
        rows, found = self.panes.memberships(panes, firsts.to_numpy(), windows)
        if not len(rows):
            return
        directory = pages.directory
        # Buckets are renumbered when the directory doubles; the lowest hash of a page is not.
        lowest = directory.buckets(records.hashes) << (32 - directory.depth)
        groups = Groups.by([found, self.key_columns.codes(fields)[rows], lowest[rows]])
        order, starts = rows[groups.order], groups.starts
        fired = _Fired(
            Columns(self.type_info, fields),
            records.hashes,
            order,
            [*starts.tolist(), len(order)],
            found[groups.order[starts]].tolist(),
        )
        for low_hash, first, last in _pages(lowest[order[starts]]):
            self.page = pages.load(low_hash >> (32 - directory.depth))
            for some in fired.slices(first, last):
                self._call(fired, some, outputs)
            pages.write(self.page)
            outputs.flush(FLUSH)

    def _call(self, fired: _Fired, some: range, outputs: Outputs) -> None:
        """Call the function for some of the windows of one page."""
        window: Any = None
        try:
            for key, hashed, number, elements in fired.content(some, self.key_columns):
                window = TimeWindow(*self.panes.bounds(number))
                due = window[1] - 1
                self._enter(key)
                self.timer = due, self.clock.at_firing(due)
                place = hashed, tie_breaker(key), window[0]
                outputs.add_row(self.origin.timer(due, self.clock, *place), due)
                self._point_at(window, [None, None])
                self.attempt(partial(self._fire_kept, elements, outputs), (key, window), outputs)
                self._leave(key)
        except MillstreamError:
            raise
        except Exception as error:
            raise self._failure(error, f"{window!r} of key {self.key!r}") from error

    def _fire_kept(self, elements: list[Any], outputs: Outputs) -> None:
        """Call the function for the current window."""
        self._emit(self.own(elements), outputs)
        self.function.clear(self.window_context)


@dataclass
class _Fired:
    """Windows that fire: the records of window ``i`` are ``rows[starts[i] : starts[i + 1]]``."""

    values: Columns
    hashes: Hashes
    rows: Ints
    starts: list[int]
    windows: list[int]

    def slices(self, first: int, last: int) -> Iterator[range]:
        """The windows first..last-1, some at a time: few objects at once stay in the caches."""
        begin = first
        for window in range(first, last):
            if self.starts[window + 1] - self.starts[begin] >= TARGET_RECORDS:
                yield range(begin, window + 1)
                begin = window + 1
        if begin < last:
            yield range(begin, last)

    def content(self, some: range, key: KeyColumns) -> Iterator[tuple[Any, int, int, list[Any]]]:
        """Key, its hash, number and records of some of the windows."""
        begin = self.starts[some.start]
        rows = self.rows[begin : self.starts[some.stop]]
        distinct, places = np.unique(rows, return_inverse=True)
        objects, at = self.values.take(distinct).tolist(), places.tolist()
        firsts = self.rows[[self.starts[i] for i in some]]
        keys = key.values(self.values.take(firsts).arrays)
        for i, of_key, hashed in zip(some, keys, self.hashes[firsts].tolist(), strict=True):
            own = at[self.starts[i] - begin : self.starts[i + 1] - begin]
            yield of_key, hashed, self.windows[i], list(map(objects.__getitem__, own))


def _pages(lowest: Ints) -> Iterator[tuple[int, int, int]]:
    """The lowest hash of each page, and which of the windows are on it."""
    starts = [0, *(np.flatnonzero(lowest[1:] != lowest[:-1]) + 1).tolist(), len(lowest)]
    for first, last in pairwise(starts):
        yield int(lowest[first]), first, last
