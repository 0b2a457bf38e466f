"""The life of one task of a loop, superstep after superstep; the engine around it exchanges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millstream.common.errors import (
    Location,
    MillstreamError,
    PlanError,
    short_repr,
    user_code_error,
)
from millstream.iteration.program import LoopProgram, Outbox, Task

__all__ = ["Body", "Exchange", "Merged", "Report"]


@dataclass(frozen=True)
class Report:
    """The words of a task to all others in a superstep, beside its messages."""

    aggregates: Mapping[str, Any]
    active: int


@dataclass(frozen=True)
class Exchange:
    """A request of a task: send these, and give what all tasks have sent to it."""

    parts: Sequence[Any]
    report: Report


@dataclass(frozen=True)
class Merged:
    """The common knowledge of all tasks after a superstep."""

    step: int
    aggregates: Mapping[str, Any]
    active: int
    finished: bool


class Body:
    """One task of a loop, with its own copy of the program."""

    def __init__(
        self,
        name: str,
        program: LoopProgram,
        task: Task,
        output: pa.Schema,
        location: Location | None,
    ) -> None:
        self.name = name
        self.program = program
        self.task = task
        self.inbox: Sequence[Any] = ()
        self._output = output
        self._location = location
        with self._users("aggregators"):
            self._aggregators = dict(program.aggregators())
        task.aggregates = {name: each.initial for name, each in self._aggregators.items()}

    def load(self, inputs: Mapping[str, pa.Table]) -> None:
        """Let the program index its part of the inputs."""
        with self._users("load"):
            self.program.load(self.task, inputs)

    def step(self) -> Outbox:
        """One superstep, without its exchange."""
        self.task.superstep += 1
        with self._users("superstep"):
            outbox = self.program.superstep(self.task, self.inbox)
        self._check(outbox)
        self.inbox = ()
        return outbox

    def take(self, received: list[Any], reports: list[Report]) -> Merged:
        """Take what an exchange has brought, and decide whether the loop ends."""
        self.inbox = received
        self.task.aggregates = {
            name: self._merged(name, [r.aggregates[name] for r in reports if name in r.aggregates])
            for name in self._aggregators
        }
        active = sum(report.active for report in reports)
        step = self.task.superstep
        with self._users("finished"):
            finished = bool(self.program.finished(step, self.task.aggregates, active))
        return Merged(step, self.task.aggregates, active, finished)

    def _merged(self, name: str, values: list[Any]) -> Any:
        with self._users(f"aggregator {name!r}"):
            return self._aggregators[name].merged(values)

    def state(self) -> Any:
        """The state of the program, for a snapshot."""
        with self._users("state"):
            return self.program.state()

    def restore(self, state: Any) -> None:
        """Let the program go on from a state."""
        with self._users("restore"):
            self.program.restore(self.task, state)

    def result(self) -> pa.Table:
        """This task's rows of the result, with the columns that were promised."""
        with self._users("result"):
            table = self.program.result()
        try:
            return table.select(self._output.names).cast(self._output)
        except (KeyError, ValueError, pa.ArrowInvalid, AttributeError) as error:
            raise PlanError(
                "LOOP_RESULT",
                f"the result of loop {self.name!r} has not the columns that were promised "
                f"({', '.join(f'{f.name} {f.type}' for f in self._output)}): {error}",
                location=self._location,
                hint="return a pyarrow.Table with these columns from result()",
            ) from error

    def _check(self, outbox: Any) -> None:
        if not isinstance(outbox, Outbox):
            problem = f"it is {short_repr(outbox)}"
        elif len(outbox.parts) not in (0, self.task.count):
            problem = f"it has {len(outbox.parts)} parts for {self.task.count} tasks"
        elif outbox.aggregates.keys() - self._aggregators.keys():
            unknown = sorted(outbox.aggregates.keys() - self._aggregators.keys())
            problem = f"aggregators() does not have {', '.join(unknown)}"
        else:
            return
        raise PlanError(
            "LOOP_OUTBOX",
            f"superstep {self.task.superstep} of task {self.task.index} of loop {self.name!r} has "
            f"returned a wrong outbox: {problem}",
            location=self._location,
            hint="return an Outbox with one part (or None) per task, or without parts",
        )

    @contextmanager
    def _users(self, what: str) -> Iterator[None]:
        """Name the task and the superstep in an error of the program."""
        try:
            yield
        except MillstreamError:
            raise
        except Exception as error:
            step = self.task.superstep
            when = f" in superstep {step}" if step else ""
            raise user_code_error(
                error,
                self.name,
                subject=f"{what} of loop {self.name!r} in task {self.task.index}{when}",
                hint="handle such values in the program, or leave them out before the loop",
            ) from error
