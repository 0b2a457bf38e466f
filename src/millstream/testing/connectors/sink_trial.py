"""A job that writes to a sink and dies where a test wants it to; and what its reader must see."""

from __future__ import annotations

import gc
import json
import pickle
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from millstream.common.by_value import dumps_by_value
from millstream.common.errors import PlanError, UserCodeError, short_repr
from millstream.common.typeinfo import TypeInformation
from millstream.connectors.sink import (
    Committer,
    FunctionSink,
    IdempotentSink,
    PartContext,
    PartSink,
    PartWriter,
    SinkContext,
    TwoPhaseSink,
)
from millstream.connectors.sink_calls import a_committer, stageable, whole_epoch, writer_of
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo
from millstream.kernel.calls.reports import Reports
from millstream.kernel.records.columns import record_batch
from millstream.plan.sinks import begins
from millstream.testing.connectors.contract import ContractError
from millstream.testing.connectors.crash import Crash, CrashAt

__all__ = ["ContractError", "Driver", "Kit", "TaskAttempt", "Trial"]

RECORDS = 12
"""How many records an epoch has, dealt over its parts."""

POINTS = ("opened", "half written", "written", "finished")


@dataclass(frozen=True)
class Kit:
    """The sink under test, as its author gives it."""

    make: Callable[[Path], PartSink]
    read: Callable[[Path], Iterable[Any]]
    record: Callable[[int], Any]
    type_info: TypeInformation | None
    crashes: int
    sink_class: type[PartSink]

    @property
    def package(self) -> str:
        """The package whose lines a crash can hit."""
        return self.sink_class.__module__.split(".")[0]


@dataclass
class Trial:
    """One scenario, in a place of its own."""

    kit: Kit
    place: Path
    scenario: str
    hint: str
    steps: list[str] = field(default_factory=list)
    attempts: int = 0
    task_attempts: int = 0
    written: dict[tuple[str, str, int], list[int]] = field(default_factory=dict)
    """The numbers of the records that a reader must see, by job, sink and epoch."""

    # -- what happens -------------------------------------------------------------------------------

    def start(self, job: str = "job", sink: str = "sink", *, half: int | None = None) -> Driver:
        """Start the job, or start it again. ``half``: an epoch that may be committed or not."""
        driver = self.driver(job, sink, half=half)
        driver.recover()
        return driver

    def driver(self, job: str = "job", sink: str = "sink", *, half: int | None = None) -> Driver:
        """The driver of the next attempt; it has not recovered yet."""
        self.attempts += 1
        self.steps.append(f"{job!r} starts, attempt {self.attempts}")
        return Driver(self, job, sink, self.attempts, half)

    def next_task_attempt(self) -> int:
        self.task_attempts += 1
        return self.task_attempts

    def take_back(self, epoch: int, crash: int | None = None) -> int:
        """Take back epochs as ``millstream savepoint`` does; returns how many lines ran."""
        self.steps.append(f"epochs after {epoch} are taken back")
        made = self.kit.make(self.place)
        assert isinstance(made, TwoPhaseSink)
        sink = type(made).from_config(json.loads(json.dumps(dict(made.to_config()))))
        committer = sink.open_committer(SinkContext(job_id="job", sink="sink"))
        committer.check_take_back()
        lines = self.crashing(crash, lambda: committer.take_back(epoch))
        for job, name, later in list(self.written):
            if (job, name) == ("job", "sink") and later > epoch:
                del self.written[job, name, later]
        return lines

    def crashing(self, line: int | None, action: Callable[[], Any]) -> int:
        """Do something and crash before its n-th line, if there is one; returns how many ran."""
        crash = CrashAt(self.kit.package, line)
        try:
            crash.run(action)
        except Crash as found:
            self.steps.append(f"the process dies at {found}")
        return crash.lines

    # -- what must be seen --------------------------------------------------------------------------

    def check(self, when: str, *, unless: tuple[str, str, int] | None = None) -> None:
        """Compare what a reader sees with what must be there.

        ``unless``: an epoch that may be there as a whole, or not at all.
        """
        found = self._seen()
        expected = self._expected(self.written)
        if unless is not None and unless not in self.written:
            numbers = self.numbers(unless[2])
            if any(self._value(self.kit.record(n)) in found for n in numbers):
                expected = self._expected({**self.written, unless: numbers})
        at_least_once = issubclass(self.kit.sink_class, FunctionSink)
        missing = expected - found
        extra = found - expected
        if at_least_once:
            extra = Counter({value: n for value, n in extra.items() if value not in expected})
        if missing or extra:
            raise self.error(f"{when}, {_difference(missing, extra, expected)}")

    def _seen(self) -> Counter[Any]:
        try:
            return Counter(self._value(record) for record in self.kit.read(self.place))
        except Exception as error:
            raise self.error(f"read() fails: {type(error).__name__}: {error}") from error

    def _expected(self, written: dict[tuple[str, str, int], list[int]]) -> Counter[Any]:
        every = (n for numbers in written.values() for n in numbers)
        return Counter(self._value(self.kit.record(n)) for n in every)

    @staticmethod
    def _value(record: Any) -> Any:
        return tuple(record) if isinstance(record, list) else record

    @staticmethod
    def numbers(epoch: int) -> list[int]:
        """The numbers of the records of an epoch."""
        return [epoch * 100 + index for index in range(RECORDS)]

    def error(self, message: str, hint: str | None = None) -> ContractError:
        told = "".join(f"\n    {step}" for step in self.steps)
        return ContractError(
            "SINK_CONTRACT",
            f"{self.kit.sink_class.__name__} does not keep its contract: {self.scenario}: {message}\n"
            f"  what happened:{told}",
            hint=hint or self.hint,
        )


def _difference(missing: Counter[Any], extra: Counter[Any], expected: Counter[Any]) -> str:
    if missing:
        value, number = next(iter(missing.items()))
        return (
            f"{sum(missing.values())} records are missing, such as {short_repr(value, 60)}: "
            f"a reader sees it {expected[value] - number} times, not {expected[value]}"
        )
    value, number = next(iter(extra.items()))
    if value in expected:
        return (
            f"{sum(extra.values())} records are there too often, such as {short_repr(value, 60)}: "
            f"a reader sees it {expected[value] + number} times, not {expected[value]}"
        )
    return (
        f"{sum(extra.values())} records are there that must not be seen (yet), such as "
        f"{short_repr(value, 60)}"
    )


class Driver:
    """One attempt to run the job: its driver, and the copy of the sink that its tasks have."""

    def __init__(self, trial: Trial, job: str, sink: str, attempt: int, half: int | None) -> None:
        self.trial = trial
        self.half = half
        self.last_epoch: int | None = None
        self.context = SinkContext(
            job_id=job, sink=sink, attempt=attempt, name=sink, type_info=trial.kit.type_info
        )
        self.sink = trial.kit.make(trial.place)
        try:
            self.copy: PartSink = pickle.loads(dumps_by_value(self.sink))
        except Exception as error:
            raise trial.error(
                f"the sink cannot be sent to the workers: {error}; make what it holds in open_part()"
            ) from error
        self.committer: Committer | None = None

    def key(self, epoch: int) -> tuple[str, str, int]:
        return self.context.job_id, self.context.sink, epoch

    def recover(self, crash: int | None = None) -> int:
        """Take over from earlier attempts; returns how many lines ran."""
        with _as_fault(self.trial, "recover"):
            lines = self.trial.crashing(crash, self._recover)
        if crash is None and isinstance(self.sink, TwoPhaseSink):
            self._check_last()
        return lines

    def _recover(self) -> None:
        self.sink.start(self.context)
        if isinstance(self.sink, TwoPhaseSink):
            self.committer = a_committer(self.sink.open_committer(self.context), self.context)
            found = self.committer.recover()
            self.last_epoch = whole_epoch(found, self.context, "recover()")
        elif isinstance(self.sink, IdempotentSink):
            found = self.sink.last_epoch(self.context)
            self.last_epoch = whole_epoch(found, self.context, "last_epoch()")

    def _check_last(self) -> None:
        mine = [e for job, sink, e in self.trial.written if (job, sink) == self.key(0)[:2]]
        last = max(mine, default=None)
        allowed = [last] if self.half is None else [last, self.half]
        if self.last_epoch not in allowed:
            raise self.trial.error(
                f"recover() returns {self.last_epoch} as the last committed epoch, and it is "
                f"{' or '.join(map(str, allowed))}"
            )

    # -- epochs -------------------------------------------------------------------------------------

    def epoch(self, epoch: int, parts: int = 2) -> None:
        """Write an epoch from beginning to end."""
        staged = [self.task(epoch, part, parts).run() for part in range(parts)]
        self.commit(epoch, staged)

    def task(
        self, epoch: int, part: int, parts: int = 2, *, numbers: list[int] | None = None
    ) -> TaskAttempt:
        """Make an attempt of a task to write a part; ``numbers``: of other records than usual."""
        mine = self.trial.numbers(epoch)[part::parts] if numbers is None else numbers
        return TaskAttempt(self, epoch, part, mine, self.trial.next_task_attempt())

    def commit(
        self,
        epoch: int,
        staged: list[Any],
        *,
        crash: int | None = None,
        numbers: list[int] | None = None,
    ) -> int:
        """Commit an epoch: from then on a reader must see it, unless the process dies on the way.

        Returns how many lines ran.
        """
        lines = 0
        if self.committer is not None:
            committer = self.committer
            self.trial.steps.append(f"epoch {epoch} is committed, attempt {self.context.attempt}")
            with _as_fault(self.trial, "commit"):
                lines = self.trial.crashing(crash, lambda: committer.commit(epoch, _sent(staged)))
        if crash is None:
            self.trial.written[self.key(epoch)] = numbers or self.trial.numbers(epoch)
        return lines

    def tries_to_commit(self, epoch: int, staged: list[Any]) -> None:
        """Commit as a zombie, whom the sink may refuse; a reader need not see anything of it."""
        before = dict(self.trial.written)
        try:
            self.commit(epoch, staged)
        except ContractError as error:
            if error.__cause__ is None:
                raise
            self.trial.steps.append(f"it is refused: {error.__cause__}")
        self.trial.written = before

    def abort(self, epoch: int, staged: list[Any]) -> None:
        """Forget what is staged of an epoch."""
        assert self.committer is not None
        self.trial.steps.append(f"epoch {epoch} is aborted")
        with _as_fault(self.trial, "abort"):
            self.committer.abort(epoch, _sent(staged))

    def dies(self) -> None:
        """Lose everything that only the process of the driver knew."""
        self.trial.steps.append(f"the driver of attempt {self.context.attempt} dies")
        self.committer = None
        del self.sink, self.copy
        _lose()


def _lose() -> None:
    """Let connections of a process that died end now; a full collection would take too long."""
    gc.collect(1)


def _sent(staged: list[Any]) -> list[Any]:
    """Reports of tasks as they reach the driver: pickled."""
    sent: list[Any] = pickle.loads(pickle.dumps(staged))
    return sent


class TaskAttempt:
    """One attempt of a task to write a part of an epoch, step by step."""

    def __init__(
        self, driver: Driver, epoch: int, part: int, numbers: list[int], attempt: int
    ) -> None:
        self.driver = driver
        self.trial = driver.trial
        info = OperatorInfo(driver.context.name, driver.context.sink)
        self.context = PartContext(
            **vars(driver.context),
            epoch=epoch,
            part=part,
            task_attempt=attempt,
            fingerprint=f"{len(numbers)}-{numbers[0]}-{numbers[-1]}",
            runtime_context=KernelRuntimeContext(info, Reports(), part, part + 1),
        )
        self.numbers = numbers
        self.writer: PartWriter | None = None
        self.is_new = True
        self.staged: Any = None
        self.done: list[str] = []

    def __str__(self) -> str:
        context = self.context
        return (
            f"part {context.part} of epoch {context.epoch}, task attempt {context.task_attempt} of "
            f"attempt {context.attempt}"
        )

    def run(self) -> Any:
        """Write the part from where it is to the end; returns what is staged."""
        self.to("finished")
        self._call("close", lambda writer: writer.close())
        return self.staged

    def to(self, point: str) -> TaskAttempt:
        """Go on to a point."""
        for step in POINTS[len(self.done) : POINTS.index(point) + 1]:
            self._step(step)
        return self

    def _step(self, step: str) -> None:
        self.trial.steps.append(f"{self}: {step}")
        half = len(self.numbers) // 2
        if step == "opened":
            sink = self.driver.copy
            with _as_fault(self.trial, "open_part"):
                self.writer = writer_of(sink, self.context)
            with _as_fault(self.trial, "begin"):
                self.is_new = begins(sink, self.writer, self.context)
        elif step == "half written":
            self._write(self.numbers[:half])
        elif step == "written":
            self._write(self.numbers[half:])
        else:
            self.finish()
            return
        self.done.append(step)

    def finish(self, crash: int | None = None) -> int:
        """Finish the part; returns how many lines ran."""
        lines = 0

        def finish(writer: PartWriter) -> None:
            nonlocal lines
            lines = self.trial.crashing(crash, lambda: setattr(self, "staged", writer.finish()))

        if self.is_new:
            self._call("finish", finish)
            with _as_fault(self.trial, "finish"):
                stageable(self.staged, self.context)
        self.done.append("finished")
        return lines

    def _write(self, numbers: list[int]) -> None:
        values = [self.trial.kit.record(number) for number in numbers]
        if self.driver.copy.takes_columns:
            assert self.context.type_info is not None
            batch: Any = record_batch(values, self.context.type_info)
        else:
            batch = values
        if self.is_new:
            times = np.array(numbers, np.int64)
            self._call("write", lambda writer: writer.write_timed(batch, times))

    def _call(self, name: str, action: Callable[[PartWriter], object]) -> None:
        assert self.writer is not None
        with _as_fault(self.trial, name):
            action(self.writer)

    def fails(self) -> None:
        """End with an error of the task: the writer is closed."""
        self.trial.steps.append(f"{self}: fails")
        self._call("close", lambda writer: writer.close())

    def dies(self) -> None:
        """Lose the process: the writer is not closed."""
        self.trial.steps.append(f"{self}: dies")
        self.writer = None
        _lose()

    def tries(self) -> bool:
        """Write the part to its end, or be refused by the sink; whether it has succeeded."""
        try:
            self.run()
        except ContractError as error:
            if error.__cause__ is None:
                raise
            self.trial.steps.append(f"{self}: is refused: {error.__cause__}")
            self.writer = None
            _lose()
            return False
        return True


class _as_fault:
    """Turns an exception of a sink into a `ContractError` that tells what happened."""

    def __init__(self, trial: Trial, method: str) -> None:
        self.trial = trial
        self.method = method

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, ContractError):
            if isinstance(error, UserCodeError) and isinstance(error.__cause__, Exception):
                error = error.__cause__
            if isinstance(error, PlanError):
                message = error.message.removeprefix("sink 'sink': ")
                raise self.trial.error(message, error.hint) from error
            told = f"{self.method}() raises {type(error).__name__}: {error}"
            raise self.trial.error(told) from error
