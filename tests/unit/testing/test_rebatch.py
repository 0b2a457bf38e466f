"""One program under many schedules."""

from __future__ import annotations

import re
from typing import Any

import pytest

from millstream.common.errors import PlanError, UserCodeError
from millstream.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millstream.testing import Schedule, StreamRecord, TestSource, rebatch, run_local
from millstream.testing.engine.comparison import Comparison
from tests.support.testing_support import (
    CALLS,
    EVENTS,
    MONOTONOUS,
    Attribute,
    Clocked,
    Count,
    counts,
    numbered,
    same,
    sessions,
)

WORDS = ["to", "be", "or", "not", "to", "be"]
FEW: dict[str, Any] = {"cuts": (1, "random"), "slots": (1, 2), "parallelism": (1, 2), "seeds": (5,)}


def words(function: Any) -> Any:
    def program(env: StreamExecutionEnvironment) -> Any:
        return env.from_collection(WORDS).key_by(same).process(function)

    return program


class TestIndependent:
    def test_event_time_program_with_side_output(self) -> None:
        report = rebatch(sessions())
        # Cuts of 1, 7, twice random and all, on six layouts; six batches; and the reference.
        assert len(report) == len(report.schedules) == 5 * 6 + 6 + 1
        assert report.results.values("late") == [("b", 5), ("a", 8)]
        assert (
            str(report)
            == f"{report.results.metrics.operator('Keyed Process').records_out} records, "
            "the same under 37 schedules"
        )

    def test_aborts_act_in_every_run(self) -> None:
        source = TestSource(
            [*EVENTS[:4], TestSource.ABORT(), *EVENTS[4:], TestSource.ABORT()], timestamped=True
        )

        def program(env: StreamExecutionEnvironment) -> Any:
            stream = env.from_source(source, MONOTONOUS, "events")
            return stream.key_by(0).process(Count())

        report = rebatch(program, **FEW)
        assert report.results.restarts == 2
        assert len(report.results.values()) == len(EVENTS)

    def test_runs_go_on_behind_eof(self) -> None:
        report = rebatch(counts("a", "b", TestSource.EOF(), "a"), **FEW)
        assert report.results.finished
        assert report.results.values() == [("a", 1), ("b", 1), ("a", 2)]

    def test_several_channels_with_channel_order_watermark(self) -> None:
        def program(env: StreamExecutionEnvironment) -> Any:
            channels = [EVENTS[::2], EVENTS[1::2]]
            source = TestSource(*channels, timestamped=True)
            stream = env.from_source(source, MONOTONOUS, "events")
            return stream.key_by(lambda value: 0).process(Trace())

        report = rebatch(program, channel_order="watermark")
        assert all(schedule.channel_order == "watermark" for schedule in report.schedules)
        with pytest.raises(AssertionError, match="only the order differs"):
            rebatch(program, compare="exact", batch=False)

    def test_rolling_aggregates_compare_by_last_value_in_batch(self) -> None:
        def program(env: StreamExecutionEnvironment) -> Any:
            pairs = env.from_collection([(word, 1) for word in WORDS])
            return pairs.key_by(0).sum(1)

        rebatch(program, **FEW, rolling=True)
        rebatch(program, **FEW, batch=False)
        with pytest.raises(AssertionError, match="rolling=True would accept that"):
            rebatch(program, **FEW)

    def test_environment_and_stream_can_be_given_too(self) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_collection(WORDS).key_by(same).process(Count())
        rebatch(stream, **FEW)
        stream.print()
        rebatch(env, **FEW)

    def test_one_layout_runs_with_and_without_restarts(self) -> None:
        report = rebatch(counts("a"), cuts=(1,), slots=(2,), parallelism=(1,))
        assert [s.restarts for s in report.schedules] == ["marks", "marks", "every", "marks"]
        report = rebatch(counts("a"), cuts=(1,), slots=(2,), parallelism=(1,), restarts=False)
        assert [s.restarts for s in report.schedules] == ["marks"] * 3

    def test_every_cut_and_layout_meets_restarts(self) -> None:
        schedules = [s for s in rebatch(counts("a")).schedules if s.restarts == "every"]
        assert {s.slots for s in schedules} == {1, 2, 4}
        assert {s.parallelism for s in schedules} == {1, 2}
        assert {s.epochs for s in schedules} == {1, 7, "random", "all"}
        assert {s.splits for s in schedules} == {1, 3}


class Trace(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return [value]


class TestDependent:
    def test_global_counter_is_caught(self) -> None:
        CALLS[0] = 0
        with pytest.raises(AssertionError) as caught:
            rebatch(lambda env: env.from_collection(WORDS).map(numbered))
        assert "sink 'result', record 0" in str(caught.value)

    def test_same_schedule_twice_says_so(self) -> None:
        CALLS[0] = 0
        layout = {"cuts": ("all",), "slots": (1,), "parallelism": (1,)}
        with pytest.raises(AssertionError, match="outside of its state"):
            rebatch(lambda env: env.from_collection(WORDS).map(numbered), **layout)  # type: ignore[arg-type]

    def test_processing_time_is_caught(self) -> None:
        with pytest.raises(AssertionError, match=r"\('be', 1000\)"):
            rebatch(words(Clocked()))

    def test_attribute_in_place_of_state_is_caught(self) -> None:
        with pytest.raises(AssertionError, match="a restart after every epoch"):
            rebatch(words(Attribute()))

    def test_message_names_schedules_and_record(self) -> None:
        with pytest.raises(AssertionError) as caught:
            rebatch(words(Clocked()), cuts=([1, 5],), slots=(2,), parallelism=(1,))
        assert str(caught.value).splitlines() == [
            "the results depend on the schedule: sink 'result', record 1",
            "  with all records in one epoch, 1 slot, 1 task, 6 records:",
            "      [0] ('to', 0) (no time)",
            "    > [1] ('be', 0) (no time)",
            "      [2] ('or', 0) (no time)",
            "      [3] ('not', 0) (no time)",
            "  with epochs of [1, 5] records, 2 slots, 1 task, 6 records:",
            "      [0] ('to', 0) (no time)",
            "    > [1] ('be', 1000) (no time)",
            "      [2] ('or', 1000) (no time)",
            "      [3] ('not', 1000) (no time)",
            "  to repeat: run_local(program, epochs=[1, 5], slots=2, parallelism=1, restarts='marks')",
        ]

    def test_message_names_the_seed(self) -> None:
        with pytest.raises(AssertionError, match=r"random size \(seed 3\)[\s\S]*'random', seed=3"):
            rebatch(words(Clocked()), cuts=("random",), seeds=(3,))

    def test_message_can_be_repeated(self) -> None:
        with pytest.raises(AssertionError) as caught:
            rebatch(words(Clocked()), cuts=("random",))
        call = re.search(r"run_local\(program, (.*)\)", str(caught.value))
        assert call is not None
        schedule = eval(f"dict({call[1]})")
        program = words(Clocked())
        assert run_local(program, **schedule).values() == run_local(program, **schedule).values()
        assert run_local(program, **schedule).values() != run_local(program).values()

    def test_failure_under_one_schedule_names_it(self) -> None:
        def choosy(env: StreamExecutionEnvironment) -> Any:
            return env.from_collection(WORDS).key_by(same).process(FailsLate())

        with pytest.raises(UserCodeError, match="too late") as caught:
            rebatch(choosy, cuts=(1,))
        notes = caught.value.__notes__
        assert notes[0] == "rebatch ran the program with epochs of 1 record, 1 slot, 1 task"
        assert notes[1].startswith("to repeat: run_local(program, epochs=1, slots=1")

    def test_empty_choices_are_refused(self) -> None:
        with pytest.raises(PlanError, match="BAD_SCHEDULE"):
            rebatch(counts("a"), slots=())
        with pytest.raises(PlanError, match="BAD_COMPARISON"):
            rebatch(counts("a"), compare="some")  # type: ignore[arg-type]


class FailsLate(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        if ctx.timer_service().current_processing_time() > 0:
            raise ValueError("too late")
        return [value]


def sink(*records: tuple[Any, int | None]) -> dict[str, list[StreamRecord]]:
    return {"out": [StreamRecord(*record) for record in records]}


class TestComparison:
    ONE = sink((("a", 1), 5), (("b", 1), 6), (("a", 2), 7))

    @pytest.mark.parametrize(
        ("other", "equal_in"),
        [
            (sink((("a", 1), 5), (("b", 1), 6), (("a", 2), 7)), "exact per_key unordered last"),
            (sink((("b", 1), 6), (("a", 1), 5), (("a", 2), 7)), "per_key unordered last"),
            (sink((("a", 2), 7), (("a", 1), 5), (("b", 1), 6)), "unordered"),
            (sink((("a", 2), 7), (("b", 1), 6)), "last"),
            (sink((("a", 1), 5), (("b", 1), 6), (("a", 2), 8)), ""),
            (sink((("a", 1), 5), (("b", 1), 6)), ""),
            (sink((("a", 1), 5), (("b", 1), 6), (("a", 2), 7), (("c", 1), 8)), ""),
            ({}, ""),
        ],
    )
    def test_modes(self, other: Any, equal_in: str) -> None:
        for mode in ("exact", "per_key", "unordered", "last_per_key"):
            expected = mode.removesuffix("_per_key") in equal_in.split()
            for pair in ((self.ONE, other), (other, self.ONE)):
                assert (Comparison(mode).difference(*pair) is None) == expected

    def test_missing_record_is_shown(self) -> None:
        difference = Comparison("per_key").difference(self.ONE, sink(*self.ONE["out"][:2]))
        assert difference is not None
        assert difference.place() == "sink 'out', record 1 of key 'a'"
        assert difference.window(difference.found) == [
            "  [0] ('a', 1) (time 5)",
            "> (no more records)",
        ]
        assert difference.count(difference.found) == "1 record of this key"

    def test_values_can_be_normalized(self) -> None:
        one, other = sink((0.1 + 0.2, 1)), sink((0.3, 1))
        assert Comparison("exact").difference(one, other) is not None
        assert Comparison("exact", normalize=lambda n: round(n, 9)).difference(one, other) is None

    def test_key_that_does_not_fit_costs_a_hint_only(self) -> None:
        difference = Comparison("exact", key=lambda v: v["k"]).difference(
            sink((1, 1)), sink((2, 1))
        )
        assert difference is not None and not difference.is_same_at_last


class TestSchedule:
    def test_text(self) -> None:
        assert str(Schedule(batch=True, slots=1)) == "batch, 1 slot"
        assert (
            str(Schedule(epochs=[1, 2], splits=3)) == "epochs of [1, 2] records, 3 fragments a read"
        )
        assert str(Schedule(channel_order="watermark")).endswith("channel order 'watermark'")
