"""The results that Flink's own tests of operators expect: org.apache.flink.test.operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millstream.common.errors import MillstreamError
from millstream.dataset import (
    Aggregation,
    DataSet,
    ExecutionEnvironment,
    JoinFunction,
    JoinHint,
    Order,
    RichFunction,
)
from millstream.testing import in_memory

env = ExecutionEnvironment.get_execution_environment()

TEXTS = ["Hi", "Hello", "Hello world", "Hello world, how are you?", "I am fine.", "Luke Skywalker"]
GROUPS = [group for group in range(1, 7) for _ in range(group)]
THREE = env.from_collection(
    [
        (n + 1, GROUPS[n], TEXTS[n] if n < len(TEXTS) else f"Comment#{n - len(TEXTS) + 1}")
        for n in range(21)
    ]
)
SMALL_THREE = env.from_elements((1, 1, "Hi"), (2, 2, "Hello"), (3, 2, "Hello world"))
SMALL_FIVE = env.from_elements(
    (1, 1, 0, "Hallo", 1), (2, 2, 1, "Hallo Welt", 2), (2, 3, 2, "Hallo Welt wie", 1)
)


def texts(first: Any, second: Any) -> tuple[Any, Any]:
    return first and first[2], second and second[3]


class WithSum(RichFunction, JoinFunction):
    def open(self, runtime_context: Any) -> None:
        self.sum = sum(runtime_context.get_broadcast_variable("ints"))

    def join(self, value1: Any, value2: Any) -> Any:
        return (*texts(value1, value2), self.sum)


def full_join(left: Any, right: Any) -> Any:
    return SMALL_THREE.full_outer_join(SMALL_FIVE).where(*left).equal_to(*right)


LEFT = [
    "11",
    "22",
    "33",
    "44",
    "12",
    "23",
    "34",
    "45",
    "13",
    "24",
    "35",
    "46",
    "14",
    "25",
    "36",
    "47",
]
RIGHT = [
    "11",
    "22",
    "33",
    "51",
    "11",
    "22",
    "33",
    "61",
    "11",
    "22",
    "22",
    "71",
    "11",
    "22",
    "22",
    "81",
]


def co_grouped() -> DataSet:
    """What one set has of a key, without what the other has of it."""
    sets = [env.from_collection([(t[0], int(t[1])) for t in side]) for side in (LEFT, RIGHT)]

    def difference(one: Any, other: Any) -> Any:
        known, taken = list(one), list(other)
        key = (known + taken)[0][0]
        yield f"{key} {sum(n for _, n in known) - sum(n for _, n in taken)}"

    return sets[0].co_group(sets[1]).where(0).equal_to(0).using(difference)


def again(left: Any, right: Any) -> Any:
    return left[0] + right[0], left[1], "Hi again!"


PROGRAMS: dict[str, tuple[Callable[[], DataSet], list[Any]]] = {
    "full aggregate": (
        lambda: THREE.aggregate(Aggregation.SUM, 0).and_agg(Aggregation.MAX, 1).project(0, 1),
        [(231, 6)],
    ),
    "grouped aggregate": (
        lambda: THREE.group_by(1).aggregate(Aggregation.SUM, 0).project(1, 0),
        [(1, 1), (2, 5), (3, 15), (4, 34), (5, 65), (6, 111)],
    ),
    "nested aggregate": (lambda: THREE.group_by(1).min(0).min(0).project(0), [(1,)]),
    "reduce": (
        lambda: THREE.group_by(1).reduce(again),
        [
            (1, 1, "Hi"), (5, 2, "Hi again!"), (15, 3, "Hi again!"), (34, 4, "Hi again!"),
            (65, 5, "Hi again!"), (111, 6, "Hi again!"),
        ],
    ),
    "first of sorted groups": (
        lambda: THREE.group_by(1).sort_group(0, Order.DESCENDING).first(3).project(1, 0),
        [
            (1, 1), (2, 3), (2, 2), (3, 6), (3, 5), (3, 4), (4, 10), (4, 9), (4, 8), (5, 15),
            (5, 14), (5, 13), (6, 21), (6, 20), (6, 19),
        ],
    ),
    "left outer join": (
        lambda: SMALL_THREE.left_outer_join(SMALL_FIVE).where(0).equal_to(0).using(texts),
        [("Hi", "Hallo"), ("Hello", "Hallo Welt"), ("Hello", "Hallo Welt wie"), ("Hello world", None)],
    ),
    "right outer join": (
        lambda: SMALL_THREE.right_outer_join(SMALL_FIVE).where(1).equal_to(1).using(texts),
        [
            ("Hi", "Hallo"), ("Hello", "Hallo Welt"), (None, "Hallo Welt wie"),
            ("Hello world", "Hallo Welt"),
        ],
    ),
    "full outer join": (
        lambda: full_join([0], [2]).using(texts),
        [(None, "Hallo"), ("Hi", "Hallo Welt"), ("Hello", "Hallo Welt wie"), ("Hello world", None)],
    ),
    "two fields as key": (
        lambda: full_join([0, 1], [0, 4]).using(texts),
        [("Hi", "Hallo"), ("Hello", "Hallo Welt"), ("Hello world", None), (None, "Hallo Welt wie")],
    ),
    "key selectors of tuples": (
        lambda: full_join([lambda t: (t[0], t[1])], [lambda t: (t[0], t[4])]).using(texts),
        [("Hi", "Hallo"), ("Hello", "Hallo Welt"), ("Hello world", None), (None, "Hallo Welt wie")],
    ),
    "join with a broadcast set": (
        lambda: full_join([1], [4])
        .using(WithSum())
        .with_broadcast_set(env.from_elements(1, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 5), "ints"),
        [
            ("Hi", "Hallo", 55), ("Hi", "Hallo Welt wie", 55), ("Hello", "Hallo Welt", 55),
            ("Hello world", "Hallo Welt", 55),
        ],
    ),
    "co-group": (
        co_grouped,
        ["1 6", "2 2", "3 12", "4 22", "5 -1", "6 -1", "7 -1", "8 -1"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_flink(name: str) -> None:
    make, expected = PROGRAMS[name]
    with in_memory(parallelism=3):
        found = make().collect()
    assert sorted(found, key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("left", JoinHint.BROADCAST_HASH_FIRST),
        ("right", JoinHint.BROADCAST_HASH_SECOND),
        ("full", JoinHint.BROADCAST_HASH_FIRST),
        ("full", JoinHint.BROADCAST_HASH_SECOND),
    ],
)
def test_hints_that_flink_refuses_are_refused(kind: str, hint: JoinHint) -> None:
    with pytest.raises(MillstreamError, match="DATASET_HINT"):
        getattr(SMALL_THREE, f"{kind}_outer_join")(SMALL_FIVE, hint)
