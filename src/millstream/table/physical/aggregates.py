"""GROUP BY in the kernel's form: arguments and filters become columns, calls become aggregates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.errors import PlanError
from millstream.kernel.records.order import Ints
from millstream.kernel.steps.columns import ProjectStep
from millstream.kernel.tables.aggregates.calls import AggregateCall as KernelCall
from millstream.table.expressions.tree import Call, Expression, InputRef
from millstream.table.logical.algebra import Aggregate, AggregateCall, Relation
from millstream.table.physical.compiled import compiled, copied_columns, row_info
from millstream.table.types.arrow import arrow_type
from millstream.table.types.logical import RowField, RowType

__all__ = ["Arguments", "GroupingSets", "arguments_of", "kernel_call"]

Place = Callable[[Expression], int]
"""The place of the column that has the values of an expression."""


@dataclass(frozen=True)
class Arguments:
    """The input of an aggregate as the kernel takes it.

    ``columns``: first those of the keys, then arguments and filters. ``calls`` count these.
    """

    columns: tuple[Expression, ...]
    calls: tuple[Any, ...]
    row_type: RowType

    def step(self, zone: str) -> ProjectStep:
        """The projection that makes the columns."""
        functions = tuple(compiled(each, zone) for each in self.columns)
        info = row_info(self.row_type)
        return ProjectStep(functions, info, copied_columns(self.columns), "arguments")


def kernel_call(call: AggregateCall, place: Place) -> KernelCall:
    """An aggregate as the kernel takes it, over columns."""
    expression = call.expression
    if not isinstance(expression, Call) or call.order:
        raise PlanError(
            "SQL_NOT_SUPPORTED",
            f"the aggregate {expression} does not run yet",
            hint="leave out WITHIN GROUP",
        )
    return KernelCall(
        function=expression.function,
        arguments=tuple(place(each) for each in expression.arguments),
        result=arrow_type(expression.type),
        distinct=call.distinct,
        filter=None if call.filter is None else place(call.filter),
    )


def arguments_of(
    calls: Sequence[Any],
    before: tuple[Expression, ...],
    source: Relation,
    make: Callable[[Any, Place], Any] = kernel_call,
) -> Arguments:
    """The arguments of calls behind some columns that come first. ``make``: the kernel's call."""
    columns = list(before)

    def place(expression: Expression) -> int:
        # Keys stay where they are; an argument that is a key too is read there.
        if expression not in columns:
            columns.append(expression)
        return columns.index(expression)

    made = tuple(make(each, place) for each in calls)
    if not columns:
        # Rows have at least one column: of none, nobody could say how many rows there are.
        field = source.row_type.fields[0]
        columns.append(InputRef(field.type, 0, field.name))
    fields = tuple(RowField(_name(c, i, source), c.type) for i, c in enumerate(columns))
    names: set[str] = set()
    unique = []
    for i, each in enumerate(fields):
        name = each.name if each.name not in names else f"{each.name}${i}"
        names.add(name)
        unique.append(RowField(name, each.type))
    return Arguments(tuple(columns), made, RowType(fields=tuple(unique)))


def _name(expression: Expression, place: int, source: Relation) -> str:
    if isinstance(expression, InputRef):
        return source.row_type.fields[expression.index].name
    return f"$f{place}"


@dataclass(frozen=True)
class GroupingSets:
    """Each row once for each grouping set, with its number; keys outside of the set are NULL."""

    keys: int
    sets: tuple[tuple[int, ...], ...]

    def __call__(self, batch: pa.RecordBatch) -> tuple[Ints, list[pa.Array]]:
        count, times = batch.num_rows, len(self.sets)
        rows = np.repeat(np.arange(count), times)
        numbers = np.tile(np.arange(times), count)
        places = pa.array(rows)
        arrays = [column.take(places) for column in batch.columns]
        for key in range(self.keys):
            inside = np.array([key in each for each in self.sets])[numbers]
            arrays[key] = arrays[key].take(pa.array(np.arange(len(rows)), mask=~inside))
        return rows, [*arrays, pa.array(numbers, pa.int64())]


def group_of(relation: Aggregate) -> tuple[InputRef, ...]:
    """The columns to group by."""
    fields = relation.input.row_type.fields
    return tuple(InputRef(fields[key].type, key, fields[key].name) for key in relation.keys)
