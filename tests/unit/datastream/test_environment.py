"""The environment: sources, what executes, and what is kept from job to job."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from millstream.common import Row, RowKind, Types, WatermarkStrategy, windows
from millstream.common.errors import ConfigurationError, PlanError, TypeMismatchError
from millstream.connectors.source import ChannelSource
from millstream.datastream import (
    CheckpointingMode,
    JobListener,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
    TimestampedValue,
    timestamped_value,
    window,
)
from millstream.plan.graph import SinkNode, SourceNode
from millstream.plan.specs import DataFrameSpec, FilesSpec, SocketSpec
from millstream.testing import in_memory
from tests.support.datastream_support import FakeRuntime, check_error, last

Env = StreamExecutionEnvironment


# -- from_collection -------------------------------------------------------------------------------


def elements(env: Env) -> Any:
    (chunk,) = last(env).source.read(0, 0, 100)
    return chunk.values, chunk.timestamps


def test_collection_is_one_bounded_channel_with_an_inferred_type(env: Env) -> None:
    stream = env.from_collection([("a", 1), ("b", 2)])
    node = last(env)
    assert isinstance(node, SourceNode) and isinstance(node.source, ChannelSource)
    assert node.source.bounded
    assert node.output_type == stream.get_type() == Types.TUPLE([Types.STRING(), Types.LONG()])
    assert str(node.location).endswith(': stream = env.from_collection([("a", 1), ("b", 2)])')
    assert elements(env) == ([("a", 1), ("b", 2)], None)


@pytest.mark.parametrize("collection", [range(3), iter([0, 1, 2]), (0, 1, 2), {0, 1, 2}])
def test_collection_may_be_any_iterable(env: Env, collection: Any) -> None:
    env.from_collection(collection)
    assert elements(env) == ([0, 1, 2], None)


def test_collection_may_be_empty(env: Env) -> None:
    env.from_collection([], Types.LONG())
    assert elements(env) == ([], None)


def test_type_may_be_a_type_hint(env: Env) -> None:
    assert env.from_collection([("a", 1)], tuple[str, int]).get_type() == Types.TUPLE(
        [Types.STRING(), Types.LONG()]
    )


def test_tuples_declared_as_rows_are_rows(env: Env) -> None:
    env.from_collection([(1, "a")], Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()]))
    assert elements(env)[0] == [Row(id=1, name="a")]


@pytest.mark.parametrize(
    ("type_info", "value"),
    [
        (Types.DOUBLE(), 1),
        (Types.FLOAT(), 0.1),
        (Types.LONG(), np.int64(3)),
        (Types.BOOLEAN(), np.bool_(True)),
        (Types.LIST(Types.DOUBLE()), (1, 2)),
        (Types.OBJECT_ARRAY(Types.LIST(Types.INT())), [[1], None]),
        (Types.MAP(Types.STRING(), Types.DOUBLE()), {"a": 1}),
        (Types.ROW([Types.LONG(), Types.STRING()]), (1, "a")),
        (Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.DOUBLE()]), {"b": 2, "a": 1}),
        (Types.TUPLE([Types.ROW_NAMED(["x"], [Types.INT()])]), ([1],)),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"ab"),
        (Types.SQL_DATE(), date(2026, 1, 31)),
        (Types.BIG_DEC(), Decimal("1.50")),
        (Types.LONG(), None),
    ],
)
def test_elements_are_as_they_come_back_from_storage(env: Env, type_info: Any, value: Any) -> None:
    env.from_collection([value], type_info)
    (element,) = elements(env)[0]
    (expected,) = type_info.from_arrow_arrays(type_info.to_arrow_arrays([value]))
    assert element == expected
    assert repr(element) == repr(expected)


def test_timestamped_values_bring_their_event_times(env: Env) -> None:
    stream = env.from_collection([TimestampedValue("a", 10), TimestampedValue("b", 5)])
    assert stream.get_type() == Types.STRING()
    assert elements(env) == (["a", "b"], [10, 5])


def test_there_is_one_class_of_values_with_times() -> None:
    """Elements of `from_collection`, and what evictors see."""
    assert window.TimestampedValue is TimestampedValue
    assert timestamped_value.TimestampedValue is TimestampedValue
    assert windows.TimestampedValue is TimestampedValue
    value = TimestampedValue("a", 10)
    assert repr(value) == "TimestampedValue(value='a', timestamp=10)"
    assert (value.get_value(), value.get_timestamp(), value.has_timestamp()) == ("a", 10, True)
    assert not TimestampedValue("a", None).has_timestamp()


def test_timestamps_may_be_given_apart(env: Env) -> None:
    env.from_collection(["a", "b"], timestamps=(10, 5))
    assert elements(env) == (["a", "b"], [10, 5])


def test_rows_of_a_changelog_keep_their_kinds(env: Env) -> None:
    row = Row.of_kind(RowKind.DELETE, "ada", 3)
    stream = env.from_collection([row], Types.ROW([Types.STRING(), Types.LONG()]))
    with in_memory():
        (found,) = stream.execute_and_collect()
    assert (tuple(found), found.get_row_kind()) == (("ada", 3), RowKind.DELETE)


def test_a_key_of_several_fields_is_no_list(env: Env) -> None:
    with pytest.raises(PlanError) as info:
        env.from_collection([("a", 1)]).key_by([0, 1])  # type: ignore[call-overload]
    check_error(info.value, "WRONG_FUNCTION_KIND", here=__file__, hint="a tuple: key_by((0, 1))")


def test_element_of_a_wrong_type_is_named_with_index_type_and_line(env: Env) -> None:
    with pytest.raises(TypeMismatchError) as info:
        env.from_collection([1, 2, "three"], Types.LONG())
    check_error(info.value, "ELEMENT_TYPE", here=__file__, hint="change the element")
    assert "element 2" in info.value.message
    assert "'three'" in info.value.message and "LONG" in info.value.message
    assert info.value.location.code == 'env.from_collection([1, 2, "three"], Types.LONG())'  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("collection", "options", "code", "hint"),
    [
        ("abc", {}, "NOT_A_COLLECTION", "list"),
        ({"a": 1}, {}, "NOT_A_COLLECTION", "d.items()"),
        (3, {}, "NOT_A_COLLECTION", "list"),
        ([TimestampedValue(1, 1), 2], {}, "MIXED_TIMESTAMPS", "all elements"),
        ([TimestampedValue(1, 1)], {"timestamps": [1]}, "TIMESTAMPS_TWICE", "one of the two"),
        ([1, 2], {"timestamps": [1]}, "TIMESTAMP_COUNT", "one timestamp for each"),
        ([1], {"timestamps": [1.5]}, "BAD_TIMESTAMP", "milliseconds"),
        ([1], {"timestamps": [None]}, "BAD_TIMESTAMP", "milliseconds"),
        ([TimestampedValue(1, None)], {}, "BAD_TIMESTAMP", "milliseconds"),
        ([1], {"type_info": Types.LONG}, "NOT_A_TYPE", "call it"),
        ([1], {"type_info": "LONG"}, "NOT_A_TYPE", "Types"),
    ],
)
def test_collection_refused(env: Env, collection: Any, options: Any, code: str, hint: str) -> None:
    with pytest.raises(PlanError) as info:
        env.from_collection(collection, **options)
    check_error(info.value, code, here=__file__, hint=hint)


# -- other sources ---------------------------------------------------------------------------------


def test_text_file(env: Env) -> None:
    assert env.read_text_file("/in").get_type() == Types.STRING()
    assert last(env).source == FilesSpec(path="/in", format="text")


def test_text_file_in_a_charset_spark_cannot_read(env: Env) -> None:
    with pytest.raises(PlanError) as info:
        env.read_text_file("/in", "UTF-16")
    check_error(info.value, "CHARSET", here=__file__, hint="from_dataframe")


def test_socket(env: Env) -> None:
    env.socket_text_stream("localhost", 9999)
    assert last(env).source == SocketSpec(host="localhost", port=9999)


@pytest.mark.parametrize(
    ("host", "port"), [("", 1), (None, 1), ("h", 0), ("h", 70_000), ("h", "1")]
)
def test_socket_refused(env: Env, host: Any, port: Any) -> None:
    with pytest.raises(PlanError, match="BAD_SOCKET"):
        env.socket_text_stream(host, port)


def dataframe() -> Any:
    fields = [("word", "string"), ("n", "long"), ("at", "timestamp")]
    schema = SimpleNamespace(
        fieldNames=lambda: [name for name, _ in fields],
        jsonValue=lambda: {"fields": [{"name": name, "type": kind} for name, kind in fields]},
    )
    return SimpleNamespace(isStreaming=False, schema=schema)


def test_dataframe_has_the_type_of_its_schema(env: Env) -> None:
    df = dataframe()
    stream = env.from_dataframe(df, channel="word", position="n")
    assert last(env).source == DataFrameSpec(dataframe=df, channel="word", position="n")
    assert stream.get_type() == Types.ROW_NAMED(
        ["word", "n", "at"], [Types.STRING(), Types.LONG(), Types.INSTANT()]
    )


def test_dataframe_refused(env: Env) -> None:
    with pytest.raises(PlanError, match="NOT_A_DATAFRAME"):
        env.from_dataframe([1, 2])  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="CHANNEL_AND_POSITION"):
        env.from_dataframe(dataframe(), position="n")
    with pytest.raises(PlanError) as info:
        env.from_dataframe(dataframe(), channel="wrod", position="n")
    check_error(info.value, "UNKNOWN_FIELD", here=__file__, hint="did you mean 'word'?")


def test_source_refused(env: Env) -> None:
    from millstream.datastream.connectors import FileSource, NumberSequenceSource
    from millstream.datastream.connectors.file_system import StreamFormat

    strategy = WatermarkStrategy.no_watermarks()
    for source, hint in [
        (NumberSequenceSource, "NumberSequenceSource(...)"),
        (FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/a"), "build()"),
        ("numbers", "connectors"),
    ]:
        with pytest.raises(PlanError) as info:
            env.from_source(source, strategy, "s")  # type: ignore[arg-type]
        check_error(info.value, "NOT_A_SOURCE", here=__file__, hint=hint)
    with pytest.raises(PlanError, match="NOT_A_STRATEGY"):
        env.from_source(NumberSequenceSource(1, 2), None, "s")  # type: ignore[arg-type]


def test_add_source_is_a_source_without_event_times(env: Env) -> None:
    from millstream.datastream.connectors import NumberSequenceSource

    env.add_source(NumberSequenceSource(1, 2))
    assert last(env).strategy.kind == "none" and last(env).name == "Custom Source"


# -- executing -------------------------------------------------------------------------------------


def test_execute_hands_over_graph_options_and_session(runtime: FakeRuntime) -> None:
    session: Any = object()
    env = Env.get_execution_environment(spark=session)
    env.set_parallelism(3).set_slots(12).set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_channel_order("watermark").enable_checkpointing("10 s", CheckpointingMode.EXACTLY_ONCE)
    env.set_checkpoint_directory("/checkpoints")
    env.get_config().set_auto_watermark_interval(200).set_global_job_parameters({"k": 1})
    env.from_collection([1]).print()
    result = env.execute("my job")
    assert result.get_accumulator_result("lines") == 3
    graph, options, spark = runtime.jobs[0]
    assert spark is session
    assert [type(node) for node in graph] == [SourceNode, SinkNode]
    assert (options.name, options.mode, options.parallelism, options.slots) == (
        "my job",
        "batch",
        3,
        12,
    )
    assert options.channel_order == "watermark" and options.auto_watermark_interval_ms == 200
    assert options.checkpoint_interval_ms == 10_000 and options.checkpoint_dir == "/checkpoints"
    assert options.configuration == {"k": "1"}


def test_execute_without_a_sink_says_so_and_keeps_what_was_built(
    env: Env, runtime: FakeRuntime
) -> None:
    stream = env.from_collection([1]).map(str)
    with pytest.raises(PlanError) as info:
        env.execute()
    check_error(info.value, "NO_SINK", here=__file__, hint="print()")
    # Programs of Flink ML look for this sentence of Flink's.
    assert "No operators defined in streaming topology." in str(info.value)
    assert not runtime.jobs
    stream.print()
    env.execute()
    assert len(runtime.jobs) == 1


def test_second_execute_runs_only_what_was_built_since(env: Env, runtime: FakeRuntime) -> None:
    env.from_collection([1]).print("first")
    env.execute()
    env.from_collection([2]).print("second")
    env.execute()
    prefixes = [
        [node.sink.sink_identifier for node in graph if isinstance(node, SinkNode)]  # type: ignore[attr-defined]
        for graph, _, _ in runtime.jobs
    ]
    assert prefixes == [["first"], ["second"]]
    with pytest.raises(PlanError, match="NO_SINK"):
        env.execute()


def test_stream_of_an_earlier_job_can_be_used_again(env: Env, runtime: FakeRuntime) -> None:
    numbers = env.from_collection([1, 2]).uid("numbers")
    texts = numbers.map(str).uid("texts")
    texts.print()
    env.execute()
    texts.print()
    numbers.print()
    env.execute()
    graph = runtime.jobs[1][0]
    assert [node.uid for node in graph] == ["numbers", "texts", None, None]
    assert [node.inputs for node in graph] == [(), (1,), (2,), (1,)]


def test_the_same_uids_can_be_used_in_the_next_job(env: Env, runtime: FakeRuntime) -> None:
    for _ in range(2):
        env.from_collection([1]).uid("numbers").print().uid("out")
        env.execute()
    assert len(runtime.jobs) == 2


def test_what_leads_to_no_sink_is_not_part_of_the_job(env: Env, runtime: FakeRuntime) -> None:
    numbers = env.from_collection([1])
    numbers.map(str)
    numbers.print()
    env.execute()
    assert [node.id for node in runtime.jobs[0][0]] == [1, 2]


def test_uids_can_be_demanded(env: Env) -> None:
    env.get_config().disable_auto_generated_uids()
    env.from_collection([1]).uid("numbers").rebalance().print()
    with pytest.raises(PlanError) as info:
        env.execute()
    check_error(info.value, "NO_UID", here=__file__, hint="uid(")
    assert "'Print'" in info.value.message


def test_a_failed_job_raises_its_error(env: Env, runtime: FakeRuntime) -> None:
    runtime.on_submit = lambda _, client: client.result.set_exception(OSError("broken"))
    env.from_collection([1]).print()
    with pytest.raises(OSError, match="broken"):
        env.execute()


def test_ctrl_c_stops_the_job(env: Env, runtime: FakeRuntime) -> None:
    runtime.on_submit = lambda _, client: client.result.set_exception(KeyboardInterrupt())
    env.from_collection([1]).print()
    with pytest.raises(KeyboardInterrupt):
        env.execute()
    assert runtime.clients[0].cancelled


class Listener(JobListener):
    def __init__(self) -> None:
        self.heard: list[tuple[str, bool, str]] = []

    def on_job_submitted(self, job_client: Any, error: BaseException | None) -> None:
        self.heard.append(("submitted", job_client is not None, str(error or "")))

    def on_job_executed(self, job_execution_result: Any, error: BaseException | None) -> None:
        self.heard.append(("executed", job_execution_result is not None, str(error or "")))


def test_listeners_hear_of_jobs(env: Env, runtime: FakeRuntime) -> None:
    listener = Listener()
    env.register_job_listener(listener)
    env.from_collection([1]).print()
    env.execute()

    def refuse(*_: Any) -> None:
        raise OSError("no session")

    runtime.on_submit = refuse
    env.from_collection([1]).print()
    with pytest.raises(OSError, match="no session"):
        env.execute()
    assert listener.heard == [
        ("submitted", True, ""),
        ("executed", True, ""),
        ("submitted", False, "no session"),
    ]
    env.clear_job_listeners()
    env.from_collection([1]).print()
    with pytest.raises(OSError, match="no session"):
        env.execute()
    assert len(listener.heard) == 3


def test_close_forgets_what_was_built(env: Env, runtime: FakeRuntime) -> None:
    env.from_collection([1]).print()
    env.close()
    with pytest.raises(PlanError, match="NO_SINK"):
        env.execute()


# -- settings --------------------------------------------------------------------------------------


def test_setters_return_the_environment_and_getters_what_was_set(env: Env) -> None:
    assert env.set_parallelism(2) is env.set_slots(4) is env.set_runtime_mode("streaming") is env
    assert env.enable_checkpointing(timedelta(seconds=1)).get_checkpoint_interval() == 1_000
    assert env.set_max_parallelism(7).get_max_parallelism() == 7
    env2 = Env.get_execution_environment()
    env2.set_default_local_parallelism(5)
    assert env2.get_parallelism() == 5 and env2.get_checkpoint_interval() == -1


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("set_parallelism", 0),
        ("set_parallelism", "2"),
        ("set_slots", 0),
        ("set_slots", 1.5),
        ("set_channel_order", "random"),
        ("set_runtime_mode", "fast"),
        ("set_runtime_mode", 3),
        ("enable_checkpointing", 0),
    ],
)
def test_setting_refused(env: Env, call: str, value: Any) -> None:
    with pytest.raises(ConfigurationError) as info:
        getattr(env, call)(value)
    assert info.value.location is not None and info.value.location.file == __file__


def test_plan_asks_for_the_part_that_leads_to_sinks(
    env: Env, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys
    from types import ModuleType

    seen: list[list[str]] = []
    module = ModuleType("millstream.plan.explain")

    def explain(graph: Any, options: Any, stored: Any) -> Any:
        assert not stored.layouts
        seen.append([node.name for node in graph])
        return SimpleNamespace(text="the plan", mermaid="graph LR")

    module.explain = explain  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "millstream.plan.explain", module)
    stream = env.from_collection([("a", 1)])
    other = stream.key_by(0).sum(1)
    assert str(env.get_execution_plan()) == "the plan"
    stream.print()
    plan = env.get_execution_plan()
    assert plan._repr_mimebundle_()["text/vnd.mermaid"] == "graph LR"
    assert other.explain() == "the plan"
    assert seen == [
        ["Collection", "Sum", "No Sink"],
        ["Collection", "Print"],
        ["Collection", "Sum", "No Sink"],
    ]
    assert len(env._graph.nodes) == 3, "explaining must add nothing to the job"
