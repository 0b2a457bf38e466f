"""The decisions of the optimizer."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from millstream.common import Types
from millstream.dataset import DataSet, ExecutionEnvironment, JoinHint
from millstream.dataset.optimizer.rules import BROADCAST_BYTES, join_plan, key_columns, size_of
from millstream.dataset.plan.nodes import Join

env = ExecutionEnvironment.get_execution_environment()
SMALL = env.from_elements((1, "a"), (2, "b"))
LARGE = env.from_arrow(pa.table({"k": pa.array(range(2_000_000), pa.int64())}))


def plan(joined: Any) -> tuple[int | None, str]:
    assert isinstance(joined._node, Join)
    found = join_plan(joined._node)
    return found.side, found.strategy


def on(left: DataSet, right: DataSet, kind: str = "join", *hint: JoinHint) -> Any:
    return getattr(left, kind)(right, *hint).where(0).equal_to(0)


@pytest.mark.parametrize(
    ("joined", "expected"),
    [
        (on(SMALL, LARGE), (0, "broadcast")),
        (on(LARGE, SMALL), (1, "broadcast")),
        (on(LARGE, LARGE), (None, "")),
        (on(LARGE, SMALL, "left_outer_join"), (1, "broadcast")),
        (on(SMALL, LARGE, "left_outer_join"), (None, "")),
        (on(SMALL, LARGE, "full_outer_join"), (None, "")),
        (on(SMALL, LARGE, "join", JoinHint.REPARTITION_SORT_MERGE), (1, "merge")),
        (on(LARGE, LARGE, "join_with_tiny"), (1, "broadcast")),
        (on(LARGE, SMALL.map(lambda pair: pair)), (None, "")),
    ],
)
def test_joins_send_what_is_known_to_be_small(joined: Any, expected: Any) -> None:
    assert plan(joined) == expected


def test_sizes_are_known_of_sources_and_of_what_only_leaves_out() -> None:
    known = size_of(LARGE._node)
    assert known is not None
    assert known > BROADCAST_BYTES
    assert size_of(LARGE.filter(lambda row: True).project(0)._node) == known
    assert size_of(LARGE.map(lambda row: row)._node) is None


def test_keys_are_columns_where_spark_compares_as_python_does() -> None:
    def columns(data: DataSet, *keys: Any) -> Any:
        found = data._keys(keys, "group_by")
        return key_columns(data.get_type(), found)

    assert columns(SMALL, 0) == (0,)
    assert columns(SMALL, 1, 0) == (1, 0)
    assert columns(SMALL, lambda pair: pair[0]) is None
    assert columns(SMALL.map(lambda pair: pair), 0) is None
    assert columns(env.from_elements((0.5, 1)), 0) is None
    kind = Types.TUPLE([Types.BIG_INT()])
    assert columns(env.from_collection([(1,)], kind), 0) is None
