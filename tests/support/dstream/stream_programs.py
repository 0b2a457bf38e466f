"""Random programs of DStreams that PySpark's streams and ours can run, and batches for them."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Any

__all__ = ["BATCHES", "normal", "queue_of", "stream_program"]

BATCHES = 8
Step = Callable[[Any, Any, float], Any]


def queue_of(seed: int, full: int = 6) -> list[list[tuple[str, int]]]:
    """Batches of pairs, some of them empty."""
    drawn = random.Random(seed)
    return [
        [(drawn.choice("abc"), drawn.randrange(5)) for _ in range(drawn.randrange(6))]
        for _ in range(full)
    ]


def total(values: list[int], state: int | None) -> int | None:
    """A state that goes when it has become a multiple of 4."""
    found = sum(values) + (state or 0)
    return found if found % 4 else None


def flat(pair: Any) -> tuple[str, int]:
    """A pair of a text and a number, of whatever pair."""
    return str(pair[0])[:3], len(repr(pair[1]))


# Steps from pairs of a text and a number to such pairs, with another stream and the seconds of a batch.
STEPS: dict[str, Step] = {
    "map": lambda s, o, t: s.map(lambda kv: (kv[0], kv[1] + 1)),
    "filter": lambda s, o, t: s.filter(lambda kv: kv[1] % 3),
    "flatMap": lambda s, o, t: s.flatMap(lambda kv: [kv] * kv[1]),
    "mapValues": lambda s, o, t: s.mapValues(lambda n: n * 2),
    "flatMapValues": lambda s, o, t: s.flatMapValues(range),
    "reduceByKey": lambda s, o, t: s.reduceByKey(operator.add, 2),
    "groupByKey": lambda s, o, t: s.groupByKey().mapValues(lambda vs: max(vs)),
    "combineByKey": lambda s, o, t: s.combineByKey(int, operator.add, max),
    "countByValue": lambda s, o, t: s.map(lambda kv: kv[0]).countByValue(),
    "reduce": lambda s, o, t: s.reduce(max),
    "glom": lambda s, o, t: s.repartition(3).glom().map(lambda part: ("n", len(part))),
    "mapPartitions": lambda s, o, t: s.mapPartitions(lambda kvs: [("n", sum(n for _, n in kvs))]),
    "partitionBy": lambda s, o, t: s.partitionBy(3),
    "transform": lambda s, o, t: s.transform(lambda rdd: rdd.distinct().sortByKey()),
    "union": lambda s, o, t: s.union(o),
    "join": lambda s, o, t: s.join(o).map(flat),
    "leftOuterJoin": lambda s, o, t: s.leftOuterJoin(o, 3).map(flat),
    "rightOuterJoin": lambda s, o, t: s.rightOuterJoin(o).map(flat),
    "fullOuterJoin": lambda s, o, t: s.fullOuterJoin(o).map(flat),
    "cogroup": lambda s, o, t: s.cogroup(o).mapValues(lambda ab: len(ab[0]) - len(ab[1])),
    "transformWith": lambda s, o, t: s.transformWith(lambda a, b: a.subtract(b), o),
    "window": lambda s, o, t: s.window(3 * t),
    "window and slide": lambda s, o, t: s.window(4 * t, t),
    "reduceByWindow": lambda s, o, t: (
        s.map(lambda kv: kv[1]).reduceByWindow(operator.add, operator.sub, 5 * t, t)
        .map(lambda n: ("n", n))
    ),
    "countByWindow": lambda s, o, t: s.countByWindow(6 * t, t).map(lambda n: ("n", n)),
    "countByValueAndWindow": lambda s, o, t: s.countByValueAndWindow(5 * t, t).map(flat),
    "groupByKeyAndWindow": lambda s, o, t: s.groupByKeyAndWindow(5 * t, t).mapValues(len),
    "reduceByKeyAndWindow": lambda s, o, t: s.reduceByKeyAndWindow(
        operator.add, operator.sub, 5 * t, t, 2, lambda kv: kv[1] > 0
    ),
    "reduceByKeyAndWindow without inverse": lambda s, o, t: s.reduceByKeyAndWindow(
        operator.add, None, 2 * t, t
    ),
    "updateStateByKey": lambda s, o, t: s.updateStateByKey(total),
    "updateStateByKey with initialRDD": lambda s, o, t: s.updateStateByKey(
        total, 2, [("a", 3), ("z", 1)]
    ),
}  # fmt: skip


def stream_program(seed: int, first: Any, second: Any, seconds: float) -> tuple[str, Any]:
    """A text of the program with this number, and its stream, of two streams of pairs."""
    drawn = random.Random(seed)
    names = [list(STEPS)[seed % len(STEPS)], *drawn.sample(list(STEPS), drawn.randrange(3))]
    drawn.shuffle(names)
    stream = first
    for name in names:
        stream = STEPS[name](stream, second, seconds)
    return " -> ".join(names), stream


def normal(values: list[Any]) -> list[str]:
    """Values without their order, which is not said between partitions."""
    return sorted(map(repr, values))
