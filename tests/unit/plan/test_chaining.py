"""Which operators share the stage of those before them, and why; no job runs but where it must fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from millstream.common import Row, Types
from millstream.common.errors import ConfigurationError, PlanError
from millstream.common.output_tag import OutputTag
from millstream.datastream import (
    DataStream,
    DataStreamUtils,
    FilterFunction,
    KeySelector,
    ProcessJoinFunction,
    ProcessWindowFunction,
)
from millstream.datastream.connectors import DiscardingSink
from millstream.datastream.window import TumblingEventTimeWindows
from millstream.plan.chaining import Link
from millstream.plan.explain import explain
from millstream.plan.options import CHAINING, JobOptions
from millstream.plan.physical import Stored
from millstream.plan.planner import Component, plan
from millstream.testing import run_local
from tests.support.plan_support import (
    RECORD,
    Pass,
    ascending,
    by_key,
    environment,
    ids,
    plan_of,
    source,
    timed,
)

WINDOWS = TumblingEventTimeWindows.of(10)
ROWS = Types.ROW_NAMED(["name", "number", "time"], [Types.STRING(), Types.LONG(), Types.LONG()])
FLOATS = Types.TUPLE([Types.FLOAT(), Types.LONG(), Types.LONG()])
KEPT = "the sum before it keeps field 0, the key"
ITS_RECORDS = "the operator before it emits records that it has got, by the same key"
UNSEEN = "the planner cannot see that the operator before it keeps the key"
PROMISED = "the program says that the keys are kept, see reinterpret_as_keyed_stream"
OTHER = "the key is another one than that of the operator before it"


def lower(record: Any) -> str:
    key: str = record[0]
    return key.lower()


def other(record: Any) -> Any:
    return record[0].lower()


class ByMethod(KeySelector):
    def get_key(self, value: Any) -> Any:
        return str(value)


class Odd(FilterFunction):
    def filter(self, value: Any) -> bool:
        return bool(value[1] % 2)


class Listed(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        return [(key, tuple(elements))]


class JoinedPair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield left, right


SELECTOR = ByMethod()
Build = Callable[[DataStream], DataStream]


@dataclass(frozen=True)
class Case:
    """Two keyed operators, and what the second one's link to the first says."""

    name: str
    first: Build
    second: Build
    chained: bool
    reason: str
    type_info: Any = RECORD


def then(key: Any = 0) -> Build:
    return lambda stream: stream.key_by(key).process(Pass())


CHAINED = [
    Case("sum", lambda s: by_key(s).sum(1), then(lambda r: r[0]), True, KEPT),
    Case("by position", lambda s: by_key(s).sum(1), then(0), True, KEPT),
    Case(
        "by name and position",
        lambda s: s.key_by("name").max("number"),
        then(lambda row: row[0]),
        True,
        "the max before it keeps field 'name', the key",
        ROWS,
    ),
    Case(
        "a minimum of the key itself",
        lambda s: by_key(s).min(0),
        then(),
        True,
        "the min before it keeps field 0, the key",
    ),
    Case("of records of an unknown type", lambda s: by_key(s).sum(1), then(), True, KEPT, None),
    Case("window sum", lambda s: by_key(s).window(WINDOWS).sum(1), then(), True, KEPT),
    Case(
        "count of windows",
        lambda s: by_key(s).window(WINDOWS).count(),
        then(),
        True,
        "it reads the key that the counts of the windows before it begin with",
    ),
    Case(
        "a record of the key, by any function",
        lambda s: s.key_by(lower).max_by(1),
        then(lower),
        True,
        ITS_RECORDS,
    ),
    Case("by the method of one object", lambda s: s.key_by(SELECTOR).min_by(1), then(SELECTOR), True,
         ITS_RECORDS),
    Case("a filter with keys", lambda s: s.key_by(lower).filter(Odd()), then(lower), True,
         ITS_RECORDS),
    Case("a filter between", lambda s: by_key(s).sum(1).filter(bool), then(), True, KEPT),
    Case("a hint between", lambda s: by_key(s).sum(1).rebalance(), then(), True, KEPT),
    Case("into a window", lambda s: by_key(s).sum(1),
         lambda s: by_key(s).window(WINDOWS).sum(1), True, KEPT),
    Case("promised", lambda s: by_key(s).process(Pass()),
         lambda s: s.reinterpret_as_keyed_stream(lower).process(Pass()), True, PROMISED),
    Case("promised, as in Flink", lambda s: by_key(s).process(Pass()).map(lambda r: r),
         lambda s: DataStreamUtils.reinterpret_as_keyed_stream(s, 0).sum(1), True, PROMISED),
    Case("promised for a side output",
         lambda s: by_key(s).process(Pass()).get_side_output(OutputTag("t")),
         lambda s: s.reinterpret_as_keyed_stream(0).sum(1), True, PROMISED),
    Case("all in one slot", lambda s: s.window_all(WINDOWS).sum(1).map(lambda r: r),
         lambda s: s.window_all(WINDOWS).max(1), True, "all records are in one slot already"),
]  # fmt: skip

APART = [
    Case("any function", lambda s: by_key(s).process(Pass(), RECORD), then(), False, UNSEEN),
    Case("any reduce", lambda s: by_key(s).reduce(lambda a, b: a), then(), False, UNSEEN),
    Case("any window function", lambda s: by_key(s).window(WINDOWS).process(Listed()), then(), False,
         UNSEEN),
    Case("a map between", lambda s: by_key(s).sum(1).map(lambda r: r), then(), False, UNSEEN),
    Case("a sum of the key itself", lambda s: s.key_by(1).sum(1), then(1), False, UNSEEN),
    Case("a sum that may be of the key", lambda s: s.key_by(lambda r: r.number).sum(1),
         then(lambda r: r.number), False, UNSEEN, None),
    Case("another field", lambda s: by_key(s).sum(1), then(2), False, OTHER),
    Case("another function", lambda s: s.key_by(lower).max_by(1), then(other), False, OTHER),
    Case("a function of the sum", lambda s: s.key_by(lower).sum(1), then(lower), False, UNSEEN),
    Case("a key that loses digits", lambda s: by_key(s.map(lambda r: r, output_type=FLOATS)).sum(1),
         then(), False, UNSEEN),
    Case("late records", lambda s: by_key(s).window(WINDOWS).side_output_late_data(OutputTag("late"))
         .sum(1).get_side_output(OutputTag("late")), then(), False, UNSEEN),
    Case("no key before it", lambda s: s.window_all(WINDOWS).sum(1),
         lambda s: s.reinterpret_as_keyed_stream(0).process(Pass()), False, OTHER),
]  # fmt: skip


def built(case: Case) -> Any:
    env = environment()
    stream = case.first(timed(source(env, "s", case.type_info), "t"))
    case.second(stream).uid("second").sink_to(DiscardingSink())
    return env


def link_of(planned: Component, uid: str = "second", number: int = 0) -> Link:
    """The one link of an operator's input."""
    links = planned.choices[ids(planned)[uid]].links
    (only,) = [link for link in links if link.number == number]
    return only


@pytest.mark.parametrize("case", CHAINED + APART, ids=lambda case: case.name)
def test_what_the_planner_sees(case: Case) -> None:
    planned = plan_of(built(case))
    link = link_of(planned)
    assert (link.chained, link.reason) == (case.chained, case.reason)
    assert len(planned.levels) == (1 if case.chained else 2)


def test_a_promise_is_of_a_node_of_the_program() -> None:
    case = next(case for case in CHAINED if case.name == "promised")
    planned = plan_of(built(case))
    promise = link_of(planned).promise
    assert promise is not None
    location = planned.graph[promise].location
    assert location is not None and location.file == __file__


def test_behind_a_source_a_promise_is_a_key() -> None:
    env = environment()
    stream = source(env, "s").reinterpret_as_keyed_stream(0).process(Pass()).uid("p")
    stream.sink_to(DiscardingSink())
    link = link_of(plan_of(env), "p")
    assert (link.chained, link.reason) == (
        False,
        "records come from where no key has placed them",
    )


def test_a_chain_of_any_length() -> None:
    env = environment()
    stream = by_key(source(env, "s")).sum(1)
    for _ in range(3):
        stream = by_key(stream).max(2)
    by_key(stream.map(lambda r: r)).process(Pass()).sink_to(DiscardingSink())
    assert list(map(len, plan_of(env).levels)) == [4, 1]


def test_a_union_is_chained_where_all_its_streams_may_be() -> None:
    env = environment()
    stream = timed(source(env, "s"), "t")
    sums, counts = by_key(stream).sum(1), by_key(stream).max(1)
    union = sums.union(counts, stream)
    by_key(union).process(Pass()).uid("p").sink_to(DiscardingSink())
    planned = plan_of(env)
    links = planned.choices[ids(planned)["p"]].links
    assert [link.chained for link in links] == [False, True, True]
    assert len(planned.levels) == 1


def test_ways_from_one_operator_that_differ_are_not_chained() -> None:
    env = environment()
    sums = by_key(source(env, "s")).sum(1)
    by_key(sums.union(sums.map(lambda r: r))).process(Pass()).uid("second").sink_to(
        DiscardingSink()
    )
    assert link_of(plan_of(env)).reason == UNSEEN


def test_an_operator_goes_behind_the_last_of_its_inputs() -> None:
    env = environment()
    sums = by_key(source(env, "s")).sum(1).uid("sums")
    later = by_key(by_key(sums).process(Pass(), RECORD)).process(Pass(), RECORD).uid("later")
    by_key(sums.union(later)).process(Pass()).uid("p").sink_to(DiscardingSink())
    planned = plan_of(env)
    links = {link.origin: link for link in planned.choices[ids(planned)["p"]].links}
    assert links[ids(planned)["sums"]].reason == "it also reads what a later stage emits"
    assert not any(link.chained for link in links.values())
    assert len(planned.levels) == 3


def test_one_of_two_inputs_may_be_chained() -> None:
    env = environment()
    stream = timed(source(env, "s"), "t")
    sums = by_key(stream).sum(1)
    sums.key_by(0).interval_join(stream.key_by(0)).between(-5, 5).process(JoinedPair()).uid(
        "join"
    ).sink_to(DiscardingSink())
    planned = plan_of(env)
    assert link_of(planned, "join", 0).chained
    assert not link_of(planned, "join", 1).chained
    assert len(planned.levels) == 1


def test_where_streams_of_different_watermarks_meet_nothing_is_chained() -> None:
    env = environment()
    sums = by_key(timed(source(env, "s"), "t")).sum(1).uid("sums")
    again = sums.assign_timestamps_and_watermarks(ascending())
    by_key(sums.union(again)).process(Pass()).uid("p").sink_to(DiscardingSink())
    planned = plan_of(env)
    links = {link.origin: link.reason for link in planned.choices[ids(planned)["p"]].links}
    assert links[ids(planned)["sums"]] == "streams with different watermarks meet here"


# -- the switch, and checkpoints -------------------------------------------------------------------


def two_sums() -> Any:
    env = environment()
    first = by_key(source(env, "s")).sum(1).uid("first")
    by_key(first).max(1).uid("second").sink_to(DiscardingSink())
    return env


def test_it_can_be_turned_off() -> None:
    env = two_sums().disable_operator_chaining()
    assert link_of(plan_of(env)).reason == "operator chaining is disabled"
    assert len(plan_of(env).levels) == 2


def test_the_switch_is_true_or_false() -> None:
    with pytest.raises(ConfigurationError, match="INVALID_OPTION_VALUE"):
        plan(two_sums()._job_graph(), {CHAINING: "maybe"})


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("enabled", [True, False])
def test_a_checkpoint_keeps_its_stages(levels: int, enabled: bool) -> None:
    """Spark finds state by stage; a plan that has become better must not refuse it."""
    env = two_sums()
    if not enabled:
        env.disable_operator_chaining()
    planned = plan_of(env, Stored(levels={"first": 1, "second": levels}, converts=False))
    assert len(planned.levels) == levels
    if levels == 2:
        reason = "the checkpoint keeps its state in another stage"
        assert link_of(planned).reason == reason


# -- what the program shows and checks -------------------------------------------------------------


def test_explain_says_what_is_chained_and_why() -> None:
    shown = explain(two_sums()._job_graph(), JobOptions())
    assert f"chained, without an exchange: {KEPT}" in shown.text
    assert shown.text.count("one exchange by key") == 1
    assert "n2 --> n3" in shown.mermaid


def test_edges_have_the_same_names_and_numbers_in_both_ways() -> None:
    """They stand in savepoints and in order keys."""
    env = environment()
    stream = timed(source(env, "s"), "t")
    late = by_key(by_key(stream).max(2)).min(2)
    early = by_key(stream).sum(1)
    by_key(late.union(early, stream)).process(Pass()).uid("p").sink_to(DiscardingSink())
    names = []
    for on in ("true", "false"):
        (planned,) = plan(env._job_graph(), {CHAINING: on}).components
        names.append([node.id for node in planned.in_turn])
    assert names[0] == names[1]


class Renamed(Pass):
    """Gives records another key."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield Row(name=value.name + "!", number=value.number, time=value.time)


@pytest.mark.parametrize("windows", [False, True])
def test_a_promise_that_is_not_kept_is_an_error_with_the_line_and_the_record(windows: bool) -> None:
    env = environment().set_slots(8)
    rows = [Row(name=name, number=1, time=5) for name in "abcdefgh"]
    stream = env.from_collection(rows, type_info=ROWS).assign_timestamps_and_watermarks(ascending())
    other_keys = stream.key_by("name").process(Renamed(), output_type=ROWS)
    promised = other_keys.reinterpret_as_keyed_stream("name")
    results = promised.window(WINDOWS).sum("number") if windows else promised.sum("number")
    with pytest.raises(PlanError, match="KEY_NOT_KEPT") as raised:
        run_local(results)
    error = raised.value
    assert "!'" in error.message and "belongs to slot" in error.message
    assert error.location is not None and error.location.file == __file__


def without_b(record: Any) -> Any:
    if record[0] == "b":
        raise ValueError("b is no key")
    return record[0]


def test_records_without_a_key_are_skipped_where_they_are() -> None:
    env = environment().set_slots(4)
    stream = env.from_collection([(name, n, n) for n, name in enumerate("abcabcab")])
    same = stream.key_by(0).process(Pass())
    dead = OutputTag("dead")
    letters = []
    for keyed in (same.reinterpret_as_keyed_stream(without_b), same.key_by(without_b)):
        skipping = keyed.process(Pass()).on_error("skip", dead)
        letters.append([one.value for one in run_local(skipping.get_side_output(dead)).values()])
    assert letters[0] == letters[1] == [("b", n, n) for n in (1, 4, 7)]


def test_a_promise_that_is_kept_gives_what_key_by_gives() -> None:
    env = environment().set_slots(4)
    stream = env.from_collection([(name, n, n) for n, name in enumerate("abcabcab")])
    same = stream.key_by(0).process(Pass())
    promised = run_local(same.reinterpret_as_keyed_stream(0).sum(1)).values()
    assert promised == run_local(same.key_by(0).sum(1)).values()
