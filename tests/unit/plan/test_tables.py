"""Table operators in a plan: chained where the key is kept, with an exchange where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.steps.columns import FlatStep, ProjectStep, RowFilterStep
from millstream.kernel.tables.functions import Column, Constant
from millstream.kernel.tables.set_operations import SetOperationSpec
from millstream.plan.explain import explain
from millstream.plan.options import JobOptions
from tests.support.tables import Plan, TableRun, bag

ROW = arrow_row(["a", "b"], [pa.string(), pa.int32()])
ROWS = [(("x", 1), 1), (("y", 2), 1), (("x", 1), 1), (("z", None), 1), (("y", 2), -1)]


def positive(batch: pa.RecordBatch) -> pa.Array:
    return pc.greater(batch.column(1), 0)


def twice(batch: pa.RecordBatch) -> tuple[Any, list[pa.Array]]:
    rows = np.repeat(np.arange(batch.num_rows), 2)
    return rows, [column.take(pa.array(rows)) for column in batch.columns]


def test_steps_keep_weights() -> None:
    swapped = arrow_row(["b", "a", "c"], [pa.int32(), pa.string(), pa.int64()])
    run = TableRun(
        SetOperationSpec(ROW, "distinct"),
        [ROWS],
        [
            RowFilterStep(positive, ROW),
            FlatStep(twice, ROW),
            ProjectStep((Column(1), Column(0), Constant(7, pa.int64())), swapped, (1, 0, None)),
        ],
    )
    for plan in (Plan(), Plan(reads=1, slots=3), Plan(batch=True), Plan(1, restart=2)):
        assert run.table(plan) == bag([((1, "x", 7), 2)])


def test_a_projection_that_keeps_the_key_needs_no_exchange() -> None:
    renamed = arrow_row(["c", "d"], [pa.string(), pa.int32()])
    kept = ProjectStep((Column(0), Column(1)), renamed, (0, 1))
    distinct = SetOperationSpec(renamed, "distinct")
    run = TableRun(SetOperationSpec(ROW, "distinct"), [ROWS], [kept, distinct])
    assert len(run.job(2).component.levels) == 1
    assert run.table(Plan(slots=3)) == bag([(("x", 1), 1), (("z", None), 1)])
    text = explain(run.graph(), JobOptions(parallelism=1)).text
    assert "chained, without an exchange" in text
    assert "distinct of whole rows" in text


def test_a_projection_that_moves_the_key_needs_an_exchange() -> None:
    swapped = arrow_row(["d", "c"], [pa.int32(), pa.string()])
    moved = ProjectStep((Column(1), Column(0)), swapped, (1, 0))
    distinct = SetOperationSpec(swapped, "distinct")
    run = TableRun(SetOperationSpec(ROW, "distinct"), [ROWS], [moved, distinct])
    assert len(run.job(2).component.levels) == 2
    assert run.table(Plan(slots=3)) == bag([((1, "x"), 1), ((None, "z"), 1)])
