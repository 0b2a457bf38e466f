"""Rolling aggregates: one value per key, changed by each of its records."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from millstream.common.errors import MillstreamError
from millstream.common.output_tag import OutputTag
from millstream.kernel.operators.keyed import KeyedOperator
from millstream.kernel.records.order import Ints
from millstream.kernel.records.outputs import Outputs
from millstream.kernel.records.side_outputs import refuse_side
from millstream.kernel.records.sorted_input import Incoming

REDUCED = "reduced"
"""The cell with what the records of a key have come to. None is a value there."""


class ReduceOperator(KeyedOperator):
    """A rolling reduce: one value per key, every update emitted, or only the last in batch mode.

    The function may keep state per key beside it.
    """

    own_states = (REDUCED,)

    def __init__(self, *args: Any, last_only: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)
        self.last_only = last_only

        self._last: dict[Any, int] = {}

    def _process(self, records: Incoming, rows: Ints, outputs: Outputs) -> None:
        self._last = {}
        super()._process(records, rows, outputs)
        for key, row in self._last.items():
            outputs.row = row
            outputs.one(self.page.entries[key][0])

    def _process_quickly(self, records: Incoming, rows: Ints, outputs: Outputs) -> None:
        entries, cursor, names, last = self.page.entries, self.cursor, self.names, self._last
        reduce = getattr(self.function, "reduce", self.function)
        values = records.values_at(rows)
        keys = self.keys_of(records, rows, values)
        value: Any = None
        try:
            for row, key, value in zip(rows.tolist(), keys, values, strict=True):
                cells = entries.get(key)
                if cells is None:
                    reduced = value
                    entries[key] = [value, *[None] * (len(names) - 1)]
                else:
                    cursor.cells = cells
                    reduced = cells[0] = reduce(cells[0], value)
                    # What `refuse_side` does, in line.
                    kind = reduced.__class__
                    if kind is OutputTag or (
                        kind is tuple and reduced and reduced[0].__class__ is OutputTag
                    ):
                        refuse_side(reduced)
                if self.last_only:
                    last[key] = row
                else:
                    outputs.row = row
                    outputs.one(reduced)
        except MillstreamError:
            raise
        except Exception as error:
            raise self._failure(error, value) from error

    def take(self, row: int, key: Any, value: Any, outputs: Outputs) -> None:
        outputs.begin(row)
        cells = self.page.entries.get(key)
        if cells is None:
            cells = self.page.entries[key] = [value, *[None] * (len(self.names) - 1)]
        else:
            self.key, self.cursor.cells = key, cells
            if not self.attempt(partial(self._add, value), self.policy.original(value), outputs):
                return
        if self.last_only:
            self._last[key] = row
        else:
            outputs.one(cells[0])

    def _add(self, value: Any) -> None:
        cells = self.cursor.cells
        cells[0] = getattr(self.function, "reduce", self.function)(cells[0], value)
        refuse_side(cells[0])

    def in_turn(self, keys: list[Any], rows: Ints, outputs: Outputs) -> Iterable[Any]:
        # No function sees the form of a key.
        return keys
