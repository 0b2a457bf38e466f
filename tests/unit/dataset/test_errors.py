"""Mistakes of programs: the code of the error, and the line of the program in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from millstream.common import Types
from millstream.common.errors import MillstreamError, UserCodeError
from millstream.dataset import DataSet, ExecutionEnvironment, MapFunction, RichFunction
from millstream.table.expressions import col
from millstream.testing import in_memory

env = ExecutionEnvironment.get_execution_environment()
PAIRS = env.from_elements(("a", 1), ("b", 2))
LOOSE = PAIRS.map(lambda pair: pair)
JOINED: Any = LOOSE.join(PAIRS).where(0).equal_to(0)

PLANS: dict[str, tuple[str, Callable[[], Any]]] = {
    "no elements": ("DATASET_EMPTY", env.from_elements),
    "no collection": ("DATASET_COLLECTION", lambda: env.from_collection(3)),  # type: ignore[arg-type]
    "no table": ("DATASET_TABLE", lambda: env.from_arrow([1])),
    "misfit": ("TYPE_MISMATCH", lambda: env.from_collection(["a"], Types.LONG())),
    "no function": ("DATASET_FUNCTION", lambda: PAIRS.map(3)),
    "arguments": ("DATASET_ARGUMENTS", lambda: PAIRS.map(lambda: 1)),
    "no type": ("NOT_A_TYPE", lambda: PAIRS.map(lambda pair: pair, int)),  # type: ignore[arg-type]
    "no such field": ("DATASET_FIELD", lambda: PAIRS.group_by(2)),
    "no such name": ("DATASET_FIELD", lambda: PAIRS.group_by("name")),
    "a negative position": ("DATASET_FIELD", lambda: LOOSE.project(-1)),
    "a negative position of a join": ("DATASET_FIELD", lambda: JOINED.project_first(-1)),
    "numbers beyond LONG": ("DATASET_SIZE", lambda: env.generate_sequence(0, 1 << 63)),
    "a large number": ("DATASET_CONDITION", lambda: PAIRS.filter(col("f1") < 1 << 63)),
    "a seed": ("DATASET_SIZE", lambda: PAIRS.sample(False, 0.5, "x")),  # type: ignore[arg-type]
    "returns": ("NOT_A_TYPE", lambda: PAIRS.map(str).returns(int)),  # type: ignore[arg-type]
    "no path": ("DATASET_PATH", lambda: PAIRS.write_text(None)),  # type: ignore[arg-type]
    "options": ("DATASET_ITERATION", lambda: env.set_iteration_options("driver")),  # type: ignore[arg-type]
    "a class": ("DATASET_FUNCTION", lambda: PAIRS.map(Asks)),
    "no key of a solution": ("DATASET_KEY", lambda: PAIRS.iterate_delta(PAIRS, 3)),
    "no key": ("DATASET_KEY", lambda: PAIRS.group_by(1.5)),
    "sum of texts": ("DATASET_AGGREGATE", lambda: PAIRS.sum(0)),
    "sum of no fields": ("DATASET_FIELD", lambda: env.from_elements(1).sum(0)),
    "order": ("DATASET_ORDER", lambda: PAIRS.group_by(0).sort_group(1, 1)),  # type: ignore[arg-type]
    "combine": ("DATASET_COMBINE", lambda: PAIRS.reduce_group(lambda group: group, True)),
    "other": ("DATASET_OTHER", lambda: PAIRS.union([1])),  # type: ignore[arg-type]
    "union": ("DATASET_UNION", lambda: PAIRS.union(env.from_elements(1))),
    "keys": ("DATASET_KEYS", lambda: PAIRS.join(PAIRS).where(0).equal_to(0, 1)),
    "hint": ("DATASET_HINT", lambda: PAIRS.join(PAIRS, "big")),  # type: ignore[arg-type]
    "size": ("DATASET_SIZE", lambda: PAIRS.first(0)),
    "fraction": ("DATASET_FRACTION", lambda: PAIRS.sample(False, 1.5)),
    "texts and numbers": ("DATASET_CONDITION", lambda: PAIRS.filter(col("f0") > 1)),
    "arithmetic": ("DATASET_CONDITION", lambda: PAIRS.filter(col("f1") + 1 > 1)),
    "no types": ("DATASET_CONDITION", lambda: LOOSE.filter(col("f1") > 1)),
    "sink": ("DATASET_NO_SINK", env.execute),
    "aggregator": ("DATASET_NO_AGGREGATOR", lambda: PAIRS.iterate(2).register_aggregator("n", 1)),
    "constant step": ("DATASET_ITERATION", lambda: PAIRS.iterate(2).close_with(PAIRS)),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_mistake_is_found_when_the_program_is_made(name: str) -> None:
    code, make = PLANS[name]
    with pytest.raises(MillstreamError) as caught:
        make()
    assert caught.value.code == code
    assert caught.value.location is not None
    assert caught.value.location.file == __file__


class Opens(RichFunction, MapFunction):
    def __init__(self, aggregator: str = "") -> None:
        self.aggregator = aggregator

    def open(self, runtime_context: Any) -> None:
        if self.aggregator:
            runtime_context.get_iteration_aggregator(self.aggregator)
        raise ValueError("cannot be opened")

    def map(self, value: Any) -> Any:
        return value

    def reduce(self, left: Any, right: Any) -> Any:
        return left


class Asks(RichFunction, MapFunction):
    def map(self, value: Any) -> Any:
        return self.context.get_broadcast_variable("words")


def partitioned() -> DataSet:
    return PAIRS.partition_custom(lambda key, parts: parts, 0)


RUNS: dict[str, tuple[str, Callable[[], Any]]] = {
    "an exception": ("USER_CODE", lambda: PAIRS.map(lambda pair: pair[5]).collect()),
    "in a group": ("USER_CODE", lambda: PAIRS.reduce_group(lambda group: 1 // 0).collect()),
    "in a key": ("USER_CODE", lambda: PAIRS.group_by(lambda pair: pair.x).sum(1).collect()),
    "a wrong result": ("TYPE_MISMATCH", lambda: PAIRS.map(str, Types.LONG()).collect()),
    "no such field": ("DATASET_FIELD", lambda: LOOSE.group_by(7).first(1).collect()),
    "texts to sum": ("DATASET_AGGREGATE", lambda: LOOSE.group_by(1).sum(0).collect()),
    "a text": ("DATASET_FIELD", lambda: env.from_elements("ab").map(str).project(0).collect()),
    "in open": ("USER_CODE", lambda: PAIRS.group_by(0).reduce(Opens()).collect()),
    "in open of a map": ("USER_CODE", lambda: PAIRS.map(Opens()).collect()),
    "outside of steps": ("DATASET_ITERATION", lambda: PAIRS.map(Opens("x")).collect()),
    "unsortable": ("DATASET_ORDER", lambda: PAIRS.min_by(lambda pair: object()).collect()),  # type: ignore[arg-type]
    "partition": ("DATASET_PARTITION", lambda: partitioned().collect()),
    "no broadcast set": ("DATASET_BROADCAST", lambda: PAIRS.map(Asks()).collect()),
    "no file": ("DATASET_PATH", lambda: env.read_text("/no/such/file").collect()),
    "no columns": ("DATASET_NO_COLUMNS", lambda: env.from_elements(1, "a").to_arrow()),
    "no frame": ("DATASET_NO_SPARK", lambda: PAIRS.to_dataframe()),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_mistake_is_found_when_the_program_runs(name: str) -> None:
    code, run = RUNS[name]
    with in_memory(parallelism=2), pytest.raises(MillstreamError) as caught:
        run()
    assert caught.value.code == code


def test_an_exception_comes_with_the_operator_the_line_and_the_element() -> None:
    with in_memory(), pytest.raises(UserCodeError) as caught:
        PAIRS.map(lambda pair: pair[5]).name("Fifth").collect()
    assert caught.value.operator == "Fifth"
    assert caught.value.record == "('a', 1)"
    assert caught.value.location is not None
    assert caught.value.location.file == __file__


def test_a_step_may_not_change_the_type() -> None:
    numbers = env.from_elements(1, 2).iterate(3)
    halves = numbers.close_with(numbers.map(lambda n: n / 4))
    with in_memory(), pytest.raises(MillstreamError, match="DATASET_STEP_TYPE"):
        halves.collect()


def test_iterations_are_not_nested() -> None:
    outer = env.from_elements(1).iterate(2)
    inner = env.from_elements(1).iterate(2)
    with pytest.raises(MillstreamError, match="DATASET_NESTED"):
        inner.close_with(inner.union(outer))


def test_columns_of_arrow_keep_their_names() -> None:
    table = pa.table({"a": [1, None], "b": ["x", "y"]})
    with in_memory():
        assert env.from_arrow(table).to_arrow().to_pydict() == table.to_pydict()
