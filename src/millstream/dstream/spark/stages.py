"""The work of one task: partitions come as rows, go through functions, and leave as rows."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby
from typing import Any

import pyarrow as pa

from millstream.common.errors import Location
from millstream.common.pickling import dumps
from millstream.dstream.rdd.running import Action, named_errors
from millstream.dstream.rdd.shared import Accumulator, accumulators_in_task
from millstream.dstream.rdd.sources import Part, PartitionFunction
from millstream.dstream.spark.rows import NOTES, Blob, blobs_of, in_batches, rows_in, values_in

__all__ = ["EachStep", "Gather", "Keep", "Renumber", "Result", "Route", "Scatter", "Stage"]

_SCATTERED = 65_536
Notes = dict[str, dict[int, Any]]
"""What accumulators were given, by the partition of the stage in which that was."""


@dataclass(frozen=True)
class EachStep:
    """A function of each partition, and what errors of it say."""

    function: PartitionFunction
    label: str
    place: Location | None

    def __call__(self, split: int, values: Iterable[Any]) -> Iterator[Any]:
        with named_errors(self.label, self.place):
            yield from self.function(split, values)


@dataclass(frozen=True)
class Gather:
    """A function of several partitions, whose rows have come together: the source says which it is."""

    function: Callable[[int, Sequence[Part]], Iterable[Any]]
    label: str
    place: Location | None

    def __call__(self, split: int, pieces: Iterable[tuple[int, bytes]]) -> Iterator[Any]:
        parts: dict[int, list[bytes]] = {}
        for source, blob in pieces:
            parts.setdefault(source, []).append(blob)
        given: list[Part] = [partial(_all_values, parts[source]) for source in sorted(parts)]
        with named_errors(self.label, self.place):
            yield from self.function(split, given)


def _all_values(blobs: Sequence[bytes]) -> Iterator[Any]:
    return chain.from_iterable(map(values_in, blobs))


@dataclass(frozen=True)
class Renumber:
    """Other numbers of partitions; those without one are left out."""

    numbers: Mapping[int, int]


# The ends of a stage: the rows of a partition.


@dataclass(frozen=True)
class Keep:
    """The values stay in their partition."""

    def rows(self, split: int, values: Iterator[Any]) -> Iterator[Blob]:
        """The pieces, or one without values."""
        number = -1
        for number, blob in enumerate(blobs_of(values)):
            yield Blob(split, 0, number, blob)
        if number < 0:
            yield Blob(split, 0, 0, b"")

    def targets(self, split: int) -> Sequence[int]:
        """Where notes go."""
        return (split,)


@dataclass(frozen=True)
class Scatter:
    """Each value goes to the partition that a function says."""

    function: Callable[[int, Iterable[Any]], Iterable[tuple[int, Any]]]
    size: int
    label: str
    place: Location | None

    def rows(self, split: int, values: Iterator[Any]) -> Iterator[Blob]:
        """Pieces for all targets; they are not collected longer than memory allows."""
        buckets: list[list[Any]] = [[] for _ in range(self.size)]
        parts = [0] * self.size
        held = 0
        placed = EachStep(lambda _, given: self.function(split, given), self.label, self.place)
        for target, value in placed(split, values):
            buckets[target].append(value)
            held += 1
            if held == _SCATTERED:
                yield from self._flushed(split, buckets, parts)
                held = 0
        yield from self._flushed(split, buckets, parts)

    def _flushed(self, split: int, buckets: list[list[Any]], parts: list[int]) -> Iterator[Blob]:
        for target, bucket in enumerate(buckets):
            for blob in blobs_of(bucket):
                yield Blob(target, split, parts[target], blob)
                parts[target] += 1
            bucket.clear()

    def targets(self, split: int) -> Sequence[int]:
        """Where notes go."""
        return range(self.size)


@dataclass(frozen=True)
class Route:
    """Whole partitions go to those that need them, each to its place there."""

    needed_by: Mapping[int, Sequence[tuple[int, int]]]

    def rows(self, split: int, values: Iterator[Any]) -> Iterator[Blob]:
        """The pieces, once for each that needs them."""
        for number, blob in enumerate(chain(blobs_of(values), [b""])):
            for target, place in self.needed_by[split]:
                yield Blob(target, place, number, blob)

    def targets(self, split: int) -> Sequence[int]:
        """Where notes go."""
        return list(dict(self.needed_by[split]))


@dataclass(frozen=True)
class Result:
    """The result of an action goes to the driver."""

    action: Action

    def rows(self, split: int, values: Iterator[Any]) -> Iterator[Blob]:
        """One row with the result."""
        yield Blob(split, 0, 0, dumps(self.action(values)))

    def targets(self, split: int) -> Sequence[int]:
        """Where notes go."""
        return (split,)


@dataclass(frozen=True)
class Stage:
    """The functions between two exchanges of rows."""

    key: str
    gather: Gather | None
    steps: tuple[EachStep | Renumber, ...]
    end: Keep | Scatter | Route | Result

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows that the stage makes of those that come."""
        return in_batches(self._rows(rows_in(batches)))

    def _rows(self, rows: Iterable[Blob]) -> Iterator[Blob]:
        totals = accumulators_in_task()
        for split, group in groupby(rows, key=lambda row: row.split):
            notes: Notes = {}
            pieces = _without_notes(group, notes)
            number = self._number(split)
            if number is not None:
                yield from self.end.rows(number, self._values(split, pieces))
                for _ in pieces:
                    pass  # Notes may come behind values that nobody has read.
                notes |= _given(totals, f"{self.key}/{number}")
                for target in self.end.targets(number) if notes else ():
                    yield Blob(target, NOTES, 0, pickle.dumps(notes))

    def _number(self, split: int) -> int | None:
        """The number that a partition has at the end; None if it is not needed."""
        found: int | None = split
        for step in self.steps:
            if isinstance(step, Renumber) and found is not None:
                found = step.numbers.get(found)
        return found

    def _values(self, split: int, pieces: Iterator[tuple[int, bytes]]) -> Iterator[Any]:
        if self.gather is not None:
            values = self.gather(split, pieces)
        else:
            values = chain.from_iterable(values_in(blob) for _, blob in pieces)
        for step in self.steps:
            if isinstance(step, Renumber):
                split = step.numbers[split]
            else:
                values = step(split, values)
        return values


def _without_notes(rows: Iterable[Blob], notes: Notes) -> Iterator[tuple[int, bytes]]:
    for row in rows:
        if row.source != NOTES:
            yield row.source, row.blob
        elif row.blob:
            notes |= pickle.loads(row.blob)


def _given(totals: Mapping[int, Accumulator[Any]], key: str) -> Notes:
    """The terms that accumulators were given since the last call."""
    found = {number: each.taken() for number, each in totals.items() if each.changed}
    return {key: found} if found else {}
