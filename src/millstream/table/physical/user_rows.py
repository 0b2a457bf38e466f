"""Table functions of users, over the columns of a batch."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from millstream.kernel.records.order import Ints
from millstream.kernel.tables.functions import ColumnFunction
from millstream.table.functions.user_code import UserCode
from millstream.table.logical.algebra import TableFunction
from millstream.table.logical.user_calls import UserCall, code_of
from millstream.table.physical.compiled import compiled
from millstream.table.types.logical import LogicalType, RowType

__all__ = ["UserRows", "user_rows"]


@dataclass(frozen=True)
class UserRows:
    """The rows that a table function makes of each row."""

    code: UserCode
    arguments: tuple[ColumnFunction, ...]
    types: tuple[LogicalType, ...]
    result: RowType

    def __call__(self, batch: pa.RecordBatch) -> tuple[Ints, list[pa.Array]]:
        arrays = [argument(batch) for argument in self.arguments]
        return self.code.rows(arrays, self.types, self.result, batch.num_rows)


def user_rows(function: TableFunction, zone: str) -> UserRows:
    """The rows of a call of a table function."""
    call = function.call
    assert isinstance(call, UserCall) and isinstance(call.type, RowType)
    return UserRows(
        code_of(call.entry),
        tuple(compiled(each, zone) for each in call.arguments),
        tuple(each.type for each in call.arguments),
        call.type,
    )
