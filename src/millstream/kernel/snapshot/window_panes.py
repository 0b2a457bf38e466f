"""Panes of tumbling windows: what an operator kept in pages, for one that works by column.

Each window is a pane, and its content becomes rows of it. The planner asks for this only if the records
in the windows are of a declared type, and all windows are those of today.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np

from millstream.kernel.records.buffers import ArrowCodec, Records
from millstream.kernel.records.columns import Columns
from millstream.kernel.records.order import Order, OrderKeys
from millstream.kernel.snapshot.births import Births
from millstream.kernel.snapshot.layouts import before_all
from millstream.kernel.snapshot.parts import Part
from millstream.kernel.windows.contents import (
    ELEMENTS,
    FIRST_REDUCED,
    ORDERED_ELEMENTS,
    VALUES,
)
from millstream.kernel.windows.panes import Panes


class PaneOperator(Protocol):
    """An operator that keeps panes."""

    panes: Panes
    codec: ArrowCodec

    def pane_rows(self, key: Any, value: Any, pane: int) -> Iterable[tuple[Any, ...]]: ...


Row = tuple[Any, int, Order]
"""A record or a sum of records, a time in its pane, and its place in the order."""


def records_of(
    windows: Part, layout: str | None, operator: PaneOperator, clock: int, births: Births
) -> tuple[Records, list[int]]:
    """The rows of the windows that are not over, and the pane of each."""
    values: list[Any] = []
    times: list[int] = []
    orders: list[Order] = []
    places: list[int] = []
    panes: list[int] = []
    for place, (window, entry) in enumerate(zip(*windows.fields, strict=True)):
        if entry[0] is None or window.max_timestamp() <= clock:
            continue
        pane = int(operator.panes.at(np.array([window[0]]))[0])
        content = births.content(layout, entry[0]) if births.changes else entry[0]
        for value, ts, order in _rows(content, layout, window[0]):
            for row in operator.pane_rows(windows.keys[place], value, pane):
                values.append(row)
                times.append(ts)
                orders.append(order)
                places.append(place)
                panes.append(pane)
    codec = operator.codec
    numbers = np.array([order[:5] for order in orders], np.int64).reshape(-1, 5).T
    paths = np.array([order[5] for order in orders], np.bytes_)
    stamp, born, channel, frag, pos = numbers
    keys = OrderKeys(stamp, born, channel, frag, pos, paths)
    hashes = windows.hashes[places].astype(np.uint32)
    columns = Columns(codec.type_info, ArrowCodec(codec.type_info).arrays(values) if values else [])
    return Records(columns, np.array(times, np.int64), keys, hashes), panes


def _rows(content: Any, layout: str | None, start: int) -> Iterator[Row]:
    """The rows of a window: what has no place in the order comes before all that has."""
    if layout == VALUES:
        yield from ((value, start, before_all(i)) for i, value in enumerate(content))
    elif layout == ELEMENTS:
        yield from ((value, ts, before_all(i)) for i, (value, ts, _) in enumerate(content))
    elif layout == ORDERED_ELEMENTS:
        yield from content
    elif layout == FIRST_REDUCED:
        yield content[1], start, content[0]
    else:
        yield content, start, before_all(0)
