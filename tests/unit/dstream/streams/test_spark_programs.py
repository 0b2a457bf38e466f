"""The programs of PySpark's own tests of DStreams, with the results that they expect."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from millstream.dstream import DStream
from tests.support.dstream.batches import run_batches

Stream = DStream[Any]
NUMBERS: list[Any] = [range(1, 5), range(5, 9), range(9, 13)]
PAIRS: list[Any] = [[("a", 2), ("b", 2), ("c", 1)], [(0, 4), (1, 1)], [(1, 1), (1, 2)]]
LEFT, RIGHT = [[("a", 1), ("b", 2)]], [[("b", 3), ("c", 4)]]
GROUPS = [
    [(1, 1), (2, 1), (3, 1)],
    [(1, 1), (1, 1), (1, 1), (2, 1), (2, 1), (3, 1)],
    [("a", 1), ("a", 1), ("b", 1), ("", 1), ("", 2), ("", 1)],
]


def summed(values: Iterable[int]) -> Iterator[int]:
    yield sum(values)


def appended(values: list[Any], state: list[Any] | None) -> list[Any]:
    state = state or []
    state.extend(values)
    return state


ONE: dict[str, tuple[list[Any], Callable[[Stream], Stream], list[list[Any]]]] = {
    "map": (NUMBERS, lambda s: s.map(str), [[str(n) for n in batch] for batch in NUMBERS]),
    "flatMap": (
        NUMBERS,
        lambda s: s.flatMap(lambda n: (n, n * 2)),
        [[m for n in batch for m in (n, n * 2)] for batch in NUMBERS],
    ),
    "filter": (
        NUMBERS,
        lambda s: s.filter(lambda n: n % 2 == 0),
        [[2, 4], [6, 8], [10, 12]],
    ),
    "count": ([range(5), range(10), []], lambda s: s.count(), [[5], [10], [0]]),
    "reduce": (NUMBERS, lambda s: s.reduce(operator.add), [[10], [26], [42]]),
    "reduceByKey": (
        [[("a", 1), ("a", 1), ("b", 1)], [("", 1)] * 4, [(1, 1), (2, 1), (2, 1)]],
        lambda s: s.reduceByKey(operator.add),
        [[("a", 2), ("b", 1)], [("", 4)], [(1, 1), (2, 2)]],
    ),
    "mapValues": (
        PAIRS,
        lambda s: s.mapValues(lambda n: n + 10),
        [[(key, n + 10) for key, n in batch] for batch in PAIRS],
    ),
    "flatMapValues": (
        PAIRS,
        lambda s: s.flatMapValues(lambda n: (n, n + 10)),
        [[(key, m) for key, n in batch for m in (n, n + 10)] for batch in PAIRS],
    ),
    "countByValue": (
        [[1, 2, 1, 2], [5, 6, 5], ["a", "a", ""]],
        lambda s: s.countByValue(),
        [[(1, 2), (2, 2)], [(5, 2), (6, 1)], [("a", 2), ("", 1)]],
    ),
    "groupByKey": (
        GROUPS,
        lambda s: s.groupByKey().mapValues(list),
        [
            [(1, [1]), (2, [1]), (3, [1])],
            [(1, [1, 1, 1]), (2, [1, 1]), (3, [1])],
            [("a", [1, 1]), ("b", [1]), ("", [1, 2, 1])],
        ],
    ),
    "combineByKey": (
        GROUPS,
        lambda s: s.combineByKey(str, lambda a, b: a + str(b), lambda a, b: a + b),
        [
            [(1, "1"), (2, "1"), (3, "1")],
            [(1, "111"), (2, "11"), (3, "1")],
            [("a", "11"), ("b", "1"), ("", "121")],
        ],
    ),
    "updateStateByKey": (
        [[("k", n)] for n in range(4)],
        lambda s: s.updateStateByKey(appended),
        [[("k", [0])], [("k", [0, 1])], [("k", [0, 1, 2])], [("k", [0, 1, 2, 3])]],
    ),
    "updateStateByKey with initialRDD": (
        [[("k", n)] for n in range(2, 4)],
        lambda s: s.updateStateByKey(appended, initialRDD=[("k", [0, 1])]),
        [[("k", [0, 1, 2])], [("k", [0, 1, 2, 3])]],
    ),
    "transform to pairs": (
        [[1], [2]],
        lambda s: s.transform(lambda rdd: rdd.cartesian(rdd)),
        [[(1, 1)], [(2, 2)]],
    ),
}


@pytest.mark.parametrize("name", ONE)
def test_programs_of_one_stream(name: str) -> None:
    batches, program, expected = ONE[name]
    assert run_batches(program, batches) == expected


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (lambda s: s.glom(), [[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, 12]]]),
        (lambda s: s.mapPartitions(summed), [[3, 7], [11, 15], [19, 23]]),
        (lambda s: s.repartition(1).glom(), [[[1, 2, 3, 4]], [[5, 6, 7, 8]], [[9, 10, 11, 12]]]),
    ],
)
def test_programs_of_partitions(program: Callable[[Stream], Stream], expected: Any) -> None:
    assert run_batches(program, NUMBERS, partitions=2) == expected


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (lambda a, b: a.join(b), [("b", (2, 3))]),
        (lambda a, b: a.leftOuterJoin(b), [("a", (1, None)), ("b", (2, 3))]),
        (lambda a, b: a.rightOuterJoin(b), [("b", (2, 3)), ("c", (None, 4))]),
        (lambda a, b: a.fullOuterJoin(b), [("a", (1, None)), ("b", (2, 3)), ("c", (None, 4))]),
        (
            lambda a, b: a.cogroup(b).mapValues(lambda vs: tuple(map(list, vs))),
            [("a", ([1], [])), ("b", ([2], [3])), ("c", ([], [4]))],
        ),
        (lambda a, b: a.union(b), [("a", 1), ("b", 2), ("b", 3), ("c", 4)]),
        (lambda a, b: a.transformWith(lambda x, y: y.union(x), b), [*RIGHT[0], *LEFT[0]]),
        (lambda a, b: a.transformWith(lambda t, x, y: y.subtract(x), b), [*RIGHT[0]]),
    ],
)
def test_programs_of_two_streams(program: Callable[..., Stream], expected: list[Any]) -> None:
    (found,) = run_batches(program, LEFT, RIGHT)
    assert sorted(found, key=repr) == sorted(expected, key=repr)


COUNTS = [range(n) for n in range(1, 7)]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (lambda s: s.window(1.5, 0.5).count(), [1, 3, 6, 9, 12, 15, 11]),
        (lambda s: s.countByWindow(1.5, 0.5), [1, 3, 6, 9, 12, 15, 11]),
        (lambda s: s.countByWindow(2.5, 0.5), [1, 3, 6, 10, 15, 20, 18, 15, 11, 6]),
        (lambda s: s.reduceByWindow(operator.add, None, 1, 1), [1, 9, 25]),
    ],
)
def test_windows(program: Callable[[Stream], Stream], expected: list[int]) -> None:
    found = run_batches(program, COUNTS, batches=10, seconds=0.5)
    assert found[: len(expected)] == [[n] for n in expected]


def test_windows_by_value() -> None:
    def program(stream: Stream) -> Stream:
        return stream.countByValueAndWindow(2.5, 0.5)

    found = run_batches(program, COUNTS, batches=10, seconds=0.5)
    assert [sorted(window) for window in found] == [
        [(0, 1)],
        [(0, 2), (1, 1)],
        [(0, 3), (1, 2), (2, 1)],
        [(0, 4), (1, 3), (2, 2), (3, 1)],
        [(0, 5), (1, 4), (2, 3), (3, 2), (4, 1)],
        [(0, 5), (1, 5), (2, 4), (3, 3), (4, 2), (5, 1)],
        [(0, 4), (1, 4), (2, 4), (3, 3), (4, 2), (5, 1)],
        [(0, 3), (1, 3), (2, 3), (3, 3), (4, 2), (5, 1)],
        [(0, 2), (1, 2), (2, 2), (3, 2), (4, 2), (5, 1)],
        [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (5, 1)],
    ]


@pytest.mark.parametrize("length", [1.5, 2.5])
def test_groups_in_windows(length: float) -> None:
    def program(stream: Stream) -> Stream:
        return stream.groupByKeyAndWindow(length, 0.5).mapValues(list)

    found = run_batches(program, [[("a", n)] for n in range(5)], seconds=0.5)
    size = int(length / 0.5)
    assert found == [[("a", list(range(max(0, n - size + 1), n + 1)))] for n in range(5)]


def test_a_window_without_inverse() -> None:
    def program(stream: Stream) -> Stream:
        pairs = stream.map(lambda n: (n, 1)).reduceByKeyAndWindow(operator.add, None, 5, 1)
        return pairs.filter(lambda kv: kv[1] > 0).count()

    found = run_batches(program, COUNTS, batches=12, seconds=0.5)
    assert found == [[2], [4], [6], [6], [6], [6]]
