"""Sources with mistakes: each failure names the source, the call and the user's line."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millstream.common import WatermarkStrategy
from millstream.common.errors import Location, MillstreamError, PlanError, UserCodeError
from millstream.connectors import ChannelSource, Chunk, Limits
from millstream.connectors.reading import Progress, Range, blocks
from millstream.connectors.source_calls import LONGEST_NAME
from millstream.datastream import StreamExecutionEnvironment
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.stages.programs import SourceProgram
from millstream.kernel.steps.chain import Chain
from millstream.kernel.steps.stateless import Step
from millstream.plan.graph import SourceNode
from millstream.plan.options import JobOptions
from millstream.spark.io.channel_source import ChannelReader, ChannelStreamReader, ChannelTask
from millstream.spark.io.inputs import ChannelInput
from millstream.spark.tasks.worker import ProgramRef, find_error
from millstream.testing import CollectSink, LocalJob

HERE = Location("app.py", 7, "main")
NO_TIME = WatermarkStrategy.no_watermarks()
numbers = iter(range(1_000))


class Orders(ChannelSource):
    """A channel of five records; some answers are replaced."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    def _answer(self, method: str, usual: Any) -> Any:
        answer = self.answers.get(method, usual)
        if isinstance(answer, Exception):
            raise answer  # the author's line
        return answer

    def open(self) -> None:
        self._answer("open", None)

    def close(self) -> None:
        self._answer("close", None)

    def latest(self) -> Any:
        return self._answer("latest", {"a": 5})

    def first(self, channel: Any) -> Any:
        return self._answer("first", 0)

    def read(self, channel: Any, start: Any, stop: Any) -> Iterator[Chunk]:
        return self._answer("read", [Chunk(list(range(start, stop)))])  # type: ignore[no-any-return]

    def commit(self, positions: Any) -> None:
        self._answer("commit", None)

    def limits(self) -> Any:
        return self._answer("limits", Limits())

    def number(self, position: Any) -> Any:
        return self._answer("number", position)

    def is_final(self, channel: Any) -> Any:
        return self._answer("is_final", False)

    def announces(self, channel: Any) -> Any:
        return self._answer("announces", True)

    def advance(self, channel: Any, start: Any, stop: Any, records: Any) -> Any:
        return self._answer("advance", stop)


class FailsLater(Orders):
    def read(self, channel: Any, start: Any, stop: Any) -> Iterator[Chunk]:
        yield Chunk([start])
        self._answer("later", None)


def in_memory(source: ChannelSource) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_source(source, NO_TIME, "orders").sink_to(CollectSink()).name("out")
    job = LocalJob(env._job_graph(), JobOptions(parallelism=1, slots=1))
    job.epoch(3)
    job.close()


def on_spark(source: ChannelSource) -> None:
    """What Spark calls, without Spark."""
    program = SourceProgram("orders", Chain(Step(OperatorInfo("orders", "orders", HERE))), 1, {})
    task = ChannelTask(program, source, "orders", HERE)
    ref = ProgramRef.of(f"calls-{next(numbers)}", task)
    reader = ChannelStreamReader(
        ChannelReader(1, ref, (0,), 2, closes=False, name="orders", location=HERE)
    )
    try:
        end = reader.latestOffset({}, None)
        for partition in reader.partitions({}, end):
            list(reader.read(partition))
        reader.commit(end)
        reader.stop()
    except RuntimeError as error:
        found = find_error(str(error))
        assert found is not None, "the driver sees only marked errors"
        raise found from None


def on_the_driver(source: ChannelSource) -> None:
    """What a bounded source is asked when the job starts."""
    node = SourceNode(id=1, name="orders", location=HERE, source=source)
    assert ChannelInput(None, node, source, "orders").ends is not None  # type: ignore[arg-type]


RUNS = pytest.mark.parametrize("run", [in_memory, on_spark])


@RUNS
@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("open", "open()"),
        ("close", "close()"),
        ("latest", "latest()"),
        ("first", "first('a')"),
        ("read", "read('a', 0, 5)"),
        ("commit", "commit({'a': 5})"),
        ("limits", "limits()"),
        ("number", "number(5)"),
        ("is_final", "is_final('a')"),
        ("announces", "announces('a')"),
        ("advance", "advance('a', 0, 5, "),
    ],
)
def test_an_exception_names_the_source_and_the_call(
    run: Callable[[ChannelSource], None], method: str, call: str
) -> None:
    if method in ("limits", "announces"):
        run = on_spark  # A job in memory does not ask for it.
    with pytest.raises(UserCodeError) as caught:
        run(Orders(**{method: OSError("no such host")}))
    error = caught.value
    assert error.code == "USER_CODE"
    assert error.message.startswith(f"source 'orders': {call}")
    assert error.message.endswith("failed: OSError: no such host")
    assert "# the author's line" in error.user_traceback
    assert error.location is not None
    assert "records" not in (error.hint or "records")


@RUNS
def test_an_exception_between_two_chunks(run: Callable[[ChannelSource], None]) -> None:
    with pytest.raises(UserCodeError, match=r"source 'orders': read\('a', 0, 5\) failed"):
        run(FailsLater(later=OSError("gone")))


@pytest.mark.parametrize("method", ["open", "latest", "close"])
def test_a_bounded_source_that_fails_when_the_job_starts(method: str) -> None:
    class Bounded(Orders):
        bounded = True

    with pytest.raises(UserCodeError) as caught:
        on_the_driver(Bounded(**{method: OSError("no such host")}))
    assert caught.value.message == f"source 'orders': {method}() failed: OSError: no such host"
    assert caught.value.location == HERE


@RUNS
@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"latest": ["a"]}, "latest() gives ['a']"),
        ({"latest": None}, "latest() gives None"),
        ({"latest": {("a", 1): 5}}, "latest() names the channel ('a', 1), which is neither"),
        ({"latest": {b"a": 5}}, "latest() names the channel b'a', which is neither"),
        ({"latest": {True: 5}}, "latest() names the channel True, which is neither"),
        ({"latest": {1: 5, "1": 5}}, "latest() names the channels 1 and '1'"),
        ({"latest": {"a" * 10_000: 5}}, f"which has 10,000 characters; {LONGEST_NAME:,} are"),
        ({"latest": {"\udc80": 5}}, "which has characters that cannot be written as UTF-8"),
        ({"latest": {"@first": 5}}, "'@first', a word that offsets use for something else"),
        ({"latest": {"a": {5}}}, "latest() gives {5} for channel 'a', and the position cannot be"),
        (
            {"latest": {"a": math.nan}},
            "latest() gives nan for channel 'a', and the position cannot",
        ),
        ({"latest": {"a": np.int64(5)}}, "cannot be written as JSON"),
        ({"latest": {"a": 5.0}}, "number(5.0) is 5.0"),
        ({"latest": {"a": "5"}}, "number('5') is '5'"),
        ({"latest": {"a": True}}, "number(True) is True"),
        ({"latest": {"a": 2**63}}, "number(9223372036854775808) is 9223372036854775808"),
        ({"latest": {"a": -1}}, "channel a begins at 0, behind its end -1"),
        ({"first": None}, "first('a') gives None"),
        ({"first": "0"}, "number('0') is '0'"),
        ({"first": 6}, "channel a begins at 6, behind its end 5"),
        ({"number": 2.5}, "number(5) is 2.5"),
        ({"advance": 6}, "gives 6"),
        ({"advance": "5"}, "number('5') is '5'"),
        ({"read": None}, "read('a', 0, 5) returns None"),
        ({"read": "abc"}, "read('a', 0, 5) returns 'abc'"),
        (
            {"read": Chunk([1])},
            "read('a', 0, 5) returns Chunk(values=[1], timestamps=None",
        ),
        ({"read": ["b", "c"]}, "read('a', 0, 5) yields 'b'"),
        ({"read": [Chunk("abc")]}, "read('a', 0, 5) yields a chunk of a str"),  # type: ignore[arg-type]
        ({"read": [Chunk(pa.table({"n": [1]}))]}, "yields a chunk of a Table"),  # type: ignore[arg-type]
        ({"read": [Chunk([1], [1, 2])]}, "yields a chunk of 1 records and 2 timestamps"),
        ({"read": [Chunk([1], 7)]}, "yields a chunk of 1 records and 7 timestamps"),  # type: ignore[arg-type]
        ({"read": [Chunk([1], [1.5])]}, "yields a chunk with the timestamp 1.5"),  # type: ignore[list-item]
        ({"read": [Chunk([1], [2**63])]}, "yields a chunk with the timestamp 9223372036854775808"),
        (
            {"read": [Chunk([1], [datetime.date(2026, 1, 1)])]},  # type: ignore[list-item]
            "yields a chunk with the timestamp datetime.date(2026, 1, 1)",
        ),
        (
            {"read": [Chunk([1], np.array([1.5]))]},
            "yields a chunk with the timestamp array([1.5])",
        ),
        ({"read": [Chunk([0] * 6)]}, "read('a', 0, 5) gives more records than there are positions"),
    ],
)
def test_a_wrong_answer_names_the_call_and_what_it_gave(
    run: Callable[[ChannelSource], None], answers: dict[str, Any], message: str
) -> None:
    with pytest.raises(MillstreamError) as caught:
        run(Orders(**answers))
    error = caught.value
    assert error.code == "BAD_SOURCE"
    assert error.message.startswith("source 'orders': ")
    assert message in error.message
    assert len(error.message) < 1_000
    assert error.location is not None
    assert error.hint


@pytest.mark.parametrize("limits", [7, None, Limits(per_epoch=0), Limits(per_second=math.inf)])
def test_wrong_limits(limits: Any) -> None:
    with pytest.raises(PlanError, match=r"BAD_SOURCE.*limits\(\) gives"):
        Progress(Orders(limits=limits)).next({})


def test_a_channel_without_end_needs_whole_numbers() -> None:
    class Texts(Orders):
        def number(self, position: Any) -> int:
            return int(position)

    with pytest.raises(PlanError, match=r"channel a has no end, and begins at '7'"):
        Progress(Texts(latest={"a": None}, first="7")).next({})


def test_a_method_is_no_property() -> None:
    class Mistaken(Orders):
        def bounded(self) -> bool:  # type: ignore[override]
            return False

    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(PlanError, match=r"BAD_SOURCE.*Mistaken.bounded is a method") as caught:
        env.from_source(Mistaken(), NO_TIME, "orders")
    assert caught.value.location is not None


def test_errors_of_the_reader_are_not_the_sources() -> None:
    found = blocks(Orders(), [Range("a", 9, 0, 5)], "orders")
    next(found)
    with pytest.raises(KeyError):
        found.throw(KeyError("the reader's"))  # type: ignore[attr-defined]


def test_a_rate_counts_from_a_large_position() -> None:
    begin = 1_789_000_000_000_000_001
    source = Orders(latest={"a": None}, first=begin, limits=Limits(per_second=3))
    seconds = iter(range(10))
    progress = Progress(source, clock=lambda: float(next(seconds)))
    offset = progress.next({})
    assert [(offset := progress.next(offset))["a"] - begin for _ in range(3)] == [3, 6, 9]


def test_positions_may_be_large() -> None:
    """Positions went through floating-point numbers once: nanoseconds since 1970 have 19 digits."""
    begin = 1_789_000_000_000_000_001

    class Clock(Orders):
        def read(self, channel: Any, start: Any, stop: Any) -> Iterator[Chunk]:
            yield Chunk([position - begin for position in range(start, stop)])

    env = StreamExecutionEnvironment.get_execution_environment()
    source = Clock(latest={"a": begin + 5}, first=begin)
    env.from_source(source, NO_TIME, "clock").sink_to(CollectSink()).name("out")
    job = LocalJob(env._job_graph(), JobOptions(parallelism=1, slots=1))
    assert [value for value, _ in job.epoch(5)["out"]] == [0, 1, 2, 3, 4]
