"""The work of Spark's Python workers, on batches that a test hands over."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from millstream.common import Types
from millstream.dataset.kernel.steps import Step
from millstream.dataset.plan.calls import user_function
from millstream.dataset.spark.passes import Groups, Output, Place

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


def groups(function: Any, result: Any, keys: tuple[str, ...] = ("c0",)) -> Groups:
    step = Step("group", user_function(function, "reduce", 1, None), "Reduce")
    return Groups((PAIR,), keys, step, (), Output(result), Place(1))


def batch(key: str, numbers: range) -> pa.RecordBatch:
    return pa.record_batch([pa.array([key] * len(numbers)), pa.array(numbers)], names=["c0", "c1"])


def values(batches: Iterator[pa.RecordBatch]) -> list[Any]:
    return [value for each in batches for value in each.column(0).to_pylist()]


def test_a_group_that_spans_batches_is_one_group() -> None:
    work = groups(lambda group: [sum(n for _, n in group)], Types.LONG())
    batches = [batch("a", range(3)), batch("a", range(3, 5)), batch("b", range(2))]
    assert values(work.run(iter(batches))) == [10, 1]


def test_a_function_may_leave_elements_unread() -> None:
    work = groups(lambda group: [next(group)[1]], Types.LONG())
    batches = [batch("a", range(7, 9)), batch("a", range(3, 5)), batch("b", range(2))]
    assert values(work.run(iter(batches))) == [7, 0]


def test_a_group_need_not_fit_in_memory() -> None:
    alive = 0
    most = 0

    def gone() -> None:
        nonlocal alive
        alive -= 1

    def many() -> Iterator[pa.RecordBatch]:
        nonlocal alive, most
        for at in range(200):
            made = batch("a", range(at * 10, at * 10 + 10))
            alive += 1
            weakref.finalize(made, gone)
            most = max(most, alive)
            yield made
            del made

    work = groups(lambda group: [sum(n for _, n in group)], Types.LONG())
    assert values(work.run(many())) == [sum(range(2000))]
    assert most <= 4
