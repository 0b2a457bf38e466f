"""Operators on single elements, and those that move records, in memory."""

from __future__ import annotations

import itertools
import operator
import random
from bisect import bisect_left
from typing import Any

from millstream.common.errors import PlanError
from millstream.dataset.kernel.evaluate import Evaluator, operator_of
from millstream.dataset.kernel.ordering import ordered, sorted_by
from millstream.dataset.kernel.places import Parts
from millstream.dataset.kernel.steps import Step
from millstream.dataset.plan.keys import slot_of
from millstream.dataset.plan.nodes import (
    Each,
    Node,
    Numbered,
    Partition,
    Project,
    Rebalance,
    SampleSize,
    SortPartition,
    Union,
    Where,
    keeps_partitions,
)

_SAMPLES = 1_000


@operator_of(Each)
def _each(run: Evaluator, node: Each) -> Parts:
    step = Step(node.kind, node.function, node.title)
    parts = run.parts(node.inputs[0])
    if node.kind == "map_partition" and _spreads(run, node):
        parts = _spread(run, parts, run.width(node))
    return run.steps(node, [step], parts)


@operator_of(Project)
def _project(run: Evaluator, node: Project) -> Parts:
    extract = node.fields.extractor()
    one = len(node.fields.fields) == 1
    return [
        [(extract(record),) if one else extract(record) for record in part]
        for part in run.parts(node.inputs[0])
    ]


@operator_of(Where)
def _where(run: Evaluator, node: Where) -> Parts:
    evaluate = node.condition.evaluate
    return [
        [record for record in part if evaluate(record) is True]
        for part in run.parts(node.inputs[0])
    ]


@operator_of(Union)
def _union(run: Evaluator, node: Union) -> Parts:
    each = [run.parts(other) for other in node.inputs]
    return [list(itertools.chain.from_iterable(parts)) for parts in zip(*each, strict=True)]


def _spreads(run: Evaluator, node: Node) -> bool:
    return run.width(node) < run.places.count and not keeps_partitions(node)


def _spread(run: Evaluator, parts: Parts, width: int) -> Parts:
    """The records evenly over the first tasks, each part in turn beginning at another one."""
    sent = []
    for index, part in zip(run.places.own, parts, strict=True):
        boxes: list[list[Any]] = [[] for _ in range(run.places.count)]
        for at, record in enumerate(part):
            boxes[(at + index) % width].append(record)
        sent.append(boxes)
    return run.places.exchange(sent)


@operator_of(Rebalance)
def _rebalance(run: Evaluator, node: Rebalance) -> Parts:
    return _spread(run, run.parts(node.inputs[0]), run.width(node))


@operator_of(Partition)
def _partition(run: Evaluator, node: Partition) -> Parts:
    parts, width = run.parts(node.inputs[0]), run.width(node)
    extract = node.keys.extractor()
    if node.kind == "hash":
        return run.places.route(parts, lambda record: slot_of(extract(record), width))
    if node.kind == "custom":
        return run.places.route(parts, lambda record: custom_place(node, extract(record), width))
    bounds = _bounds(run, [[ordered(extract(record)) for record in part] for part in parts], width)
    return run.places.route(parts, lambda record: bisect_left(bounds, ordered(extract(record))))


def custom_place(node: Partition, key: Any, width: int) -> int:
    """The partition that a function of the user gives."""
    assert node.function is not None
    found = node.function(key, width)
    if not hasattr(found, "__index__") or not 0 <= operator.index(found) < width:
        raise PlanError(
            "DATASET_PARTITION",
            f"the partitioner gave {found!r} for the key {key!r}: there are {width} partitions",
            location=node.location,
            hint="return a whole number from 0 to the number of partitions, exclusive",
        )
    return operator.index(found)


def _bounds(run: Evaluator, keys: list[list[bytes]], width: int) -> list[bytes]:
    """Where ranges end, by a sample of the keys of all tasks."""
    samples = []
    for part in keys:
        part = sorted(part)
        step = max(len(part) // _SAMPLES, 1)
        samples.append(part[::step])
    known = sorted(run.places.everywhere(samples)[0])
    if not known:
        return []
    places = [index * len(known) // width for index in range(1, width)]
    return [known[place] for place in places]


@operator_of(SortPartition)
def _sort_partition(run: Evaluator, node: SortPartition) -> Parts:
    parts = run.parts(node.inputs[0])
    if _spreads(run, node):
        parts = _spread(run, parts, run.width(node))
    return [sorted_by(part, node.sort) for part in parts]


@operator_of(Numbered)
def _numbered(run: Evaluator, node: Numbered) -> Parts:
    parts = run.parts(node.inputs[0])
    sizes = run.places.everywhere(
        [[(index, len(part))] for index, part in zip(run.places.own, parts, strict=True)]
    )[0]
    found = []
    for index, part in zip(run.places.own, parts, strict=True):
        if node.consecutive:
            start = sum(size for other, size in sizes if other < index)
            found.append([(start + at, record) for at, record in enumerate(part)])
        else:
            count = run.places.count
            found.append([(at * count + index, record) for at, record in enumerate(part)])
    return found


@operator_of(SampleSize)
def _sample_size(run: Evaluator, node: SampleSize) -> Parts:
    (first, *others) = run.places.gathered(run.parts(node.inputs[0]))
    if run.places.own[0] != 0:
        return [first, *others]
    chance = random.Random(node.seed)
    if node.replacement:
        return [chance.choices(first, k=node.size) if first else [], *others]
    return [chance.sample(first, min(node.size, len(first))), *others]
