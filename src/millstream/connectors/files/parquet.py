"""Parquet files: columns in row groups, of which a fragment has those that begin in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.connectors.files.columns import Column
from millstream.connectors.files.opening import Fragment, opened
from millstream.connectors.files.stored import fitting, places_of, unreadable

BATCH = 65_536
_OTHER_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


@dataclass(frozen=True)
class ParquetReader:
    """Reads some columns of Parquet files."""

    by_ranges = True

    columns: tuple[Column, ...]
    case_sensitive: bool = False

    def read(self, fragment: Fragment) -> Iterator[list[pa.Array]]:
        """The rows of the row groups that begin in a fragment."""
        with opened(fragment.path) as file:
            try:
                parquet = pq.ParquetFile(file, coerce_int96_timestamp_unit="us")
                groups = _groups(parquet, file.size(), fragment)
                if groups:
                    yield from self._rows(parquet, groups, fragment.path)
            except (pa.ArrowInvalid, OSError) as error:
                raise unreadable(fragment.path, str(error)) from error

    def _rows(
        self, parquet: pq.ParquetFile, groups: list[int], path: str
    ) -> Iterator[list[pa.Array]]:
        schema = parquet.schema_arrow
        places = places_of(self.columns, schema.names, path, case_sensitive=self.case_sensitive)
        self._refuse_other_calendar(parquet, path)
        names = [schema.names[place] for place in places if place is not None]
        if not names:
            count = sum(parquet.metadata.row_group(group).num_rows for group in groups)
            yield [pa.nulls(count, column.arrow) for column in self.columns]
            return
        instants = _int96(parquet)
        for batch in parquet.iter_batches(BATCH, groups, names, use_threads=False):
            yield [
                pa.nulls(len(batch), column.arrow)
                if place is None
                else self._column(batch, schema.names[place], column, instants, path)
                for column, place in zip(self.columns, places, strict=True)
            ]

    def _column(
        self, batch: pa.RecordBatch, name: str, column: Column, instants: set[str], path: str
    ) -> pa.Array:
        array = batch.column(name)
        if name in instants:
            # The old type for instants says nothing of a zone: it has none but UTC.
            array = array.cast(pa.timestamp("us", "UTC"))
        return fitting(array, column, path)

    def _refuse_other_calendar(self, parquet: pq.ParquetFile, path: str) -> None:
        """Old versions of Spark counted days before 1582 in another calendar."""
        marked = any(key in (parquet.schema_arrow.metadata or {}) for key in _OTHER_CALENDAR)
        marked = marked or any(key in (parquet.metadata.metadata or {}) for key in _OTHER_CALENDAR)
        if marked and any(c.type in ("date", "timestamp", "timestamp_ntz") for c in self.columns):
            raise unreadable(path, "its dates are in the calendar of an old version of Spark")


def _groups(parquet: pq.ParquetFile, size: int, fragment: Fragment) -> list[int]:
    """The row groups that begin in a fragment, as if all were of one size."""
    return parts_of_range(parquet.num_row_groups, size, fragment)


def parts_of_range(count: int, size: int, fragment: Fragment) -> list[int]:
    """Which of so many parts of a file belong to a fragment; each is in one fragment.

    Examples
    --------
    >>> parts_of_range(4, 100, Fragment("f", 0, 50)), parts_of_range(4, 100, Fragment("f", 50))
    ([0, 1], [2, 3])
    """
    stop = size if fragment.stop is None else fragment.stop
    begins = [part * size // count for part in range(count)]
    return [part for part, begin in enumerate(begins) if fragment.start <= begin < stop]


def _int96(parquet: pq.ParquetFile) -> set[str]:
    columns: Sequence[pq.ColumnSchema] = [
        parquet.schema.column(n) for n in range(len(parquet.schema))
    ]
    return {column.path for column in columns if column.physical_type == "INT96"}
