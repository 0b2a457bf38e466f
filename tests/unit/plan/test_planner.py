"""The plan of a job as data: levels, timelines, channel offsets, lags, numbers."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.common import WatermarkStrategy
from millstream.common.errors import PlanError
from millstream.common.watermark_strategy import Watermark, WatermarkGenerator
from millstream.datastream import ProcessFunction
from millstream.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from millstream.kernel.records.outputs import MAIN
from millstream.kernel.steps.routing import Place
from millstream.plan.numbering import numbers_of, with_numbers
from millstream.plan.planner import Component, plan
from millstream.testing import TestSource
from tests.support.plan_support import (
    RECORD,
    Pass,
    ascending,
    by_key,
    compiled,
    component,
    components,
    environment,
    hosted,
    ids,
    passed,
    source,
    timed,
)


class Slow(WatermarkGenerator):
    """Behind the records by one."""

    def on_event(self, event: Any, timestamp: int, output: Any) -> None:
        output.emit_watermark(Watermark(timestamp - 1))

    def on_periodic_emit(self, output: Any) -> None:
        pass


class ReadsWatermark(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield ctx.timer_service().current_watermark()


def custom() -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_generator(Slow)
    return strategy.with_timestamp_assigner(lambda record, _: record[2])


def levels(planned: Component) -> list[list[str]]:
    return [[planned.uids[node.id] for node in level] for level in planned.levels]


# -- levels ----------------------------------------------------------------------------------------


def test_a_keyed_operator_is_one_level_above_what_it_reads() -> None:
    env = environment()
    read = source(env, "in")
    one = passed(read, "one")
    passed(one.map(lambda r: r, output_type=RECORD), "two").print()
    passed(read, "beside").print()
    passed(one.union(read), "union").print()
    assert levels(component(env)) == [["one", "beside"], ["two", "union"]]


def test_what_leads_to_no_sink_is_in_no_level() -> None:
    env = environment()
    read = source(env, "in")
    passed(read, "seen").print()
    passed(read, "unseen")
    planned = component(env)
    assert levels(planned) == [["seen"]]
    assert "unseen" not in ids(planned)


def test_parts_that_share_nothing_are_components() -> None:
    env = environment()
    passed(source(env, "left"), "one").print()
    passed(source(env, "right"), "two").print()
    assert [levels(planned) for planned in components(env)] == [[["one"]], [["two"]]]
    assert [planned.index for planned in components(env)] == [0, 1]


def test_a_watermark_generator_on_a_source_has_a_level_before_all_others() -> None:
    env = environment()
    made = source(env, "in").assign_timestamps_and_watermarks(custom()).uid("made")
    passed(made, "one").print()
    passed(source(env, "other").union(made), "two").print()
    assert levels(component(env)) == [["made"], ["one", "two"]]


def test_watermarks_behind_a_keyed_operator_have_a_level_of_their_own() -> None:
    env = environment()
    again = timed(passed(timed(source(env, "in"), "first"), "one"), "again")
    passed(again, "two").print()
    planned = component(env)
    assert levels(planned) == [["one"], ["again"], ["two"]]
    assert not planned.follows_source(planned.graph[ids(planned)["again"]])


def test_a_function_that_reads_the_watermark_is_hosted() -> None:
    env = environment()
    timed(source(env, "in"), "times").process(ReadsWatermark()).uid("reader").print()
    assert levels(component(env)) == [["reader"]]


def test_a_job_without_a_sink_is_refused() -> None:
    env = environment()
    source(env, "in")
    with pytest.raises(PlanError) as caught:
        plan(env._graph)
    assert caught.value.code == "NO_SINK"


# -- time ------------------------------------------------------------------------------------------


def timing(planned: Component, uid: str) -> tuple[set[str], set[str]]:
    found = planned.timing[ids(planned)[uid]]
    return tuple({planned.uids[i] for i in part} for part in (found.timelines, found.untimed))  # type: ignore[return-value]


def test_an_operator_follows_the_timelines_of_all_its_inputs() -> None:
    env = environment()
    left, right = timed(source(env, "left"), "left times"), timed(source(env, "right"), "r times")
    passed(left.union(right), "both").print()
    passed(left, "one").print()
    planned = component(env)
    assert timing(planned, "both") == ({"left times", "r times"}, set())
    assert timing(planned, "one") == ({"left times"}, set())


def test_a_source_without_timestamps_is_untimed() -> None:
    env = environment()
    passed(timed(source(env, "left"), "times").union(source(env, "right")), "both").print()
    planned = component(env)
    assert timing(planned, "both") == ({"times"}, {"right"})
    assert planned.has_clock(ids(planned)["left"])
    assert not planned.has_clock(ids(planned)["right"])


def test_a_second_strategy_takes_the_place_of_the_first() -> None:
    env = environment()
    twice = timed(timed(source(env, "in"), "first"), "second")
    passed(twice, "one").print()
    assert timing(component(env), "one") == ({"second"}, set())


def test_two_strategies_over_one_source_have_channels_of_their_own() -> None:
    env = environment()
    read = source(env, "in")
    passed(timed(read, "first"), "one").print()
    passed(timed(read, "second"), "two").print()
    planned = component(env)
    number = ids(planned)
    assert planned.channel_offset(number["in"], number["first"]) == 0
    assert planned.channel_offset(number["in"], number["second"]) == 1 << 56
    known = planned.announced({number["in"]: [number["in"] << 32]})
    assert known == [
        (number["first"], number["in"] << 32),
        (number["second"], (number["in"] << 32) + (1 << 56)),
    ]


def test_a_strategy_at_the_source_comes_before_those_behind_it() -> None:
    env = environment()
    read = env.from_source(TestSource([("a", 1, 1)]), ascending(), "in", RECORD).uid("in")
    passed(read, "one").print()
    passed(timed(read, "later"), "two").print()
    planned = component(env)
    number = ids(planned)
    offsets = [planned.channel_offset(number["in"], number[uid]) for uid in ("in", "later")]
    assert offsets == [0, 1 << 56]


# -- lags ------------------------------------------------------------------------------------------


def test_what_reads_sessions_is_an_instant_behind_for_each_of_them() -> None:
    env = environment()
    gap = EventTimeSessionWindows.with_gap(5)
    stream = timed(source(env, "in"), "times")
    sessions = by_key(stream).window(gap).sum(1).uid("sessions")
    twice = by_key(sessions).window(gap).sum(1).uid("twice")
    passed(twice.union(stream), "after").print()
    tumbling = by_key(sessions).window(TumblingEventTimeWindows.of(5)).sum(1).uid("tumbling")
    tumbling.print()
    lags = {uid: found.lag for uid, found in hosted(component(env)).items()}
    assert lags == {"sessions": 0, "twice": 1, "tumbling": 1, "after": 2}


def test_new_watermarks_leave_the_lag_behind() -> None:
    env = environment()
    gap = EventTimeSessionWindows.with_gap(5)
    sessions = by_key(timed(source(env, "in"), "times")).window(gap).sum(1).uid("sessions")
    passed(timed(sessions, "again"), "after").print()
    lags = {uid: found.lag for uid, found in hosted(component(env)).items()}
    assert lags == {"sessions": 0, "again": 1, "after": 0}


# -- edges -----------------------------------------------------------------------------------------


def test_edges_into_one_input_are_siblings_with_numbers() -> None:
    env = environment()
    left, right = source(env, "left"), source(env, "right")
    by_key(left.union(right)).process(Pass()).uid("both").print()
    edges = hosted(component(env))["both"].edges
    assert [(e.name, e.input, e.index, e.siblings) for e in edges] == [
        ("both:0:0", 0, 0, 2),
        ("both:0:1", 0, 1, 2),
    ]
    assert len({edge.tag for edge in edges}) == 2


def test_an_edge_has_the_timeline_that_stamps_its_records() -> None:
    env = environment()
    one = passed(timed(source(env, "in"), "times"), "one")
    passed(one, "two").print()
    planned = component(env)
    found = hosted(planned)
    assert [edge.timeline for edge in found["one"].edges] == [ids(planned)["times"]]
    assert [edge.timeline for edge in found["two"].edges] == [None]


def test_only_the_first_stage_with_a_clock_holds_records_back() -> None:
    env = environment()
    made = source(env, "in").assign_timestamps_and_watermarks(custom()).uid("made")
    passed(passed(made, "one"), "two").print()
    stages = compiled(component(env), channel_order="watermark").stages
    held = [sorted(edge.name for edge in stage.waiting.held.values()) for stage in stages]
    assert held == [[], ["one:0:0"], []]
    assert [stage.is_last for stage in stages] == [False, False, True]


def test_records_without_a_key_go_by_channel_or_into_one_slot() -> None:
    env = environment()
    one = passed(timed(source(env, "in"), "times"), "one")
    timed(one, "again").process(ReadsWatermark()).uid("reader").print()
    planned = component(env)
    found = hosted(planned)
    routes = {}
    for uid in ("one", "again"):
        (edge,) = found[uid].outputs[MAIN].edges
        routes[edge.info.uid] = edge.route
    assert routes == {"again": Place.ONE_SLOT, "reader": Place.BY_CHANNEL}


# -- ranks and numbers -----------------------------------------------------------------------------


def test_depth_counts_operators_with_timers_and_turns_begin_at_the_end() -> None:
    env = environment()
    one = passed(source(env, "in"), "one")
    passed(one.map(lambda r: r, output_type=RECORD).uid("map"), "two").print()
    planned = component(env)
    depths = {uid: planned.ranks[i].depth for uid, i in ids(planned).items()}
    assert {uid: depths[uid] for uid in ("in", "one", "map", "two")} == {
        "in": 0,
        "one": 1,
        "map": 1,
        "two": 2,
    }
    first, second = (planned.ranks[ids(planned)[uid]].turn for uid in ("one", "two"))
    assert second < first


def test_an_operator_keeps_its_number_and_a_new_one_gets_a_new_one() -> None:
    env = environment()
    passed(source(env, "in"), "one").print().uid("out")
    known = {uid: number + 40 for uid, number in numbers_of(env._job_graph()).items()}
    other = environment()
    new = passed(source(other, "in"), "new")
    passed(new, "one").print().uid("out")
    graph = with_numbers(other._job_graph(), known)
    numbers = numbers_of(graph)
    assert {uid: numbers[uid] for uid in known} == known
    assert numbers["new"] > max(known.values())
    (planned,) = plan(graph).components
    assert levels(planned) == [["new"], ["one"]]


def test_uids_that_nobody_gave_follow_from_kind_and_place() -> None:
    env = environment()
    stream = env.from_collection([("a", 1, 1)], type_info=RECORD).map(lambda r: r)
    stream.key_by(lambda r: r[0]).process(Pass()).uid("keyed-process-1").print()
    stream.key_by(lambda r: r[0]).process(Pass()).print()
    planned = component(env)
    assert set(planned.uids.values()) >= {"source-1", "map-1", "keyed-process-2", "sink-1"}
