"""The work of a task: rows in, rows out, without Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import cloudpickle
import pytest

from millstream.common.errors import UserCodeError
from millstream.common.pickling import dumps_apart
from millstream.dstream.rdd.running import Action
from millstream.dstream.rdd.shared import accumulator, accumulators_sent
from millstream.dstream.spark.rows import NOTES, Blob, blobs_of, in_batches, rows_in, values_in
from millstream.dstream.spark.stages import (
    EachStep,
    Gather,
    Keep,
    Renumber,
    Result,
    Route,
    Scatter,
    Stage,
)


def rows(partitions: dict[int, list[Any]]) -> list[Blob]:
    """Partitions as rows, as they are behind an exchange: each begins with a row without values."""
    found = []
    for split, values in partitions.items():
        found.append(Blob(split, NOTES, 0, b""))
        found += [Blob(split, 0, n, dumps_apart([value])) for n, value in enumerate(values)]
    return found


def made(stage: Stage, given: Sequence[Blob]) -> list[tuple[int, int, list[Any]]]:
    """Split, source and values of the rows that a stage makes."""
    found = rows_in(stage.run(in_batches(given)))
    return [(row.split, row.source, list(values_in(row.blob))) for row in found]


def test_values_stay_in_their_partitions() -> None:
    step = EachStep(lambda split, values: ((split, value) for value in values), "each", None)
    stage = Stage("a", None, (step, Renumber({0: 5, 2: 6})), Keep())
    given = rows({0: ["a", "b"], 1: ["c"], 2: []})
    assert made(stage, given) == [(5, 0, [(0, "a"), (0, "b")]), (6, 0, [])]


def test_values_go_to_the_partitions_that_a_function_says() -> None:
    end = Scatter(lambda _, values: ((value % 3, value) for value in values), 3, "deal", None)
    assert made(Stage("a", None, (), end), rows({0: [1, 2, 4], 1: [5]})) == [
        (1, 0, [1, 4]),
        (2, 0, [2]),
        (2, 1, [5]),
    ]


def test_partitions_that_go_together_keep_their_places() -> None:
    end = Route({0: [(0, 0), (1, 1)], 1: [(1, 0)]})
    stage = Stage("a", None, (), end)
    found = list(rows_in(stage.run(in_batches(rows({0: ["a"], 1: ["b"]})))))

    def both(split: int, parts: Sequence[Any]) -> Iterator[Any]:
        yield split, [list(part()) for part in parts], [list(part()) for part in parts]

    gathered = Stage("b", Gather(both, "both", None), (), Keep())
    assert made(gathered, sorted(found)) == [
        (0, 0, [(0, [["a"]], [["a"]])]),
        (1, 0, [(1, [["b"], ["a"]], [["b"], ["a"]])]),
    ]


def test_results_are_pickled_and_values_that_nobody_reads_are_passed() -> None:
    stage = Stage("a", None, (), Result(Action(next, "first", None)))
    found = list(rows_in(stage.run(in_batches(rows({0: [1, 2], 1: [3]})))))
    assert [(row.split, pickle.loads(row.blob)) for row in found] == [(0, 1), (1, 3)]


def test_accumulators_come_with_the_name_of_their_partition() -> None:
    total = accumulator(10)

    def note(_: int, values: Any) -> Iterator[Any]:
        for value in values:
            total.add(value)
            yield value

    with accumulators_sent() as sent:
        blob = cloudpickle.dumps(Stage("a", None, (EachStep(note, "note", None),), Keep()))
    assert sent == {total.number: total}
    found = list(rows_in(pickle.loads(blob).run(in_batches(rows({0: [1, 2], 1: [3]})))))
    notes = [pickle.loads(row.blob) for row in found if row.source == NOTES]
    assert notes == [{"a/0": {total.number: 3}}, {"a/1": {total.number: 3}}]
    passed = list(rows_in(Stage("b", None, (), Keep()).run(in_batches(found))))
    assert [pickle.loads(row.blob) for row in passed if row.source == NOTES] == notes
    assert total.value == 10


def test_an_accumulator_in_a_program_keeps_its_value() -> None:
    assert pickle.loads(pickle.dumps(accumulator(3))).value == 3


def test_errors_name_the_step() -> None:
    stage = Stage(
        "a", None, (EachStep(lambda _, values: [1 / v for v in values], "map", None),), Keep()
    )
    with pytest.raises(UserCodeError, match="ZeroDivisionError") as caught:
        list(stage.run(in_batches(rows({0: [0]}))))
    assert caught.value.location is not None


def test_pieces_grow_and_shrink_with_their_values() -> None:
    small = [len(list(values_in(blob))) for blob in blobs_of(range(1000))]
    assert small == [64, 128, 256, 512, 40]
    large = [len(list(values_in(blob))) for blob in blobs_of([b"x" * 40_000] * 128)]
    assert large == [64, 32, 16, 16]
