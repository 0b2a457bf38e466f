"""GROUP BY in the kernel's form: arguments and filters become columns, calls become aggregates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.errors import PlanError, user_code_error
from millstream.kernel.records.order import Ints
from millstream.kernel.steps.columns import ProjectStep
from millstream.kernel.tables.aggregates.calls import AggregateCall as KernelCall
from millstream.table.expressions.context import Context, EvaluationError
from millstream.table.expressions.tree import Call, Expression, InputRef, Symbol
from millstream.table.expressions.vectors import build, internal
from millstream.table.functions.aggregation import aggregate
from millstream.table.logical.algebra import Aggregate, AggregateCall, Relation
from millstream.table.logical.user_calls import UserCall
from millstream.table.physical.compiled import compiled, copied_columns, row_info
from millstream.table.physical.meaning import call_label
from millstream.table.physical.user_aggregates import user_aggregate
from millstream.table.types.arrow import arrow_type
from millstream.table.types.logical import RowField, RowType

__all__ = [
    "Arguments",
    "GroupingBits",
    "GroupingSets",
    "OverRows",
    "arguments_of",
    "bits_of_sets",
    "group_of",
    "is_grouping",
    "kernel_call",
]

Place = Callable[[Expression], int]
"""The place of the column that has the values of an expression."""

_OF_ROWS = ("JSON_OBJECTAGG", "JSON_ARRAYAGG", "PERCENTILE")
_GROUPINGS = ("GROUPING", "GROUPING_ID", "GROUP_ID")


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
            f"the order of {expression} does not run: it takes rows as they come",
            hint="leave out ORDER BY or WITHIN GROUP, which Flink reads and ignores; ARRAY_SORT sorts "
            "the array of ARRAY_AGG",
        )
    if isinstance(expression, UserCall):
        return user_aggregate(
            expression,
            tuple(place(each) for each in expression.arguments),
            call.distinct,
            None if call.filter is None else place(call.filter),
        )
    of_rows = expression.function in _OF_ROWS
    return KernelCall(
        function="ROWS" if of_rows else expression.function,
        # NULL ON NULL and such are part of the function.
        arguments=tuple(place(e) for e in expression.arguments if not isinstance(e, Symbol)),
        result=arrow_type(expression.type),
        distinct=call.distinct,
        filter=None if call.filter is None else place(call.filter),
        compute=OverRows(expression) if of_rows else call.text or None,
    )


def arguments_of(
    calls: Sequence[Any],
    before: tuple[Expression, ...],
    source: Relation,
    make: Callable[[Any, Place], Any] = kernel_call,
    *,
    apart: bool = False,
) -> Arguments:
    """The arguments of calls behind some columns that come first. ``make``: the kernel's call.

    ``apart``: an argument that is a key too has a column of its own; grouping sets make keys NULL.
    """
    columns = list(before)
    own = len(before) if apart else 0

    def place(expression: Expression) -> int:
        if expression not in columns[own:]:
            columns.append(expression)
        return columns.index(expression, own)

    made = tuple(_labelled(make(each, place), each, source) for each in calls)
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


def _labelled(made: Any, call: Any, source: Relation) -> Any:
    """A call whose state is found again by what it means."""
    return replace(made, label=call_label(call, source)) if isinstance(made, KernelCall) else made


def _name(expression: Expression, place: int, source: Relation) -> str:
    if isinstance(expression, InputRef):
        return source.row_type.fields[expression.index].name
    return f"$f{place}"


@dataclass(frozen=True)
class OverRows:
    """An aggregate as a function of the list of all rows of its arguments."""

    call: Call

    def __call__(self, rows: list[tuple[Any, ...]]) -> Any:
        types = [e.type for e in self.call.arguments if not isinstance(e, Symbol)]
        columns = [
            internal(pa.array([row[at] for row in rows], arrow_type(kind)), kind)
            for at, kind in enumerate(types)
        ]
        given = [(row, 1) for row in zip(*columns, strict=True)]
        try:
            value = aggregate(self.call, given, Context())
        except EvaluationError as error:
            name = self.call.function
            raise user_code_error(error, name, subject=name) from error
        return build([value], self.call.type)[0].as_py()


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


@dataclass(frozen=True)
class GroupingBits:
    """The value of GROUPING of each row: of the number of its grouping set, or one for all rows."""

    place: int
    bits: tuple[int, ...]

    def __call__(self, batch: pa.RecordBatch) -> pa.Array:
        if len(self.bits) == 1:
            return pa.array(np.full(batch.num_rows, self.bits[0], np.int64))
        return pa.array(np.array(self.bits, np.int64)[batch.column(self.place).to_numpy()])


def is_grouping(call: AggregateCall) -> bool:
    """Whether a call is about the grouping set of a row, not about the rows of a group."""
    return isinstance(call.expression, Call) and call.expression.function in _GROUPINGS


def bits_of_sets(call: AggregateCall, relation: Aggregate) -> tuple[int, ...]:
    """For each grouping set the value of GROUPING: a bit for each argument, 1 if it is no key."""
    assert isinstance(call.expression, Call)
    columns = [each.index for each in call.expression.arguments if isinstance(each, InputRef)]
    # GROUP_ID() has no arguments, and is 0 always.
    keys = [relation.keys.index(each) for each in columns]
    sets = relation.sets or (tuple(range(len(relation.keys))),)
    return tuple(int("".join(str(int(k not in each)) for k in keys) or "0", 2) for each in sets)


def group_of(relation: Aggregate) -> tuple[InputRef, ...]:
    """The columns to group by."""
    fields = relation.input.row_type.fields
    return tuple(InputRef(fields[key].type, key, fields[key].name) for key in relation.keys)
