"""Keyed operators: state and emissions do not depend on epoch borders; errors say who and what."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.common.errors import MillstreamError, UserCodeError
from millstream.common.output_tag import OutputTag
from millstream.common.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from millstream.common.typeinfo import Types
from millstream.connectors.simple_sinks import DiscardingSink
from millstream.kernel.state import pages
from millstream.plan.graph import JobGraph, KeyedNode, SideOutputNode, SinkNode
from millstream.testing import LocalJob
from tests.support.kernel_support import Function, keyed_job, source_of, values

EPOCHS = pytest.mark.parametrize("size", [1, 2, None])


def value_state(name: str) -> Any:
    return lambda context: context.get_state(ValueStateDescriptor(name))


def list_state(name: str) -> Any:
    return lambda context: context.get_list_state(ListStateDescriptor(name))


def map_state(name: str) -> Any:
    return lambda context: context.get_map_state(MapStateDescriptor(name))


class TestMutableValues:
    """A value changed in place, whether or not an epoch border lies between."""

    EVENTS = [(("a", number), number) for number in range(4)]

    @EPOCHS
    def test_value_state_changed_in_place_keeps_the_change(self, size: int | None) -> None:
        def process(function: Any, value: Any, ctx: Any) -> Any:
            seen = function.seen.value()
            if seen is None:
                seen = []
                function.seen.update(seen)
            seen.append(value[1])
            return [tuple(seen)]

        started = keyed_job(self.EVENTS, Function(process, seen=value_state("seen")))
        assert values(started.run_all(size)) == [(0,), (0, 1), (0, 1, 2), (0, 1, 2, 3)]

    @EPOCHS
    def test_element_of_a_map_changed_in_place_keeps_the_change(self, size: int | None) -> None:
        def process(function: Any, value: Any, ctx: Any) -> Any:
            if not function.seen.contains("k"):
                function.seen.put("k", [])
            function.seen.get("k").append(value[1])
            return [tuple(function.seen.get("k"))]

        started = keyed_job(self.EVENTS, Function(process, seen=map_state("seen")))
        assert values(started.run_all(size))[-1] == (0, 1, 2, 3)

    @EPOCHS
    def test_yielded_object_is_emitted_as_it_was_when_yielded(self, size: int | None) -> None:
        def process(function: Any, value: Any, ctx: Any) -> Any:
            seen = function.seen.value() or {"numbers": []}
            seen["numbers"].append(value[1])
            function.seen.update(seen)
            yield seen
            # Seen by nobody: what was emitted must not have it.
            seen["numbers"].append("later")
            function.seen.update({"numbers": seen["numbers"][:-1]})

        started = keyed_job(self.EVENTS[:2], Function(process, seen=value_state("seen")))
        assert values(started.run_all(size)) == [{"numbers": [0]}, {"numbers": [0, 1]}]

    @EPOCHS
    def test_object_yielded_twice_is_emitted_as_it_was_each_time(self, size: int | None) -> None:
        def keep(function: Any, value: Any, ctx: Any) -> Any:
            kept = function.seen.value() or []
            function.seen.update(kept)
            for _ in range(2):
                kept.append(value[1])
                yield kept

        started = keyed_job(self.EVENTS[:2], Function(keep, seen=value_state("seen")))
        assert values(started.run_all(size)) == [[0], [0, 0], [0, 0, 1], [0, 0, 1, 1]]

    @EPOCHS
    def test_object_in_a_tuple_or_of_a_class_is_emitted_as_it_was(self, size: int | None) -> None:
        def process(function: Any, value: Any, ctx: Any) -> Any:
            box = function.box.value() or Box()
            function.box.update(box)
            box.items.append(value[1])
            yield box.__class__.__name__, box

        started = keyed_job(self.EVENTS[:3], Function(process, box=value_state("box")))
        assert [box.items for _, box in values(started.run_all(size))] == [[0], [0, 1], [0, 1, 2]]

    @EPOCHS
    def test_object_sent_aside_is_emitted_as_it_was(self, size: int | None) -> None:
        tag = OutputTag("side")

        def process(function: Any, value: Any, ctx: Any) -> Any:
            seen = function.seen.value() or []
            function.seen.update(seen)
            seen.append(value[1])
            yield tag, seen

        graph = JobGraph()
        node = graph.add(
            KeyedNode,
            name="op",
            inputs=(source_of(graph, self.EVENTS[:3]),),
            selector=lambda value: value[0],
            kind="process",
            function=Function(process, seen=value_state("seen")),
        )
        side = graph.add(SideOutputNode, name="side", inputs=(node.id,), tag="side")
        graph.add(SinkNode, name="out", inputs=(side.id,), sink=DiscardingSink())
        assert values(LocalJob(graph).run_all(size)) == [[0], [0, 1], [0, 1, 2]]

    @EPOCHS
    def test_reduce_that_changes_its_first_argument_emits_every_update(
        self, size: int | None
    ) -> None:
        def merge(one: list[Any], other: list[Any]) -> list[Any]:
            one.extend(other[1:])
            return one

        events = [(["a", number], number) for number in range(3)]
        started = keyed_job(events, merge, kind="reduce")
        assert values(started.run_all(size)) == [["a", 0], ["a", 0, 1], ["a", 0, 1, 2]]

    @EPOCHS
    def test_record_kept_in_state_and_emitted_is_two_objects(self, size: int | None) -> None:
        def process(function: Any, value: Any, ctx: Any) -> Any:
            kept = function.kept.value()
            function.kept.update(value)
            if kept is not None:
                kept.append("old")
                yield kept
            yield value

        events = [(["a", number], number) for number in range(2)]
        started = keyed_job(events, Function(process, kept=value_state("kept")))
        assert values(started.run_all(size)) == [["a", 0], ["a", 0, "old"], ["a", 1]]


class Box:
    def __init__(self) -> None:
        self.items: list[int] = []


class TestState:
    def count(self, function: Any, value: Any, ctx: Any) -> Any:
        seen = (function.n.value() or 0) + 1
        function.n.update(seen)
        return [(ctx.get_current_key(), seen)]

    @EPOCHS
    def test_keys_that_are_equal_share_their_state(self, size: int | None) -> None:
        events = [((key,), 0) for key in (1, True, 1.0, "1")]
        started = keyed_job(events, Function(self.count, n=value_state("n")), slots=4)
        assert values(started.run_all(size)) == [(1, 1), (1, 2), (1, 3), ("1", 1)]

    def test_state_does_not_depend_on_the_size_of_pages(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        events = [((f"key {n % 50}",), n) for n in range(300)]
        expected = [((f"key {n % 50}", n // 50 + 1), n) for n in range(300)]
        for split_bytes in (64, 400, 10**9):
            monkeypatch.setattr(pages, "SPLIT_BYTES", split_bytes)
            started = keyed_job(events, Function(self.count, n=value_state("n")), slots=2)
            assert started.run_all(37)["out"] == expected
            assert started.state_entries() >= (16 if split_bytes == 64 else 1)

    def test_key_whose_states_are_all_cleared_is_forgotten(self) -> None:
        def process(function: Any, value: Any, ctx: Any) -> None:
            function.one.update(1)
            function.many.add(1)
            if value[1] == "bye":
                function.one.clear()
                function.many.clear()

        function = Function(process, one=value_state("one"), many=list_state("many"))
        started = keyed_job([(("a", "hello"), 0), (("a", "bye"), 1)], function)
        started.epoch(1)
        assert started.state_entries() == 1
        started.epoch(1)
        assert started.state_entries() == 0

    def test_key_whose_later_state_only_is_set_is_kept(self) -> None:
        def process(function: Any, value: Any, ctx: Any) -> Any:
            before = function.second.value()
            function.second.update(value[1])
            return [before]

        function = Function(process, first=value_state("first"), second=value_state("second"))
        started = keyed_job([(("a", 1), 0), (("a", 2), 1)], function)
        assert values(started.run_all(1)) == [None, 1]

    def test_on_timer_sees_the_state_of_its_key(self) -> None:
        def process(function: Any, value: Any, ctx: Any) -> None:
            function.n.update(value[1])
            ctx.timer_service().register_event_time_timer(5)

        def on_timer(function: Any, timestamp: int, ctx: Any) -> Any:
            return [(ctx.get_current_key(), function.n.value())]

        events = [((key, number), 0) for number, key in enumerate("abc")]
        started = keyed_job(events, Function(process, on_timer, n=value_state("n")))
        assert sorted(values(started.run_all(1))) == [("a", 0), ("b", 1), ("c", 2)]

    def test_state_asked_for_in_process_element_works_from_the_first_record(self) -> None:
        class Late:
            def open(self, context: Any) -> None:
                self.context = context

            def process_element(self, value: Any, ctx: Any) -> Any:
                state = self.context.get_state(ValueStateDescriptor("n"))
                state.update((state.value() or 0) + 1)
                return [state.value()]

        started = keyed_job([(("a",), 0), (("a",), 1)], Late())
        assert values(started.run_all()) == [1, 2]


class TestInputs:
    @EPOCHS
    @pytest.mark.parametrize("typed", [False, True])
    def test_function_that_changes_its_record_changes_no_other(
        self, typed: bool, size: int | None
    ) -> None:
        assert values(self.twice_the_same(typed=typed).run_all(size)) == [[1, 9], [1, 9]]

    def twice_the_same(self, *, typed: bool) -> LocalJob:
        """A collection with one object in two places, and a function that changes its input."""

        def process(function: Any, value: Any, ctx: Any) -> Any:
            value.append(9)
            return [value]

        graph = JobGraph()
        record = [1]
        stream = source_of(graph, [(record, 0), (record, 1)])
        if typed:
            graph.update(stream, output_type=Types.LIST(Types.LONG()))
        node = graph.add(
            KeyedNode,
            name="op",
            inputs=(stream,),
            selector=lambda value: value[0],
            kind="process",
            function=Function(process),
        )
        graph.add(SinkNode, name="out", inputs=(node.id,), sink=DiscardingSink())
        return LocalJob(graph)

    def test_process_element_may_return_none_a_list_or_a_generator(self) -> None:
        def process(function: Any, value: Any, ctx: Any) -> Any:
            return {"none": None, "list": [1, 2], "generator": (n for n in (3,))}[value[1]]

        events = [(("a", how), 0) for how in ("none", "list", "generator")]
        assert values(keyed_job(events, Function(process)).run_all()) == [1, 2, 3]

    def test_function_is_opened_once_before_and_closed_after_its_records(self) -> None:
        calls: list[str] = []

        class Noting:
            def open(self, context: Any) -> None:
                calls.append(f"open {context.get_task_name()}")

            def process_element(self, value: Any, ctx: Any) -> None:
                calls.append(value[0])

            def close(self) -> None:
                calls.append("close")

        started = keyed_job([(("a",), 0), (("b",), 1)], Noting(), slots=2)
        started.run_all(1)
        for program in started.programs.stages:
            program.close()
        assert calls == ["open op", "a", "b", "close"]


class TestErrors:
    def failing(self, function: Any, value: Any, ctx: Any) -> Any:
        if value[1] == 3:
            raise ValueError("no threes")
        return [value]

    def error(self, started: LocalJob, **options: Any) -> UserCodeError:
        with pytest.raises(UserCodeError) as caught:
            started.run_all(**options)
        return caught.value

    @EPOCHS
    def test_exception_names_operator_uid_and_record(self, size: int | None) -> None:
        events = [(("a", number), number) for number in range(6)]
        error = self.error(keyed_job(events, Function(self.failing)), reads=size)
        assert (error.operator, error.uid, error.record) == ("op", "the-uid", "('a', 3)")
        assert isinstance(error.__cause__, ValueError)
        first_frame = error.user_traceback.splitlines()[1]
        assert "test_keyed.py" in first_frame
        assert "no threes" in first_frame or "failing" in first_frame

    def test_exception_in_a_generator_names_the_record_too(self) -> None:
        def process(function: Any, value: Any, ctx: Any) -> Any:
            yield value
            raise ValueError("after the first")

        error = self.error(keyed_job([(("a", 1), 0)], Function(process)))
        assert error.record == "('a', 1)"

    def test_exception_in_on_timer_names_the_timer(self) -> None:
        def process(function: Any, value: Any, ctx: Any) -> None:
            ctx.timer_service().register_event_time_timer(77)

        def on_timer(function: Any, timestamp: int, ctx: Any) -> None:
            raise ValueError("not now")

        error = self.error(keyed_job([(("a", 1), 0)], Function(process, on_timer)))
        assert (error.operator, error.uid) == ("op", "the-uid")
        assert "77" in (error.record or "")

    def test_exception_in_open_names_the_operator(self) -> None:
        class Broken:
            def open(self, context: Any) -> None:
                raise ValueError("cannot open")

        assert self.error(keyed_job([(("a",), 0)], Broken())).operator == "op"

    def test_exception_in_the_key_selector_names_the_record(self) -> None:
        def selector(value: Any) -> Any:
            return value["no such field"]

        function = Function(lambda function, value, ctx: None)
        error = self.error(keyed_job([(("a", 1), 0)], function, key=selector))
        assert (error.operator, error.record) == ("op", "('a', 1)")

    def test_exception_in_a_reduce_names_the_record(self) -> None:
        def reduce(one: Any, other: Any) -> Any:
            raise ValueError("no")

        events = [(("a", 1), 0), (("a", 2), 1)]
        error = self.error(keyed_job(events, reduce, kind="reduce"))
        assert (error.operator, error.record) == ("op", "('a', 2)")

    def test_long_records_are_cut(self) -> None:
        def process(function: Any, value: Any, ctx: Any) -> None:
            raise ValueError

        error = self.error(keyed_job([(("a", "x" * 10_000), 0)], Function(process)))
        assert len(error.record or "") == 200

    @pytest.mark.parametrize(
        ("key", "code"),
        [
            (None, "NULL_KEY"),
            ({}, "UNSUPPORTED_KEY"),
            (("a", {1}), "UNSUPPORTED_KEY"),
            (object(), "UNSUPPORTED_KEY"),
        ],
    )
    def test_key_that_is_no_key_is_refused(self, key: Any, code: str) -> None:
        function = Function(lambda function, value, ctx: None)
        with pytest.raises(MillstreamError) as caught:
            keyed_job([(("a",), 0)], function, key=lambda value: key).run_all()
        assert caught.value.code == code
        assert caught.value.hint

    def test_event_time_timer_without_timestamps_is_refused(self) -> None:
        def process(function: Any, value: Any, ctx: Any) -> None:
            ctx.timer_service().register_event_time_timer(1)

        with pytest.raises(MillstreamError) as caught:
            keyed_job([(("a",), 0)], Function(process), timed=False).run_all()
        assert caught.value.code == "NO_TIMESTAMPS"
        assert "'op'" in caught.value.message

    def test_failed_epoch_leaves_state_and_output_as_they_were(self) -> None:
        events = [(("a", number), number) for number in range(6)]
        started = keyed_job(events, Function(self.failing))
        started.epoch(2)
        before = started.committed
        with pytest.raises(UserCodeError):
            started.epoch(3)
        assert started.committed is before
        assert values(started.outputs) == [("a", 0), ("a", 1)]
