"""Iterations: the step plan runs in the tasks of a loop, which keep their part of the data."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa

from millstream.common.accumulators import Accumulator
from millstream.common.errors import TypeMismatchError
from millstream.dataset.functions import IterationRuntimeContext
from millstream.dataset.kernel.evaluate import Constants, Evaluator, operator_of
from millstream.dataset.kernel.places import OnePlace, Parts
from millstream.dataset.plan.columns import arrow_schema, column_names, stored
from millstream.dataset.plan.keys import Keys, identity, slot_of
from millstream.dataset.plan.nodes import (
    BulkLoop,
    DeltaLoop,
    Node,
    Placeholder,
    cut,
    readers_of,
    static_inputs,
)
from millstream.dataset.plan.records import coerced, decoded, encoded
from millstream.iteration import (
    Aggregator,
    LoopInput,
    LoopJob,
    LoopOptions,
    LoopResult,
    MeshProgram,
    Outbox,
    Task,
    run_loop,
)

__all__ = [
    "Loop",
    "accumulators_of",
    "job_of",
    "loop_of",
    "merged_aggregates",
    "previous_of",
    "table_from",
]

ACCUMULATORS = "\0accumulators"


@dataclass(frozen=True)
class Loop:
    """The step of an iteration, with a placeholder for each set that it reads.

    Parameters
    ----------
    starts
        The placeholders of the partial solution; or of the solution set and the workset.
    results
        The next partial solution and perhaps the termination set; or the changes and the next workset.
    statics
        The placeholders of the static sets.
    keys
        The keys of the solution set, None in a bulk iteration.
    """

    starts: tuple[Placeholder, ...]
    results: tuple[Node, ...]
    statics: tuple[Placeholder, ...]
    keys: Keys | None
    aggregators: Mapping[str, Any]
    convergence: tuple[str, Any] | None
    inputs: tuple[Node, ...] = field(default=())


def loop_of(node: BulkLoop | DeltaLoop) -> Loop:
    """The step of an iteration; its inputs are the nodes outside, in order of the placeholders."""
    if isinstance(node, BulkLoop):
        starts: tuple[Placeholder, ...] = (node.start,)
        results = [node.result, *([node.termination] if node.termination is not None else [])]
        keys = None
    else:
        starts = (node.solution, node.workset)
        results = [node.delta, node.next_workset]
        keys = node.keys
    outside = static_inputs(results)
    puts: dict[Node, Node] = {
        other: Placeholder(type=other.type, name=other.title) for other in outside
    }
    statics = tuple(puts[other] for other in outside)
    return Loop(
        starts,
        tuple(cut(results, puts)),
        statics,  # type: ignore[arg-type]
        keys,
        node.aggregators,
        node.convergence,
        (*node.inputs, *outside),
    )


def table_from(type_info: Any, records: list[Any]) -> pa.Table:
    """Records in the columns of loops."""
    kind = stored(type_info)
    return pa.Table.from_arrays(encoded(kind, records), schema=arrow_schema(kind))


def _records(type_info: Any, table: pa.Table) -> list[Any]:
    kind = stored(type_info)
    return decoded(kind, [table[name].combine_chunks() for name in column_names(kind)])


def job_of(
    node: BulkLoop | DeltaLoop,
    loop: Loop,
    data: Callable[[Node], Any],
    tasks: int | None,
    options: LoopOptions,
) -> LoopJob:
    """The loop that runs an iteration."""
    places = [*loop.starts, *loop.statics]
    inputs = {f"set{number}": LoopInput(data(source)) for number, source in enumerate(loop.inputs)}
    program = _Program(replace_inputs(loop), [place.type for place in places])
    schema = arrow_schema(stored(node.type))
    return LoopJob(node.title, program, inputs, schema, node.most, tasks, options, node.location)


def replace_inputs(loop: Loop) -> Loop:
    """The step without the nodes outside, for its way to the tasks."""
    return Loop(
        loop.starts, loop.results, loop.statics, loop.keys, loop.aggregators, loop.convergence
    )


def previous_of(aggregates: Mapping[str, Any], superstep: int) -> dict[str, Any]:
    """The aggregates that functions see: in the first superstep there are none."""
    return {} if superstep == 1 else dict(aggregates)


class _Program(MeshProgram):
    """A task of an iteration."""

    def __init__(self, loop: Loop, types: Sequence[Any]) -> None:
        self._loop = loop
        self._types = types
        self._solution: dict[Any, list[Any]] | None = None
        self._accumulators: dict[str, Accumulator[Any, Any]] = {}
        readers = readers_of(loop.results)
        self._shared = {node for node, count in readers.items() if count > 1}

    def load(self, task: Task, inputs: Mapping[str, pa.Table]) -> None:
        sets = [_records(kind, inputs[f"set{at}"]) for at, kind in enumerate(self._types)]
        count = len(self._loop.starts)
        self._current: list[Any] = sets[count - 1]
        self._first = sets[0]
        self._statics = dict(zip(self._loop.statics, sets[count:], strict=True))
        self._constants: Constants | None = None

    def aggregators(self) -> Mapping[str, Aggregator]:
        found = {
            name: Aggregator(None, partial(_merged, each))
            for name, each in self._loop.aggregators.items()
        }
        return {**found, ACCUMULATORS: Aggregator([], _listed)}

    def superstep(self, task: Task, inbox: Sequence[Any]) -> Outbox:
        loop, places = self._loop, OnePlace(task)
        mine = {name: copy.deepcopy(each) for name, each in loop.aggregators.items()}
        for each in mine.values():
            each.reset()
        if loop.keys is not None and self._solution is None:
            self._index_solution(places, loop.keys)
        bound: dict[Node, Parts] = {place: [part] for place, part in self._statics.items()}
        bound[loop.starts[-1]] = [self._current]
        if self._solution is not None:
            bound[loop.starts[0]] = _Solution(self._solution)
        run = Evaluator(
            places,
            bound,
            [self._accumulators],
            partial(
                IterationRuntimeContext,
                superstep=task.superstep,
                aggregators=mine,
                previous=previous_of(task.aggregates, task.superstep),
            ),
            self._kept(),
        )
        run.shared = self._shared
        active = self._advance(run)
        aggregates = {name: each.get_aggregate() for name, each in mine.items()}
        if self._accumulators:
            aggregates[ACCUMULATORS] = [self._accumulators]
        return Outbox(aggregates=aggregates, active=active)

    def _kept(self) -> Constants:
        if self._constants is None:
            loop, solution = self._loop, None
            if loop.keys is not None and self._solution is not None:
                solution = (loop.starts[0], loop.keys, self._solution)
            self._constants = Constants(loop.statics, solution)
        return self._constants

    def _index_solution(self, places: OnePlace, keys: Keys) -> None:
        extract = keys.extractor()
        (own,) = places.route([self._first], lambda record: slot_of(extract(record), places.count))
        self._solution = {identity(extract(record)): [record] for record in own}

    def _advance(self, run: Evaluator) -> int:
        """Take the results of the step; returns how much is left to do here."""
        if self._solution is None:
            self._current = self._fitting(0, run.parts(self._loop.results[0])[0])
            if len(self._loop.results) == 1:
                return 1
            return len(run.parts(self._loop.results[1])[0])
        assert self._loop.keys is not None
        delta, workset = self._loop.results
        changes = run.by_key(delta, run.parts(delta), self._loop.keys)[0]
        self._current = self._fitting(1, run.parts(workset)[0])
        changes = self._fitting(0, changes)
        extract = self._loop.keys.extractor()
        for record in changes:
            self._solution[identity(extract(record))] = [record]
        return len(self._current)

    def _fitting(self, at: int, records: list[Any]) -> list[Any]:
        """Records with the type of the set that the iteration began with."""
        try:
            return coerced(self._types[at], records)
        except TypeMismatchError as error:
            raise misfit(error, self._loop.results[at], self._types[at]) from error

    def finished(self, step: int, aggregates: Mapping[str, Any], active: int) -> bool:
        if self._loop.convergence is not None:
            name, criterion = self._loop.convergence
            if criterion.is_converged(step, aggregates[name]):
                return True
        return active == 0

    def result(self) -> pa.Table:
        kind = self._types[0]
        if self._solution is None:
            return table_from(kind, self._current)
        return table_from(kind, [record for (record,) in self._solution.values()])

    def state(self) -> Any:
        return self._current, self._solution, self._accumulators

    def restore(self, task: Task, state: Any) -> None:
        self._current, self._solution, self._accumulators = state
        self._constants = None


class _Solution(list[list[Any]]):
    """The records of the solution set, listed when they are asked for."""

    def __init__(self, known: dict[Any, list[Any]]) -> None:
        super().__init__([[]])
        self._known: dict[Any, list[Any]] | None = known

    def _fill(self) -> None:
        if self._known is not None:
            known, self._known = self._known, None
            super().__setitem__(0, [record for (record,) in known.values()])

    def __iter__(self) -> Any:
        self._fill()
        return super().__iter__()

    def __getitem__(self, at: Any) -> Any:
        self._fill()
        return super().__getitem__(at)


def misfit(error: TypeMismatchError, result: Node, kind: Any) -> TypeMismatchError:
    """The error for a step whose results are not like what the iteration began with."""
    return TypeMismatchError(
        "DATASET_STEP_TYPE",
        f"the step gives records that are not of the iteration's type {kind}: {error.message}",
        location=result.location,
        hint="begin the iteration with records of the type that the step gives",
    )


def _merged(template: Any, left: Any, right: Any) -> Any:
    if left is None:
        return right
    merged = copy.deepcopy(template)
    merged.reset()
    merged.aggregate(left)
    merged.aggregate(right)
    return merged.get_aggregate()


def merged_aggregates(
    templates: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The aggregates of all tasks together; without any, those of a fresh aggregator."""
    found = {}
    for name, template in templates.items():
        fresh = copy.deepcopy(template)
        fresh.reset()
        for task in tasks:
            fresh.aggregate(task[name])
        found[name] = fresh.get_aggregate()
    return found


def _listed(left: list[Any], right: list[Any]) -> list[Any]:
    return [*left, *right]


@operator_of(BulkLoop)
def _bulk(run: Evaluator, node: BulkLoop) -> Parts:
    return _looped(run, node)


@operator_of(DeltaLoop)
def _delta(run: Evaluator, node: DeltaLoop) -> Parts:
    return _looped(run, node)


def _looped(run: Evaluator, node: BulkLoop | DeltaLoop) -> Parts:
    from millstream.dataset.kernel.sources import slices

    loop = loop_of(node)

    def data(source: Node) -> pa.Table:
        return table_from(source.type, [record for part in run.parts(source) for record in part])

    result = run_loop(job_of(node, loop, data, run.places.count, run.loop_options or LoopOptions()))
    for own in accumulators_of(result):
        run.accumulators.append(own)
    return slices(run, node, _records(node.type, result.to_arrow()))


def accumulators_of(result: LoopResult) -> list[dict[str, Accumulator[Any, Any]]]:
    """The accumulators of the tasks of a loop."""
    found: list[dict[str, Accumulator[Any, Any]]] = result.aggregates.get(ACCUMULATORS) or []
    return found
