"""Typed expressions as functions over columns, in the form that the kernel takes and pickles."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from millstream.common.typeinfo import RowTypeInfo
from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.steps.columns import processing_ms
from millstream.kernel.tables.functions import Column, ColumnFunction
from millstream.table.expressions.context import Context
from millstream.table.expressions.tree import Expression, InputRef
from millstream.table.functions.evaluate import evaluate
from millstream.table.rules.conditions import columns_of
from millstream.table.types.arrow import arrow_type
from millstream.table.types.logical import RowType

__all__ = ["Compiled", "Recast", "compiled", "copied_columns", "row_info"]


@dataclass(frozen=True)
class Compiled:
    """An expression over the columns of a batch.

    ``zone``: the session's time zone. The time of NOW is the one at which a batch is computed, and that
    of PROCTIME the processing time of the job, which tests give themselves; functions that do not ask
    for it give the same result for every cut of the input.
    """

    expression: Expression
    zone: str = "UTC"
    # RAND with a seed goes on from batch to batch.
    generators: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def __call__(self, batch: pa.RecordBatch) -> pa.Array:
        now = processing_ms(batch)
        processing = None if now is None else now * 1_000_000
        context = Context(
            self.zone, time.time_ns(), batch.num_rows, processing, generators=self.generators
        )
        found = evaluate(self.expression, batch, context)
        if isinstance(found, pa.ChunkedArray):
            found = found.combine_chunks()
        wanted = arrow_type(self.expression.type)
        return found if found.type == wanted else found.cast(wanted)

    @cached_property
    def reads(self) -> frozenset[int]:
        """The columns that it reads."""
        return frozenset(columns_of(self.expression))

    def __str__(self) -> str:
        return str(self.expression)


@dataclass(frozen=True)
class Recast:
    """A column in the Arrow type that the same values have elsewhere, such as a wider timestamp."""

    place: int
    type: pa.DataType

    def __call__(self, batch: pa.RecordBatch) -> pa.Array:
        found = batch.column(self.place)
        return found if found.type == self.type else found.cast(self.type)


def compiled(expression: Expression, zone: str = "UTC") -> ColumnFunction:
    """The function of an expression; a column alone is not evaluated."""
    if isinstance(expression, InputRef):
        return Column(expression.index)
    return Compiled(expression, zone)


def copied_columns(expressions: Sequence[Expression]) -> tuple[int | None, ...]:
    """For each expression the column that it is a copy of, None if it is computed."""
    return tuple(each.index if isinstance(each, InputRef) else None for each in expressions)


def row_info(row_type: RowType) -> RowTypeInfo:
    """The type of a table's rows in the kernel: Arrow columns. Equal names are told apart."""
    names: list[str] = []
    for each in row_type.fields:
        name, number = each.name, 0
        while name in names:
            number += 1
            name = f"{each.name}${number}"
        names.append(name)
    return arrow_row(names, [arrow_type(each.type) for each in row_type.fields])
