"""Broadcast state: every slot has all of it, at every place in the order; and it is stored well."""

from __future__ import annotations

import pickle
import threading
from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any

import pytest

from millstream.common.errors import CheckpointError, PlanError, UserCodeError
from millstream.common.output_tag import OutputTag
from millstream.common.state import (
    BroadcastState,
    ListStateDescriptor,
    MapStateDescriptor,
    ReadOnlyBroadcastState,
    ValueStateDescriptor,
)
from millstream.connectors.simple_sinks import DiscardingSink
from millstream.kernel.keys.hashing import stable_hash
from millstream.kernel.operators.two_inputs.specs import BroadcastSpec
from millstream.kernel.operators.two_inputs.told import Buffers
from millstream.kernel.state import large, pages
from millstream.kernel.steps.routing import Place
from millstream.plan.graph import JobGraph, KeyedNode, SideOutputNode, SinkNode, StatelessNode
from millstream.plan.options import JobOptions
from millstream.testing import LocalJob
from tests.support.kernel_support import first, source_of, values

EPOCHS = pytest.mark.parametrize("size", [1, 2, 3, None])
SLOTS = pytest.mark.parametrize("slots", [1, 2, 4])
RULES = MapStateDescriptor("rules")
COUNT = ValueStateDescriptor("count")
SIDE = OutputTag("side")


class Function:
    """A function with broadcast state, made of plain functions."""

    def __init__(self, element: Any, broadcast: Any = None, on_timer: Any = None) -> None:
        self.element, self.broadcast, self.timer = element, broadcast or put, on_timer

    def process_element(self, value: Any, ctx: Any) -> Any:
        return self.element(self, value, ctx)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        return self.broadcast(self, value, ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        return self.timer(self, timestamp, ctx)


class WithCount(Function):
    def open(self, context: Any) -> None:
        self.count = context.get_state(COUNT)


def put(function: Any, value: Any, ctx: Any) -> None:
    """A rule is ("rule", name, content)."""
    ctx.get_broadcast_state(RULES).put(value[1], value[2])


def look(function: Any, value: Any, ctx: Any) -> list[Any]:
    """An element is (key, name of a rule, ...)."""
    return [(value[0], ctx.get_broadcast_state(RULES).get(value[1]))]


def job(
    events: Iterable[tuple[Any, int]],
    function: Any,
    *,
    keyed: bool = True,
    states: tuple[str, ...] = ("rules",),
    timed: bool = True,
    **options: Any,
) -> LocalJob:
    """One source, whose rules are broadcast to where its other records go: one channel, one order."""
    graph = JobGraph()
    source = source_of(graph, events, timed=timed)
    elements, rules = (
        graph.add(StatelessNode, name="part", inputs=(source,), kind="filter", function=chosen).id
        for chosen in (lambda v: v[0] != "rule", lambda v: v[0] == "rule")
    )
    node = graph.add(
        KeyedNode,
        name="op",
        uid="the-uid",
        inputs=(elements, rules),
        selector=first if keyed else Place.BY_POSITION,
        second=Place.EVERY_SLOT,
        kind="broadcast",
        function=BroadcastSpec(function, states),
    )
    graph.add(SinkNode, name="out", inputs=(node.id,), sink=DiscardingSink())
    side = graph.add(SideOutputNode, name="aside", inputs=(node.id,), tag="side")
    graph.add(SinkNode, name="side", inputs=(side.id,), sink=DiscardingSink())
    return LocalJob(graph, JobOptions(**{"parallelism": 1} | options))


def at_once(*items: Any) -> list[tuple[Any, int]]:
    """Events one after the other, a millisecond apart."""
    return [(item, number) for number, item in enumerate(items)]


MIXED = at_once(
    ("a", "limit"),
    ("rule", "limit", 1),
    ("a", "limit"),
    ("b", "limit"),
    ("rule", "limit", 2),
    ("b", "limit"),
    ("c", "other"),
    ("rule", "other", 3),
    ("a", "other"),
)
FOUND = [("a", None), ("a", 1), ("b", 1), ("b", 2), ("c", None), ("a", 3)]


class TestOrder:
    @EPOCHS
    @SLOTS
    @pytest.mark.parametrize("keyed", [True, False])
    def test_rule_takes_effect_at_its_place(
        self, keyed: bool, slots: int, size: int | None
    ) -> None:
        started = job(MIXED, Function(look), keyed=keyed, slots=slots)
        assert values(started.run_all(size)) == FOUND

    @EPOCHS
    @SLOTS
    def test_timer_sees_the_rules_of_its_time(self, slots: int, size: int | None) -> None:
        def element(function: Any, value: Any, ctx: Any) -> None:
            ctx.timer_service().register_event_time_timer(value[1])

        def on_timer(function: Any, timestamp: int, ctx: Any) -> list[Any]:
            rules = ctx.get_broadcast_state(RULES)
            clock = ctx.timer_service().current_watermark()
            return [(ctx.get_current_key(), timestamp, rules.get("limit"), clock)]

        events = [
            *[((key, due), 0) for key in "abcd" for due in (15, 25, 99)],
            (("rule", "limit", 1), 10),
            (("rule", "limit", 2), 20),
            (("rule", "limit", 3), 30),
            (("rule", "limit", 4), 40),
        ]
        started = job(events, Function(element, on_timer=on_timer), slots=slots)
        order = sorted("abcd", key=stable_hash)
        # The rule at 20 lets time pass 15, the next record comes after it.
        expected = [(key, 15, 2, 15) for key in order] + [(key, 25, 3, 25) for key in order]
        assert [row for row in values(started.run_all(size)) if row[1] < 99] == expected
        at_the_end = [row for row in values(started.outputs) if row[1] == 99]
        assert [row[:3] for row in at_the_end] == [(key, 99, 4) for key in order]

    @EPOCHS
    def test_overdue_timer_fires_right_after_its_record(self, size: int | None) -> None:
        def element(function: Any, value: Any, ctx: Any) -> list[Any]:
            ctx.timer_service().register_event_time_timer(0)
            return [("element", value[0])]

        def on_timer(function: Any, timestamp: int, ctx: Any) -> list[Any]:
            return [("timer", ctx.get_current_key(), ctx.get_broadcast_state(RULES).get("r"))]

        events = [(("rule", "r", 1), 5), (("a",), 7), (("rule", "r", 2), 8), (("b",), 9)]
        got = values(job(events, Function(element, on_timer=on_timer)).run_all(size))
        assert got == [("element", "a"), ("timer", "a", 1), ("element", "b"), ("timer", "b", 2)]

    @EPOCHS
    def test_deleted_and_moved_timers(self, size: int | None) -> None:
        def element(function: Any, value: Any, ctx: Any) -> None:
            timers = ctx.timer_service()
            if value[1] == "set":
                timers.register_event_time_timer(20)
                timers.register_event_time_timer(30)
            else:
                timers.delete_event_time_timer(20)

        def on_timer(function: Any, timestamp: int, ctx: Any) -> list[Any]:
            if timestamp == 30:
                ctx.timer_service().register_event_time_timer(35)
            return [(ctx.get_current_key(), timestamp)]

        events = [(("a", "set"), 1), (("b", "set"), 2), (("a", "unset"), 3), (("c", "unset"), 90)]
        got = values(job(events, Function(element, on_timer=on_timer)).run_all(size))
        a_first = stable_hash("a") < stable_hash("b")
        both = ["a", "b"] if a_first else ["b", "a"]
        expected = [("b", 20), *[(key, 30) for key in both], *[(key, 35) for key in both]]
        assert got == expected


class TestEmissions:
    @EPOCHS
    @SLOTS
    @pytest.mark.parametrize("keyed", [True, False])
    def test_what_a_broadcast_record_emits_counts_once(
        self, keyed: bool, slots: int, size: int | None
    ) -> None:
        def told(function: Any, value: Any, ctx: Any) -> Any:
            put(function, value, ctx)
            yield "rule", value[2], ctx.timestamp()
            yield SIDE, value[2]
            # All slots have to come as far as here.
            ctx.get_broadcast_state(RULES).put("other", value[2])

        events = at_once(*[("rule", "r", n) for n in range(3)], *[(k, "other") for k in "abcdef"])
        started = job(events, Function(look, told), keyed=keyed, slots=slots)
        rules = [("rule", n, n) for n in range(3)]
        assert values(started.run_all(size)) == [*rules, *[(key, 2) for key in "abcdef"]]
        assert values(started.outputs, "side") == [0, 1, 2]

    @EPOCHS
    def test_element_has_time_and_clock(self, size: int | None) -> None:
        def element(function: Any, value: Any, ctx: Any) -> list[Any]:
            return [(value[0], ctx.timestamp(), ctx.current_watermark())]

        def rule(function: Any, value: Any, ctx: Any) -> list[Any]:
            return [("rule", ctx.timestamp(), ctx.current_watermark())]

        events = [(("a",), 5), (("rule",), 7), (("b",), 9)]
        for keyed in (True, False):
            got = values(job(events, Function(element, rule), keyed=keyed).run_all(size))
            assert got[1:] == [("rule", 7, 4), ("b", 9, 6)]

    def test_processing_time_is_the_epochs(self) -> None:
        def element(function: Any, value: Any, ctx: Any) -> list[Any]:
            return [ctx.current_processing_time()]

        started = job([(("a",), 5)], Function(element), keyed=False)
        started.epoch(1, now_ms=77)
        assert values(started.outputs) == [77]

    @pytest.mark.parametrize("keyed", [True, False])
    @pytest.mark.parametrize("bad", [("a", "left"), ("rule", "right")])
    def test_error_shows_the_record_and_not_the_pair(self, bad: Any, keyed: bool) -> None:
        def fail(function: Any, value: Any, ctx: Any) -> None:
            raise ValueError("no")

        with pytest.raises(UserCodeError) as info:
            job([(bad, 1)], Function(fail, fail), keyed=keyed).run_all()
        assert info.value.record == repr(bad)


class TestState:
    @pytest.mark.parametrize("keyed", [True, False])
    @pytest.mark.parametrize(
        "write",
        [
            lambda state: state.put("x", 1),
            lambda state: state.put_all({"x": 1}),
            lambda state: state.remove("x"),
            lambda state: state.clear(),
            lambda state: state.__setitem__("x", 1),
            lambda state: state.__delitem__("x"),
        ],
    )
    def test_elements_cannot_write(self, write: Any, keyed: bool) -> None:
        def element(function: Any, value: Any, ctx: Any) -> None:
            write(ctx.get_broadcast_state(RULES))

        with pytest.raises(PlanError, match="only broadcast records may write it") as info:
            job([(("a",), 1)], Function(element), keyed=keyed).run_all()
        assert info.value.code == "READ_ONLY_STATE"

    def test_whole_interface(self) -> None:
        seen: dict[str, Any] = {}

        def rule(function: Any, value: Any, ctx: Any) -> None:
            state = ctx.get_broadcast_state(RULES)
            assert isinstance(state, BroadcastState)
            state.put_all({"x": 1, "y": 2, "z": 3})
            state["w"] = 4
            state.remove("y")
            del state["z"]
            assert state.contains("x") and "y" not in state and state["w"] == 4
            assert list(state) == ["x", "w"]

        def element(function: Any, value: Any, ctx: Any) -> None:
            state = ctx.get_broadcast_state(RULES)
            assert isinstance(state, ReadOnlyBroadcastState)
            seen.update(state.items())
            assert (list(state.keys()), list(state.values())) == (["x", "w"], [1, 4])
            assert not state.is_empty() and state["x"] == 1 and state.get("y") is None

        job(at_once(("rule",), ("a",)), Function(element, rule)).run_all(1)
        assert seen == {"x": 1, "w": 4}

    @pytest.mark.parametrize("keyed", [True, False])
    def test_state_that_was_not_declared_is_refused(self, keyed: bool) -> None:
        def element(function: Any, value: Any, ctx: Any) -> None:
            ctx.get_broadcast_state(MapStateDescriptor("others"))

        with pytest.raises(PlanError, match="'others', which it does not have") as info:
            job([(("a",), 1)], Function(element), keyed=keyed).run_all()
        assert "there is 'rules'" in (info.value.hint or "")

    @EPOCHS
    def test_several_states_are_apart(self, size: int | None) -> None:
        other = MapStateDescriptor("other")

        def rule(function: Any, value: Any, ctx: Any) -> None:
            ctx.get_broadcast_state(RULES).put("n", 1)
            ctx.get_broadcast_state(other).put("n", 2)

        def element(function: Any, value: Any, ctx: Any) -> list[Any]:
            states = ctx.get_broadcast_state(RULES), ctx.get_broadcast_state(other)
            return [tuple(state.get("n") for state in states)]

        events = at_once(("rule",), ("a",))
        started = job(events, Function(element, rule), states=("rules", "other"))
        assert values(started.run_all(size)) == [(1, 2)]

    def test_keyed_state_is_refused_for_broadcast_records_and_without_keys(self) -> None:
        def rule(function: Any, value: Any, ctx: Any) -> None:
            function.count.update(1)

        started = job([(("rule",), 1)], WithCount(look, rule))
        with pytest.raises(PlanError, match="a broadcast record, which has no key") as info:
            started.run_all()
        assert "apply_to_keyed_state" in (info.value.hint or "")
        with pytest.raises(PlanError, match="asks for keyed state"):
            job([(("a",), 1)], WithCount(look), keyed=False).run_all()

    def test_value_changed_in_place_by_the_broadcast_side_is_kept(self) -> None:
        def rule(function: Any, value: Any, ctx: Any) -> None:
            state = ctx.get_broadcast_state(RULES)
            if not state.contains("list"):
                state.put("list", [])
            state.get("list").append(value[1])

        events = at_once(("rule", 1), ("rule", 2), ("a", "list"))
        assert values(job(events, Function(look, rule)).run_all(1)) == [("a", [1, 2])]

    def test_function_sees_the_state_after_a_restart(self) -> None:
        started = job(MIXED, Function(look), slots=2)
        while not started.exhausted():
            started.epoch(1)
            started.start()
        assert values(started.outputs) == FOUND


class TestKeyedState:
    def count(self, function: Any, value: Any, ctx: Any) -> list[Any]:
        function.count.update((function.count.value() or 0) + 1)
        return [(value[0], function.count.value())]

    @EPOCHS
    @SLOTS
    def test_apply_reaches_every_key_and_no_other_state(self, slots: int, size: int | None) -> None:
        called: list[Any] = []

        def rule(function: Any, value: Any, ctx: Any) -> None:
            def apply(key: Any, state: Any) -> None:
                called.append((key, state.value()))
                if key != "keep":
                    state.clear()

            ctx.apply_to_keyed_state(COUNT, apply)

        events = at_once(*[(k,) for k in ("a", "b", "keep", "b")], ("rule",), ("b",), ("keep",))
        got = values(job(events, WithCount(self.count, rule), slots=slots).run_all(size))
        assert got[-2:] == [("b", 1), ("keep", 2)]
        assert sorted(called) == [("a", 1), ("b", 2), ("keep", 1)]

    def test_object_with_process_and_a_state_asked_for_late(self) -> None:
        words = ListStateDescriptor("words")

        class Clear:
            def process(self, key: Any, state: Any) -> None:
                state.add(key)

        def element(function: Any, value: Any, ctx: Any) -> list[Any]:
            found = function.context.get_list_state(words)
            if value[1] == "add":
                found.add("x")
            return [list(found.get())]

        class Late(Function):
            def open(self, context: Any) -> None:
                self.context = context

        def rule(function: Any, value: Any, ctx: Any) -> None:
            ctx.apply_to_keyed_state(words, Clear())

        events = at_once(("a", "add"), ("b", "see"), ("rule",), ("a", "see"), ("b", "see"))
        got = values(job(events, Late(element, rule)).run_all())
        assert got == [["x"], [], ["x", "a"], []]

    def test_key_whose_state_is_cleared_is_forgotten(self) -> None:
        def rule(function: Any, value: Any, ctx: Any) -> None:
            ctx.apply_to_keyed_state(COUNT, lambda key, state: state.clear())

        started = job(at_once(("a",), ("b",), ("rule",)), WithCount(self.count, rule))
        started.epoch(2)
        assert started.state_entries() == 1
        started.epoch(1)
        assert started.state_entries() == 0

    def test_pages_that_split_all_the_time_change_nothing(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pages, "SPLIT_BYTES", 64)
        monkeypatch.setattr(pages, "SPLIT_KEYS", 1)

        def rule(function: Any, value: Any, ctx: Any) -> None:
            ctx.apply_to_keyed_state(COUNT, lambda key, state: state.update(state.value() + 100))

        keys = [f"key {n}" for n in range(40)]
        events = at_once(*[(k,) for k in keys], ("rule",), *[(k,) for k in keys], ("rule",), ("x",))
        for size in (7, None):
            got = values(job(events, WithCount(self.count, rule), slots=2).run_all(size))
            assert got == [(k, 1) for k in keys] + [(k, 102) for k in keys] + [("x", 1)]

    @EPOCHS
    def test_processing_time_timers(self, size: int | None) -> None:
        def element(function: Any, value: Any, ctx: Any) -> None:
            timers = ctx.timer_service()
            timers.register_processing_time_timer(timers.current_processing_time() + 5)

        def on_timer(function: Any, timestamp: int, ctx: Any) -> list[Any]:
            domain = ctx.time_domain()
            return [(ctx.get_current_key(), timestamp, str(domain), ctx.timestamp())]

        started = job(at_once(("a",), ("rule", "r", 1)), Function(element, on_timer=on_timer))
        started.epoch(1, now_ms=0)
        started.epoch(1, now_ms=4)
        assert values(started.outputs) == []
        started.epoch(0, now_ms=5)
        assert values(started.outputs) == [("a", 5, "TimeDomain.PROCESSING_TIME", 5)]

    def test_event_timer_needs_timestamps(self) -> None:
        def element(function: Any, value: Any, ctx: Any) -> None:
            ctx.timer_service().register_event_time_timer(1)

        with pytest.raises(PlanError, match="not all of its inputs have timestamps"):
            job([(("a",), 1)], Function(element), timed=False).run_all()


class TestStore:
    """What lies in the state store, and when it is written."""

    def stored(self, started: LocalJob, slot: int = 0) -> dict[str, bytes]:
        store = started.committed.stores[(0, slot)]
        return {name: data for name, data in store.items() if name != "header"}

    def test_every_slot_has_a_copy_under_one_name(self) -> None:
        started = job([(("rule", "x", 1), 1)], Function(look), slots=3, keyed=False)
        started.epoch(1)
        for slot in range(3):
            found = self.stored(started, slot)
            assert list(found) == ["the-uid/broadcast"]
            assert pickle.loads(found["the-uid/broadcast"]) == (2, {"rules": {"x": 1}})

    def test_unknown_format_is_refused(self) -> None:
        started = job(at_once(("rule", "x", 1), ("a", "x")), Function(look))
        started.epoch(1)
        started.committed.stores[(0, 0)]["the-uid/broadcast"] = pickle.dumps((1, {}))
        with pytest.raises(CheckpointError, match="has format 1, this is 2"):
            started.epoch(1)

    def test_nothing_is_written_without_a_change(self, monkeypatch: pytest.MonkeyPatch) -> None:
        started = job(at_once(("rule", "x", 1), ("a", "x"), ("rule", "x", 1)), Function(look))
        started.epoch(1)
        written: list[str] = []
        monkeypatch.setattr(
            pages.MemoryStore, "put", lambda self, name, value: written.append(name)
        )
        started.epoch(1)
        started.epoch(1)
        assert "the-uid/broadcast" not in written

    def test_what_elements_do_to_values_is_not_stored(self) -> None:
        def element(function: Any, value: Any, ctx: Any) -> list[Any]:
            found = ctx.get_broadcast_state(RULES).get("x")
            found.append(1)
            return [len(found)]

        started = job(at_once(("rule", "x", []), ("a",), ("a",)), Function(element))
        assert values(started.run_all(1)) == [1, 1]

    def test_state_that_is_empty_again_is_removed(self) -> None:
        def rule(function: Any, value: Any, ctx: Any) -> None:
            state = ctx.get_broadcast_state(RULES)
            if value[1] == "put":
                state.put("x", 1)
            else:
                state.remove("x")

        started = job(at_once(("rule", "put"), ("rule", "remove")), Function(look, rule))
        started.epoch(1)
        assert started.state_entries() == 1
        started.epoch(1)
        assert started.state_entries() == 0

    def test_large_state_is_written_in_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(large, "LARGE_BYTES", 400)
        monkeypatch.setattr(large, "PART_BYTES", 200)
        rules = [("rule", f"name {n}", n) for n in range(100)]
        events = at_once(*rules, ("rule", "name 7", "new"), ("a", "name 7"), ("a", "name 99"))
        started = job(events, Function(look))
        started.epoch(100)
        before = self.stored(started)
        assert len(before) > 5 and len(before["the-uid/broadcast"]) < 600
        started.epoch(1)
        after = self.stored(started)
        changed = [name for name in after if after[name] != before.get(name)]
        assert len(changed) == 1
        assert values(started.run_all(1)) == [("a", "new"), ("a", 99)]

    def test_large_state_that_is_cleared_leaves_nothing(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(large, "LARGE_BYTES", 400)
        monkeypatch.setattr(large, "PART_BYTES", 200)

        def rule(function: Any, value: Any, ctx: Any) -> None:
            state = ctx.get_broadcast_state(RULES)
            state.clear()
            if value[1] == "fill":
                state.put_all({f"name {n}": n for n in range(value[2])})

        events = at_once(
            ("rule", "fill", 100), ("rule", "fill", 50), ("a", "name 60"), ("rule", "")
        )
        started = job(events, Function(look, rule))
        started.epoch(1)
        many = started.state_entries()
        started.epoch(1)
        assert 1 < started.state_entries() < many
        started.epoch(1)
        assert values(started.outputs) == [("a", None)]
        started.epoch(1)
        assert started.state_entries() == 0


class Kept(Function):
    """Keeps records in the instance until a rule comes."""

    def __init__(self, element: Any = None, broadcast: Any = None) -> None:
        super().__init__(element, broadcast)
        self.kept: list[Any] = []
        self.seen = 0

    def process_element(self, value: Any, ctx: Any) -> None:
        self.kept.append(value[0])
        self.seen += 1

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        while self.kept:
            yield f"kept {self.kept.pop()}"
        yield "rule", value


class Watched(Kept):
    """Counts records in the instance; the broadcast side does not look at it."""

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield "rule", len(value)


def counted(function: Any, value: Any, ctx: Any) -> None:
    function.count.update((function.count.value() or 0) + 1)


class Unpicklable(list[Any]):
    def __reduce__(self) -> Any:
        raise TypeError("no pickle of this")


LEFT: list[Any] = []
RECORDS = at_once(*[(key,) for key in "abcdeabc"], ("rule", "x"), ("a",), ("rule", "y"))


def keys_in_order(keys: Iterable[str]) -> list[str]:
    return sorted(keys, key=stable_hash)


class TestWhoSpeaks:
    """What is the same in all slots comes once, what a slot alone knows comes from that slot."""

    @EPOCHS
    @SLOTS
    def test_what_a_function_yields_for_a_key(self, slots: int, size: int | None) -> None:
        def tell(key: Any, state: Any) -> Iterable[Any]:
            yield key, state.value()
            yield SIDE, key

        def rule(function: Any, value: Any, ctx: Any) -> Iterable[Any]:
            yield "before"
            ctx.apply_to_keyed_state(COUNT, tell)
            yield "after", len(value)

        started = job(RECORDS, WithCount(counted, rule), slots=slots)
        got = values(started.run_all(size))
        first = {"a": 2, "b": 2, "c": 2, "d": 1, "e": 1}
        expected: list[Any] = []
        for counts in (first, first | {"a": 3}):
            found = [(key, counts[key]) for key in keys_in_order(counts)]
            expected += ["before", *found, ("after", 2)]
        assert got == expected
        assert [value for value, _ in started.outputs["side"]] == keys_in_order("abcde") * 2

    @EPOCHS
    @SLOTS
    def test_what_a_function_leaves_in_a_list(self, slots: int, size: int | None) -> None:
        def rule(function: Any, value: Any, ctx: Any) -> Iterable[Any]:
            found: list[Any] = []
            ctx.apply_to_keyed_state(COUNT, lambda key, state: found.append((key, state.value())))
            yield "rule", value
            yield from found
            yield "done"

        got = values(job(RECORDS[:-2], WithCount(counted, rule), slots=slots).run_all(size))
        counts = {"a": 2, "b": 2, "c": 2, "d": 1, "e": 1}
        found = [(key, counts[key]) for key in keys_in_order(counts)]
        assert got == [("rule", ("rule", "x")), *found, "done"]

    @SLOTS
    def test_fields_of_the_record_come_once_behind_a_sweep(self, slots: int) -> None:
        def rule(function: Any, value: Any, ctx: Any) -> Iterable[Any]:
            found: list[Any] = []
            ctx.apply_to_keyed_state(COUNT, lambda key, state: found.append(key))
            yield from found
            yield "reported", value[1]

        records = at_once(*[(key,) for key in "abcde"], ("rule", 1_000))
        got = values(job(records, WithCount(counted, rule), slots=slots).run_all())
        assert got.count(("reported", 1_000)) == 1

    @EPOCHS
    @SLOTS
    def test_what_belongs_to_the_runtime_makes_no_difference(
        self, slots: int, size: int | None
    ) -> None:
        """Metrics, accumulators, the context and state handles change all the time."""

        class WithMetrics(WithCount):
            def open(self, runtime_context: Any) -> None:
                super().open(runtime_context)
                self.context = runtime_context
                self.heard = runtime_context.get_metrics_group().counter("heard")
                self.handles = {"count": runtime_context.get_state(COUNT)}

        def rule(function: Any, value: Any, ctx: Any) -> Iterable[Any]:
            function.heard.inc()
            assert function.context.get_task_name() and function.handles
            yield "limit", len(value) + 1

        got = values(job(RECORDS[:-2], WithMetrics(counted, rule), slots=slots).run_all(size))
        assert got == [("limit", 3)]

    @SLOTS
    def test_values_made_of_what_was_found_come_from_every_slot(self, slots: int) -> None:
        def rule(function: Any, value: Any, ctx: Any) -> Iterable[Any]:
            found: dict[Any, int] = {}
            ctx.apply_to_keyed_state(COUNT, lambda key, state: found.update({key: state.value()}))
            for key, count in found.items():
                yield f"{key} has {count}"

        got = values(job(RECORDS[:-2], WithCount(counted, rule), slots=slots).run_all(1))
        assert sorted(got) == ["a has 2", "b has 2", "c has 2", "d has 1", "e has 1"]

    @SLOTS
    def test_what_is_left_in_a_list_of_the_module(self, slots: int) -> None:
        def rule(function: Any, value: Any, ctx: Any) -> Iterable[Any]:
            ctx.apply_to_keyed_state(COUNT, lambda key, state: LEFT.append(key))
            while LEFT:
                yield f"has {LEFT.pop()}"

        got = values(job(RECORDS[:-2], WithCount(counted, rule), slots=slots).run_all(1))
        assert sorted(got) == [f"has {key}" for key in "abcde"]

    @SLOTS
    def test_a_sum_over_keys_has_a_part_in_every_slot(self, slots: int) -> None:
        class Total(WithCount):
            def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
                self.total = 0
                ctx.apply_to_keyed_state(COUNT, self.add)
                yield "total", self.total

            def add(self, key: Any, state: Any) -> None:
                self.total += state.value()

        got = values(job(RECORDS[:-2], Total(counted), slots=slots).run_all(1))
        assert sum(total for _, total in got) == 8

    @EPOCHS
    @SLOTS
    @pytest.mark.parametrize("keyed", [True, False])
    def test_records_kept_in_an_instance(self, slots: int, keyed: bool, size: int | None) -> None:
        got = values(job(RECORDS, Kept(), keyed=keyed, slots=slots).run_all(size))
        assert sorted(map(str, got)) == sorted(
            [*(f"kept {key}" for key in "abcdeabca"), str(("rule", ("rule", "x"))),
             str(("rule", ("rule", "y")))]
        )  # fmt: skip

    @SLOTS
    @pytest.mark.parametrize("keyed", [True, False])
    def test_instances_in_processes_of_their_own(
        self, slots: int, keyed: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Here slots share one instance of the function; on Spark they may have several."""
        started, *others = [
            job(RECORDS, Kept(), keyed=keyed, slots=slots) for _ in range(slots + 1)
        ]
        whole = started.programs.stages[0]
        programs = [other.programs.stages[0] for other in others]
        monkeypatch.setattr(whole, "run", lambda slot, *rest: programs[slot].run(slot, *rest))
        got = values(started.run_all(1))
        assert sorted(value for value in got if isinstance(value, str)) == sorted(
            f"kept {key}" for key in "abcdeabca"
        )
        assert [value for value in got if not isinstance(value, str)] == [
            ("rule", ("rule", "x")),
            ("rule", ("rule", "y")),
        ]

    @EPOCHS
    @SLOTS
    @pytest.mark.parametrize("keyed", [True, False])
    @pytest.mark.parametrize("policy", ["fail", "skip"])
    def test_records_kept_between_two_rules(
        self, policy: str, keyed: bool, slots: int, size: int | None
    ) -> None:
        """What happens to records that a function fails on is no matter of the others."""
        records = at_once(("rule", "x"), *[(key,) for key in "abcde"], ("rule", "y"))
        configuration = {"millstream.on-error": policy}
        started = job(records, Kept(), keyed=keyed, slots=slots, configuration=configuration)
        got = [value for value in values(started.run_all(size)) if isinstance(value, str)]
        assert sorted(got) == [f"kept {key}" for key in "abcde"]

    @SLOTS
    def test_what_the_broadcast_side_does_not_use_changes_nothing(self, slots: int) -> None:
        got = values(job(RECORDS, Watched(), keyed=False, slots=slots).run_all(1))
        assert got == [("rule", 2), ("rule", 2)]

    def test_a_state_that_is_only_cleared_leaves_nothing_behind(self) -> None:
        def rule(function: Any, value: Any, ctx: Any) -> Iterable[Any]:
            ctx.apply_to_keyed_state(COUNT, lambda key, state: state.clear())
            yield "rule", ctx.current_watermark()

        got = values(job(RECORDS, WithCount(counted, rule), slots=4).run_all(1))
        assert got == [("rule", 6), ("rule", 8)]

    @pytest.mark.parametrize("empty", [lambda: defaultdict(lambda: []), Unpicklable, deque, list])
    def test_instances_may_differ_before_anything_has_grown(self, empty: Any) -> None:
        """One that has kept nothing yet cannot know of the others."""
        function = Kept()
        function.kept = empty()
        assert Buffers(function).differ()

    @pytest.mark.parametrize("size", [1, None])
    @pytest.mark.parametrize("slots", [2, 4])
    def test_an_instance_that_has_kept_nothing_speaks_for_itself(
        self, slots: int, size: int | None
    ) -> None:
        class Number(Kept):
            def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
                yield "kept", len(self.kept)

        records = at_once(("a",), ("rule", "x"))
        started, *others = [job(records, Number(), slots=slots) for _ in range(slots + 1)]
        stages = [other.programs.stages[0] for other in others]
        whole = started.programs.stages[0]
        whole.run = lambda slot, *rest: stages[slot].run(slot, *rest)  # type: ignore[method-assign]
        found = sorted(values(started.run_all(size)))
        assert found == [("kept", 0)] * (slots - 1) + [("kept", 1)]

    def test_what_cannot_be_pickled_does_not_matter(self) -> None:
        class Locked(Kept):
            def open(self, context: Any) -> None:
                self.lock = threading.Lock()

            def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
                with self.lock:
                    yield "rule", len(value)

        assert values(job(RECORDS, Locked(), slots=4).run_all(1)) == [("rule", 2), ("rule", 2)]
