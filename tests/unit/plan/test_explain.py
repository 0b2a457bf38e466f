"""What ``explain`` says of a plan."""

from __future__ import annotations

import re

from millstream.common import WatermarkStrategy
from millstream.datastream import (
    KeyedProcessFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from millstream.datastream.connectors import DiscardingSink, FileSink
from millstream.plan.explain import explain


class Pass(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value


class ReadsWatermark(ProcessFunction):
    def process_element(self, value, ctx):
        yield ctx.timer_service().current_watermark()


def test_stages_levels_and_reasons_are_named() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode("AUTOMATIC")
    numbers = env.from_collection([1, 2, 3]).map(lambda v: v + 1).name("plus one")
    first = numbers.key_by(lambda v: v % 2).process(Pass()).uid("first")
    first.union(numbers).key_by(lambda v: v).process(Pass()).uid("second").print()
    text = str(env.get_execution_plan())
    assert "1 query, batch (automatic: all sources are bounded)" in text
    assert "+ plus one [map-1]" in text and "fused: it has no state" in text
    _, stage_1, stage_2 = re.split(r"keyed stage \d:", text)
    assert "[first]" in stage_1.splitlines()[1] and "[second]" in stage_2.splitlines()[1]
    assert "pass through untouched" in stage_1
    assert "clock: none: no source behind it has timestamps" in text


def test_mermaid_has_every_operator() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).map(lambda v: v).name("same").key_by(lambda v: v).sum(0).print()
    plan = env.get_execution_plan()
    assert plan.mermaid.startswith("flowchart LR")
    assert "same" in plan.mermaid and "==>" in plan.mermaid
    assert plan._repr_mimebundle_()["text/vnd.mermaid"] == plan.mermaid


def test_disconnected_parts_are_queries_of_their_own() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).print()
    env.from_collection([2]).print()
    assert "2 queries" in str(env.get_execution_plan())


def test_function_that_reads_the_watermark_gets_a_stage() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: value
    )
    stream = env.from_collection([1]).assign_timestamps_and_watermarks(strategy)
    stream.process(ReadsWatermark()).name("reader").print()
    text = str(env.get_execution_plan())
    assert "keyed stage 1" in text and "reader" in text.split("keyed stage 1")[1]


def test_a_sink_says_what_a_reader_sees_after_a_crash() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_collection([1])
    numbers.sink_to(FileSink.text("/out")).uid("files")
    numbers.print().uid("shown")
    numbers.sink_to(DiscardingSink()).uid("nowhere")
    text = explain(env._job_graph(), env._settings.options(None)).text
    ends = {line.split("[")[1].split("]")[0]: line for line in text.splitlines() if "->" in line}
    assert ends["files"].endswith(", each record once")
    assert ends["shown"].endswith(", at least once")
    assert not ends["nowhere"].endswith("once")
