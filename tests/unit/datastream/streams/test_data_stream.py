"""Streams without keys: what graph each call builds, and what each call refuses."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest

from millstream.common import Row, Types, WatermarkStrategy
from millstream.common.errors import PlanError
from millstream.connectors.simple_sinks import CalledFunction, ForeachBatchSink
from millstream.datastream import (
    DataStream,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    Partitioner,
    ProcessFunction,
    SinkFunction,
    SlotSharingGroup,
    StreamExecutionEnvironment,
)
from millstream.datastream.connectors import DiscardingSink, FileSink, PrintSink, SparkSink
from millstream.plan.graph import (
    ExchangeNode,
    SideOutputNode,
    SinkNode,
    StatelessNode,
    TimestampsNode,
    UnionNode,
)
from tests.support.datastream_support import check_error, last

Env = StreamExecutionEnvironment
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


class Double(MapFunction):
    def map(self, value: int) -> int:
        return value * 2


class Words(FlatMapFunction):
    def flat_map(self, value: str) -> Iterator[str]:
        yield from value.split()


class Positive(FilterFunction):
    def filter(self, value: int) -> bool:
        return value > 0


class Split(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[int]:
        yield value


class Forward(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


@pytest.fixture
def pairs(env: Env) -> DataStream:
    return env.from_collection([("a", 1), ("b", 2)])


# -- stateless operators ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "function", "kind", "name"),
    [
        ("map", lambda value: value, "map", "Map"),
        ("map", Double(), "map", "Map"),
        ("map", str, "map", "Map"),
        ("flat_map", lambda value: [value], "flat_map", "Flat Map"),
        ("flat_map", Words(), "flat_map", "Flat Map"),
        ("filter", lambda value: True, "filter", "Filter"),
        ("filter", Positive(), "filter", "Filter"),
        ("process", Split(), "process", "Process"),
    ],
)
def test_stateless_operator(
    env: Env, pairs: DataStream, call: str, function: Any, kind: str, name: str
) -> None:
    stream = getattr(pairs, call)(function)
    node = last(env)
    assert isinstance(node, StatelessNode)
    assert (node.kind, node.name, node.inputs) == (kind, name, (1,))
    assert node.function is function
    assert str(node.location).endswith(": stream = getattr(pairs, call)(function)")
    assert stream.get_name() == name and stream.get_execution_environment() is env


def test_types_come_from_annotations(pairs: DataStream) -> None:
    def measure(value: tuple[str, int]) -> tuple[str, float]:
        return value[0], value[1] / 2

    assert pairs.map(measure).get_type() == Types.TUPLE([Types.STRING(), Types.DOUBLE()])
    assert pairs.map(Double()).get_type() == Types.LONG()
    assert pairs.flat_map(Words()).get_type() == Types.STRING()
    assert pairs.process(Split()).get_type() == Types.LONG()


def test_declared_types_win(pairs: DataStream) -> None:
    assert pairs.map(Double(), Types.DOUBLE()).get_type() == Types.DOUBLE()
    assert pairs.map(Double(), output_type=list[int]).get_type() == Types.LIST(Types.LONG())
    assert pairs.map(Double(), output_type=object).get_type() == Types.PICKLED_BYTE_ARRAY()


def test_unknown_types_travel_pickled(env: Env, pairs: DataStream) -> None:
    assert pairs.map(lambda value: value).get_type() == Types.PICKLED_BYTE_ARRAY()
    assert last(env).output_type is None


def test_filter_exchange_and_timestamps_keep_the_type(pairs: DataStream) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    assert pairs.filter(bool).get_type() == PAIR
    assert pairs.rebalance().get_type() == PAIR
    assert pairs.assign_timestamps_and_watermarks(strategy).get_type() == PAIR


def test_project_keeps_fields_in_the_order_given(env: Env, pairs: DataStream) -> None:
    assert pairs.project(1, 0, 1).get_type() == Types.TUPLE(
        [Types.LONG(), Types.STRING(), Types.LONG()]
    )
    assert last(env).function(("a", 1)) == (1, "a", 1)
    rows = env.from_collection([Row(word="a", n=1)])
    assert rows.project("n").get_type() == Types.ROW_NAMED(["n"], [Types.LONG()])
    assert last(env).function(Row(word="a", n=1)) == Row(n=1)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ((), "NO_FIELDS"),
        ((2,), "UNKNOWN_FIELD"),
        ((-1,), "UNKNOWN_FIELD"),
        (("n",), "UNKNOWN_FIELD"),
        ((True,), "BAD_FIELD"),
    ],
)
def test_project_refused(pairs: DataStream, fields: Any, code: str) -> None:
    with pytest.raises(PlanError, match=code):
        pairs.project(*fields)


def test_project_of_numbers_refused(env: Env) -> None:
    with pytest.raises(PlanError, match="tuples or rows"):
        env.from_collection([1]).project(0)


# -- unions, side outputs, time --------------------------------------------------------------------


def test_union(env: Env, pairs: DataStream) -> None:
    other = env.from_collection([("c", 3)])
    stream = pairs.union(other, pairs)
    assert isinstance(last(env), UnionNode) and last(env).inputs == (1, 2, 1)
    assert stream.get_type() == PAIR


def test_union_with_an_unknown_type_is_unknown(env: Env, pairs: DataStream) -> None:
    pairs.union(pairs.map(lambda value: value))
    assert last(env).output_type is None


def test_union_of_nothing_is_the_stream(env: Env, pairs: DataStream) -> None:
    assert pairs.union()._id == pairs._id


def test_union_refused(env: Env, pairs: DataStream) -> None:
    with pytest.raises(PlanError) as info:
        declared = env.from_collection([("a", 1)], pairs.get_type())
        declared.union(env.from_collection([1], Types.LONG()))
    check_error(info.value, "UNION_TYPES", here=__file__, hint="map them to one type")
    with pytest.raises(PlanError, match="another environment"):
        pairs.union(Env.get_execution_environment().from_collection([("c", 3)]))
    with pytest.raises(PlanError) as info:
        pairs.union([pairs])  # type: ignore[arg-type]
    check_error(info.value, "NOT_A_STREAM", here=__file__, hint="a.union(b, c)")


def test_side_output(env: Env, pairs: DataStream) -> None:
    processed = pairs.process(Split()).name("split")
    late = processed.get_side_output(OutputTag("late", Types.STRING()))
    node = last(env)
    assert isinstance(node, SideOutputNode)
    assert (node.tag, node.inputs, late.get_type()) == ("late", (2,), Types.STRING())


def test_side_output_refused(env: Env, pairs: DataStream) -> None:
    with pytest.raises(PlanError) as info:
        pairs.map(str).get_side_output(OutputTag("late"))
    check_error(info.value, "NO_SIDE_OUTPUT", here=__file__, hint="process(...)")
    with pytest.raises(PlanError, match="NOT_A_TAG"):
        pairs.process(Split()).get_side_output("late")  # type: ignore[arg-type]


def test_timestamps(env: Env, pairs: DataStream) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness("2 s")
    pairs.assign_timestamps_and_watermarks(strategy)
    assert isinstance(last(env), TimestampsNode) and last(env).strategy is strategy
    with pytest.raises(PlanError) as info:
        pairs.assign_timestamps_and_watermarks(lambda value: value[1])  # type: ignore[arg-type]
    check_error(info.value, "NOT_A_STRATEGY", here=__file__, hint="WatermarkStrategy")


# -- exchanges -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call", ["rebalance", "shuffle", "rescale", "forward", "global_", "broadcast"]
)
def test_exchange_has_a_kind_and_a_reason(env: Env, pairs: DataStream, call: str) -> None:
    getattr(pairs, call)()
    node = last(env)
    assert isinstance(node, ExchangeNode)
    assert node.kind == call.rstrip("_") and node.reason


def test_partition_custom(env: Env, pairs: DataStream) -> None:
    class Even(Partitioner):
        def partition(self, key: int, num_partitions: int) -> int:
            return key % num_partitions

    pairs.partition_custom(Even(), lambda pair: pair[1])
    assert last(env).kind == "partition_custom"
    pairs.partition_custom(lambda key, n: key % n, lambda pair: pair[1])
    with pytest.raises(PlanError, match="partition_custom calls its function"):
        pairs.partition_custom(lambda key: 0, lambda pair: pair[1])  # type: ignore[arg-type, misc]


# -- sinks -----------------------------------------------------------------------------------------


class Collecting(SinkFunction):
    def invoke(self, value: Any) -> None:
        pass


def write(dataframe: Any, epoch: int) -> None:
    pass


@pytest.mark.parametrize(
    ("make", "name", "sink"),
    [
        (lambda s: s.print(), "Print", PrintSink()),
        (lambda s: s.print("p"), "Print", PrintSink("p")),
        (
            lambda s: s.sink_to(PrintSink("p", True)),
            "PrintSink",
            PrintSink("p", stderr=True),
        ),
        (lambda s: s.sink_to(DiscardingSink()), "DiscardingSink", DiscardingSink()),
        (
            lambda s: s.sink_to(FileSink.json("/o")),
            "FileSink",
            FileSink.json("/o"),
        ),
        (
            lambda s: s.add_sink(FileSink.json("/o")),
            "FileSink",
            FileSink.json("/o"),
        ),
        (lambda s: s.foreach_batch(write), "Foreach Batch", ForeachBatchSink(write)),
        (lambda s: s.add_sink(print), "Sink", CalledFunction(print)),
    ],
)
def test_sink(env: Env, pairs: DataStream, make: Any, name: str, sink: Any) -> None:
    end = make(pairs).uid("out").set_parallelism(1)
    node = last(env)
    assert isinstance(node, SinkNode)
    assert (node.name, node.sink, node.inputs) == (name, sink, (1,))
    assert (node.uid, node.parallelism) == ("out", 1)
    assert repr(end) == f"DataStreamSink({name})"


def test_spark_sinks(env: Env, pairs: DataStream) -> None:
    pairs.sink_to(SparkSink("orc", path="/o"))
    assert vars(last(env).sink) == {"format": "orc", "mode": "append", "options": {"path": "/o"}}
    pairs.write_to("orc", path="/o", mergeSchema=True)
    assert last(env).name == "Write orc"
    assert last(env).sink.options == {"path": "/o", "mergeSchema": "true"}


def test_sink_function(env: Env, pairs: DataStream) -> None:
    function = Collecting()
    pairs.add_sink(function)
    assert last(env).sink.function is function


def test_sink_refused(pairs: DataStream) -> None:
    with pytest.raises(PlanError) as info:
        pairs.sink_to(print)  # type: ignore[arg-type]
    check_error(info.value, "NOT_A_SINK", here=__file__, hint="add_sink")
    with pytest.raises(PlanError, match="WRONG_ARITY"):
        pairs.foreach_batch(lambda dataframe: None)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="WRONG_ARITY"):
        pairs.foreach_batch(lambda a, b, c, d: None)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="FUNCTION_CLASS"):
        pairs.add_sink(Collecting)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="BAD_SAVE_MODE"):
        pairs.write_to("orc", mode="replace")


# -- settings --------------------------------------------------------------------------------------


def test_settings_change_the_node_in_a_chain_or_alone(env: Env, pairs: DataStream) -> None:
    stream = pairs.map(str).name("to text").uid("text").set_parallelism(3)
    node = last(env)
    assert (node.name, node.uid, node.parallelism) == ("to text", "text", 3)
    stream.name("again")
    stream.force_non_parallel()
    assert (last(env).name, last(env).parallelism, last(env).uid) == ("again", 1, "text")


@pytest.mark.parametrize(
    "uid",
    [
        "..",
        ".",
        "../x",
        "a/b",
        "/",
        "a\\b",
        "x" * 201,
        "ü" * 101,
        "\0",
        "a\nb",
        "\x1b[2J",
        "\ud800",
    ],
)
def test_the_uid_of_a_sink_can_name_a_folder(pairs: DataStream, uid: str) -> None:
    with pytest.raises(PlanError) as caught:
        pairs.print().uid(uid)
    assert caught.value.code == "BAD_UID"
    assert caught.value.location is not None


def test_plain_uids_of_sinks_are_taken(pairs: DataStream) -> None:
    for uid in ("out", "my files", "Größe 2.0", "x" * 200, "..."):
        pairs.print().uid(uid)


def test_uid_twice_is_refused(pairs: DataStream) -> None:
    pairs.uid("a")
    with pytest.raises(PlanError) as info:
        pairs.map(str).uid("a")
    check_error(info.value, "DUPLICATE_UID", here=__file__, hint="uid of its own")


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("name", ""),
        ("name", None),
        ("uid", 3),
        ("set_parallelism", 0),
        ("set_parallelism", True),
        ("set_max_parallelism", -1),
        ("set_uid_hash", "xyz"),
        ("set_buffer_timeout", -2),
        ("set_buffer_timeout", "1 s"),
        ("slot_sharing_group", None),
        ("set_description", 1),
    ],
)
def test_setting_refused(pairs: DataStream, call: str, value: Any) -> None:
    with pytest.raises(PlanError) as info:
        getattr(pairs, call)(value)
    assert info.value.location is not None and info.value.location.file == __file__


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("set_max_parallelism", (8,)),
        ("set_uid_hash", ("0" * 32,)),
        ("set_buffer_timeout", (-1,)),
        ("slot_sharing_group", ("group",)),
        ("slot_sharing_group", (SlotSharingGroup.builder("group").build(),)),
        ("set_description", ("a text",)),
        ("start_new_chain", ()),
        ("disable_chaining", ()),
    ],
)
def test_hint_is_accepted_and_explained(
    pairs: DataStream, noted: list[str], call: str, arguments: Any
) -> None:
    assert getattr(pairs, call)(*arguments) is pairs
    assert noted == [call]


class ByCall:
    def __call__(self, dataframe: Any, epoch: int, token: Any) -> None: ...

    def method(self, dataframe: Any, epoch: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda dataframe, epoch: None, False),
        (lambda dataframe, epoch, table="t": None, False),
        (lambda *arguments: None, False),
        (lambda dataframe, epoch, **options: None, False),
        (lambda dataframe, epoch, token: None, True),
        (lambda dataframe, epoch, other_name: None, True),
        (lambda dataframe, epoch, token=None: None, True),
        (lambda dataframe, epoch, token, table="t": None, True),
        (ByCall(), True),
        (ByCall().method, False),
        (functools.partial(lambda table, dataframe, epoch: None, "t"), False),
        (functools.partial(lambda table, dataframe, epoch, token: None, "t"), True),
    ],
)
def test_a_function_with_a_third_parameter_is_given_a_token(
    env: Env, pairs: DataStream, function: Any, wanted: bool
) -> None:
    pairs.foreach_batch(function)
    assert last(env).sink == ForeachBatchSink(function, wanted)
