"""What operators emit, and the rows of the records and timers that caused it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

import numpy as np

from millstream.common.output_tag import OutputTag
from millstream.kernel.buffers import Records
from millstream.kernel.order import Ints, OrderKeys, concat, from_rows, run_ordinals

MAIN = ""
FLUSH = 32_768

Emit = Callable[[str, Records], None]
"""Takes what an operator emitted under a tag ('' is the main output)."""

_ATOMS = frozenset({int, str, float, bool, bytes, type(None)})


def frozen(value: Any) -> Any:
    """The value as it is now: a copy of whatever the function might still change."""
    kind = value.__class__
    if kind in _ATOMS:
        return value
    if kind is tuple:
        for part in value:
            if part.__class__ not in _ATOMS:
                return tuple([frozen(part) for part in value])
        return value
    if kind is list:
        return [frozen(part) for part in value]
    if kind is dict:
        return {key: frozen(part) for key, part in value.items()}
    return deepcopy(value)


class Outputs:
    """What an operator emits: values beside the row of the record or timer that caused them."""

    def __init__(self, emit: Emit, records: Records | None, frozen: bool) -> None:
        self._emit = emit
        self._records = records
        self._n = 0 if records is None else len(records)
        self._timer_rows: list[tuple[int, int, int, int, int, bytes]] = []
        self._timer_ts: list[int] = []
        self._values: dict[str, list[Any]] = {MAIN: []}
        self._rows: dict[str, list[int]] = {MAIN: []}
        self._freeze = frozen
        self.row = 0

    def add_timer_row(self, order: tuple[int, int, int, int, int, bytes], ts: int) -> None:
        """Make a row for a timer and the current one."""
        self.row = self._n + len(self._timer_rows)
        self._timer_rows.append(order)
        self._timer_ts.append(ts)

    def extend(self, results: Iterable[Any]) -> None:
        """Take the values a callback gave."""
        values, rows, row = self._values[MAIN], self._rows[MAIN], self.row
        for value in results:
            if value.__class__ is tuple and value and value[0].__class__ is OutputTag:
                self.side(*value)
                continue
            values.append(frozen(value) if self._freeze else value)
            rows.append(row)

    def main(self) -> tuple[Callable[[Any], None], Callable[[int], None]]:
        """How to add a value and its row to the main output, until the next flush."""
        return self._values[MAIN].append, self._rows[MAIN].append

    def side(self, tag: OutputTag, value: Any) -> None:
        """Take a value for a side output."""
        self._values.setdefault(tag.tag_id, []).append(frozen(value))
        self._rows.setdefault(tag.tag_id, []).append(self.row)

    def one(self, value: Any) -> None:
        """Take one value for the main output."""
        self._values[MAIN].append(frozen(value) if self._freeze else value)
        self._rows[MAIN].append(self.row)

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
        if not self._timer_rows or not (rows >= n).any():
            assert records is not None
            return records.ts[rows], records.keys.take(rows)
        timers = from_rows(self._timer_rows)
        timer_ts = np.array(self._timer_ts, np.int64)
        if records is None:
            return timer_ts[rows], timers.take(rows)
        born_of_timer = rows >= n
        parts = [records.keys.take(rows[~born_of_timer]), timers.take(rows[born_of_timer] - n)]
        # The blocks stand one behind the other; `back` puts each row where it was emitted.
        places = [np.flatnonzero(~born_of_timer), np.flatnonzero(born_of_timer)]
        back = np.argsort(np.concatenate(places), kind="stable")
        ts = np.concatenate([records.ts[rows[~born_of_timer]], timer_ts[rows[born_of_timer] - n]])
        return ts[back], concat(parts).take(back)
