"""A version of an Iceberg table that is open for reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.common.extras import needed_package
from millstream.connectors.lake.channels import DataFile
from millstream.connectors.lake.columns import plain_schema
from millstream.connectors.lake.iceberg_source import NO_SNAPSHOT
from millstream.connectors.lake.reading import Filter, Version, selected

if TYPE_CHECKING:
    from millstream.connectors.lake.iceberg_source import IcebergSource

__all__ = ["IcebergVersion"]

_EXPRESSIONS = {
    "=": "EqualTo",
    "!=": "NotEqualTo",
    "<": "LessThan",
    "<=": "LessThanOrEqual",
    ">": "GreaterThan",
    ">=": "GreaterThanOrEqual",
    "in": "In",
    "not in": "NotIn",
}


class IcebergVersion(Version):
    """A snapshot of an Iceberg table."""

    def __init__(self, source: IcebergSource, version: int, schema: pa.Schema | None) -> None:
        table = source.open_table()
        chosen = {} if version == NO_SNAPSHOT else {"snapshot_id": version}
        whole = table.scan(**chosen)
        there = plain_schema(whole.projection().as_arrow())
        selected(there, [name for name, *_ in source.filters], source.shown)
        self.schema = schema or selected(there, source.columns, source.shown)
        names = [name for name in self.schema.names if name in there.names]
        condition = _expression(source.filters)
        scan = table.scan(condition, selected_fields=tuple(names), **chosen)
        arrow = needed_package("pyiceberg.io.pyarrow", "iceberg", "IcebergSource")
        self._scan = arrow.ArrowScan(table.metadata, table.io, scan.projection(), condition)
        # All files have their places, whatever the filter: it decides in `batches`.
        tasks = [] if version == NO_SNAPSHOT else whole.plan_files()
        files = sorted(tasks, key=lambda task: task.file.file_path)
        self.files = [DataFile(task.file.record_count, task) for task in files]

    def batches(self, file: DataFile, first: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        at = 0
        for batch in self._scan.to_record_batches([file.file]):
            yield at, self._in_order(batch)
            at += len(batch)

    def _in_order(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The columns that the program knows; some may be newer than the snapshot."""
        columns = [
            batch.column(column.name).cast(column.type)
            if column.name in batch.schema.names
            else pa.nulls(len(batch), column.type)
            for column in self.schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _expression(filters: Sequence[Filter]) -> Any:
    made = needed_package("pyiceberg.expressions", "iceberg", "IcebergSource")
    found = [getattr(made, _EXPRESSIONS[sign])(name, value) for name, sign, value in filters]
    return reduce(made.And, found, made.AlwaysTrue())
