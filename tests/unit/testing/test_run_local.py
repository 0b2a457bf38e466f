"""Whole programs in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from millstream.common import Row, Types, WatermarkStrategy
from millstream.common.errors import CheckpointError, PlanError, UserCodeError
from millstream.datastream import (
    KeyedProcessFunction,
    MapFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from millstream.datastream.connectors import (
    DataGeneratorSource,
    DiscardingSink,
    FileSink,
    NumberSequenceSource,
    RateLimiterStrategy,
)
from millstream.testing import (
    Checkpoint,
    Collected,
    CollectSink,
    TestSource,
    collect,
    run_local,
)
from tests.support.testing_support import (
    EVENTS,
    LATE,
    MONOTONOUS,
    NONE,
    Attribute,
    Count,
    Sessions,
    Ticker,
    counts,
    new_env,
    same,
    sessions,
)


class TestPrograms:
    def test_environment_can_run_again_and_stays_as_it_was(self) -> None:
        env = new_env()
        env.from_collection([1, 2]).map(lambda n: n + 1).print()
        before = dict(env._graph.nodes)
        for _ in range(2):
            assert run_local(env).values() == [2, 3]
        assert env._graph.nodes == before

    def test_stream_needs_no_sink(self) -> None:
        env = new_env()
        stream = env.from_collection([1, 2]).map(lambda n: n + 1)
        before = dict(env._graph.nodes)
        assert run_local(stream).values() == [2, 3]
        assert env._graph.nodes == before

    def test_stream_runs_with_the_sinks_built_so_far(self) -> None:
        env = new_env()
        numbers = env.from_collection([1, 2])
        numbers.print()
        results = run_local(numbers.map(lambda n: -n))
        assert results.sinks == {
            "Print": [(1, None), (2, None)],
            "result": [(-1, None), (-2, None)],
        }
        assert results.values() == [-1, -2]

    def test_function_may_return_streams_or_collect_them(self) -> None:
        def one(env: StreamExecutionEnvironment) -> Any:
            return env.from_collection([1])

        def several(env: StreamExecutionEnvironment) -> Any:
            return [env.from_collection([1]), env.from_collection([2])]

        def named(env: StreamExecutionEnvironment) -> Any:
            return {"a": env.from_collection([1])}

        def collected(env: StreamExecutionEnvironment) -> Any:
            return collect(env.from_collection([1]), "b")

        assert {k: len(v) for k, v in run_local(one).sinks.items()} == {"result": 1}
        assert set(run_local(several).sinks) == {"result 1", "result 2"}
        assert run_local(named).values("a") == [1]
        assert run_local(collected).values() == [1]

    def test_sinks_only_collect(self, tmp_path: Any, capsys: Any) -> None:
        def fail(value: Any) -> None:
            raise AssertionError

        env = new_env()
        pairs = env.from_collection([("a", 1), ("b", 2)])
        pairs.print()
        pairs.print("second")
        pairs.sink_to(FileSink.csv(str(tmp_path / "out")))
        pairs.add_sink(fail).name("function")
        pairs.sink_to(DiscardingSink()).name("none")
        results = run_local(env)
        assert set(results.sinks) == {"Print", "Print 2", "FileSink", "function", "none"}
        assert all(results.values(name) == [("a", 1), ("b", 2)] for name in results.sinks)
        assert capsys.readouterr().out == ""
        assert list(tmp_path.iterdir()) == []

    def test_unconnected_parts_run_one_after_the_other(self) -> None:
        def program(env: StreamExecutionEnvironment) -> Any:
            first = env.from_source(TestSource(["a", TestSource.ABORT(), "a"]), NONE, "1")
            second = env.from_source(TestSource(["b", TestSource.EOF(), "b"]), NONE, "2")
            return [stream.key_by(same).process(Count()) for stream in (first, second)]

        checkpoint = Checkpoint()
        results = run_local(program, checkpoint=checkpoint, restarts=1)
        assert results.values("result 1") == [("a", 1), ("a", 2)]
        assert results.values("result 2") == [("b", 1)]
        assert not results.finished
        results = run_local(program, checkpoint=checkpoint)
        assert results.finished
        assert results.values("result 1") == []
        assert results.values("result 2") == [("b", 2)]

    def test_side_outputs_accumulators_and_counters(self) -> None:
        results = run_local(sessions(), epochs=2)
        assert results.values("late") == [("b", 5), ("a", 8)]
        assert results.get_accumulator_result("seen") == len(EVENTS)
        assert results.accumulators == {"seen": len(EVENTS)}
        operator = results.metrics.operator("Keyed Process")
        assert operator.counters == {"aside": 2} and operator.records_in == len(EVENTS)
        assert results.get_accumulator_result("nothing") is None

    def test_totals_count_committed_epochs_only(self) -> None:
        marks = [*EVENTS[:5], TestSource.ABORT(), *EVENTS[5:], TestSource.ABORT()]
        results = run_local(sessions(marks), restarts="every", epochs=3)
        assert results.restarts > 2
        assert results.accumulators == {"seen": len(EVENTS)}
        assert results.metrics.operator("Keyed Process").counters == {"aside": 2}


class TestSettings:
    def test_environment_says_the_mode(self) -> None:
        def program(env: StreamExecutionEnvironment) -> Any:
            env.set_runtime_mode(RuntimeExecutionMode.BATCH)
            return env.from_collection([("a", 1), ("a", 2)]).key_by(0).sum(1)

        assert run_local(program).values() == [("a", 3)]
        assert run_local(program, batch=False).values() == [("a", 1), ("a", 3)]

    def test_cuts(self) -> None:
        def cut(epochs: Any, **options: Any) -> list[list[Any]]:
            env = new_env()
            source = NumberSequenceSource(1, 6)
            collected = collect(env.from_source(source, NONE, "numbers"))
            run_local(env, epochs=epochs, **options)
            return [[value for value, _ in r] for r in collected.by_epoch().values()]

        whole = [[1, 2, 3, 4, 5, 6]]
        assert cut(None) == cut("all") == cut(10) == cut(1, batch=True) == whole
        assert cut(4) == [[1, 2, 3, 4], [5, 6]]
        assert cut([1, 0, 2]) == [[1], [2, 3], [4, 5, 6]]
        assert cut([{"numbers": 2}, {}, {"other": 1}]) == [[1, 2], [3, 4, 5, 6]]
        random = [cut("random", seed=seed) for seed in range(4)]
        assert [cut("random", seed=seed) for seed in range(4)] == random
        assert len({str(epochs) for epochs in random}) > 1
        assert all([n for epoch in epochs for n in epoch] == whole[0] for epochs in random)

    def test_channels_of_a_random_cut_do_not_keep_step(self) -> None:
        env = new_env()
        source = NumberSequenceSource(0, 39, parts=2)
        collected = collect(env.from_source(source, NONE, "numbers"))
        run_local(env, epochs="random")
        odd = [sum(r.value % 2 for r in records) for records in collected.by_epoch().values()]
        assert [2 * n for n in odd] != [len(r) for r in collected.by_epoch().values()]

    def test_processing_time_moves_from_epoch_to_epoch(self) -> None:
        source = TestSource(["a", TestSource.EPOCH(), "b"])
        stream = new_env().from_source(source, NONE, "source").key_by(same).process(Ticker())
        assert run_local(stream, epochs=[1, 1, 0], ms_per_epoch=5).values() == [
            ("a", 5),
            ("b", 10),
        ]
        assert run_local(stream, ms_per_epoch=0).values() == []

    def test_source_may_limit_its_epochs(self) -> None:
        limit = RateLimiterStrategy.per_checkpoint(2)
        stream = new_env().from_source(DataGeneratorSource(same, 5, limit), NONE, "numbers")
        assert run_local(stream).epochs == 4
        assert run_local(stream, epochs="all").epochs == 2

    def test_unbounded_source_runs_the_listed_epochs(self) -> None:
        def program(env: StreamExecutionEnvironment) -> Any:
            source = DataGeneratorSource(lambda n: n, None)
            return env.from_source(source, NONE, "numbers")

        results = run_local(program, epochs=[2, 3])
        assert results.values() == [0, 1, 2, 3, 4]
        assert not results.finished and results.epochs == 2
        for options in ({}, {"epochs": 2}, {"epochs": "random"}, {"epochs": [2], "batch": True}):
            with pytest.raises(PlanError, match="LOCAL_UNBOUNDED"):
                run_local(program, **options)

    @pytest.mark.parametrize(
        "options",
        [
            {"epochs": 0},
            {"epochs": -1},
            {"epochs": "some"},
            {"epochs": [1, -1]},
            {"epochs": True},
            {"slots": 0},
            {"parallelism": 1.5},
            {"splits": 0},
            {"restarts": "often"},
            {"restarts": -1},
            {"channel_order": "random"},
        ],
    )
    def test_bad_schedules_are_refused(self, options: dict[str, Any]) -> None:
        with pytest.raises(PlanError, match="BAD_SCHEDULE") as caught:
            run_local(counts("a"), **options)
        assert caught.value.location is not None
        assert caught.value.location.file == __file__

    def test_channel_order_in_place_of_the_programs(self) -> None:
        def program(env: StreamExecutionEnvironment) -> Any:
            source = TestSource([("a", 50), ("b", 60)], [("c", 10), ("d", 70)], timestamped=True)
            stream = env.from_source(source, MONOTONOUS, "source")
            return stream.key_by(lambda value: 0).process(Order())

        assert run_local(program, epochs=1).values() == ["a", "c", "d", "b"]
        ordered = run_local(program, epochs=1, channel_order="watermark").values()
        assert ordered == run_local(program, batch=True).values()


class Order(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value


class TestSources:
    def test_elements_in_place_of_files(self) -> None:
        def program(env: StreamExecutionEnvironment) -> Any:
            return env.read_text_file("/no/such/file").flat_map(lambda line: line.split())

        with pytest.raises(PlanError, match="LOCAL_SOURCE") as caught:
            run_local(program)
        assert "sources={'Text File'" in (caught.value.hint or "")
        assert run_local(program, sources={"Text File": ["to be"]}).values() == ["to", "be"]
        source = TestSource(["a", TestSource.EPOCH(), "b"])
        assert run_local(program, sources={"Text File": source}).epochs == 3

    def test_elements_become_what_the_source_promises(self) -> None:
        def program(env: StreamExecutionEnvironment) -> Any:
            declared = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])
            rows = env.from_collection([], declared).uid("rows")
            return rows.map(lambda row: row.word * row.n)

        assert run_local(program, sources={"rows": [("a", 2), Row(word="b", n=1)]}).values() == [
            "aa",
            "b",
        ]

    def test_unknown_source_is_refused(self) -> None:
        with pytest.raises(PlanError, match="UNKNOWN_SOURCE") as caught:
            run_local(counts("a"), sources={"kafka": []})
        assert "'elements'" in (caught.value.hint or "")


class FailsAt(MapFunction):
    """Fails so many times before it lets a value pass."""

    left: dict[str, int] = {}

    def map(self, value: str) -> str:
        if FailsAt.left.get(value, 0) > 0:
            FailsAt.left[value] -= 1
            raise ValueError(f"no luck with {value}")
        return value


class TestFailures:
    def program(self, env: StreamExecutionEnvironment) -> Any:
        words = env.from_collection(["a", "b", "a", "c", "a"])
        return words.map(FailsAt()).key_by(same).process(Count())

    def test_so_many_failures_are_survived(self) -> None:
        FailsAt.left = {"a": 1, "c": 2}
        results = run_local(self.program, epochs=2, restarts=3)
        assert results.restarts == 3
        assert results.values() == [("a", 1), ("b", 1), ("a", 2), ("c", 1), ("a", 3)]

    @pytest.mark.parametrize("restarts", [0, 1, "marks", "every"])
    def test_more_are_not(self, restarts: Any) -> None:
        FailsAt.left = {"c": 5}
        checkpoint = Checkpoint()
        with pytest.raises(UserCodeError, match="no luck with c"):
            run_local(self.program, epochs=2, restarts=restarts, checkpoint=checkpoint)
        FailsAt.left = {}
        assert run_local(self.program, checkpoint=checkpoint).values() == [
            ("a", 2),
            ("c", 1),
            ("a", 3),
        ]

    def test_restarts_begin_with_new_copies_of_functions(self) -> None:
        def program(env: StreamExecutionEnvironment) -> Any:
            return env.from_collection(["a"] * 3).key_by(same).process(Attribute())

        assert run_local(program, epochs=1).values() == [("a", 1), ("a", 2), ("a", 3)]
        assert run_local(program, epochs=1, restarts="every").values() == [("a", 1)] * 3

    def test_function_that_cannot_be_sent_to_workers(self) -> None:
        lock = threading.Lock()

        def program(env: StreamExecutionEnvironment) -> Any:
            return env.from_collection([1]).map(lambda n: n if lock else 0).name("locked")

        with pytest.raises(PlanError, match="operator 'locked' cannot be sent") as caught:
            run_local(program)
        assert caught.value.code == "UNPICKLABLE_FUNCTION"
        assert run_local(program, copy_functions=False).values() == [1]

    def test_functions_are_opened_and_closed(self) -> None:
        calls: list[str] = []

        class Noted(MapFunction):
            def open(self, runtime_context: Any) -> None:
                calls.append("open")

            def map(self, value: int) -> int:
                return value

            def close(self) -> None:
                calls.append("close")

        stream = new_env().from_collection([1, 2]).map(Noted())
        run_local(stream, epochs=1, copy_functions=False)
        assert calls == ["open", "close"]
        calls.clear()
        run_local(stream, epochs=1, restarts="every", copy_functions=False)
        assert calls == ["open", "close"] * 2

    def test_errors_of_close_do_not_hide_the_first_one(self) -> None:
        class Bad(MapFunction):
            def map(self, value: Any) -> Any:
                raise ValueError("first")

            def close(self) -> None:
                raise ValueError("second")

        with pytest.raises(UserCodeError, match="first"):
            run_local(new_env().from_collection([1]).map(Bad()))

    def test_checkpoint_of_another_program_is_refused(self) -> None:
        checkpoint = Checkpoint()
        run_local(counts("a", TestSource.EOF(), "b"), checkpoint=checkpoint)
        with pytest.raises(CheckpointError, match="CHECKPOINT_MISMATCH"):
            run_local(counts("a", "b"), checkpoint=checkpoint, slots=3)
        with pytest.raises(CheckpointError, match="CHECKPOINT_MISMATCH"):
            run_local(new_env().from_collection([1]), checkpoint=checkpoint)

    def test_wrong_programs_are_refused(self) -> None:
        with pytest.raises(PlanError, match="NOT_A_PROGRAM"):
            run_local(3)  # type: ignore[arg-type]
        with pytest.raises(PlanError, match="NOT_A_STREAM"):
            run_local(lambda env: 3)
        with pytest.raises(PlanError, match="NO_SINK"):
            run_local(new_env())

    def test_unknown_sinks_are_refused(self) -> None:
        results = run_local(sessions())
        with pytest.raises(PlanError, match="has 2 sinks") as caught:
            results.values()
        assert "'sessions', 'late'" in (caught.value.hint or "")
        with pytest.raises(PlanError, match="no sink 'x'"):
            results.records("x")


class TestCollected:
    def test_values_records_and_epochs(self) -> None:
        env = new_env()
        stream = env.from_collection(["a", "b", "c"], timestamps=[1, 2, 3])
        sink = CollectSink()
        stream.assign_timestamps_and_watermarks(MONOTONOUS).sink_to(sink)
        run_local(env, epochs=2)
        collected = sink.collected
        assert list(collected) == collected.values() == ["a", "b", "c"]
        assert collected.records() == [("a", 1), ("b", 2), ("c", 3)]
        assert collected.by_epoch() == {0: [("a", 1), ("b", 2)], 1: [("c", 3)]}
        assert len(collected) == 3
        collected.clear()
        assert not collected.values()

    def test_epoch_delivered_twice_counts_once(self) -> None:
        collected = Collected()
        for _ in range(2):
            collected.deliver(3, [("a", 1)])
        assert collected.records() == [("a", 1)]

    def test_event_time_and_late_records(self) -> None:
        env = new_env()
        stream = env.from_source(
            TestSource(EVENTS, timestamped=True),
            WatermarkStrategy.for_bounded_out_of_orderness(3),
            "events",
        )
        found = stream.key_by(0).process(Sessions())
        collected, late = collect(found, "found"), collect(found.get_side_output(LATE), "late")
        results = run_local(env, epochs=1)
        assert results.records("found") == collected.records()
        assert results.records("late") == late.records() == [(("b", 5), 3), (("a", 8), 45)]
        assert collected.records()[0] == (("b", [2], [4]), 14)
