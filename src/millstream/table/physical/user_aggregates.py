"""Aggregate functions of users in the kernel's form."""

from __future__ import annotations

from millstream.kernel.tables.aggregates.calls import AggregateCall
from millstream.table.functions.user_code import AggregateCode
from millstream.table.logical.user_calls import UserCall, code_of
from millstream.table.types.arrow import arrow_type

__all__ = ["user_aggregate"]


def user_aggregate(
    call: UserCall, places: tuple[int, ...], distinct: bool = False, filter: int | None = None
) -> AggregateCall:
    """The call of a user's aggregate: row by row, or with all rows of a group as columns."""
    code = code_of(call.entry)
    types = [each.type for each in call.arguments]
    rows = call.entry.kind == "table_aggregate"
    aggregate = AggregateCode(code, types, call.type, rows=rows)
    by_row = code.form == "general"
    return AggregateCall(
        "USER" if by_row else "ROWS",
        places,
        arrow_type(call.type),
        distinct,
        filter,
        aggregate if by_row else aggregate.of_rows,
    )
