"""Random programs of RDDs, for PySpark's and for ours: only names that both have."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Step = Callable[[Any], Any]

KEYS = [
    "a",
    "b",
    "stream",
    "",
    "日本",
    None,
    0,
    1,
    -7,
    2.5,
    True,
    ("a", 1),
    (None, "é"),
    b"xy",
    10**20,
]
NUMBERS = [*range(-20, 40), 2**40]


def values_of(seed: int) -> list[Any]:
    draw = random.Random(seed)
    count = draw.choice([0, 1, 2, 5, 13, 40, 97])
    return [(draw.choice(KEYS), draw.choice(NUMBERS)) for _ in range(count)]


# Steps from pairs to pairs.
PAIR_STEPS: dict[str, Callable[[random.Random, Any], Step]] = {
    "map": lambda draw, sc: lambda r: r.map(lambda p: (p[0], p[1] * 2)),
    "swap": lambda draw, sc: lambda r: r.map(lambda p: (p[1], p[0])).map(lambda p: (p[1], p[0])),
    "flatMap": lambda draw, sc: lambda r: r.flatMap(lambda p: [p] * (p[1] % 3)),
    "filter": lambda draw, sc: lambda r: r.filter(lambda p: p[1] % 2),
    "mapValues": lambda draw, sc: lambda r: r.mapValues(lambda v: v + 1),
    "flatMapValues": lambda draw, sc: lambda r: r.flatMapValues(lambda v: range(v % 3)),
    "reduceByKey": lambda draw, sc: lambda r: r.reduceByKey(lambda x, y: x + y),
    "reduceByKey_n": lambda draw, sc: lambda r: r.reduceByKey(max, 3),
    "groupByKey": lambda draw, sc: lambda r: r.groupByKey(2).mapValues(lambda v: sum(v) - len(v)),
    "foldByKey": lambda draw, sc: lambda r: r.foldByKey(5, lambda x, y: x + y),
    "aggregateByKey": lambda draw, sc: (
        lambda r: r.aggregateByKey([], lambda a, v: [*a, v], lambda a, b: a + b, 4).mapValues(sum)
    ),
    "combineByKey": lambda draw, sc: (
        lambda r: r.combineByKey(
            lambda v: [v], lambda c, v: [*c, v], lambda c, d: [*c, *d]
        ).mapValues(len)
    ),
    "partitionBy": lambda draw, sc: lambda r: r.partitionBy(3),
    "coalesce": lambda draw, sc: lambda r: r.coalesce(2),
    "repartition": lambda draw, sc: lambda r: r.repartition(5),
    "repartition_4": lambda draw, sc: lambda r: r.repartition(4),
    "distinct": lambda draw, sc: lambda r: r.distinct(),
    "union": lambda draw, sc: lambda r: r.union(r.mapValues(lambda v: -v)),
    "union_placed": lambda draw, sc: lambda r: r.partitionBy(2).union(r.partitionBy(2)),
    "sample": lambda draw, sc: lambda r: r.sample(False, 0.6, 7),
    "sample_again": lambda draw, sc: lambda r: r.sample(True, 1.3, 8),
    "keys": lambda draw, sc: lambda r: r.keys().map(lambda k: (k, 1)),
    "values": lambda draw, sc: lambda r: r.values().map(lambda v: (v % 4, v)),
    "sortBy": lambda draw, sc: lambda r: r.sortBy(lambda p: (p[1], repr(p[0]))),
    "sortBy_down": lambda draw, sc: lambda r: r.sortBy(lambda p: (p[1], repr(p[0])), False, 3),
    "sortByKey": lambda draw, sc: (
        lambda r: (
            # PySpark compares keyfunc(key) with keys: its order over partitions is wrong with a keyfunc.
            r.map(lambda p: (repr(p[0]), p[1])).sortByKey(True, 2)
        )
    ),
    "groupBy": lambda draw, sc: lambda r: r.groupBy(lambda p: p[1] % 3).mapValues(len),
    "zipWithIndex": lambda draw, sc: lambda r: r.zipWithIndex().map(lambda p: (p[0][0], p[1])),
    "zipWithUniqueId": lambda draw, sc: (
        lambda r: r.zipWithUniqueId().map(lambda p: (p[0][0], p[1]))
    ),
    "zip": lambda draw, sc: lambda r: r.zip(r.map(lambda p: p[1])).map(lambda p: (p[0][0], p[1])),
    "glom": lambda draw, sc: lambda r: r.glom().map(lambda part: (len(part), len(part))),
    "mapPartitionsWithIndex": lambda draw, sc: (
        lambda r: r.mapPartitionsWithIndex(lambda i, part: ((k, v + i) for k, v in part))
    ),
    "repartitionAndSort": lambda draw, sc: (
        lambda r: r.repartitionAndSortWithinPartitions(2, ascending=False, keyfunc=repr)
    ),
    "keyBy": lambda draw, sc: lambda r: r.keyBy(lambda p: p[1] % 5).mapValues(lambda p: p[1]),
    "sampleByKey": lambda draw, sc: (
        lambda r: r.map(lambda p: (p[1] % 2, p[1])).sampleByKey(False, {0: 0.3, 1: 0.8}, 5)
    ),
}


def other(sc: Any, seed: int) -> Any:
    return sc.parallelize([(k, v % 5) for k, v in values_of(seed)][:20], 2)


TWO_SIDED: dict[str, Callable[[Any, Any], Any]] = {
    "join": lambda r, o: r.join(o).mapValues(lambda v: v[0] + v[1]),
    "leftOuterJoin": lambda r, o: r.leftOuterJoin(o).mapValues(lambda v: v[0] + (v[1] or 0)),
    "rightOuterJoin": lambda r, o: r.rightOuterJoin(o, 3).mapValues(lambda v: (v[0] or 0) + v[1]),
    "fullOuterJoin": lambda r, o: r.fullOuterJoin(o).mapValues(lambda v: (v[0] or 0) + (v[1] or 0)),
    "cogroup": lambda r, o: r.cogroup(o).mapValues(lambda v: sum(v[0]) - sum(v[1])),
    "groupWith": lambda r, o: r.groupWith(o, o).mapValues(lambda v: sum(len(x) for x in v)),
    "subtractByKey": lambda r, o: r.subtractByKey(o),
    "subtract": lambda r, o: r.subtract(o),
    "intersection": lambda r, o: r.intersection(o),
    "cartesian": lambda r, o: r.cartesian(o.coalesce(1)).map(lambda p: (p[0][0], p[1][1])),
    "union": lambda r, o: r + o,
}


def program(seed: int, sc: Any) -> tuple[str, Any]:
    """A random chain of steps: its text, and the RDD it makes with a context."""
    draw = random.Random(seed)
    slices = draw.choice([1, 2, 3, 5])
    rdd = sc.parallelize(values_of(seed), slices)
    names = [f"parallelize({slices})"]
    for _ in range(draw.randint(1, 4)):
        if draw.random() < 0.3:
            name = draw.choice(sorted(TWO_SIDED))
            rdd = TWO_SIDED[name](rdd, other(sc, draw.randint(0, 5)))
        else:
            name = draw.choice(sorted(PAIR_STEPS))
            rdd = PAIR_STEPS[name](draw, sc)(rdd)
        names.append(name)
    return " -> ".join(names), rdd


ACTIONS: dict[str, Callable[[Any], Any]] = {
    "collect": lambda r: r.collect(),
    "count": lambda r: r.count(),
    "take": lambda r: r.take(4),
    "takeOrdered": lambda r: r.takeOrdered(3, key=repr),
    "top": lambda r: r.top(3, key=repr),
    "isEmpty": lambda r: r.isEmpty(),
    "first": lambda r: r.first(),
    "collectAsMap": lambda r: r.collectAsMap(),
    "countByKey": lambda r: r.countByKey(),
    "countByValue": lambda r: r.countByValue(),
    "sum": lambda r: r.values().sum(),
    "mean": lambda r: r.values().mean(),
    "stats": lambda r: {k: float(v) for k, v in r.values().stats().asDict().items()},
    "stdev": lambda r: r.values().stdev(),
    "sampleVariance": lambda r: r.values().sampleVariance(),
    "histogram": lambda r: r.values().histogram(4),
    "histogram_of": lambda r: r.values().histogram([-10, 0, 7, 30]),
    "max": lambda r: r.values().max(),
    "min": lambda r: r.min(key=repr),
    "reduce": lambda r: r.values().reduce(lambda x, y: x - y),
    "fold": lambda r: r.values().fold(3, lambda x, y: x + y),
    "aggregate": lambda r: r.aggregate([], lambda a, v: [*a, v[1]], lambda a, b: a + b),
    "treeReduce": lambda r: r.values().treeReduce(lambda x, y: x + y),
    "treeAggregate": lambda r: (
        r.values().repartition(9).treeAggregate(1, lambda x, y: x + y, lambda x, y: x + y, 3)
    ),
    "lookup": lambda r: r.map(lambda p: (p[1] % 3, p[1])).partitionBy(2, lambda k: k).lookup(1),
    "randomSplit": lambda r: [part.collect() for part in r.randomSplit([1, 3], 11)],
    "takeSample": lambda r: r.takeSample(False, 3, 2),
    "reduceByKeyLocally": lambda r: r.reduceByKeyLocally(lambda x, y: x + y),
    "pipe": lambda r: r.values().pipe("cat").collect(),
    "getNumPartitions": lambda r: r.coalesce(2).getNumPartitions(),
    "toLocalIterator": lambda r: list(r.toLocalIterator()),
    "collect_range": lambda r: r.context.range(2, 20, 3, 4).glom().collect(),
    "foreachPartition": lambda r: r.foreachPartition(lambda part: None),
}


def outcome(action: Callable[[Any], Any], rdd: Any) -> Any:
    """The result of an action, or the kind of its error."""
    try:
        found = action(rdd)
    except ValueError as error:
        return f"ValueError {error}"
    if isinstance(found, float):  # PySpark's may be of numpy.
        return repr(float(found))
    if isinstance(found, dict):
        return {k: repr(float(v)) if isinstance(v, float) else repr(v) for k, v in found.items()}
    return repr(found)
