"""Random programs on data sets, and what they give by plain Python."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millstream.common import Types
from millstream.dataset import DataSet, ExecutionEnvironment, Order
from millstream.table.expressions import col

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
NAMES = ("a", "b", "c", "dd", "")


@dataclass(frozen=True)
class Program:
    """A data set, the elements that it must have, and the calls that made it."""

    data: DataSet
    expected: list[Any]
    text: str

    def same(self, found: list[Any]) -> bool:
        return counted(found) == counted(self.expected)


def counted(records: list[Any]) -> Counter[str]:
    return Counter(map(repr, records))


def pairs(chance: random.Random, most: int = 12) -> list[tuple[str, int]]:
    return [(chance.choice(NAMES), chance.randrange(-3, 4)) for _ in range(chance.randrange(most))]


def groups(records: list[Any], key: Callable[[Any], Any]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for record in records:
        found.setdefault(key(record), []).append(record)
    return found


def _first(record: Any) -> Any:
    return record[0]


def add(left: Any, right: Any) -> Any:
    return left[0], left[1] + right[1]


# Each: what is called on the set, and what it does with a list. Elements stay pairs of text and number.
def _map(s: Any, r: list, typed: bool) -> Any:
    return s.map(lambda p: (p[0], p[1] + 1), PAIR if typed else None), [(k, n + 1) for k, n in r]


def _flat_map(s: Any, r: list, typed: bool) -> Any:
    made = s.flat_map(lambda p: [p] * (p[1] % 3), PAIR if typed else None)
    return made, [p for p in r for _ in range(p[1] % 3)]


def _filter(s: Any, r: list, typed: bool) -> Any:
    return s.filter(lambda p: p[1] > -2), [p for p in r if p[1] > -2]


def _condition(s: Any, r: list, typed: bool) -> Any:
    if not typed or s.get_type() != PAIR:
        return s, r
    wanted = (col("f1") > 0) | col("f0").in_("a", "dd") & ~col("f1").between(-2, -1)
    return s.filter(wanted), [
        (k, n) for k, n in r if n > 0 or (k in ("a", "dd") and not -2 <= n <= -1)
    ]


def _sum(s: Any, r: list, typed: bool) -> Any:
    return s.group_by(0).sum(1), [(k, sum(n for _, n in g)) for k, g in groups(r, _first).items()]


def _largest(s: Any, r: list, typed: bool) -> Any:
    return s.group_by(lambda p: p[0]).max(1), [
        (k, max(n for _, n in g)) for k, g in groups(r, _first).items()
    ]


def _reduce(s: Any, r: list, typed: bool) -> Any:
    expected = [(k, sum(n for _, n in g)) for k, g in groups(r, _first).items()]
    return s.group_by(0).reduce(add), expected


def _reduce_all(s: Any, r: list, typed: bool) -> Any:
    made = s.reduce(lambda x, y: (min(x[0], y[0]), x[1] + y[1]))
    return made, [(min(k for k, _ in r), sum(n for _, n in r))] if r else []


def _reduce_group(s: Any, r: list, typed: bool) -> Any:
    made = s.group_by(0).reduce_group(lambda group: [(k, n * 2) for k, n in group])
    return made, [(k, n * 2) for k, n in r]


def _sorted_group(s: Any, r: list, typed: bool) -> Any:
    made = (
        s.group_by(0)
        .sort_group(1, Order.DESCENDING)
        .reduce_group(
            lambda group: [(k, n * 10 + at) for at, (k, n) in enumerate(group)],
            output_type=PAIR if typed else None,
        )
    )
    expected = []
    for k, g in groups(r, _first).items():
        ordered = sorted((n for _, n in g), reverse=True)
        expected += [(k, n * 10 + at) for at, n in enumerate(ordered)]
    return made, expected


def _top(s: Any, r: list, typed: bool) -> Any:
    made = s.group_by(0).sort_group(1, Order.ASCENDING).first(2)
    expected = [(k, n) for k, g in groups(r, _first).items() for n in sorted(n for _, n in g)[:2]]
    return made, expected


def _distinct(s: Any, r: list, typed: bool) -> Any:
    return s.distinct(), list(dict.fromkeys(r))


def _min_by(s: Any, r: list, typed: bool) -> Any:
    return s.group_by(0).min_by(1), [min(g, key=lambda p: p[1]) for g in groups(r, _first).values()]


def _max_of_all(s: Any, r: list, typed: bool) -> Any:
    return s.max_by(1, 0), [max(r, key=lambda p: (p[1], p[0]))] if r else []


def _union(s: Any, r: list, typed: bool) -> Any:
    return s.union(s.filter(lambda p: p[0] == "a")), r + [p for p in r if p[0] == "a"]


def _self_join(s: Any, r: list, typed: bool) -> Any:
    made = s.join(s.distinct(0)).where(0).equal_to(0).project_first(0, 1)
    return made, r


def _outer_join(s: Any, r: list, typed: bool) -> Any:
    right = s.filter(lambda p: p[1] > 0).distinct(0)
    made = s.left_outer_join(right).where(0).equal_to(0)
    made = made.using(lambda x, y: (x[0], x[1] if y is None else x[1] + 100))
    keys = {k for k, n in r if n > 0}
    return made, [(k, n + 100 if k in keys else n) for k, n in r]


def _full_join(s: Any, r: list, typed: bool) -> Any:
    right = s.map(lambda p: (p[0] + "x", p[1]), PAIR if typed else None)
    made = s.full_outer_join(right).where(lambda p: p[0]).equal_to(lambda p: p[0])
    made = made.using(lambda x, y: x or y)
    keys, others = {k for k, _ in r}, {k + "x" for k, _ in r}
    assert not keys & others - {"x"}
    return made, r + [(k + "x", n) for k, n in r]


def _co_group(s: Any, r: list, typed: bool) -> Any:
    right = s.filter(lambda p: p[1] > 0)
    made = s.co_group(right).where(0).equal_to(0)
    made = made.using(
        lambda one, two: [(p[0], p[1] + 50 * len(found)) for found in [[*two]] for p in one]
    )
    sizes = Counter(k for k, n in r if n > 0)
    return made, [(k, n + 50 * sizes[k]) for k, n in r]


def _with_size(one: Any, two: Any) -> Any:
    size = sum(1 for _ in two)
    return [(key, number + 50 * size) for key, number in one]


def _moved(s: Any, r: list, typed: bool) -> Any:
    made = s.partition_by_hash(0).rebalance().partition_by_range(1).sort_partition(0)
    return made.partition_custom(lambda key, n: abs(key) % n, 1), r


def _numbered(s: Any, r: list, typed: bool) -> Any:
    made = s.zip_with_index().map(lambda p: p[1], PAIR if typed else None)
    return made, r


def _partitions(s: Any, r: list, typed: bool) -> Any:
    def sizes(part: Any) -> Any:
        found = sum(1 for _ in part)
        return [("n", found)] if found else []

    made = s.map_partition(sizes, PAIR if typed else None)
    return made.group_by(0).sum(1), [("n", len(r))] if r else []


def _combined(s: Any, r: list, typed: bool) -> Any:
    made = s.group_by(0).combine_group(lambda g: [(k, n) for k, n in g]).group_by(0).sum(1)
    return made, [(k, sum(n for _, n in g)) for k, g in groups(r, _first).items()]


def _projected(s: Any, r: list, typed: bool) -> Any:
    return s.project(1, 0).project(1, 0), r


_HELPERS = ("_first", "_with_size")
STEPS = [
    value
    for name, value in list(globals().items())
    if name[0] == "_" != name[1] and callable(value) and name not in _HELPERS
]


def random_program(env: ExecutionEnvironment, seed: int, most: int = 4) -> Program:
    """A program of a few steps."""
    chance = random.Random(seed)
    records = pairs(chance)
    typed = chance.random() < 0.6
    if typed:
        data = env.from_collection(records, PAIR)
    else:
        data = env.from_collection(records, Types.PICKLED_BYTE_ARRAY())
    names = [f"{'typed' if typed else 'untyped'} {records}"]
    for _ in range(chance.randrange(1, most + 1)):
        step = chance.choice(STEPS)
        if step is _full_join and any(k.endswith("x") for k, _ in records):
            continue
        data, records = step(data, records, typed)
        names.append(step.__name__[1:])
    return Program(data, records, " -> ".join(names))
