"""Emissions of operators, with the rows of the records and timers that caused them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from millstream.common.output_tag import OutputTag
from millstream.kernel.records.buffers import Records
from millstream.kernel.records.copying import frozen
from millstream.kernel.records.order import (
    COLUMNS,
    Ints,
    Order,
    OrderKeys,
    concat,
    from_rows,
    ordinal_code,
    run_ordinals,
)
from millstream.kernel.records.side_outputs import is_for_side, side_result
from millstream.kernel.records.sorted_input import Incoming

MAIN = ""
FLUSH = 32_768
BEHIND = b"\xff"

Emit = Callable[[str, Records], None]
"""Takes what an operator emitted under a tag ('' is the main output)."""

Mark = tuple[int, int, dict[str, int]]
"""The current row, and how many rows and values there are."""


class Outputs:
    """Emissions of an operator: values with the row of the record or timer that caused them.

    Rows below the number of records are records; those above are timers, and branches off a callback
    whose emissions need a place or an event time of their own.
    """

    def __init__(self, emit: Emit, records: Incoming | None, freeze: bool) -> None:
        self._emit = emit
        self._records = records
        self._n = 0 if records is None else len(records)
        self._extra_orders: list[Order] = []
        self._extra_ts: list[int] = []
        self._values: dict[str, list[Any]] = {MAIN: []}
        self._rows: dict[str, list[int]] = {MAIN: []}
        self._freeze = freeze
        self._branches: dict[int, tuple[int, int]] = {}
        self._last_timer: tuple[Order, int] | None = None
        self.row = 0

    def timer_row(self, order: Order, ts: int) -> None:
        """Make a row for a timer the current one; it follows the timer before if both have one place."""
        last = self._last_timer
        if last is not None and last[0] == order:
            self.branch(last[1], ts)
            return
        self.add_row(order, ts)
        self._last_timer = order, self.row

    def add_row(self, order: Order, ts: int) -> None:
        """Make a row of its own for a timer, and the current one."""
        self.row = self._n + len(self._extra_orders)
        self._extra_orders.append(order)
        self._extra_ts.append(ts)

    def branch(self, base: int, ts: int | None = None) -> None:
        """Begin a row behind everything that row ``base`` has emitted so far, and make it current.

        It keeps the place of ``base`` in the order; ``ts`` None: its event time as well.
        """
        order, base_ts = self.row_of(base)
        before, count = self._branches.get(base, (0, 0))
        # Once other rows have emitted, the values of ``base`` are complete and counted.
        emitted = self._emitted_by(base) or before
        count = count + 1 if emitted == before else 1
        if base < self._n and base not in self._branches:
            self._branches.clear()
        self._branches[base] = (emitted, count)
        # The m-th value a row emits has path step m, from 1. This lies behind m = emitted and all
        # that comes of it in later steps, whose codes are lower than the mark.
        path = order[5] + ordinal_code(emitted) + BEHIND + ordinal_code(count)
        self.add_row((*order[:5], path), base_ts if ts is None else ts)

    def row_of(self, row: int) -> tuple[Order, int]:
        """The order key and the event time of a row."""
        if row >= self._n:
            return self._extra_orders[row - self._n], self._extra_ts[row - self._n]
        assert self._records is not None
        keys = self._records.keys
        numbers = [int(getattr(keys, name)[row]) for name in COLUMNS]
        path = keys.path if isinstance(keys.path, bytes) else bytes(keys.path[row])
        stamp, born, channel, frag, pos = numbers
        return (stamp, born, channel, frag, pos, path), int(self._records.ts[row])

    def _emitted_by(self, row: int) -> int:
        """How many values of the main output a row has emitted; they are the last ones."""
        count = 0
        for known in reversed(self._rows[MAIN]):
            if known != row:
                break
            count += 1
        return count

    def extend(self, results: Iterable[Any]) -> None:
        """Take the values a callback gave."""
        values, rows, row = self._values[MAIN], self._rows[MAIN], self.row
        for value in results:
            kind = value.__class__
            if kind is OutputTag or (kind is tuple and value and value[0].__class__ is OutputTag):
                self.side(row, *side_result(value))
                continue
            values.append(frozen(value) if self._freeze else value)
            rows.append(row)
        self.row = row

    def main(self) -> tuple[Callable[[Any], None], Callable[[int], None]]:
        """How to add a value and its row to the main output, until the next flush."""
        return self._values[MAIN].append, self._rows[MAIN].append

    def side(self, base: int, tag: str, value: Any) -> None:
        """Take a value for a side output, in its place among what row ``base`` emits."""
        self.aside(base, tag, frozen(value))

    def aside(self, base: int, tag: str, value: Any) -> None:
        """Take a value that nobody changes any more for a side output."""
        self.branch(base)
        self._values.setdefault(tag, []).append(value)
        self._rows.setdefault(tag, []).append(self.row)

    def one(self, value: Any) -> None:
        """Take one value for the main output."""
        self._values[MAIN].append(frozen(value) if self._freeze else value)
        self._rows[MAIN].append(self.row)

    def at(self, order: Order, ts: int, value: Any) -> None:
        """Take a value, tagged or not, that has a place of its own."""
        tag = MAIN
        if is_for_side(value):
            tag, value = side_result(value)
        self.add_row(order, ts)
        self._values.setdefault(tag, []).append(frozen(value))
        self._rows.setdefault(tag, []).append(self.row)

    def mark(self) -> Mark:
        """Mark the present state, to return to it. The current row must not have emitted yet."""
        lengths = {tag: len(values) for tag, values in self._values.items()}
        return self.row, len(self._extra_orders), lengths

    def undo(self, mark: Mark) -> None:
        """Take back all since a mark; nothing may have been flushed meanwhile."""
        self.row, extra, lengths = mark
        for tag, values in self._values.items():
            length = lengths.get(tag, 0)
            del values[length:], self._rows[tag][length:]
        del self._extra_orders[extra:], self._extra_ts[extra:]
        # Branches off rows that are gone, and off the current one: they are the last.
        while self._branches:
            last = next(reversed(self._branches))
            if last != self.row and last < self._n + extra:
                break
            del self._branches[last]

    def begin(self, row: int) -> None:
        """Make the row of a record the current one."""
        self.row = row

    def time(self) -> int:
        """The event time of the current row."""
        return self.row_of(self.row)[1]

    def dead_letter(self, tag: str, letter: Any) -> None:
        """Take a dead letter of the current row; nobody changes it any more."""
        self.aside(self.row, tag, letter)

    def flush(self, at_least: int = 1) -> None:
        """Send on what has gathered, if it is worth it."""
        for tag, values in self._values.items():
            if len(values) >= at_least:
                rows = np.array(self._rows[tag], np.int64)
                ts, keys = self._origin(rows)
                records = Records(values, ts, keys.extended(run_ordinals(rows)))
                self._values[tag], self._rows[tag] = [], []
                self._emit(tag, records)

    def _origin(self, rows: Ints) -> tuple[Ints, OrderKeys]:
        """Event time and order key of what caused each row."""
        records, n = self._records, self._n
        if not self._extra_orders or not (rows >= n).any():
            assert records is not None
            return records.ts[rows], records.keys.take(rows)
        timers = from_rows(self._extra_orders)
        timer_ts = np.array(self._extra_ts, np.int64)
        if records is None:
            return timer_ts[rows], timers.take(rows)
        born_of_timer = rows >= n
        parts = [records.keys.take(rows[~born_of_timer]), timers.take(rows[born_of_timer] - n)]
        # The blocks stand one behind the other; `back` puts each row where it was emitted.
        places = [np.flatnonzero(~born_of_timer), np.flatnonzero(born_of_timer)]
        back = np.argsort(np.concatenate(places), kind="stable")
        ts = np.concatenate([records.ts[rows[~born_of_timer]], timer_ts[rows[born_of_timer] - n]])
        return ts[back], concat(parts).take(back)
