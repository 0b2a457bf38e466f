"""Sources, in memory: every task takes its part of the records."""

from __future__ import annotations

from typing import Any

from millstream.common.errors import PlanError
from millstream.dataset.kernel.copies import copied
from millstream.dataset.kernel.evaluate import Evaluator, operator_of
from millstream.dataset.kernel.places import Parts
from millstream.dataset.plan.nodes import (
    FromFrame,
    FromRecords,
    FromTable,
    Node,
    NumberSequence,
    Placeholder,
)
from millstream.dataset.plan.records import decoded

__all__ = ["slices"]


def slices(run: Evaluator, node: Node, records: Any) -> Parts:
    """Each task's part of records that all tasks know: neighbours stay together."""
    width, size = run.width(node), len(records)
    bounds = [index * size // width for index in range(width + 1)]
    return [
        list(records[bounds[index] : bounds[index + 1]]) if index < width else []
        for index in run.places.own
    ]


@operator_of(FromRecords)
def _records(run: Evaluator, node: FromRecords) -> Parts:
    return slices(run, node, copied(node.type, node.records))


@operator_of(NumberSequence)
def _sequence(run: Evaluator, node: NumberSequence) -> Parts:
    return slices(run, node, range(node.first, node.last + 1))


@operator_of(FromTable)
def _table(run: Evaluator, node: FromTable) -> Parts:
    return slices(run, node, decoded(node.type, node.table.columns))


@operator_of(FromFrame)
def _frame(run: Evaluator, node: FromFrame) -> Parts:
    raise PlanError(
        "DATASET_FRAME",
        "a DataFrame cannot be read in memory",
        location=node.location,
        hint="give from_arrow() a pyarrow.Table, or run the program on Spark",
    )


@operator_of(Placeholder)
def _placeholder(run: Evaluator, node: Placeholder) -> Parts:
    raise PlanError(
        "DATASET_ITERATION",
        f"{node.title} was used outside of the step of its iteration",
        location=node.location,
        hint="use it only in what leads to close_with(...)",
    )
