"""The row groups of Parquet files, with what is written in the file about their columns."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq

from millstream.connectors.conditions import Bounds
from millstream.connectors.files.opening import Fragment, opened

__all__ = ["RowGroup", "groups_of"]

_ORDERED = (int, str, datetime.date)
"""Types of values that have the same order in files as here; NaN has none."""


@dataclass(frozen=True)
class RowGroup:
    """Some rows of a file. ``begin``: the number of the first one."""

    fragment: Fragment
    begin: int
    rows: int
    metadata: pq.RowGroupMetaData

    def bounds(self, names: Collection[str]) -> dict[str, Bounds]:
        """The bounds that the file tells of columns; the values of others may be anything."""
        columns = [self.metadata.column(place) for place in range(self.metadata.num_columns)]
        return {
            each.path_in_schema: self._bounds(each.statistics)
            for each in columns
            if each.path_in_schema in names and each.is_stats_set
        }

    def _bounds(self, statistics: pq.Statistics) -> Bounds:
        nulls = statistics.null_count if statistics.has_null_count else None
        low, high = (
            (_plain(statistics.min), _plain(statistics.max))
            if statistics.has_min_max
            else (None, None)
        )
        return Bounds(low, high, has_nulls=nulls != 0, has_values=nulls != self.rows)


def _plain(value: Any) -> Any:
    """A value that can be compared, else None."""
    zoned = getattr(value, "tzinfo", None) is not None
    return value if isinstance(value, _ORDERED) and not zoned else None


def groups_of(path: str) -> Iterator[RowGroup]:
    """The row groups of a file, in its order."""
    with opened(path) as file:
        metadata, size = pq.ParquetFile(file).metadata, file.size()
    count, begin = metadata.num_row_groups, 0
    for place in range(count):
        group = metadata.row_group(place)
        # As `parts_of_range` divides the bytes.
        fragment = Fragment(path, place * size // count, (place + 1) * size // count)
        yield RowGroup(fragment, begin, group.num_rows, group)
        begin += group.num_rows
