"""Inputs on their way to tasks."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.iteration import LoopInput, Task
from millstream.iteration.spark.packing import split, unpacked
from tests.support.strategies import examples


def sent(given: LoopInput, table: pa.Table, tasks: int, first: int = 0) -> list[pa.Table]:
    """What each task gets of a table."""
    cells = [row for batch in split("x", given, table, tasks, first) for row in batch.to_pylist()]
    found = []
    for task in range(tasks):
        batches = [
            pa.RecordBatch.from_pylist([{"task": task, "input": "", "rows": b""}]),
            *(pa.RecordBatch.from_pylist([row]) for row in cells if row["task"] == task),
        ]
        broadcasts = frozenset(["x"] if given.broadcast else [])
        own = unpacked(batches, {"x": table.schema}, broadcasts)
        found.append((own.broadcasts if given.broadcast else own.inputs)["x"])
    return found


@examples(30)
@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.sampled_from([1, 2, 5]))
def test_each_row_goes_to_the_owner_of_its_key(keys: list[int], tasks: int) -> None:
    table = pa.table(
        {"id": pa.array(keys, pa.int64()), "at": pa.array(range(len(keys)), pa.int32())}
    )
    parts = sent(LoopInput(None, key="id"), table, tasks)
    for task, part in enumerate(parts):
        assert part.schema == table.schema
        assert set(Task(task, tasks).owner_of(part["id"]).tolist()) <= {task}
    assert sorted(n for part in parts for n in part["at"].to_pylist()) == [*range(len(keys))]


def test_rows_without_a_key_are_spread_evenly() -> None:
    table = pa.table({"n": range(10)})
    assert [len(part) for part in sent(LoopInput(None), table, 4)] == [3, 3, 2, 2]
    assert [len(part) for part in sent(LoopInput(None), table, 4, first=2)] == [2, 2, 3, 3]


@pytest.mark.parametrize("rows", [0, 3])
def test_a_broadcast_goes_to_all(rows: int) -> None:
    table = pa.table({"n": pa.array(range(rows), pa.int64()), "name": ["x"] * rows})
    table = table.cast(pa.schema({"n": pa.int64(), "name": pa.string()}))
    assert sent(LoopInput(None, broadcast=True), table, 3) == [table] * 3
