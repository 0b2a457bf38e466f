"""Operators on groups, in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from millstream.common.errors import TypeMismatchError, short_repr
from millstream.common.types import Row, like
from millstream.dataset.functions import Aggregation
from millstream.dataset.kernel.evaluate import Evaluator, operator_of
from millstream.dataset.kernel.ordering import ordered, sorted_by
from millstream.dataset.kernel.places import Parts
from millstream.dataset.kernel.steps import Elements, Step, guarded
from millstream.dataset.plan.calls import UserFunction
from millstream.dataset.plan.nodes import (
    Aggregate,
    CoGroup,
    Distinct,
    Extreme,
    First,
    GroupCombine,
    GroupReduce,
    Node,
    Reduce,
)
from millstream.dataset.plan.records import coerced

__all__ = ["aggregated", "extreme_of", "reduced"]


class _Groups:
    """Calls of a function per group, opened once per task."""

    def __init__(self, run: Evaluator, node: Node, function: UserFunction) -> None:
        self._run, self._node, self._function = run, node, function
        self._step = Step("group", function, node.title)

    def parts(self, parts: Iterable[Iterable[tuple[Any, ...]]]) -> Parts:
        """The results of each task; a group is the lists that the function gets."""
        node = self._node
        broadcasts = {name: self._run.all_of(other) for name, other in node.broadcasts.items()}
        found = []
        for at, groups in enumerate(parts):
            context_of = self._run.opener(node, at, broadcasts)
            found.append(coerced(node.type, list(self._results(groups, context_of(self._step)))))
        return found

    def _results(self, groups: Iterable[tuple[Any, ...]], context: Any) -> Iterator[Any]:
        function = self._function
        call = function.emitting()
        self._open(context)
        try:
            for lists in groups:
                elements = [Elements(iter(each)) for each in lists]
                yield from guarded(
                    self._step,
                    tuple(each[0] if each else None for each in lists)
                    if len(lists) > 1
                    else lists[0][0],
                    partial(call, *elements),
                )
        finally:
            function.close()

    def _open(self, context: Any) -> None:
        try:
            self._function.open(context)
        except Exception as error:
            raise self._function.failed(error, self._node.title, "(open)") from error


def reduced(function: UserFunction, name: str, records: Iterable[Any]) -> Any:
    """One record of many, by a function of two."""
    call = function.call()
    found: Any = None
    first = True
    for record in records:
        if first:
            found, first = record, False
            continue
        try:
            found = call(found, record)
        except Exception as error:
            raise function.failed(error, name, (found, record)) from error
    return found


@operator_of(Reduce)
def _reduce(run: Evaluator, node: Reduce) -> Parts:
    def one(lists: Parts) -> Parts:
        return _Reducing(run, node).parts(
            [(group,) for group in run.groups(part, node.keys).values()] for part in lists
        )

    # Each task reduces what it has before anything is moved.
    return one(run.by_key(node, one(run.parts(node.inputs[0])), node.keys))


class _Reducing(_Groups):
    def __init__(self, run: Evaluator, node: Reduce) -> None:
        super().__init__(run, node, node.function)

    def _results(self, groups: Iterable[tuple[Any, ...]], context: Any) -> Iterator[Any]:
        self._open(context)
        try:
            for (records,) in groups:
                yield reduced(self._function, self._node.title, records)
        finally:
            self._function.close()


@operator_of(GroupReduce)
def _group_reduce(run: Evaluator, node: GroupReduce) -> Parts:
    parts = run.parts(node.inputs[0])
    if node.combine is not None:
        combining = GroupCombine(
            inputs=node.inputs, keys=node.keys, sort=node.sort, function=node.combine,
            name=node.title, broadcasts=node.broadcasts, location=node.location,
        )  # fmt: skip
        parts = _combined(run, combining, parts)
    moved = run.by_key(node, parts, node.keys)
    return _Groups(run, node, node.function).parts(
        [(sorted_by(group, node.sort),) for group in run.groups(part, node.keys).values()]
        for part in moved
    )


@operator_of(GroupCombine)
def _group_combine(run: Evaluator, node: GroupCombine) -> Parts:
    return _combined(run, node, run.parts(node.inputs[0]))


def _combined(run: Evaluator, node: GroupCombine, parts: Parts) -> Parts:
    return _Groups(run, node, node.function).parts(
        [(sorted_by(group, node.sort),) for group in run.groups(part, node.keys).values()]
        for part in parts
    )


@operator_of(CoGroup)
def _co_group(run: Evaluator, node: CoGroup) -> Parts:
    left, right = node.inputs
    lefts = run.routed(node, left, node.left)
    rights = run.routed(node, right, node.right)

    def pairs(one: list[Any], other: list[Any]) -> Iterator[tuple[list[Any], list[Any]]]:
        first, second = run.groups(one, node.left), run.groups(other, node.right)
        for key in dict.fromkeys([*first, *second]):
            yield (
                sorted_by(first.get(key, []), node.sort[0]),
                sorted_by(second.get(key, []), node.sort[1]),
            )

    return _Groups(run, node, node.function).parts(
        pairs(one, other) for one, other in zip(lefts, rights, strict=True)
    )


@operator_of(Aggregate)
def _aggregate(run: Evaluator, node: Aggregate) -> Parts:
    def one(parts: Parts) -> Parts:
        return [
            [aggregated(node, group) for group in run.groups(part, node.keys).values()]
            for part in parts
        ]

    found = one(run.by_key(node, one(run.parts(node.inputs[0])), node.keys))
    return [coerced(node.type, part) for part in found]


def aggregated(node: Aggregate, records: list[Any]) -> Any:
    """One record: the last one, with the aggregates in their fields. None does not count."""
    last = records[-1]
    values = dict(enumerate(last)) if isinstance(last, tuple | list | Row) else {}
    for how, field in node.aggregates:
        extract = field.extractor()
        found = [value for value in map(extract, records) if value is not None]
        position = field.positions[0] if field.positions else field.fields[0]
        if isinstance(position, str):
            position = _position(last, position)
        try:
            values[position] = _AGGREGATES[how](found) if found else None
        except TypeError as error:
            raise TypeMismatchError(
                "DATASET_AGGREGATE",
                f"values of field {field.text} have no {how.value}: {short_repr(found[:3])}",
                location=node.location,
                hint="use reduce() for what is not a number",
            ) from error
    return _with_values(last, list(values.values()))


def _position(record: Any, name: str) -> int:
    names = getattr(record, "_fields", None) or ()
    return names.index(name) if name in names else int(name[1:])


def _with_values(record: Any, values: list[Any]) -> Any:
    if isinstance(record, Row):
        return like(record, values)
    if type(record) is tuple or not isinstance(record, tuple):
        return tuple(values)
    make = getattr(type(record), "_make", None)
    return make(values) if make is not None else type(record)(*values)


def _smallest(values: list[Any]) -> Any:
    return min(values, key=ordered)


def _largest(values: list[Any]) -> Any:
    return max(values, key=ordered)


_AGGREGATES: dict[Aggregation, Callable[[list[Any]], Any]] = {
    Aggregation.SUM: sum,
    Aggregation.MIN: _smallest,
    Aggregation.MAX: _largest,
}


@operator_of(Extreme)
def _extreme(run: Evaluator, node: Extreme) -> Parts:
    def one(parts: Parts) -> Parts:
        return [
            [extreme_of(node, group) for group in run.groups(part, node.keys).values()]
            for part in parts
        ]

    return one(run.by_key(node, one(run.parts(node.inputs[0])), node.keys))


def extreme_of(node: Extreme, records: list[Any]) -> Any:
    """The record whose fields are the smallest or the largest; of several, the first."""
    extract = node.fields.extractor()
    return (max if node.largest else min)(records, key=lambda record: ordered(extract(record)))


@operator_of(Distinct)
def _distinct(run: Evaluator, node: Distinct) -> Parts:
    def one(parts: Parts) -> Parts:
        return [[group[0] for group in run.groups(part, node.keys).values()] for part in parts]

    return one(run.by_key(node, one(run.parts(node.inputs[0])), node.keys))


@operator_of(First)
def _first(run: Evaluator, node: First) -> Parts:
    def one(parts: Parts) -> Parts:
        return [
            [
                record
                for group in run.groups(part, node.keys).values()
                for record in sorted_by(group, node.sort)[: node.size]
            ]
            for part in parts
        ]

    return one(run.by_key(node, one(run.parts(node.inputs[0])), node.keys))
