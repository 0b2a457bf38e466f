"""Changes of rows by key: a task reduces them to the last of each key, and stages those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.common.errors import PlanError
from millstream.common.types import Row, RowKind
from millstream.connectors.lake.columns import fitted
from millstream.connectors.lake.ours import Ours
from millstream.connectors.lake.parts import Folder, OpenFile, StagedFile
from millstream.connectors.sink import PartContext, PartWriter, SinkContext
from millstream.kernel.records.columns import record_batch

__all__ = ["DELETED", "ChangesWriter", "refuse_shared_keys"]

DELETED = "_millstream_deleted"
"""The column of a staged file that says whether a row is deleted."""
_DELETES = (RowKind.DELETE, RowKind.UPDATE_BEFORE)


class ChangesWriter(PartWriter):
    """Keeps the changes of a part, and stages the last of each key."""

    def __init__(
        self,
        folder: Folder,
        ours: Ours,
        context: PartContext,
        target: pa.Schema,
        keys: Sequence[str],
    ) -> None:
        self.folder = folder
        self.ours = ours
        self.context = context
        self.target = target
        self.keys = list(keys)
        self.schema = target.append(pa.field(DELETED, pa.bool_()))
        self.changes: list[pa.Table] = []

    def write(self, batch: Any) -> None:
        if isinstance(batch, pa.RecordBatch):
            deleted = pa.repeat(False, len(batch))
        else:
            deleted = pa.array([_deletes(record) for record in batch], pa.bool_())
            assert self.context.type_info is not None
            batch = record_batch(list(map(_inserted, batch)), self.context.type_info)
        table = fitted(batch, self.target, self.context)
        refuse_null_keys(table, self.keys, self.context)
        self.changes.append(table.append_column(self.schema.field(DELETED), deleted))

    def finish(self) -> list[StagedFile]:
        changes = pa.concat_tables(self.changes).combine_chunks()
        last = changes.take(last_rows(changes, self.keys))
        name = self.ours.file(self.context, 0)
        file = OpenFile(self.folder, name, self.schema, ())
        try:
            file.write(last)
            return [file.finish(lambda metadata: "")]
        finally:
            file.close()


def _deletes(record: Any) -> bool:
    return isinstance(record, Row) and record.get_row_kind() in _DELETES


def _inserted(record: Any) -> Any:
    """Return the record with the kind INSERT: columns hold no other kind."""
    if not isinstance(record, Row) or record.get_row_kind() == RowKind.INSERT:
        return record
    found = Row(*record)
    if record._fields is not None:
        found.set_field_names(record._fields)
    return found


def last_rows(table: pa.Table, keys: list[str]) -> pa.Array:
    """The number of the last row of each key, in their order."""
    numbered = table.select(keys).append_column("#", pa.array(np.arange(len(table))))
    found = numbered.group_by(keys, use_threads=False).aggregate([("#", "max")])["#_max"]
    return pa.array(np.sort(found.to_numpy()))


def refuse_null_keys(table: pa.Table, keys: Sequence[str], context: SinkContext) -> None:
    """No row of a table is equal to a key that is null: each such record would be added again."""
    for name in keys:
        if table[name].null_count:
            raise PlanError(
                "LAKE_KEY",
                f"sink {context.sink!r}: the key column {name!r} is None in "
                f"{table[name].null_count} of {len(table)} records",
                location=context.location,
                hint="filter such records out, or give them a key",
            )


def refuse_shared_keys(changes: pa.Table, keys: list[str], context: SinkContext) -> None:
    """Each part has a key once; nobody knows which of two parts has the later change."""
    counted = changes.select(keys).group_by(keys).aggregate([([], "count_all")])
    shared = counted.filter(pc.greater(counted["count_all"], 1))
    if len(shared):
        key = shared.select(keys).slice(0, 1).to_pylist()[0]
        raise PlanError(
            "LAKE_KEY",
            f"sink {context.sink!r}: two tasks have changes of the key {key} in one epoch, and none "
            "of them is known to be the last",
            location=context.location,
            hint="let a keyed operator with the same key come before the sink, so that one task has "
            "all changes of a key, in order",
        )
