"""Records that have left for a window operator, added up as its edge would have done it."""

from __future__ import annotations

from typing import Any

from millstream.kernel.records.buffers import Records, concat_records, merged
from millstream.kernel.records.columns import Columns
from millstream.kernel.steps.stateless import Flow
from millstream.kernel.windows.columnar import PartialEdge


class PartialSums(PartialEdge):
    """A `PartialEdge` whose sums stay here."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._found: list[Records] = []

    def of(self, records: Records) -> Records | None:
        """The sums of records of any channels; None if all of them are late."""
        self._found = []
        ordered = merged([records])
        self._take(Flow(ordered.values, ordered.ts, ordered.keys, None, ordered.weights))
        self._add_up()
        return concat_records(self._found) if self._found else None

    def _check(self, values: Columns) -> None:
        """Take what there is: windows that were restored may have records without a number too."""

    def _spread(self, records: Records) -> None:
        self._found.append(records)
