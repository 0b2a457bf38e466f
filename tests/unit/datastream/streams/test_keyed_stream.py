"""Keyed streams: keys, state, aggregations, and what a key forbids."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import pytest

from millstream.common import Row, Types
from millstream.common.errors import PlanError
from millstream.datastream import (
    DataStream,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millstream.datastream.building.aggregations import (
    FieldMax,
    FieldMaxBy,
    FieldMin,
    FieldMinBy,
    FieldSum,
)
from millstream.datastream.functions.adapters import KeyedFilter, KeyedFlatMap, KeyedMap
from millstream.plan.graph import KeyedNode, SinkNode, StatelessNode
from millstream.testing import run_local
from tests.support.datastream_support import check_error, last

Env = StreamExecutionEnvironment
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
ROW = Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.LONG()])


def first(pair: tuple[str, int]) -> str:
    return pair[0]


class First(KeySelector):
    def get_key(self, value: tuple[str, int]) -> str:
        return value[0]


class Count(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        yield value


class Keep(MapFunction):
    opened: Any = None
    closed = False

    def open(self, runtime_context: RuntimeContext) -> None:
        self.opened = runtime_context

    def close(self) -> None:
        self.closed = True

    def map(self, value: int) -> int:
        return value + 1


class Twice(FlatMapFunction):
    def flat_map(self, value: Any) -> Any:
        yield value
        yield value


class Odd(FilterFunction):
    def filter(self, value: int) -> bool:
        return value % 2 == 1


class Add(ReduceFunction):
    def reduce(self, value1: int, value2: int) -> int:
        return value1 + value2


@pytest.fixture
def pairs(env: Env) -> DataStream:
    return env.from_collection([("a", 1), ("b", 2)])


# -- keys ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selector", "key_type"),
    [
        (lambda pair: pair[0], None),
        (first, Types.STRING()),
        (First(), Types.STRING()),
        (itemgetter(0), None),
        (0, Types.STRING()),
        ("f0", Types.STRING()),
    ],
)
def test_key_selector_and_type(env: Env, pairs: DataStream, selector: Any, key_type: Any) -> None:
    assert pairs.key_by(selector).get_key_type() == key_type
    pairs.key_by(selector).reduce(lambda a, b: a)
    node = last(env)
    assert node.selector(("a", 1)) == "a"
    assert node.key_type == key_type


def test_declared_key_type_wins(pairs: DataStream) -> None:
    assert pairs.key_by(0, Types.CHAR()).get_key_type() == Types.CHAR()
    assert pairs.key_by(lambda pair: pair[0], key_type=str).get_key_type() == Types.STRING()


def test_key_by_alone_adds_no_operator(env: Env, pairs: DataStream) -> None:
    pairs.key_by(0)
    assert len(env._graph.nodes) == 1


def test_key_by_again_replaces_the_key(env: Env, pairs: DataStream) -> None:
    pairs.key_by(0).key_by(1).sum(1)
    assert last(env).selector(("a", 1)) == 1
    assert last(env).inputs == (1,)


def test_key_of_a_row_by_name(env: Env) -> None:
    env.from_collection([Row(word="a", count=1)]).key_by("word").sum("count")
    assert last(env).selector(Row(word="b", count=1)) == "b"
    assert last(env).key_type == Types.STRING()


class Opening(KeySelector):
    def open(self, runtime_context: RuntimeContext) -> None:
        pass

    def get_key(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize(
    ("selector", "code", "hint"),
    [
        (lambda: 1, "WRONG_ARITY", "(value)"),
        (First, "FUNCTION_CLASS", "First(...)"),
        (Keep(), "WRONG_FUNCTION_KIND", "map(...)"),
        (None, "WRONG_FUNCTION_KIND", "KeySelector"),
        (2, "UNKNOWN_FIELD", "f0, f1"),
        ("word", "UNKNOWN_FIELD", "f0, f1"),
        (Opening(), "NO_OPEN_HERE", "__init__"),
    ],
)
def test_key_refused(pairs: DataStream, selector: Any, code: str, hint: str) -> None:
    with pytest.raises(PlanError) as info:
        pairs.key_by(selector)
    check_error(info.value, code, here=__file__, hint=hint)


# -- functions with state --------------------------------------------------------------------------


def test_process(env: Env, pairs: DataStream) -> None:
    function = Count()
    stream = pairs.key_by(first).process(function, output_type=PAIR).uid("count")
    node = last(env)
    assert isinstance(node, KeyedNode)
    assert (node.kind, node.name, node.uid) == ("process", "Keyed Process", "count")
    assert node.function is function and node.selector is first
    assert ": stream = pairs.key_by(first)" in str(node.location)
    assert stream.get_type() == PAIR
    stream.get_side_output(OutputTag("late"))


@pytest.mark.parametrize(
    ("call", "function", "adapter", "output_type"),
    [
        ("map", Keep(), KeyedMap, Types.LONG()),
        ("flat_map", Twice(), KeyedFlatMap, None),
        ("filter", Odd(), KeyedFilter, PAIR),
    ],
)
def test_function_objects_run_keyed(
    env: Env, pairs: DataStream, call: str, function: Any, adapter: Any, output_type: Any
) -> None:
    getattr(pairs.key_by(0), call)(function)
    node = last(env)
    assert isinstance(node, KeyedNode) and node.kind == "process"
    assert isinstance(node.function, adapter) and node.function.function is function
    assert node.output_type == output_type


@pytest.mark.parametrize("call", ["map", "flat_map", "filter"])
def test_plain_functions_need_no_exchange(env: Env, pairs: DataStream, call: str) -> None:
    getattr(pairs.key_by(0), call)(lambda value: [value])
    assert isinstance(last(env), StatelessNode) and last(env).inputs == (1,)


def test_adapters_do_what_their_function_does() -> None:
    keep = Keep()
    adapter = KeyedMap(keep)
    context: Any = object()
    adapter.open(context)
    assert keep.opened is context
    assert list(adapter.process_element(1, None)) == [2]
    adapter.close()
    assert keep.closed
    assert list(KeyedFlatMap(Twice()).process_element(1, None) or ()) == [1, 1]
    odd = KeyedFilter(Odd())
    assert [list(odd.process_element(n, None) or ()) for n in (1, 2)] == [[1], []]


@pytest.mark.parametrize(
    ("function", "hint"),
    [
        (type("P", (ProcessFunction,), {"process_element": lambda self, v, c: None})(), "Keyed"),
        (lambda value, ctx: None, "KeyedProcessFunction"),
        (Keep(), "map(...)"),
    ],
)
def test_keyed_process_refuses_other_functions(pairs: DataStream, function: Any, hint: str) -> None:
    with pytest.raises(PlanError) as info:
        pairs.key_by(0).process(function)
    check_error(info.value, "WRONG_FUNCTION_KIND", here=__file__, hint=hint)


def test_process_without_a_key_refuses_keyed_functions(pairs: DataStream) -> None:
    with pytest.raises(PlanError) as info:
        pairs.process(Count())  # type: ignore[call-overload]
    check_error(info.value, "WRONG_FUNCTION_KIND", here=__file__, hint="key_by(...) first")


# -- aggregations ----------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [lambda a, b: a, Add(), max])
def test_reduce_keeps_function_and_type(env: Env, pairs: DataStream, function: Any) -> None:
    stream = pairs.key_by(0).reduce(function)
    node = last(env)
    assert (node.kind, node.name) == ("reduce", "Reduce")
    assert node.function is function
    assert stream.get_type() == PAIR


@pytest.mark.parametrize(
    ("call", "reducer"),
    [
        ("sum", FieldSum),
        ("min", FieldMin),
        ("max", FieldMax),
        ("min_by", FieldMinBy),
        ("max_by", FieldMaxBy),
    ],
)
def test_aggregation_is_a_reduce_of_a_field(
    env: Env, pairs: DataStream, call: str, reducer: Callable[[Any], Any]
) -> None:
    assert getattr(pairs.key_by(0), call)(1).get_type() == PAIR
    assert last(env).kind == "reduce" and last(env).function == reducer(1)
    getattr(pairs.key_by(0), call)("f1")
    assert last(env).function == reducer(1)
    getattr(env.from_collection([1, 2]).key_by(lambda n: n % 2), call)()
    assert last(env).function == reducer(0)


def test_field_of_a_row_stays_a_name(env: Env) -> None:
    env.from_collection([Row(word="a", count=1)]).key_by("word").sum("count")
    assert last(env).function == FieldSum("count")


def test_fields_of_unknown_types_are_left_to_the_run(env: Env, pairs: DataStream) -> None:
    pairs.map(lambda pair: pair).key_by(0).sum("count")
    assert last(env).function == FieldSum("count")


def test_unknown_field_is_found_before_the_job_starts(env: Env) -> None:
    rows = env.from_collection([Row(word="a", count=1)])
    with pytest.raises(PlanError) as info:
        rows.key_by("word").sum("coumt")
    check_error(info.value, "UNKNOWN_FIELD", here=__file__, hint="did you mean 'count'?")


@pytest.mark.parametrize(
    ("call", "field", "code"),
    [
        ("sum", 2, "UNKNOWN_FIELD"),
        ("max", -1, "UNKNOWN_FIELD"),
        ("min", "x", "UNKNOWN_FIELD"),
        ("sum", 0, "NOT_A_NUMBER"),
        ("sum", 1.0, "BAD_FIELD"),
        ("sum", None, "BAD_FIELD"),
        ("sum", True, "BAD_FIELD"),
    ],
)
def test_field_refused(pairs: DataStream, call: str, field: Any, code: str) -> None:
    with pytest.raises(PlanError) as info:
        getattr(pairs.key_by(0), call)(field)
    check_error(info.value, code, here=__file__, hint="")


def test_field_of_plain_numbers_is_zero(env: Env) -> None:
    with pytest.raises(PlanError, match="UNKNOWN_FIELD"):
        env.from_collection([1, 2]).key_by(lambda n: n).sum(1)


# -- a keyed stream is a stream, but no operator ---------------------------------------------------


def test_keyed_stream_can_be_written_and_merged(env: Env, pairs: DataStream) -> None:
    pairs.key_by(0).print()
    assert isinstance(last(env), SinkNode) and last(env).inputs == (1,)
    pairs.key_by(0).union(pairs.key_by(1))
    assert last(env).inputs == (1, 1)
    assert pairs.key_by(0).project(1).get_type() == Types.TUPLE([Types.LONG()])


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("name", ("n",)),
        ("uid", ("u",)),
        ("get_name", ()),
        ("set_parallelism", (1,)),
        ("set_max_parallelism", (1,)),
        ("force_non_parallel", ()),
        ("set_buffer_timeout", (1,)),
        ("start_new_chain", ()),
        ("disable_chaining", ()),
        ("slot_sharing_group", ("g",)),
        ("set_uid_hash", ("0" * 32,)),
    ],
)
def test_settings_belong_to_operators(pairs: DataStream, call: str, arguments: Any) -> None:
    with pytest.raises(PlanError) as info:
        getattr(pairs.key_by(0), call)(*arguments)
    check_error(info.value, "NOT_AN_OPERATOR", here=__file__, hint=f".{call}(")


@pytest.mark.parametrize(
    "call", ["rebalance", "shuffle", "rescale", "forward", "global_", "broadcast"]
)
def test_key_decides_where_records_go(pairs: DataStream, call: str) -> None:
    with pytest.raises(PlanError) as info:
        getattr(pairs.key_by(0), call)()
    check_error(info.value, "KEYED_EXCHANGE", here=__file__, hint="before key_by")


@pytest.mark.parametrize("options", [{}, {"epochs": 1, "restarts": "every"}], ids=["one", "many"])
def test_a_rolling_reduce_takes_none_for_a_value(options: dict[str, Any]) -> None:
    """As the first value of a key, and as a result."""

    def program(env: StreamExecutionEnvironment) -> Any:
        numbers: DataStream[Any] = env.from_collection([None, 1, 2, 3])
        keyed = numbers.key_by(lambda value: 0)
        return {
            "pairs": keyed.reduce(lambda one, other: (one, other)),
            "nones": keyed.reduce(lambda one, other: None if other == 1 else (one, other)),
        }

    results = run_local(program, **options)
    assert results.values("pairs") == [None, (None, 1), ((None, 1), 2), (((None, 1), 2), 3)]
    assert results.values("nones") == [None, None, (None, 2), ((None, 2), 3)]
