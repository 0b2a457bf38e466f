"""A version of a Delta table that is open for reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
from pyarrow.parquet import filters_to_expression

from millstream.connectors.lake.channels import DataFile
from millstream.connectors.lake.reading import Filter, Version, selected

if TYPE_CHECKING:
    from millstream.connectors.lake.delta_source import DeltaSource

__all__ = ["DeltaVersion"]


class DeltaVersion(Version):
    """A version of a Delta table."""

    def __init__(self, source: DeltaSource, version: int, schema: pa.Schema | None) -> None:
        table = source.place.table("DeltaSource", version=version)
        dataset = table.to_pyarrow_dataset()
        self.schema = schema or selected(dataset.schema, source.columns, source.shown)
        self._whole = _with_columns(dataset.schema, self.schema)
        self._filter = _expression(source.filters)
        selected(dataset.schema, [name for name, *_ in source.filters], source.shown)
        listed = pa.table(table.get_add_actions()).select(
            ["path", "modification_time", "num_records"]
        )
        known = {unquote(row["path"]): row for row in listed.to_pylist()}
        found = []
        for fragment in dataset.get_fragments():
            row = known[unquote(fragment.path)]
            rows = row["num_records"]
            file = DataFile(fragment.count_rows() if rows is None else rows, fragment)
            found.append(((row["modification_time"], fragment.path), file))
        # In the order in which they were written, as far as that is known.
        self.files = [file for _, file in sorted(found, key=lambda one: one[0])]

    def batches(self, file: DataFile, first: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        fragment, at = file.file, 0
        if first and self._filter is None:
            kept: list[int] = []
            for group in fragment.row_groups:
                if not kept and at + group.num_rows <= first:
                    at += group.num_rows
                else:
                    kept.append(group.id)
            fragment = fragment.subset(row_group_ids=kept)
        for batch in fragment.to_batches(
            schema=self._whole, columns=self.schema.names, filter=self._filter, use_threads=False
        ):
            yield at, batch
            at += len(batch)


def _expression(filters: Sequence[Filter]) -> Any:
    return filters_to_expression(list(filters)) if filters else None


def _with_columns(table: pa.Schema, known: pa.Schema) -> pa.Schema:
    """All columns of a version, and those that the program knows and the version does not have."""
    return pa.schema([*table, *(column for column in known if column.name not in table.names)])
