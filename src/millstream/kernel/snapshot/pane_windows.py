"""Windows of the rows of panes: what an operator kept by column, for one that keeps windows in pages.

A row of a pane belongs to all windows with the pane, from its first one on. It knows its place in the
order, so the windows are exactly what the other operator would have made of the same records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.errors import CheckpointError
from millstream.common.typeinfo import TypeInformation, Types, from_arrow
from millstream.common.typesystem.arrow_decode import whole
from millstream.common.windows import TimeWindow
from millstream.kernel.keys.hashing import stable_hashes
from millstream.kernel.records.copying import frozen
from millstream.kernel.records.order import COLUMNS as ORDER_COLUMNS
from millstream.kernel.records.order import Ints, Order, OrderKeys
from millstream.kernel.snapshot.births import Births
from millstream.kernel.state.compatibility import layout_changed
from millstream.kernel.time.clock import limits_by_stamp
from millstream.kernel.windows.contents import Entry
from millstream.kernel.windows.operator import WindowOperator
from millstream.kernel.windows.pane_layout import IN_PAGES, PaneLayout
from millstream.kernel.windows.panes import Panes

_EXTRA = {"partial sums": 3, "counts": 3, "aggregates": 3, "columns": 1}
"""How many columns of a row are no fields of a record. The first window is the second of three."""


@dataclass(frozen=True)
class PaneRows:
    """The stored panes of an operator. ``records``: the type of its records, if that is known."""

    uid: str
    layout: PaneLayout
    records: TypeInformation | None

    def content_of(self, operator: WindowOperator) -> str:
        """The layout of the windows that an operator gets; refused if its function cannot go on."""
        if not self.layout.becomes_windows_of(operator.spec):
            raise self._refused(operator)
        return operator.with_order().layout

    def windows(
        self, rows: pa.Table, operator: WindowOperator, clock: int, births: Births
    ) -> list[KeyWindow]:
        """The windows of all keys that are not over by the operator's clock."""
        self.content_of(operator)
        kind, content = operator.with_order(), self.layout.content
        spans = Panes.of(self.layout.alignment)
        found: dict[tuple[Any, int], KeyWindow] = {}
        for row in self._rows(rows, operator, clock, births):
            for number in range(row.first, row.last + 1):
                place = row.key, number
                if place not in found:
                    window = TimeWindow(*spans.bounds(number))
                    found[place] = KeyWindow(row.hash, row.key, window, [None, None])
                entry = found[place].entry
                if content == "counts":
                    entry[0] = (entry[0] or 0) + row.value
                elif content == "aggregates":
                    found_so_far = [] if entry[0] is None else [entry[0]]
                    entry[0] = kind.merge([*found_so_far, row.value])
                else:
                    # A fold may change in place what it has of a window.
                    value = frozen(row.value) if content == "partial sums" else row.value
                    entry[0] = kind.add(entry[0], value, row.ts, row.order)
        return sorted(found.values(), key=lambda window: window.hash)

    def _rows(
        self, rows: pa.Table, operator: WindowOperator, clock: int, births: Births
    ) -> Iterator[_PaneRow]:
        """The rows in the one order."""
        spans = Panes.of(self.layout.alignment)
        rows = rows.take(pa.array(_in_order(rows)))
        hashes, panes, ts = (ints(rows, name).tolist() for name in ("hash", "pane", "ts"))
        fields = [whole(rows.column(n)) for n in rows.column_names if n.startswith("field_")]
        extra = _EXTRA[self.layout.content]
        arrays, first_column = fields[:-extra], fields[-1 if extra == 1 else -2]
        now = np.full(len(rows), clock, np.int64)
        firsts = np.maximum(first_column.to_numpy(), spans.first_windows(ints(rows, "pane"), now))
        lasts = spans.last_windows(np.array(panes, np.int64))
        if self.layout.content in ("counts", "aggregates"):
            keys, values = self._apart(arrays)
        else:
            values = self._type(arrays, operator).from_arrow_arrays(arrays)
            keys = list(map(operator.selector, values))
        self._check(keys, hashes, operator)
        columns = [firsts.tolist(), lasts.tolist(), hashes, keys, values, ts]
        for part in zip(*columns, _orders(rows, births), strict=True):
            yield _PaneRow(*part)

    def _apart(self, arrays: list[pa.Array]) -> tuple[list[Any], list[Any]]:
        """Keys that are stored by themselves, and the numbers or accumulators beside them."""
        size = self.layout.tuple_of or 1
        parts = [from_arrow(array.type).from_arrow_arrays([array]) for array in arrays[:size]]
        keys = parts[0] if self.layout.tuple_of is None else list(zip(*parts, strict=True))
        folded = [array.to_pylist() for array in arrays[size:]]
        if self.layout.content == "counts":
            return keys, folded[0]
        return keys, list(zip(*folded, strict=True))

    def _check(self, keys: list[Any], hashes: list[int], operator: WindowOperator) -> None:
        """Refuse rows that were stored under other keys than those of today's key selector."""
        for key, was, now in zip(keys, hashes, stable_hashes(keys), strict=True):
            if was != now:
                raise CheckpointError(
                    "KEYS_CHANGED",
                    f"operator {self.uid!r} has stored records by other keys than those that the key "
                    f"selector of this program gives them, such as {key!r:.200}",
                    parameters={"uid": self.uid},
                    location=operator.info.location,
                    hint="key by the same values as before, or give the operator another uid to start "
                    "empty",
                )

    def or_of(self, records: TypeInformation | None) -> PaneRows:
        """The same, with the type of today's records if only the name of the stored type is known."""
        fits = self.records is None and str(records) == self.layout.of
        return replace(self, records=records) if fits else self

    def _type(self, arrays: list[pa.Array], operator: WindowOperator) -> TypeInformation:
        if self.records is not None:
            return self.records
        if not self.layout.of.startswith("TUPLE("):
            raise self._refused(operator)
        return Types.TUPLE([from_arrow(array.type) for array in arrays])

    def _refused(self, operator: WindowOperator) -> CheckpointError:
        return layout_changed(self.uid, str(self.layout), IN_PAGES, operator.info.location)


@dataclass
class KeyWindow:
    """A window of a key."""

    hash: int
    key: Any
    window: Any
    entry: Entry


@dataclass
class _PaneRow:
    first: int
    last: int
    hash: int
    key: Any
    value: Any
    ts: int
    order: Order


def ints(table: pa.Table, name: str) -> Ints:
    """A column of whole numbers."""
    found: Ints = whole(table.column(name)).to_numpy()
    return found


def _paths(rows: pa.Table) -> Any:
    return np.array(rows.column("path").to_pylist(), np.bytes_)


def _in_order(rows: pa.Table) -> Ints:
    stamp, born, channel, frag, pos = (ints(rows, name) for name in ORDER_COLUMNS)
    order = OrderKeys(stamp, born, channel, frag, pos, _paths(rows)).argsort()
    return np.arange(len(rows)) if order is None else order


def _orders(rows: pa.Table, births: Births) -> Iterator[Order]:
    columns = [ints(rows, name).tolist() for name in ORDER_COLUMNS]
    for order in zip(*columns, _paths(rows).tolist(), strict=True):
        yield births.order(order) if births.changes else order


def held_panes(rows: pa.Table, layout: PaneLayout, lag: int) -> pa.Table:
    """Partial sums that wait for other channels, each with the first window that it counts for.

    They wait where no window that they count for has fired, and nothing but their sum depends on when
    they are added.
    """
    spans = Panes.of(layout.alignment)
    limits = limits_by_stamp(ints(rows, "stamp"), lag)
    fields = [name for name in rows.column_names if name.startswith("field_")]
    first = rows.column_names.index(fields[-2])
    by_stamp = spans.first_windows(ints(rows, "pane"), limits)
    firsts = np.maximum(ints(rows, fields[-2]), by_stamp)
    return rows.set_column(first, rows.schema.field(first), pa.array(firsts))
