"""Test sources: elements and marks."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from millstream.common import Types, WatermarkStrategy
from millstream.common.errors import PlanError
from millstream.common.time import MIN_TIMESTAMP
from millstream.connectors import Chunk
from millstream.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millstream.datastream.timestamped_value import TimestampedValue
from millstream.testing import (
    AbortError,
    Checkpoint,
    StreamRecord,
    TestSource,
    collect,
    run_local,
)
from tests.support.testing_support import (
    EVENTS,
    LATE,
    MONOTONOUS,
    NONE,
    Count,
    Sessions,
    counts,
    new_env,
    same,
)

WATERMARK, ABORT, EOF, EPOCH = (
    TestSource.WATERMARK,
    TestSource.ABORT,
    TestSource.EOF,
    TestSource.EPOCH,
)


class Clock(KeyedProcessFunction):
    """The clock before each record."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, ctx.timer_service().current_watermark()


def clocks(*channels: Any, **options: Any) -> list[Any]:
    def program(env: StreamExecutionEnvironment) -> Any:
        source = TestSource(*channels, timestamped=True)
        stream = env.from_source(source, source.watermarks(), "source")
        return stream.key_by(lambda value: 0).process(Clock())

    return run_local(program, **options).values()


class TestElements:
    @pytest.mark.parametrize(
        "source",
        [
            TestSource([("a", 1), ("b", 2)], timestamped=True),
            TestSource([TimestampedValue("a", 1), TimestampedValue("b", 2)]),
            TestSource([StreamRecord("a", 1), TimestampedValue("b", 2)]),
        ],
    )
    def test_elements_with_times(self, source: TestSource) -> None:
        stream = new_env().from_source(source, MONOTONOUS, "source")
        assert stream.get_type() == Types.STRING()
        assert run_local(stream).records() == [("a", 1), ("b", 2)]

    def test_elements_without_times(self) -> None:
        stream = new_env().from_source(TestSource([1, 2], [3]), NONE, "source")
        assert run_local(stream).records() == [(1, None), (2, None), (3, None)]

    @pytest.mark.parametrize(
        ("channels", "message"),
        [
            ((), "at least one channel"),
            (([ABORT],), "call it"),
            (([WATERMARK(5), 1],), "before the first record"),
            (([EOF(), 1],), "before the first record"),
            (([1, WATERMARK("x")],), "no timestamp"),  # type: ignore[arg-type]
            (([TimestampedValue(1, 2.5)],), "no timestamp"),  # type: ignore[arg-type]
        ],
    )
    def test_bad_sources_are_refused(self, channels: Any, message: str) -> None:
        with pytest.raises(PlanError, match=message) as caught:
            TestSource(*channels)
        assert caught.value.location is not None
        assert caught.value.location.file == __file__

    def test_pairs_are_wanted_with_timestamped(self) -> None:
        with pytest.raises(PlanError, match="is no \\(value, timestamp\\)"):
            TestSource([1], timestamped=True)


class TestWatermarks:
    CHANNEL = [("a", 1), WATERMARK(5), ("b", 7), ("c", 2), WATERMARK(3), ("d", 8)]
    EXPECTED = [("a", MIN_TIMESTAMP), ("b", 5), ("c", 5), ("d", 5)]

    @pytest.mark.parametrize("epochs", [1, 2, "all", "random"])
    @pytest.mark.parametrize("restarts", [0, "every"])
    def test_marks_set_the_watermark(self, epochs: Any, restarts: Any) -> None:
        assert clocks(self.CHANNEL, epochs=epochs, restarts=restarts) == self.EXPECTED

    def test_in_batch_too(self) -> None:
        assert clocks(self.CHANNEL, batch=True) == self.EXPECTED

    def test_channels_have_marks_of_their_own(self) -> None:
        one = [("a", 1), WATERMARK(10), ("b", 11), WATERMARK(20), ("c", 21)]
        other = [("x", 1), WATERMARK(5), ("y", 6), ("z", 7), WATERMARK(15)]
        assert clocks(one, other, epochs=1) == [
            ("a", MIN_TIMESTAMP),
            ("x", MIN_TIMESTAMP),
            ("y", 5),
            ("b", 5),
            ("z", 5),
            # Both channels have ended: the largest watermark counts.
            ("c", 20),
        ]

    def test_values_that_do_not_equal_themselves_are_told_by_their_times(self) -> None:
        nan = float("nan")
        one, other = [(nan, 1), WATERMARK(10), (nan, 11)], [(nan, 2), WATERMARK(5), (nan, 12)]
        assert [clock for _, clock in clocks(one, other, epochs=1)] == [
            MIN_TIMESTAMP,
            MIN_TIMESTAMP,
            5,
            10,
        ]

    def test_channels_that_look_alike_are_refused(self) -> None:
        one, other = [("a", 1), WATERMARK(10), ("b", 11)], [("a", 1), WATERMARK(5), ("x", 12)]
        with pytest.raises(PlanError, match="cannot tell them apart"):
            TestSource(one, other, timestamped=True).watermarks()
        other = [("a", 1), WATERMARK(10), ("x", 12)]
        assert TestSource(one, other, timestamped=True).watermarks().kind == "custom"

    def test_assigner_gives_the_times(self) -> None:
        source = TestSource([1, 2, WATERMARK(5), 9])
        strategy = source.watermarks().with_timestamp_assigner(lambda value, _: value * 10)
        stream = new_env().from_source(source, strategy, "source")
        assert run_local(stream, epochs=1).records() == [(1, 10), (2, 20), (9, 90)]

    def test_elements_without_times_need_an_assigner(self) -> None:
        source = TestSource([1, WATERMARK(5), 9])
        stream = new_env().from_source(source, source.watermarks(), "source")
        with pytest.raises(PlanError, match="NO_TIMESTAMP"):
            run_local(stream)

    def test_marks_make_records_late(self) -> None:
        source = TestSource(
            [(("a", 1), 5), WATERMARK(20), (("a", 2), 12), (("a", 3), 25)], timestamped=True
        )
        env = new_env()
        stream = env.from_source(source, source.watermarks(), "source")
        found = stream.key_by(0).process(Sessions())
        collected, late = collect(found), collect(found.get_side_output(LATE))
        run_local(env)
        assert collected.records() == [(("a", [1], [5]), 15), (("a", [3], [25]), 35)]
        assert late.values() == [("a", 2)]


class TestEpochs:
    def test_mark_ends_the_epoch(self) -> None:
        env = new_env()
        source = TestSource([1, 2, EPOCH(), 3, EPOCH(), EPOCH(), 4], [5, 6])
        collected = collect(env.from_source(source, NONE, "source"))
        results = run_local(env)
        assert results.epochs == 4
        epochs = [[value for value, _ in records] for records in collected.by_epoch().values()]
        assert epochs == [[1, 2, 5, 6], [3], [4]]

    def test_mark_cuts_whatever_the_cut(self) -> None:
        for epochs in (1, 2, 3, "all", "random"):
            env = new_env()
            source = TestSource([1, 2, EPOCH(), 3, 4])
            collected = collect(env.from_source(source, NONE, "source"))
            run_local(env, epochs=epochs)
            for records in collected.by_epoch().values():
                assert not {1, 2} & {r.value for r in records} or not {3, 4} & set(records)

    def test_spark_is_told_the_cuts(self) -> None:
        (source,) = TestSource([1, 2, EPOCH(), 3, EPOCH(), 4], [5]).parts()
        assert [source.advance(0, start, 4, None) for start in (0, 1, 2, 3)] == [2, 2, 3, 4]
        assert source.advance(0, 0, 4, 1) == 1
        assert source.advance(1, 0, 1, None) == 1


class TestAborts:
    def test_run_fails_once_and_the_next_one_goes_on(self) -> None:
        env = new_env()
        source = TestSource(["a", "b", EPOCH(), "a", ABORT(), "a"])
        found = collect(counts_of(env, source))
        checkpoint = Checkpoint()
        with pytest.raises(AbortError, match="before record 3"):
            run_local(env, checkpoint=checkpoint)
        assert found.values() == [("a", 1), ("b", 1)]
        results = run_local(env, checkpoint=checkpoint)
        assert results.values() == [("a", 2), ("a", 3)]
        assert results.finished and checkpoint.finished
        assert found.values() == [("a", 1), ("b", 1), ("a", 2), ("a", 3)]

    def test_without_the_checkpoint_the_next_run_begins_anew(self) -> None:
        env = new_env()
        found = collect(counts_of(env, TestSource(["a", EPOCH(), "a", ABORT(), "a"])))
        with pytest.raises(AbortError):
            run_local(env)
        run_local(env)
        assert found.values() == [("a", 1), ("a", 2), ("a", 3)]

    def test_functions_have_seen_the_records_before_the_mark(self) -> None:
        seen: list[str] = []

        def note(value: str) -> str:
            seen.append(value)
            return value

        env = new_env()
        source = TestSource(["a", "b", ABORT(), "c"])
        collected = collect(env.from_source(source, NONE, "source").map(note))
        run_local(env, restarts=1, copy_functions=False)
        assert seen == ["a", "b", "a", "b", "c"]
        assert collected.values() == ["a", "b", "c"]

    @pytest.mark.parametrize("epochs", [1, 2, "random", "all"])
    def test_several_marks_in_several_channels(self, epochs: Any) -> None:
        env = new_env()
        source = TestSource(
            [ABORT(), "a", "b", ABORT(), "a", ABORT()], ["x", ABORT(), "x", "y", ABORT()], []
        )
        found = collect(counts_of(env, source))
        results = run_local(env, epochs=epochs, restarts="marks")
        assert results.restarts == 5
        expected = [("a", 1), ("a", 2), ("b", 1), ("x", 1), ("x", 2), ("y", 1)]
        assert sorted(found.values()) == expected

    def test_marks_act_in_batch_too(self) -> None:
        program = counts("a", ABORT(), "a")
        with pytest.raises(AbortError):
            run_local(program, batch=True)
        assert run_local(program, batch=True, restarts=1).values() == [("a", 1), ("a", 2)]

    def test_rearmed_marks_act_once_more(self) -> None:
        source = TestSource([1, ABORT(), 2])
        stream = new_env().from_source(source, NONE, "source")
        with pytest.raises(AbortError):
            run_local(stream)
        source.rearm()
        with pytest.raises(AbortError):
            run_local(stream)
        assert run_local(stream).values() == [1, 2]

    def test_a_reader_in_another_process_fails_once_too(self) -> None:
        """What Spark does: it reads ranges through copies of the source."""
        (source,) = TestSource([1, ABORT(), 2]).parts()
        for readers in ((source,), (pickle.loads(pickle.dumps(source)), source)):
            source.fuses.mend()
            with pytest.raises(AbortError):
                list(readers[0].read(0, 0, 2))
            for reader in readers:
                assert list(reader.read(0, 0, 2)) == [Chunk([1, 2])]

    def test_marks_that_have_acted_have_in_copies(self) -> None:
        (source,) = TestSource([1, ABORT(), 2]).parts()
        with pytest.raises(AbortError):
            list(source.read(0, 0, 2))
        assert list(pickle.loads(pickle.dumps(source)).read(0, 0, 2)) == [Chunk([1, 2])]


def counts_of(env: StreamExecutionEnvironment, source: TestSource) -> Any:
    return env.from_source(source, NONE, "elements").key_by(same).process(Count())


class TestEof:
    SOURCE = [*EVENTS[:3], EOF(), *EVENTS[3:5], EOF(), *EVENTS[5:], EOF()]

    def program(self, env: StreamExecutionEnvironment) -> Any:
        source = TestSource(self.SOURCE, timestamped=True)
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(3)
        return env.from_source(source, strategy, "s").key_by(0).process(Sessions())

    def test_run_stops_without_the_end_and_the_next_goes_on_behind(self) -> None:
        whole = run_local(self.program, restarts="marks")
        assert whole.finished and whole.restarts == 2
        checkpoint, values, runs = Checkpoint(), [], []
        while not checkpoint.finished:
            results = run_local(self.program, checkpoint=checkpoint, epochs=2)
            values += results.values()
            runs.append((results.finished, results.metrics.sources["source-1"].read))
        assert values == whole.values()
        assert runs == [(False, 3), (False, 2), (True, 4)]

    def test_finished_job_begins_anew(self) -> None:
        checkpoint = Checkpoint()
        program = counts("a", "a")
        for _ in range(2):
            assert run_local(program, checkpoint=checkpoint).values() == [("a", 1), ("a", 2)]

    def test_channel_without_the_mark_runs_to_its_end(self) -> None:
        stream = new_env().from_source(TestSource([1, EOF(), 2], [3, 4]), NONE, "source")
        checkpoint = Checkpoint()
        assert run_local(stream, checkpoint=checkpoint).values() == [1, 3, 4]
        assert run_local(stream, checkpoint=checkpoint).values() == [2]
