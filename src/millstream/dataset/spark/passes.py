"""The work of Spark's Python workers: functions fused in one pass over columns."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
from pyspark import TaskContext, cloudpickle

from millstream.common.by_value import dumps_by_value
from millstream.common.errors import Location, TypeMismatchError
from millstream.common.typeinfo import TypeInformation
from millstream.dataset.functions import RuntimeContext
from millstream.dataset.kernel.ordering import ordered
from millstream.dataset.kernel.steps import Step, run_steps
from millstream.dataset.plan.columns import column_names
from millstream.dataset.plan.keys import Keys, encoded_key, identity
from millstream.dataset.plan.records import decoded, encoded
from millstream.dataset.plan.travelling import TravellingType
from millstream.spark.tasks.worker import ProgramRef, errors_that_travel

__all__ = ["Extra", "Groups", "Pass", "Place", "Task"]

_ROWS = 8_192


@dataclass(frozen=True)
class Extra:
    """A column that Python computes of each record: the bytes of a key, of its order, a number."""

    name: str
    kind: str
    keys: Keys
    function: Callable[[Any, int], int] | None = None
    parts: int = 0

    @property
    def arrow(self) -> pa.DataType:
        """The type of the column."""
        return pa.int32() if self.kind == "number" else pa.binary()

    def column(self, records: list[Any]) -> pa.Array:
        """The column of some records."""
        extract = self.keys.extractor()
        values: list[Any] = [extract(record) for record in records]
        if self.kind == "number":
            assert self.function is not None
            return pa.array([self.function(value, self.parts) for value in values], pa.int32())
        if self.kind == "order":
            return pa.array([ordered(value) for value in values], pa.binary())
        if self.kind == "join":
            return pa.array(
                [None if _has_none(value) else encoded_key(value) for value in values], pa.binary()
            )
        return pa.array([encoded_key(value) for value in values], pa.binary())


def _has_none(key: Any) -> bool:
    return key is None or (key.__class__ is tuple and None in key)


@dataclass
class Place:
    """The surroundings of a pass: how many tasks there are, and where accumulators go."""

    count: int
    number: int = 0
    totals: Any = None
    context: Callable[..., RuntimeContext] = RuntimeContext
    opened: dict[str, Any] = field(default_factory=dict)
    aggregators: dict[str, Any] = field(default_factory=dict)

    def opener(self) -> Callable[[Step], RuntimeContext]:
        """The giver of contexts in this task."""
        index = _partition()

        def context_of(step: Step) -> RuntimeContext:
            return self.context(step.name, index, self.count, step.broadcasts, self.opened)

        return context_of

    def report(self) -> None:
        """Send the accumulators of this task, and what it has aggregated, to the driver."""
        if self.totals is not None and (self.opened or self.aggregators):
            values = {name: each.get_aggregate() for name, each in self.aggregators.items()}
            told = pickle.dumps((self.opened, values))
            self.totals.add({(self.number, _partition()): told})


def _partition() -> int:
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def _columns(batch: pa.RecordBatch, names: Sequence[str]) -> list[pa.Array]:
    return [batch.column(name) for name in names]


def records_of(
    batches: Iterable[pa.RecordBatch], type_info: TypeInformation, prefix: str = "c"
) -> Iterator[Any]:
    """The records of batches of columns."""
    names = column_names(type_info, prefix)
    for batch in batches:
        yield from decoded(type_info, _columns(batch, names))


@dataclass(frozen=True)
class Output:
    """The columns that a pass gives: those of the records, and extra ones."""

    type: TypeInformation
    extras: tuple[Extra, ...] = ()
    location: Location | None = None

    def batches(self, records: Iterable[Any]) -> Iterator[pa.RecordBatch]:
        """The columns of records."""
        names = [*column_names(self.type), *(extra.name for extra in self.extras)]
        stream = iter(records)
        while chunk := list(itertools.islice(stream, _ROWS)):
            try:
                columns = encoded(self.type, chunk)
            except TypeMismatchError as error:
                error.location = error.location or self.location
                raise
            columns += [extra.column(chunk) for extra in self.extras]
            yield pa.RecordBatch.from_arrays(columns, names=names)


@dataclass(frozen=True)
class Pass:
    """Functions over single elements, or over all elements of a partition."""

    input: TypeInformation
    steps: tuple[Step, ...]
    output: Output
    place: Place

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the functions over the rows of a partition."""
        records = records_of(batches, self.input)
        yield from self.output.batches(run_steps(self.steps, records, self.place.opener()))
        self.place.report()


@dataclass(frozen=True)
class Groups:
    """A function over groups of rows that come one after another, and functions over its results.

    Parameters
    ----------
    sides
        The types of the records: one, or those of the two sets of a co-group.
    keys
        The columns whose values are equal in a group; none if all rows are one group.
    step
        The function; its elements are the iterators of a group.
    """

    sides: tuple[TypeInformation, ...]
    keys: tuple[str, ...]
    step: Step
    steps: tuple[Step, ...]
    output: Output
    place: Place

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the functions over the groups of a partition."""
        rows = self._rows(batches) if len(self.sides) == 1 else self._rows_of_two(batches)
        groups = (self._elements(group) for _, group in itertools.groupby(rows, key=_first))
        steps = (self.step, *self.steps)
        yield from self.output.batches(run_steps(steps, groups, self.place.opener()))
        self.place.report()

    def _elements(self, group: Iterator[Any]) -> Any:
        if len(self.sides) == 1:
            return (map(_second, group),)
        return split(group)

    def _rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Any, Any]]:
        names = column_names(self.sides[0])
        for batch in batches:
            records = decoded(self.sides[0], _columns(batch, names))
            yield from zip(self._keys(batch), records, strict=True)

    def _keys(self, batch: pa.RecordBatch) -> Iterable[Any]:
        columns = [batch.column(name).to_pylist() for name in self.keys]
        if not columns:
            return itertools.repeat(None, batch.num_rows)
        if len(columns) == 1:
            return map(identity, columns[0])
        return map(identity, zip(*columns, strict=True))

    def _rows_of_two(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Any, Any, Any]]:
        names = [column_names(side, prefix) for side, prefix in zip(self.sides, "lr", strict=True)]
        for batch in batches:
            sides = batch.column("side").to_pylist()
            both = []
            for number, (kind, own) in enumerate(zip(self.sides, names, strict=True)):
                rows = pa.array([side == number for side in sides])
                mine = batch.filter(rows)
                both.append(iter(decoded(kind, _columns(mine, own))))
            for key, side in zip(self._keys(batch), sides, strict=True):
                yield key, next(both[side]), side


def _first(row: tuple[Any, ...]) -> Any:
    return row[0]


def _second(row: tuple[Any, ...]) -> Any:
    return row[1]


def split(group: Iterator[tuple[Any, Any, Any]]) -> tuple[Iterator[Any], Iterator[Any]]:
    """The two iterators of a co-group, whose first side comes first.

    Reading the second one keeps what is left of the first one.

    Examples
    --------
    >>> left, right = split(iter([("k", 1, 0), ("k", 2, 0), ("k", 3, 1)]))
    >>> next(left), list(right), list(left)
    (1, [3], [2])
    """
    kept: list[Any] = []
    ahead: list[Any] = []
    over = False

    def first() -> Iterator[Any]:
        nonlocal over
        while True:
            if kept:
                yield kept.pop(0)
            elif over:
                return
            else:
                row = next(group, None)
                if row is None or row[2] == 1:
                    over = True
                    ahead.extend([] if row is None else [row[1]])
                else:
                    yield row[1]

    def second() -> Iterator[Any]:
        nonlocal over
        while not over:
            row = next(group, None)
            if row is None or row[2] == 1:
                over = True
                ahead.extend([] if row is None else [row[1]])
            else:
                kept.append(row[1])
        yield from ahead
        yield from map(_second, group)

    return first(), second()


class Work(Protocol):
    """The work of a task: it makes columns of those that come."""

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The columns that it makes."""


class Task:
    """A pass on its way to the workers; every task has its own copy of the functions."""

    def __init__(self, key: str, work: Work, types: Sequence[TravellingType] = ()) -> None:
        self._ref = ProgramRef.of(key, _Copies(dumps_by_value((tuple(types), work), cloudpickle)))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with errors_that_travel(self._ref):
            yield from self._ref.get().copy().run(batches)


class _Copies:
    """A pass as a worker keeps it between tasks."""

    def __init__(self, blob: bytes) -> None:
        self._blob = blob

    def copy(self) -> Any:
        types, work = cloudpickle.loads(self._blob)
        for each in types:
            each.register()
        return work

    def close(self) -> None:
        """Nothing: each task closes its own functions."""
