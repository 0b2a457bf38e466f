"""Streaming contexts: what can be called when, and what is an error."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from millstream.common.errors import MillstreamError, PlanError, UserCodeError
from millstream.common.memory_mode import memory_tasks
from millstream.dataset import ExecutionEnvironment
from millstream.dstream import (
    ManualClock,
    Receiver,
    SparkContext,
    StreamingContext,
    StreamingListener,
)
from millstream.testing import in_memory


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def ssc(clock: ManualClock) -> Iterator[StreamingContext]:
    context = StreamingContext(SparkContext("local[1]"), 1, clock=clock)
    yield context
    context.stop()


def collected(stream: Any) -> list[Any]:
    found: list[Any] = []
    stream.foreachRDD(lambda rdd: found.append(rdd.collect()))
    return found


def test_queues(ssc: StreamingContext, clock: ManualClock) -> None:
    rdd = ssc.sparkContext.parallelize([3], 1)
    found = [
        collected(ssc.queueStream([[1], [2]])),
        collected(ssc.queueStream([[1], [2]], oneAtATime=False)),
        collected(ssc.queueStream([[1]], True, [0])),
        collected(ssc.queueStream([rdd], default=rdd)),
        collected(ssc.queueStream([], default=[7])),
    ]
    ssc.start()
    clock.advance(3)
    assert found == [
        [[1], [2], []],
        [[1, 2], [], []],
        [[1], [0], [0]],
        [[3], [3], [3]],
        [[7], [7], [7]],
    ]


def test_union_and_transform_of_streams(ssc: StreamingContext, clock: ManualClock) -> None:
    streams = [ssc.queueStream([[n]]) for n in (1, 2, 3)]
    united = collected(ssc.union(*streams))
    turned = collected(ssc.transform(streams, lambda rdds: rdds[1].union(rdds[2]).union(rdds[0])))
    ssc.start()
    clock.advance(1)
    assert united == [[1, 2, 3]]
    assert turned == [[2, 3, 1]]


def test_functions_with_and_without_time(ssc: StreamingContext, clock: ManualClock) -> None:
    times: list[Any] = []
    stream = ssc.queueStream([[1]])
    stream.foreachRDD(lambda time, rdd: times.append(time))
    stream.transform(lambda time, rdd: rdd.map(lambda n: (time, n))).foreachRDD(
        lambda rdd: times.append(rdd.first())
    )
    stream.foreachRDD(functools.partial(lambda more, rdd: times.append(more), "bound"))
    stream.foreachRDD(print)
    ssc.start()
    clock.advance(1)
    at = datetime.fromtimestamp(1)
    assert times == [at, (at, 1), "bound"]


def test_a_slow_output_does_not_lose_batches(ssc: StreamingContext, clock: ManualClock) -> None:
    found = collected(ssc.queueStream([[n] for n in range(5)]))
    ssc.start()
    clock.advance(5)
    assert found == [[0], [1], [2], [3], [4]]


def test_slices(ssc: StreamingContext, clock: ManualClock) -> None:
    stream = ssc.queueStream([[1], [2], [3], [4]])
    ssc.remember(4)
    stream.foreachRDD(lambda rdd: None)
    with pytest.raises(PlanError, match="has not been initialized"):
        stream.slice(0, 1)
    ssc.start()
    clock.advance(4)
    first = datetime.fromtimestamp(1)

    def values(begin: int, end: int) -> list[int]:
        rdds = stream.slice(first + timedelta(seconds=begin), first + timedelta(seconds=end))
        return [value for rdd in rdds for value in rdd.collect()]

    assert values(0, 0) == [1]
    assert values(1, 2) == [2, 3]
    assert values(1, 4) == [2, 3, 4]
    assert values(0, 3) == [1, 2, 3, 4]
    assert [rdd.collect() for rdd in stream.slice(1, 2)] == [[1], [2]]


def test_functions_know_that_a_program_runs_in_memory(clock: ManualClock) -> None:
    found: list[Any] = []
    with in_memory(parallelism=3):
        ssc = StreamingContext(None, 1, clock=clock)
        ssc.queueStream([[1]]).foreachRDD(lambda rdd: found.append(memory_tasks()))
        ssc.start()
        clock.advance(1)
        ssc.stop()
    assert found == [3]


def test_batches_are_joined_with_a_data_set(clock: ManualClock) -> None:
    with in_memory():
        env = ExecutionEnvironment.get_execution_environment()
        names = env.from_elements((1, "one"), (2, "two"))
        ssc = StreamingContext(SparkContext("local[1]"), 1, clock=clock)
        pairs = ssc.queueStream([[(1, "a")], [(2, "b"), (3, "c")]])
        found = collected(pairs.transform(lambda rdd: rdd.join(names)))
        ssc.start()
        clock.advance(2)
        ssc.stop()
    assert found == [[(1, ("a", "one"))], [(2, ("b", "two"))]]


def test_a_slice_of_state_has_no_states_that_were_forgotten(
    ssc: StreamingContext, clock: ManualClock
) -> None:
    stream = ssc.queueStream([[("a", n)] for n in (1, 2, 3, 4)])
    totals = stream.updateStateByKey(lambda values, n: sum(values, n or 0))
    collected(stream.window(4))
    collected(totals)
    ssc.start()
    clock.advance(4)
    assert [rdd.collect() for rdd in totals.slice(1, 4)] == [[("a", 10)]]


def test_waiting_moves_a_manual_clock(ssc: StreamingContext) -> None:
    found = collected(ssc.queueStream([[1], [2]]))
    assert not ssc.awaitTerminationOrTimeout(1)
    ssc.start()
    assert not ssc.awaitTerminationOrTimeout(2)
    ssc.stop()
    assert ssc.awaitTerminationOrTimeout(0.001)
    assert found == [[1], [2]]


def test_the_active_context(ssc: StreamingContext) -> None:
    assert StreamingContext.getActive() is None
    collected(ssc.queueStream([[1]]))
    ssc.start()
    ssc.start()
    assert StreamingContext.getActive() is ssc
    assert StreamingContext.getActiveOrCreate(None, lambda: pytest.fail("called")) is ssc
    other = StreamingContext(None, 1)
    collected(other.queueStream([[1]]))
    with pytest.raises(PlanError, match="Only one StreamingContext may be started"):
        other.start()
    ssc.stop(False)
    ssc.stop(False)
    assert StreamingContext.getActive() is None
    assert StreamingContext.getActiveOrCreate(None, lambda: other) is other
    with pytest.raises(TypeError, match="callable"):
        StreamingContext.getActiveOrCreate(None, None)  # type: ignore[arg-type]


def test_nothing_to_execute(ssc: StreamingContext) -> None:
    ssc.queueStream([[1]])
    with pytest.raises(PlanError, match="No output operations registered, so nothing to execute"):
        ssc.start()


def test_programs_are_complete_before_the_start(ssc: StreamingContext) -> None:
    stream = ssc.queueStream([[1]])
    collected(stream)
    ssc.start()
    for change in (
        lambda: stream.map(str),
        lambda: stream.window(1),
        lambda: stream.updateStateByKey(lambda values, state: None),
        lambda: stream.pprint(),
        lambda: ssc.queueStream([]),
        lambda: ssc.checkpoint("folder"),
    ):
        with pytest.raises(PlanError, match="after starting a context is not supported"):
            change()
    ssc.stop(False)
    with pytest.raises(PlanError, match="after stopping a context is not supported"):
        stream.map(str)
    with pytest.raises(PlanError, match="has already been stopped"):
        ssc.start()


@pytest.mark.parametrize("duration", [None, 0, -1, 0.0001])
def test_batches_have_a_length(duration: float | None) -> None:
    with pytest.raises(ValueError, match="DSTREAM_BATCH_DURATION"):
        StreamingContext(None, duration)


def test_windows_are_multiples_of_batches(ssc: StreamingContext) -> None:
    stream = ssc.queueStream([[1]])
    for window, slide, name in ((1.5, 1, "window"), (2, 0.5, "slide"), (0, 1, "window")):
        with pytest.raises(ValueError, match=rf"{name}Duration must be multiple of the parent"):
            stream.window(window, slide)
        with pytest.raises(ValueError, match=r"batch\) duration \(1000 ms\)"):
            stream.reduceByKeyAndWindow(None, None, window, slide)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"\(2000 ms\)"):
        stream.window(4, 2).window(3, 2)
    with pytest.raises(ValueError, match="same slide duration"):
        stream.union(stream.window(2, 2))
    with pytest.raises(ValueError, match="same slide duration"):
        ssc.union(stream, stream.window(2, 2))
    with pytest.raises(ValueError, match="at least one"):
        ssc.union()


def test_functions_take_rdds(ssc: StreamingContext) -> None:
    stream = ssc.queueStream([[1]])
    with pytest.raises(PlanError, match="1 or 2 arguments"):
        stream.foreachRDD(lambda a, b, c: None)  # type: ignore[arg-type, misc]
    with pytest.raises(PlanError, match="needs a function"):
        stream.transform(5)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="different contexts"):
        stream.join(StreamingContext(None, 1).queueStream([[1]]))


def fail(value: object, *more: object) -> Any:
    raise ValueError("This is a special error")


@pytest.mark.parametrize("kind", ["map", "transform", "transformWith", "output", "state"])
def test_an_error_is_raised_to_who_waits(
    ssc: StreamingContext, clock: ManualClock, kind: str
) -> None:
    stream = ssc.queueStream([[("a", 1)]])
    made = {
        "map": lambda: stream.map(fail),
        "transform": lambda: stream.transform(lambda rdd: fail(rdd)),
        "transformWith": lambda: stream.transformWith(lambda a, b: fail(a), stream, True),
        "output": lambda: stream,
        "state": lambda: stream.updateStateByKey(fail),
    }[kind]()
    made.foreachRDD(fail if kind == "output" else (lambda rdd: rdd.collect()))
    ssc.start()
    clock.advance(1)
    for _ in range(2):
        with pytest.raises(UserCodeError, match="This is a special error") as caught:
            ssc.awaitTerminationOrTimeout(10)
        assert caught.value.location is not None
        assert caught.value.location.file == __file__


def test_batches_after_a_failed_one_are_processed(
    ssc: StreamingContext, clock: ManualClock
) -> None:
    def fails_once(number: int) -> int:
        if number == 1:
            raise ValueError("once")
        return number

    found = collected(ssc.queueStream([[n] for n in range(4)]).map(fails_once))
    ssc.start()
    clock.advance(4)
    assert found == [[0], [2], [3]]
    with pytest.raises(UserCodeError, match="once"):
        ssc.awaitTermination()


def test_state_does_not_go_on_without_a_batch(ssc: StreamingContext, clock: ManualClock) -> None:
    def update(values: list[int], state: int | None) -> int:
        if 1 in values:
            raise ValueError("once")
        return sum(values, state or 0)

    stream = ssc.queueStream([[("a", n)] for n in range(4)])
    found = collected(stream.updateStateByKey(update))
    ssc.start()
    clock.advance(4)
    assert found == [[("a", 0)]]
    with pytest.raises(UserCodeError, match="once"):
        ssc.awaitTermination()


def test_an_output_may_end_the_program(ssc: StreamingContext, clock: ManualClock) -> None:
    ssc.queueStream([[1]]).foreachRDD(lambda rdd: sys.exit(3))
    ssc.start()
    clock.advance(2)
    with pytest.raises(SystemExit):
        ssc.awaitTermination()


def test_other_outputs_of_a_failed_batch_run(ssc: StreamingContext, clock: ManualClock) -> None:
    stream = ssc.queueStream([[1]])
    stream.foreachRDD(fail)
    found = collected(stream)
    ssc.start()
    clock.advance(1)
    assert found == [[1]]
    with pytest.raises(MillstreamError):
        ssc.awaitTermination()


def test_an_output_may_stop_the_context(ssc: StreamingContext, clock: ManualClock) -> None:
    found: list[Any] = []

    def stop_at_two(rdd: Any) -> None:
        found.append(rdd.first())
        if found == [1, 2]:
            ssc.stop(False)

    ssc.queueStream([[1], [2], [3]]).foreachRDD(stop_at_two)
    ssc.start()
    clock.advance(5)
    assert ssc.awaitTerminationOrTimeout(1)
    assert found == [1, 2]


def test_a_graceful_stop_processes_what_has_come(ssc: StreamingContext, clock: ManualClock) -> None:
    found = collected(ssc.queueStream([[1], [2], [3], [4]]))
    ssc.start()
    assert ssc._loop is not None
    with ssc._loop.held():
        for _ in range(3):
            ssc._loop.tick()
    ssc.stop(False, True)
    assert found == [[1], [2], [3]]


def test_late_batches_have_their_own_records(ssc: StreamingContext, clock: ManualClock) -> None:
    found = collected(ssc.queueStream([[1], [2], [3]]).window(2))
    ssc.start()
    clock.advance(4, late=True)
    assert found == [[1], [1, 2], [2, 3], [3]]


def test_files_of_batches(ssc: StreamingContext, clock: ManualClock, tmp_path: Path) -> None:
    stream = ssc.queueStream([["a"], ["b"]])
    stream.saveAsTextFiles(str(tmp_path / "text"), "txt")
    stream.saveAsPickleFiles(str(tmp_path / "pickle"))
    ssc.start()
    clock.advance(2)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["pickle-1000", "pickle-2000", "text-1000.txt", "text-2000.txt"]
    assert (tmp_path / "text-2000.txt" / "part-00000").read_text() == "b\n"
    assert ssc.sparkContext.pickleFile(str(tmp_path / "pickle-1000")).collect() == ["a"]


class Collector(StreamingListener):
    def __init__(self) -> None:
        self.heard: list[str] = []
        self.infos: list[Any] = []

    def onStreamingStarted(self, streamingStarted: Any) -> None:
        self.heard.append("started")

    def onBatchSubmitted(self, batchSubmitted: Any) -> None:
        self.heard.append("submitted")
        info = batchSubmitted.batchInfo()
        assert (info.schedulingDelay(), info.processingDelay(), info.totalDelay()) == (-1, -1, -1)

    def onBatchStarted(self, batchStarted: Any) -> None:
        self.heard.append("begun")

    def onOutputOperationStarted(self, outputOperationStarted: Any) -> None:
        self.heard.append("output begun")

    def onOutputOperationCompleted(self, outputOperationCompleted: Any) -> None:
        self.heard.append("output done")

    def onBatchCompleted(self, batchCompleted: Any) -> None:
        self.heard.append("completed")
        self.infos.append(batchCompleted.batchInfo())


def test_listeners(ssc: StreamingContext, clock: ManualClock) -> None:
    listener = Collector()
    ssc.addStreamingListener(listener)
    collected(ssc.queueStream([[1]]))
    ssc.start()
    clock.advance(1)
    batch = ["submitted", "begun", "output begun", "output done", "completed"]
    assert listener.heard == ["started", *batch]
    (info,) = listener.infos
    assert info.batchTime().milliseconds() == 1000
    assert info.numRecords() == 0
    (output,) = info.outputOperationInfos().values()
    assert output.name().startswith("foreachRDD at ")
    assert output.failureReason() is None
    assert output.endTime() == 1000


def test_the_system_clock() -> None:
    ssc = StreamingContext(SparkContext("local[1]"), 0.01)
    found: list[Any] = []

    def output(rdd: Any) -> None:
        found.extend(rdd.collect())
        if len(found) == 3:
            ssc.stop(False)

    ssc.queueStream([[1], [2], [3]]).foreachRDD(output)
    ssc.start()
    assert ssc.awaitTerminationOrTimeout(30)
    assert found == [1, 2, 3]


@pytest.mark.parametrize("graceful", [False, True])
@pytest.mark.parametrize(
    "callback",
    ["onStreamingStarted", "onBatchSubmitted", "onBatchStarted", "onBatchCompleted"],
)
def test_a_listener_may_stop_the_context(
    ssc: StreamingContext, clock: ManualClock, callback: str, graceful: bool
) -> None:
    listener = StreamingListener()
    setattr(listener, callback, lambda event: ssc.stop(False, graceful))
    ssc.addStreamingListener(listener)
    found = collected(ssc.queueStream([[1], [2]]))
    ssc.start()
    clock.advance(3)
    assert ssc.awaitTerminationOrTimeout(1)
    assert StreamingContext.getActive() is None
    assert found in ([], [[1]])


def test_delays_are_warned_of(
    ssc: StreamingContext, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    collected(ssc.queueStream([[n] for n in range(9)]))
    ssc.start()
    clock.advance(4)
    assert not caplog.messages
    clock.advance(9, late=True)
    clock.advance(2)
    (message,) = caplog.messages
    assert message.startswith("batch 5000 ms waited 8.0 s for the ones before it")
    assert "8 more wait" in message
    clock.advance(2, late=True)
    assert len(caplog.messages) == 2


def test_functions_with_arguments_of_their_own(ssc: StreamingContext, clock: ManualClock) -> None:
    found: list[Any] = []
    stream = ssc.queueStream([[1]])
    stream.foreachRDD(lambda time, rdd, name="name": found.append((time, name)))  # type: ignore[misc]
    stream.transformWith(
        lambda time, one, two, more=3: one.map(lambda n: n + more), stream
    ).foreachRDD(lambda rdd: found.append(rdd.first()))
    ssc.start()
    clock.advance(1)
    assert found == [(datetime.fromtimestamp(1), "name"), 4]


@pytest.mark.parametrize("duration", [timedelta(seconds=1), "1", float("nan"), float("inf")])
def test_durations_are_numbers(ssc: StreamingContext, duration: Any) -> None:
    for call in (
        lambda: StreamingContext(None, duration),
        lambda: ssc.queueStream([]).window(duration),
        lambda: ssc.remember(duration),
    ):
        with pytest.raises(ValueError, match="DSTREAM_DURATION"):
            call()


def test_durations_are_rounded(ssc: StreamingContext) -> None:
    stream = StreamingContext(None, 0.001).queueStream([])
    for ms in (1001, 4350, 8196, 16_387):
        assert stream.window(ms / 1000)._node.slide_ms == 1
        assert stream.window(1, ms / 1000)._node.slide_ms == ms


def test_errors_outside_of_functions_have_the_line_of_the_operator(
    ssc: StreamingContext, clock: ManualClock
) -> None:
    stream = ssc.queueStream([[1]])
    collected(stream.updateStateByKey(lambda values, state: values))
    ssc.start()
    clock.advance(1)
    with pytest.raises(UserCodeError, match="cannot unpack") as caught:
        ssc.awaitTermination()
    assert caught.value.location is not None
    assert "updateStateByKey" in str(caught.value.location.code)


def test_what_programs_for_pyspark_ask_a_streaming_context(ssc: StreamingContext) -> None:
    assert StreamingContext._jvm is None
    assert ssc._sc is ssc.sparkContext


class Reports(Receiver):
    """Reports an error as soon as it starts."""

    def onStart(self) -> None:
        self.reportError("away")


@pytest.mark.parametrize("graceful", [False, True])
def test_a_listener_to_receivers_may_stop_a_context_that_is_starting(
    ssc: StreamingContext, monkeypatch: pytest.MonkeyPatch, graceful: bool
) -> None:
    """The receiver of the first input may fail before the threads of the context are there."""
    stopped = threading.Event()

    class Stops(StreamingListener):
        def onReceiverError(self, receiverError: Any) -> None:
            ssc.stop(False, graceful)
            stopped.set()

    start = threading.Thread.start

    def late(thread: threading.Thread) -> None:
        if thread.name == "millstream outputs":
            assert stopped.wait(20)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", late)
    collected(ssc.receiverStream(Reports()))
    ssc.addStreamingListener(Stops())
    ssc.start()
    assert ssc.awaitTerminationOrTimeout(1)
    assert StreamingContext.getActive() is None
