"""Which streams print as Java does and which as Python does: so PyFlink 2.3 has printed them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millstream.common import Row, Types, WatermarkStrategy
from millstream.common.errors import PlanError
from millstream.common.text import printed_text
from millstream.datastream import (
    CoMapFunction,
    DataStream,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from millstream.datastream.connectors import PrintSink
from millstream.testing import run_local

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
NAMED = Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.INT()])
TYPED, UNTYPED = OutputTag("typed", PAIR), OutputTag("untyped")


class Split(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value
        yield TYPED, value
        yield UNTYPED, value


class Both(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    map2 = map1


def annotated(value: Any) -> tuple[str, int]:
    return value  # type: ignore[no-any-return]


def first(value: Any) -> Any:
    return value[0]


def added(one: Any, two: Any) -> Any:
    return one[0], one[1] + two[1]


Build = Callable[[DataStream], Any]
STREAMS: dict[str, tuple[Build, list[str]]] = {
    "filter": (lambda s: s.filter(lambda v: True), ["(a,1)", "(a,2)"]),
    "key_by": (lambda s: s.key_by(first).filter(lambda v: True), ["(a,1)", "(a,2)"]),
    "sum": (lambda s: s.key_by(first).sum(1), ["(a,1)", "(a,3)"]),
    "max_by": (lambda s: s.key_by(first).max_by(1), ["(a,1)", "(a,2)"]),
    "reduce": (lambda s: s.key_by(first).reduce(added), ["(a,1)", "(a,3)"]),
    "union": (lambda s: s.union(s), ["(a,1)", "(a,1)", "(a,2)", "(a,2)"]),
    "count_window": (lambda s: s.key_by(first).count_window(2).reduce(added), ["(a,3)"]),
    "project": (lambda s: s.project(1, 0), ["(1,a)", "(2,a)"]),
    "rebalance": (lambda s: s.rebalance(), ["(a,1)", "(a,2)"]),
    "timestamps": (
        lambda s: s.assign_timestamps_and_watermarks(
            WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, _: v[1])
        ),
        ["(a,1)", "(a,2)"],
    ),
    "map": (lambda s: s.map(lambda v: v), ["('a', 1)", "('a', 2)"]),
    "annotated": (lambda s: s.map(annotated), ["('a', 1)", "('a', 2)"]),
    "flat_map": (lambda s: s.flat_map(lambda v: [v]), ["('a', 1)", "('a', 2)"]),
    "flat_map, typed": (lambda s: s.flat_map(lambda v: [v], PAIR), ["(a,1)", "(a,2)"]),
    "connect": (lambda s: s.connect(s).map(Both()), ["('a', 1)"] * 2 + ["('a', 2)"] * 2),
    "connect, typed": (lambda s: s.connect(s).map(Both(), PAIR), ["(a,1)"] * 2 + ["(a,2)"] * 2),
    "side output": (
        lambda s: s.process(Split(), PAIR).get_side_output(UNTYPED),
        ["('a', 1)", "('a', 2)"],
    ),
    "side output, typed": (
        lambda s: s.process(Split(), PAIR).get_side_output(TYPED),
        ["(a,1)", "(a,2)"],
    ),
}


def printed(stream: DataStream) -> list[str]:
    """What ``print`` would show: the records of a local run, as text of the stream's type."""
    text = printed_text(stream._node.output_type)
    return sorted(map(text, run_local(stream).values()))


@pytest.mark.parametrize("name", STREAMS)
def test_of_declared_tuples(name: str) -> None:
    build, texts = STREAMS[name]
    env = StreamExecutionEnvironment.get_execution_environment()
    assert printed(build(env.from_collection([("a", 1), ("a", 2)], PAIR))) == texts


@pytest.mark.parametrize("name", ["filter", "sum", "reduce", "union"])
def test_of_tuples_that_nobody_has_declared(name: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = STREAMS[name][0](env.from_collection([("a", 1), ("a", 2)]))
    assert {text[:6] for text in printed(stream)} == {"('a', "}


@pytest.mark.parametrize("build", [lambda s: s, lambda s: s.key_by(first).sum("b")])
def test_of_rows(build: Build) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    assert printed(build(env.from_collection([Row("a", 1)], NAMED))) == ["+I[a,1]"]


def test_the_style_is_checked_where_it_is_chosen() -> None:
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    for build in (lambda: stream.print(text="java"), lambda: PrintSink("p", text="java")):  # type: ignore[arg-type]
        with pytest.raises(PlanError, match="TEXT_STYLE") as caught:
            build()
        assert caught.value.location is not None and caught.value.location.file == __file__
