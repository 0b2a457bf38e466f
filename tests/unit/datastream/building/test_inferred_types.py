"""A type that is not declared is an expectation: values that do not fit it pass as they are."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from millstream.common import Row, Types, WatermarkStrategy
from millstream.common.errors import MillstreamError
from millstream.common.typeinfo import TypeInformation
from millstream.common.typesystem.certainty import Certainty, guessed, inferred, no_surer_than
from millstream.datastream import (
    AsyncDataStream,
    DataStream,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from millstream.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from millstream.testing import run_local

Env = StreamExecutionEnvironment
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
ROW = Types.ROW([Types.STRING(), Types.LONG()])
LATE = OutputTag("late", PAIR)


def pairs(env: Env, type_info: TypeInformation | None = None) -> DataStream:
    values = [("a", 1), ("a", 2), ("b", 5)]
    return env.from_collection(values, type_info, timestamps=[1, 2, 3])


def timed(stream: DataStream) -> DataStream:
    return stream.assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps())


def first(pair: Any) -> Any:
    return pair[0]


def halves(older: Any, newer: Any) -> Any:
    return older[0], older[1] + newer[1] + 0.5


# -- functions whose hints are wrong ---------------------------------------------------------------


def half(pair: Any) -> tuple[str, int]:
    return pair[0], pair[1] / 2  # type: ignore[return-value]


def whole(pair: Any) -> float:
    return pair[1]  # type: ignore[no-any-return]


class Halves(MapFunction):
    def map(self, value: Any) -> tuple[str, int]:
        return half(value)


class FlatHalves(FlatMapFunction):
    def flat_map(self, value: Any) -> Iterable[tuple[str, int]]:
        yield half(value)


class ProcessedHalves(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[tuple[str, int]]:
        yield half(value)


class KeyedHalves(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[tuple[str, int]]:
        yield half(value)


class WindowHalves(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Iterable[tuple[str, int]]:
        return [half(element) for element in elements]


async def async_half(pair: Any) -> tuple[str, int]:
    return half(pair)


def windows(stream: DataStream) -> Any:
    return timed(stream).key_by(first).window(TumblingEventTimeWindows.of("1 s"))


WRONG_HINTS: dict[str, Callable[[Env], DataStream]] = {
    "map": lambda env: pairs(env).map(half),
    "map function": lambda env: pairs(env).map(Halves()),
    "flat_map": lambda env: pairs(env).flat_map(FlatHalves()),
    "process": lambda env: pairs(env).process(ProcessedHalves()),
    "keyed map": lambda env: pairs(env).key_by(first).map(Halves()),
    "keyed process": lambda env: pairs(env).key_by(first).process(KeyedHalves()),
    "window": lambda env: windows(pairs(env)).process(WindowHalves()),
    "async": lambda env: AsyncDataStream.unordered_wait(pairs(env), async_half, "5 s"),
}


@pytest.mark.parametrize("name", WRONG_HINTS)
def test_a_wrong_hint_changes_nothing(name: str) -> None:
    def program(env: Env) -> DataStream:
        halved = WRONG_HINTS[name](env)
        return halved.key_by(first).process(Same())  # through a buffer

    assert sorted(run_local(program).values()) == [("a", 0.5), ("a", 1.0), ("b", 2.5)]


class Same(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


def test_a_value_that_nearly_fits_comes_as_it_is() -> None:
    # DOUBLE would make floats of them.
    values = run_local(lambda env: pairs(env).map(whole).key_by(lambda v: 0).process(Same()))
    assert [type(value) for value in values.values()] == [int] * 3


# -- results that have the type of the input -------------------------------------------------------

FOLDS: dict[str, Callable[[DataStream], DataStream]] = {
    "reduce": lambda stream: stream.key_by(first).reduce(halves),
    "window reduce": lambda stream: windows(stream).reduce(halves),
    "session reduce": lambda stream: (
        timed(stream).key_by(first).window(EventTimeSessionWindows.with_gap("1 s")).reduce(halves)
    ),
    "partition reduce": lambda stream: stream.key_by(first).full_window_partition().reduce(halves),
}


@pytest.mark.parametrize("name", FOLDS)
def test_a_fold_may_return_another_type(name: str) -> None:
    values = run_local(lambda env: FOLDS[name](pairs(env)).key_by(first).process(Same())).values()
    assert ("a", 3.5) in values


@pytest.mark.parametrize("name", FOLDS)
def test_a_fold_of_a_declared_type_has_to_keep_it(name: str) -> None:
    with pytest.raises(MillstreamError) as info:
        run_local(lambda env: FOLDS[name](pairs(env, PAIR)))
    assert info.value.code == "TYPE_MISMATCH"


def test_a_fold_may_return_another_shape() -> None:
    """What follows takes the fields that are there, not those that the input had."""

    def program(env: Env) -> DataStream:
        triples = pairs(env).key_by(first).reduce(lambda a, b: (a[0], a[1] + b[1], "more"))
        return triples.filter(lambda t: len(t) > 2).key_by(2).max(1).project(2, 1)

    assert run_local(program).values() == [("more", 3)]


def test_windows_behind_a_fold_take_what_it_returns() -> None:
    """Sums of a LONG field would be computed by column."""

    def program(env: Env) -> DataStream:
        folded = timed(pairs(env)).key_by(0).reduce(halves)
        return folded.key_by(0).window(TumblingEventTimeWindows.of("1 s")).sum(1)

    assert run_local(program).values() == [("a", 4.5), ("b", 5)]


@pytest.mark.parametrize("type_info", [None, Types.TUPLE([Types.STRING(), Types.BIG_INT()])])
def test_a_sum_may_be_too_large_for_64_bits(type_info: TypeInformation | None) -> None:
    def program(env: Env) -> DataStream:
        return env.from_collection([("a", 2**62)] * 3, type_info).key_by(0).sum(1)

    assert run_local(program).values()[-1] == ("a", 3 * 2**62)


def test_a_union_of_inferred_types_is_of_no_type() -> None:
    def program(env: Env) -> DataStream:
        return env.from_collection([1]).union(env.from_collection(["a"]))

    assert sorted(run_local(program).values(), key=str) == [1, "a"]


# -- certainty -------------------------------------------------------------------------------------


def test_certainty_stays_with_a_stream() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    of = [
        pairs(env, PAIR).filter(bool),
        pairs(env).filter(bool),
        pairs(env).project(1),
        pairs(env).union(pairs(env, PAIR)),
        pairs(env).key_by(0).max(1),
        pairs(env).key_by(0).sum(1),
        pairs(env, PAIR).key_by(0).sum(1),
        pairs(env).map(half),
        pairs(env).map(half, PAIR),
    ]
    found = [stream._node.output_type.certainty.name for stream in of]  # type: ignore[union-attr]
    assert found == [
        *("DECLARED", "INFERRED", "INFERRED", "INFERRED", "INFERRED"),
        *("GUESSED", "DECLARED", "INFERRED", "DECLARED"),
    ]


def test_certainty_travels_with_the_program_and_is_no_part_of_the_type() -> None:
    guess = guessed(inferred(PAIR))
    assert guess == PAIR and hash(guess) == hash(PAIR) and PAIR.certainty is Certainty.DECLARED
    assert pickle.loads(pickle.dumps(guess)).certainty is Certainty.GUESSED
    assert inferred(guess).certainty is Certainty.GUESSED
    assert no_surer_than(PAIR, PAIR, None) is PAIR
    assert inferred(None) is guessed(None) is None


# -- lists and tuples for tuples and rows ----------------------------------------------------------


class Lists(KeyedProcessFunction):
    def __init__(self) -> None:
        self.reused: list[Any] = []

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.reused[:] = value
        yield self.reused
        yield LATE, self.reused


@pytest.mark.parametrize("value", [["a", 1], ("a", 1), Row("a", 1)], ids=repr)
@pytest.mark.parametrize(
    ("type_info", "expected"), [(PAIR, "('a', 1)"), (ROW, "Row(f0='a', f1=1)")]
)
class TestLists:
    def test_in_a_collection(self, value: Any, type_info: Any, expected: str) -> None:
        results = run_local(lambda env: env.from_collection([value], type_info).map(repr))
        assert results.values() == [expected]

    def test_from_a_function(self, value: Any, type_info: Any, expected: str) -> None:
        """A function that follows sees the same, whether there is a buffer between or not."""
        make = lambda env: env.from_collection([1]).map(lambda _: value, type_info)  # noqa: E731
        assert run_local(lambda env: make(env).map(repr)).values() == [expected]
        keyed = run_local(lambda env: make(env).key_by(lambda v: 0).process(Same()).map(repr))
        assert keyed.values() == [expected]

    def test_from_a_keyed_function(self, value: Any, type_info: Any, expected: str) -> None:
        def program(env: Env) -> DataStream:
            keyed = env.from_collection([value]).key_by(lambda v: 0)
            return keyed.process(Same(), type_info).map(repr)

        assert run_local(program).values() == [expected]


def test_a_list_that_is_filled_anew_is_emitted_as_it_was() -> None:
    def program(env: Env) -> dict[str, DataStream]:
        lists = pairs(env).key_by(first).process(Lists(), PAIR)
        return {"main": lists, "late": lists.get_side_output(LATE).map(repr)}

    results = run_local(program)
    assert results.values("main") == [("a", 1), ("a", 2), ("b", 5)]
    assert sorted(results.values("late")) == ["('a', 1)", "('a', 2)", "('b', 5)"]


def test_a_list_of_types_is_a_row() -> None:
    def program(env: Env) -> DataStream:
        stream = env.from_collection([1]).map(lambda n: ("a", n), [Types.STRING(), Types.LONG()])
        assert stream.get_type() == ROW
        return stream.map(lambda row: row.f1)

    assert run_local(program).values() == [1]


def test_fields_of_unnamed_rows_have_numbers() -> None:
    def program(env: Env) -> DataStream:
        rows = env.from_collection([("a", 1)], ROW).key_by(lambda row: row.f0).process(Same(), ROW)
        return rows.map(lambda row: (row["f0"], row.f1, row.as_dict()))

    assert run_local(program).values() == [("a", 1, {"f0": "a", "f1": 1})]
