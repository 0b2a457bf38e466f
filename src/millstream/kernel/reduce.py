"""Rolling aggregates: one value per key, changed by each of its records."""

from __future__ import annotations

from typing import Any

from millstream.common.errors import MillstreamError
from millstream.common.output_tag import OutputTag
from millstream.kernel.arrivals import Incoming
from millstream.kernel.keyed import KeyedOperator
from millstream.kernel.order import Ints
from millstream.kernel.outputs import Outputs
from millstream.kernel.side_outputs import refuse_side

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

    def _process(self, records: Incoming, rows: Ints, outputs: Outputs) -> None:
        entries, cursor, names = self.page.entries, self.cursor, self.names
        reduce = getattr(self.function, "reduce", self.function)
        values = records.values_at(rows)
        keys = self.keys_of(records, rows, values)
        last: dict[Any, int] = {}
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
        for key, row in last.items():
            outputs.row = row
            outputs.one(entries[key][0])
