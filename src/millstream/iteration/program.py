"""Programs of loops: what one task does in a superstep, and what it sends to the others.

A loop runs ``n`` tasks. Each has its part of the inputs and its own state. In a superstep a task reads
what all tasks have sent to it in the superstep before, changes its state, and sends messages.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from millstream.common.errors import Location, PlanError, user_location
from millstream.common.restart_strategy import RestartStrategyConfiguration
from millstream.iteration.kernel.owners import owners

if TYPE_CHECKING:
    from millstream.common.type_aliases import DurationLike

__all__ = [
    "Aggregator",
    "Columns",
    "LoopInput",
    "LoopJob",
    "LoopMode",
    "LoopOptions",
    "LoopProgram",
    "MeshProgram",
    "Outbox",
    "Task",
]

Columns = Any
"""A message to a task: a dict of numpy or pyarrow arrays by name, which travels without pickling, or any
object that can be pickled."""

LoopMode = Literal["auto", "resident", "driver", "memory"]


@dataclass(frozen=True)
class Aggregator:
    """A value that all tasks make together in a superstep, and that all can read in the next one.

    Parameters
    ----------
    initial
        The value before the first superstep, and when no task has reported one.
    merge
        Merges two values. Values are merged in order of the tasks.

    Examples
    --------
    >>> longest = Aggregator("", lambda left, right: max(left, right, key=len))
    >>> longest.merged(["b", "aaa", "cc"])
    'aaa'
    """

    initial: Any
    merge: Callable[[Any, Any], Any]

    def merged(self, values: Sequence[Any]) -> Any:
        """The value of all tasks that have reported one.

        Examples
        --------
        >>> Aggregator.sum().merged([1, 2])
        3
        """
        total = self.initial
        for value in values:
            total = self.merge(total, value)
        return total

    @staticmethod
    def sum(initial: Any = 0) -> Aggregator:
        """The sum of numbers, or of numpy arrays."""
        return Aggregator(initial, _plus)

    @staticmethod
    def min(initial: Any = None) -> Aggregator:
        """The smallest value; None if there is none."""
        return Aggregator(initial, _smaller)

    @staticmethod
    def max(initial: Any = None) -> Aggregator:
        """The largest value; None if there is none."""
        return Aggregator(initial, _larger)

    @staticmethod
    def any() -> Aggregator:
        """Whether some task has reported a true value."""
        return Aggregator(False, _either)

    @staticmethod
    def all() -> Aggregator:
        """Whether no task has reported a false value."""
        return Aggregator(True, _both)


def _plus(left: Any, right: Any) -> Any:
    return left + right


def _smaller(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return right if left is None else left
    return min(left, right)


def _larger(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return right if left is None else left
    return max(left, right)


def _either(left: Any, right: Any) -> bool:
    return bool(left or right)


def _both(left: Any, right: Any) -> bool:
    return bool(left and right)


@dataclass
class Outbox:
    """The words of one task after a superstep.

    Parameters
    ----------
    parts
        The message to each task, None for no message; empty if there is none at all.
    aggregates
        Values for the aggregators, by name.
    active
        How much is left to do here. By default a loop ends when this is 0 in all tasks.

    Examples
    --------
    >>> Outbox([{"id": [1]}, None], active=1).parts[0]
    {'id': [1]}
    """

    parts: Sequence[Columns | None] = ()
    aggregates: Mapping[str, Any] = field(default_factory=dict)
    active: int = 0


class Task:
    """The place of a program in a loop: which task it is, and what all tasks know.

    Attributes
    ----------
    index : int
        The number of this task, from 0.
    count : int
        How many tasks the loop has.
    superstep : int
        The number of the superstep, from 1; 0 in `LoopProgram.load`.
    aggregates : Mapping[str, Any]
        The aggregates of the superstep before; in the first one their initial values.

    Examples
    --------
    >>> Task(0, 2).owner_of([1, 2, 3]).tolist()
    [0, 1, 1]
    """

    def __init__(
        self,
        index: int,
        count: int,
        broadcasts: Mapping[str, pa.Table] | None = None,
        exchange: Callable[[Sequence[Any]], list[Any]] | None = None,
    ) -> None:
        self.index = index
        self.count = count
        self.superstep = 0
        self.aggregates: Mapping[str, Any] = {}
        self._broadcasts = broadcasts or {}
        self._exchange = exchange

    def owner_of(self, keys: Any) -> Any:
        """The index of the task that owns each key: a numpy array.

        The inputs are routed by the same rule.

        Parameters
        ----------
        keys
            Whole numbers, strings or bytes: a numpy or pyarrow array, or a list.
        """
        return owners(keys, self.count)

    def broadcast(self, name: str) -> pa.Table:
        """The whole input of a name, which every task has."""
        return self._broadcasts[name]

    def exchange(self, parts: Sequence[Columns | None]) -> list[Columns | None]:
        """Send a part to each task, and wait for theirs: one from each task, in order of tasks.

        Only in a superstep of a `MeshProgram`. All tasks must call it equally often.
        """
        if self._exchange is None:
            raise PlanError(
                "LOOP_NO_EXCHANGE",
                "exchange() was called where tasks cannot talk to each other",
                hint="call it in superstep() of a MeshProgram; a LoopProgram sends by its Outbox",
            )
        return self._exchange(parts)


class LoopProgram(ABC):
    """The work of one task in a loop. Each task has its own copy of the program.

    All supersteps of all tasks have exactly one exchange: the outbox. What a task receives shares no
    memory with what was sent.

    Examples
    --------
    >>> class Relay(LoopProgram):
    ...     "Sends a number around, one more in each superstep."
    ...     def load(self, task, inputs):
    ...         self.number = inputs["start"]["number"].to_pylist()
    ...     def superstep(self, task, inbox):
    ...         if task.superstep > 1:
    ...             self.number = [n + 1 for part in inbox if part for n in part]
    ...         parts = [None] * task.count
    ...         parts[(task.index + 1) % task.count] = self.number
    ...         return Outbox(parts, active=len(self.number) if task.superstep < 5 else 0)
    ...     def state(self):
    ...         return self.number
    ...     def restore(self, task, state):
    ...         self.number = state
    ...     def result(self):
    ...         return pa.table({"number": pa.array(self.number, pa.int64())})
    >>> from millstream.iteration import run_loop
    >>> start = LoopInput(pa.table({"number": [10]}))
    >>> options = LoopOptions(mode="memory")
    >>> schema = pa.schema({"number": pa.int64()})
    >>> job = LoopJob("relay", Relay(), {"start": start}, schema, 10, tasks=3, options=options)
    >>> run_loop(job).to_arrow().to_pylist()
    [{'number': 14}]
    """

    @abstractmethod
    def load(self, task: Task, inputs: Mapping[str, pa.Table]) -> None:
        """Index the static inputs: those rows whose key this task owns.

        Rows are in no order that a program may rely on.
        """

    @abstractmethod
    def superstep(self, task: Task, inbox: Sequence[Columns | None]) -> Outbox:
        """Read what was sent to this task, change the state, and say what is to be sent.

        Parameters
        ----------
        task
            The place of this task.
        inbox
            One entry per sender, in order of tasks, None if it has sent nothing. Empty in the first
            superstep.
        """

    @abstractmethod
    def result(self) -> pa.Table:
        """This task's rows of the result."""

    @abstractmethod
    def state(self) -> Any:
        """The state of this task, for a snapshot: columns, or anything that can be pickled.

        What `load` makes of the inputs need not be in it.
        """

    @abstractmethod
    def restore(self, task: Task, state: Any) -> None:
        """Go on from a state; `load` was called before."""

    def aggregators(self) -> Mapping[str, Aggregator]:
        """The aggregators of the loop, by name; without this, none."""
        return {}

    def finished(self, step: int, aggregates: Mapping[str, Any], active: int) -> bool:
        """Whether the loop ends after a superstep; by default when nothing is active.

        Every task decides this for itself from the same values, so it must not depend on its state.

        Parameters
        ----------
        step
            The superstep that has ended, from 1.
        aggregates
            Its merged aggregates.
        active
            The sum of ``active`` of all tasks.
        """
        return active == 0


class MeshProgram(LoopProgram):
    """A program that may exchange messages several times per superstep, by `Task.exchange`.

    It runs on the resident loop and in memory only: there is no driver loop for it.

    Examples
    --------
    >>> issubclass(MeshProgram, LoopProgram)
    True
    """


@dataclass(frozen=True)
class LoopInput:
    """An input of a loop.

    Parameters
    ----------
    data
        A `pyarrow.Table`, or on Spark a DataFrame.
    key
        The column by which rows go to the tasks: whole numbers, strings or bytes, without nulls. None if
        it does not matter where a row goes.
    broadcast
        Give all rows to every task, as `Task.broadcast`.

    Examples
    --------
    >>> LoopInput(pa.table({"id": [1, 2]}), key="id").key
    'id'
    """

    data: Any
    key: str | None = None
    broadcast: bool = False


@dataclass(frozen=True)
class LoopOptions:
    """How a loop runs.

    Parameters
    ----------
    mode
        "resident": one job whose tasks stay and send messages to each other. "driver": a Spark job per
        superstep. "memory": in this process. "auto" chooses.
    checkpoint
        The folder for snapshots. A loop that finds one of its own there goes on from it.
    snapshot_interval
        The time from one snapshot to the next: milliseconds, ``"10 s"``, a `timedelta`.
    snapshot_every
        A snapshot after so many supersteps, instead of the interval.
    restart_strategy
        How often a loop that has failed is started again, and when. Without it a few times.
    timeout
        How long a task waits for another one before it gives up.
    progress
        Whether to show the supersteps while they run; None: if there is a terminal.

    Examples
    --------
    >>> LoopOptions(mode="driver", snapshot_every=5).snapshot_every
    5
    """

    mode: LoopMode = "auto"
    checkpoint: str | None = None
    snapshot_interval: DurationLike = "10 s"
    snapshot_every: int | None = None
    restart_strategy: RestartStrategyConfiguration | None = None
    timeout: DurationLike = "5 min"
    progress: bool | None = None


@dataclass(frozen=True)
class LoopJob:
    """A loop that can run.

    Parameters
    ----------
    name
        What errors and the progress call it.
    program
        What a task does.
    inputs
        The inputs by name.
    output
        The columns of the result.
    max_supersteps
        After how many supersteps the loop ends at the latest.
    tasks
        How many tasks; None: as many as the session runs at once.
    options
        How it runs.

    Examples
    --------
    See `LoopProgram`.
    """

    name: str
    program: LoopProgram
    inputs: Mapping[str, LoopInput]
    output: pa.Schema
    max_supersteps: int
    tasks: int | None = None
    options: LoopOptions = field(default_factory=LoopOptions)
    location: Location | None = field(default_factory=user_location)

    def __post_init__(self) -> None:
        for what, number in (("max_supersteps", self.max_supersteps), ("tasks", self.tasks)):
            if number is not None and number < 1:
                raise PlanError(
                    "LOOP_SIZE",
                    f"{what} of loop {self.name!r} must be at least 1, got {number}",
                    location=self.location,
                )
