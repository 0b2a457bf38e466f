"""Running sinks: what a task and a driver call, in which order, and what happens when a sink fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millstream.common import Types
from millstream.common.errors import CheckpointError, Location, PlanError, UserCodeError
from millstream.connectors import (
    Committer,
    FunctionSink,
    IdempotentSink,
    IdempotentWriter,
    PartContext,
    PartMarker,
    PartWriter,
    Sink,
    SinkContext,
    TwoPhaseSink,
)
from millstream.connectors.simple_sinks import CalledFunction, CollectingSink
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.functions import SinkFunction
from millstream.kernel.calls.reports import Reports
from millstream.kernel.records.buffers import Records
from millstream.kernel.records.order import OrderKeys
from millstream.plan.graph import SinkNode
from millstream.plan.planner import plan
from millstream.plan.sinks import BoundSink, SinkDriver, SinkTask, fingerprint, write_parts

PAIRS = Types.TUPLE([Types.STRING(), Types.LONG()])
TASK = SinkTask(epoch=3, part=1, attempt=17)
CONTEXT = SinkContext(job_id="job", sink="sink")


def records(*values: Any, first: int = 0) -> Records:
    keys = OrderKeys.of_fragment(np.zeros(len(values), np.int64), 0, 0, first)
    return Records(list(values), np.zeros(len(values), np.int64), keys)


@dataclass
class Calls:
    """What sinks have been asked to do."""

    made: list[str] = field(default_factory=list)
    fails: str = ""

    def note(self, call: str) -> None:
        self.made.append(call)
        if call == self.fails:
            raise ValueError(f"{call} fails")


class Writer(IdempotentWriter):
    def __init__(self, name: str, calls: Calls, context: PartContext, there: str | None) -> None:
        self.name, self.calls, self.context, self.there = name, calls, context, there

    def begin(self) -> str | None:
        self.calls.note(f"{self.name} begin")
        return self.there

    def write(self, batch: Any) -> None:
        self.calls.note(f"{self.name} write")
        self.batch = batch

    def finish(self) -> Any:
        self.calls.note(f"{self.name} finish")
        return f"{self.name} staged"

    def close(self) -> None:
        self.calls.note(f"{self.name} close")


@dataclass
class Function(FunctionSink):
    name: str
    calls: Calls
    opened: list[Writer] = field(default_factory=list)

    def open_part(self, context: PartContext) -> PartWriter:
        self.calls.note(f"{self.name} open")
        self.opened.append(Writer(self.name, self.calls, context, None))
        return self.opened[-1]


@dataclass
class Idempotent(IdempotentSink):
    name: str
    calls: Calls
    there: str | None = None
    last: int | None = None
    markers: Any = None

    def last_markers(self, context: SinkContext) -> Mapping[int, PartMarker] | None:
        found: Mapping[int, PartMarker] | None = self.markers
        return found

    def open_part(self, context: PartContext) -> IdempotentWriter:
        return Writer(self.name, self.calls, context, self.there)

    def last_epoch(self, context: SinkContext) -> int | None:
        return self.last


@dataclass
class TwoPhase(TwoPhaseSink, Committer):
    name: str
    calls: Calls
    last: int | None = None

    def open_part(self, context: PartContext) -> PartWriter:
        return Writer(self.name, self.calls, context, None)

    def open_committer(self, context: SinkContext) -> Committer:
        return self

    def recover(self) -> int | None:
        self.calls.note(f"{self.name} recover")
        return self.last

    def commit(self, epoch: int, staged: list[Any]) -> None:
        self.calls.note(f"{self.name} commit {epoch} {staged}")

    def abort(self, epoch: int, staged: list[Any]) -> None:
        self.calls.note(f"{self.name} abort {epoch} {staged}")

    def take_back(self, epoch: int) -> None:
        raise NotImplementedError


def bound(*sinks: Sink, **options: Any) -> dict[int, BoundSink]:
    return {
        number: BoundSink(sink, SinkContext(job_id="job", sink=f"s{number}", name="it", **options))
        for number, sink in enumerate(sinks)
    }


# -- in the tasks ----------------------------------------------------------------------------------


def test_all_parts_are_written_before_the_first_is_finished() -> None:
    calls = Calls()
    sinks = bound(Function("a", calls), TwoPhase("b", calls))
    staged = write_parts(sinks, [(0, records(1)), (1, records(2))], TASK, Reports())
    assert staged == {1: "b staged"}, "only a two-phase sink has something to commit"
    assert calls.made == [
        "a open",
        "a write",
        "b write",
        "a finish",
        "b finish",
        "a close",
        "b close",
    ]


def test_a_writer_knows_its_part() -> None:
    sink = Function("a", Calls())
    write_parts(bound(sink, attempt=2), [(0, records(1, 2))], TASK, Reports())
    context = sink.opened[0].context
    assert context.key == ("job", "s0", 3, 1) and (context.attempt, context.task_attempt) == (2, 17)
    assert context.fencing_token == context.token(3)
    assert context.runtime_context.get_index_of_this_subtask() == 1
    assert sink.opened[0].batch == [1, 2]


def test_a_part_that_is_there_is_not_written_again() -> None:
    calls, part = Calls(), records("x")
    sinks = bound(Idempotent("a", calls, there=fingerprint(part)))
    assert write_parts(sinks, [(0, part)], TASK, Reports()) == {}
    assert calls.made == ["a begin", "a close"]


def test_a_part_that_is_there_with_other_records_is_refused() -> None:
    calls = Calls()
    sinks = bound(Idempotent("a", calls, there=fingerprint(records("x"))))
    with pytest.raises(CheckpointError, match=r"PART_CHANGED.*part 1 of epoch 3"):
        write_parts(sinks, [(0, records("x", "y"))], TASK, Reports())
    assert calls.made == ["a begin", "a close"]


def test_a_marker_of_an_earlier_version_has_no_number_of_parts() -> None:
    calls, part = Calls(), records("x")
    sinks = bound(Idempotent("a", calls, there=fingerprint(part)))
    write_parts(sinks, [(0, part)], replace(TASK, parts=4), Reports())
    assert calls.made == ["a begin", "a close"]


def test_a_part_of_an_epoch_with_another_number_of_parts_is_refused() -> None:
    calls, part = Calls(), records("x")
    sinks = bound(Idempotent("a", calls, there=f"{fingerprint(part)} of 3"))
    with pytest.raises(CheckpointError, match=r"PART_CHANGED.*written in 3 parts.*replayed in 4"):
        write_parts(sinks, [(0, part)], replace(TASK, parts=4), Reports())
    assert calls.made == ["a begin", "a close"]


def test_a_marked_part_without_records_is_refused_before_anything_is_written() -> None:
    """Its records have come to another part, which would write them again."""
    calls = Calls()
    sinks = bound(Idempotent("a", calls), Idempotent("b", calls))
    task = replace(TASK, parts=4, marked={1: frozenset({0, 1})})
    with pytest.raises(CheckpointError, match=r"PART_CHANGED.*'s1' has part 1 of epoch 3 already"):
        write_parts(sinks, [(0, records("x"))], task, Reports())
    assert calls.made == ["a begin", "a write", "a close"]
    write_parts(sinks, [(0, records("x"))], replace(task, part=2), Reports())


@pytest.mark.parametrize("fails", ["b write", "a finish", "b finish"])
def test_a_failure_names_the_sink_and_all_writers_are_closed(fails: str) -> None:
    calls = Calls(fails=fails)
    sinks = bound(Function("a", calls), Function("b", calls))
    with pytest.raises(UserCodeError, match=f"part 1 of epoch 3 failed: ValueError: {fails} fails"):
        write_parts(sinks, [(0, records(1)), (1, records(2))], TASK, Reports())
    assert calls.made[-2:] == ["a close", "b close"]


def test_columns_are_record_batches_with_the_fields_of_the_type() -> None:
    sink = Function("a", Calls())
    sink.takes_columns = True
    part = [(0, records(("x", 1), ("y", 2)))]
    write_parts(bound(sink, type_info=PAIRS), part, TASK, Reports())
    batch = sink.opened[0].batch
    assert isinstance(batch, pa.RecordBatch)
    assert batch.to_pydict() == {"f0": ["x", "y"], "f1": [1, 2]}


# -- fingerprints ----------------------------------------------------------------------------------


def test_a_fingerprint_depends_on_which_records_there_are_and_not_on_their_values() -> None:
    assert fingerprint(records("a", "b")) == fingerprint(records("c", "d"))
    assert fingerprint(records("a", "b")) != fingerprint(records("a", "b", first=1))
    assert fingerprint(records("a", "b")) != fingerprint(records("a"))


def test_a_fingerprint_does_not_depend_on_how_paths_are_kept() -> None:
    one, each = records("a", "b"), records("a", "b")
    one.keys.path = b"p"
    each.keys.path = np.array([b"p", b"p"])
    other = records("a", "b")
    other.keys.path = np.array([b"p", b"q"])
    assert fingerprint(one) == fingerprint(each) != fingerprint(other)


# -- on the driver ---------------------------------------------------------------------------------


MARKERS = {0: PartMarker(7, "2-a of 3"), 5: PartMarker(6, "1-b of 9")}


def driver_of(markers: Any) -> SinkDriver:
    driver = SinkDriver(bound(Idempotent("a", Calls(), markers=markers)))
    driver.recover()
    return driver


def test_a_replayed_epoch_with_another_number_of_parts_is_refused_by_the_driver() -> None:
    """The part that is marked may have no records now, or not exist: no task would look."""
    wanted = r"PART_CHANGED.*epoch 7.*written in 3 parts and is replayed in 2[^0-9]"
    with pytest.raises(CheckpointError, match=wanted) as caught:
        driver_of(MARKERS).marked(7, 2)
    assert "as many as before" in str(caught.value.hint)


def test_an_old_marker_of_a_part_that_is_gone_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"PART_CHANGED.*part 2 of epoch 7.*no records now"):
        driver_of({1: PartMarker(7, "2-a"), 2: PartMarker(7, "2-a")}).marked(7, 2)


@pytest.mark.parametrize("parts", [3, 0])
def test_tasks_are_told_which_parts_are_there(parts: int) -> None:
    driver = driver_of(MARKERS)
    assert driver.counts_parts
    assert driver.marked(7, parts) == {0: frozenset({0})}
    assert driver.marked(8, parts) == {}


def test_an_epoch_that_is_not_replayed_may_have_any_number_of_parts() -> None:
    assert driver_of(MARKERS).marked(8, 1) == {}


def test_the_last_epoch_is_that_of_the_markers() -> None:
    driver_of(MARKERS).refuse_later(7)
    with pytest.raises(CheckpointError, match="CHECKPOINT_BEHIND"):
        driver_of(MARKERS).refuse_later(6)
    driver_of({}).refuse_later(-1)
    assert Idempotent("a", Calls(), markers=MARKERS).last_markers(CONTEXT) == MARKERS
    assert IdempotentSink.last_epoch(Idempotent("a", Calls(), markers=MARKERS), CONTEXT) == 7


@pytest.mark.parametrize("wrong", [7, {"a": PartMarker(1, "")}, {0: (1, "2-a")}])
def test_markers_of_another_kind_are_refused(wrong: Any) -> None:
    with pytest.raises(PlanError, match=r"BAD_SINK.*last_markers\(\) returns"):
        driver_of(wrong)


def test_an_epoch_without_parts_is_not_committed() -> None:
    calls = Calls()
    driver = SinkDriver(bound(TwoPhase("a", calls)))
    driver.recover()
    driver.commit(1, {})
    assert calls.made == ["a recover"]


def test_sinks_after_one_that_fails_forget_what_they_have_staged() -> None:
    calls = Calls(fails="b commit 1 [2]")
    driver = SinkDriver(bound(*(TwoPhase(name, calls) for name in "abc")))
    driver.recover()
    with pytest.raises(UserCodeError, match=r"sink 'it': commit\(1, ...\) failed"):
        driver.commit(1, {0: [1], 1: [2], 2: [3]})
    # The one that failed may have committed: it is asked again by the next attempt.
    assert calls.made[3:] == ["a commit 1 [1]", "b commit 1 [2]", "c abort 1 [3]"]


def test_a_driver_that_was_replaced_commits_nothing() -> None:
    def replaced() -> None:
        raise CheckpointError("LEASE_LOST", "another driver")

    calls = Calls()
    driver = SinkDriver(bound(TwoPhase("a", calls), check=replaced))
    driver.recover()
    with pytest.raises(CheckpointError, match="LEASE_LOST"):
        driver.commit(1, {0: [1]})
    assert calls.made == ["a recover", "a abort 1 [1]"]


@pytest.mark.parametrize(
    ("sink", "hint"),
    [
        (TwoPhase("a", Calls(), last=5), "millstream savepoint"),
        (Idempotent("a", Calls(), last=5), "newest checkpoint"),
    ],
)
def test_a_sink_that_is_ahead_of_the_checkpoint_is_refused(sink: Sink, hint: str) -> None:
    driver = SinkDriver(bound(sink))
    driver.recover()
    driver.refuse_later(5)
    with pytest.raises(CheckpointError, match="CHECKPOINT_BEHIND") as caught:
        driver.refuse_later(4)
    assert hint in (caught.value.hint or "")


# -- what the plan refuses -------------------------------------------------------------------------


class Taking(Sink):
    def __init__(self, changelog: Any = "append", *, columns: bool = False) -> None:
        self.changelog = changelog
        self.takes_columns = columns


@pytest.mark.parametrize(
    ("given", "taken", "fits"),
    [
        ("append", "append", True),
        ("append", "upsert", True),
        ("append", "retract", True),
        ("upsert", "append", False),
        ("upsert", "upsert", True),
        ("upsert", "retract", False),
        ("retract", "append", False),
        ("retract", "upsert", True),
        ("retract", "retract", True),
    ],
)
def test_a_sink_gets_only_changes_that_it_takes(given: Any, taken: Any, fits: bool) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).sink_to(Taking(taken)).uid("out")
    graph = env._job_graph()
    (node,) = [node for node in graph if isinstance(node, SinkNode)]
    graph.update(node.id, changelog=given)
    if fits:
        assert plan(graph).components
    else:
        with pytest.raises(PlanError, match=f"CHANGELOG_NOT_TAKEN.*{given} changes") as caught:
            plan(graph)
        assert caught.value.location is not None and caught.value.location.file == __file__


def test_a_sink_that_takes_nothing_known_is_refused() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).sink_to(Taking("everything"))
    with pytest.raises(PlanError, match="BAD_CHANGELOG"):
        plan(env._job_graph())


def test_columns_of_an_unknown_type_are_refused() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).map(lambda n: n).sink_to(Taking(columns=True))
    with pytest.raises(PlanError, match="UNTYPED_COLUMNS"):
        plan(env._job_graph())


def test_committers_are_closed_and_one_that_fails_keeps_no_other_open() -> None:
    closed: list[str] = []

    class Closing(TwoPhase):
        def close(self) -> None:
            closed.append(self.name)
            raise OSError("gone")

    driver = SinkDriver(bound(Closing("a", Calls()), Closing("b", Calls())))
    driver.recover()
    driver.close()
    assert closed == ["a", "b"]


# -- failures and wrong answers --------------------------------------------------------------------

HERE = Location("app.py", 7, "main")


@dataclass
class Odd(TwoPhaseSink, IdempotentSink):
    """A sink that is its own writer and committer; some answers are replaced."""

    answers: dict[str, Any]

    def _answer(self, method: str, usual: Any = None) -> Any:
        answer = self.answers.get(method, usual)
        if isinstance(answer, BaseException):
            raise answer  # the author's line
        return answer

    def open_part(self, context: PartContext) -> IdempotentWriter:
        return self._answer("open_part", OddWriter(self._answer))  # type: ignore[no-any-return]

    def open_committer(self, context: SinkContext) -> Committer:
        return self._answer("open_committer", OddCommitter(self._answer))  # type: ignore[no-any-return]

    def last_epoch(self, context: SinkContext) -> int | None:
        return self._answer("last_epoch")  # type: ignore[no-any-return]


@dataclass
class OddWriter(IdempotentWriter):
    answer: Any

    def begin(self) -> Any:
        return self.answer("begin")

    def write(self, batch: Any) -> None:
        self.answer("write")

    def finish(self) -> Any:
        return self.answer("finish")

    def close(self) -> None:
        self.answer("close")


@dataclass
class OddCommitter(Committer):
    answer: Any

    def recover(self) -> Any:
        return self.answer("recover")

    def commit(self, epoch: int, staged: list[Any]) -> None:
        self.answer("commit")

    def take_back(self, epoch: int) -> None:
        self.answer("take_back")


class OddIdempotent(IdempotentSink):
    def __init__(self, answers: dict[str, Any]) -> None:
        self.odd = Odd(answers)

    def open_part(self, context: PartContext) -> IdempotentWriter:
        return self.odd.open_part(context)

    def last_epoch(self, context: SinkContext) -> int | None:
        return self.odd.last_epoch(context)


def run_all(sink: Sink) -> None:
    """What is called in an epoch, in memory and on Spark."""
    sinks = bound(sink, location=HERE)
    driver = SinkDriver(sinks)
    driver.recover()
    staged = write_parts(sinks, [(0, records(1))], TASK, Reports())
    driver.commit(3, {number: [part] for number, part in staged.items()})


@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("open_committer", "open_committer()"),
        ("recover", "recover()"),
        ("open_part", "open_part() for part 1 of epoch 3"),
        ("begin", "begin() for part 1 of epoch 3"),
        ("write", "write() for part 1 of epoch 3"),
        ("finish", "finish() for part 1 of epoch 3"),
        ("close", "close() for part 1 of epoch 3"),
        ("commit", "commit(3, ...)"),
        ("last_epoch", "last_epoch()"),
    ],
)
def test_an_exception_names_the_sink_the_call_and_the_part(method: str, call: str) -> None:
    kind = OddIdempotent if method == "last_epoch" else Odd
    with pytest.raises(UserCodeError) as caught:
        run_all(kind({method: OSError("no such host")}))
    error = caught.value
    assert error.message == f"sink 'it': {call} failed: OSError: no such host"
    assert "# the author's line" in error.user_traceback
    assert error.location == HERE
    assert "records" not in (error.hint or "records")


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"open_committer": "c"}, "open_committer() returns 'c'"),
        ({"recover": "3"}, "recover() returns '3'"),
        ({"recover": True}, "recover() returns True"),
        ({"open_part": 7}, "open_part() returns 7"),
        ({"begin": True}, "begin() returns True"),
        ({"finish": lambda: 0}, "which cannot be sent to the driver"),
    ],
)
def test_a_wrong_answer_names_the_call_and_what_it_gave(
    answers: dict[str, Any], message: str
) -> None:
    with pytest.raises(PlanError) as caught:
        run_all(Odd(answers))
    error = caught.value
    assert (error.code, error.location) == ("BAD_SINK", HERE)
    assert error.message.startswith("sink 'it': ")
    assert message in error.message
    assert error.hint


def test_an_idempotent_sink_with_the_writer_of_another_kind() -> None:
    class Plain(PartWriter):
        def write(self, batch: Any) -> None: ...

        def finish(self) -> Any: ...

    with pytest.raises(PlanError, match=r"BAD_SINK.*open_part\(\) returns") as caught:
        run_all(OddIdempotent({"open_part": Plain()}))
    assert "IdempotentWriter" in (caught.value.hint or "")


@pytest.mark.parametrize("method", ["open", "close"])
def test_a_sink_function_that_cannot_be_opened_or_closed(method: str) -> None:
    class Function(SinkFunction):
        def invoke(self, value: Any) -> None: ...

    def fails(*_: Any) -> None:
        raise OSError("no such host")

    function = Function()
    setattr(function, method, fails)
    with pytest.raises(UserCodeError) as caught:
        run_all(CalledFunction(function))
    assert f"sink 'it': {method}() for part 1 of epoch 3 failed" in caught.value.message


def test_a_callback_on_the_driver_that_fails() -> None:
    def callback(epoch: int, found: Any) -> None:
        raise OSError("no such host")

    driver = SinkDriver(bound(CollectingSink(callback), location=HERE))
    with pytest.raises(
        UserCodeError, match=r"sink 'it': deliver\(\.\.\., 3, \.\.\.\) failed: OSError"
    ):
        driver.deliver(0, 3, records(1))
