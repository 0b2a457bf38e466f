"""The runtime context of user functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from millstream.common.accumulators import (
    DoubleCounter,
    Histogram,
    IntCounter,
    LongCounter,
)
from millstream.common.errors import PlanError
from millstream.common.fencing import FencingToken
from millstream.common.state import StateDescriptor
from millstream.kernel.calls.reports import KernelMetricGroup, OperatorCounts, Reports
from millstream.kernel.state.cells import Cursor, Ttl, bind
from millstream.kernel.state.info import StateInfo


@dataclass(frozen=True)
class OperatorInfo:
    """Name and uid of an operator, for errors, metrics and state, and its place in the order.

    ``depth`` and ``turn``: see `Origin` and `OrderKeys`.
    """

    name: str
    uid: str
    location: Any = None
    depth: int = 1
    turn: int = 0


class KernelRuntimeContext:
    """The runtime context of one operator; keyed operators give it a cursor for their states."""

    def __init__(
        self,
        info: OperatorInfo,
        reports: Reports,
        subtask: int,
        subtasks: int,
        cursor: Cursor | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> None:
        self.info = info
        self._reports = reports
        self.subtask = subtask
        self._subtasks = subtasks
        self._cursor = cursor
        self._parameters = dict(parameters or {})
        self.names: list[str] = []
        self.reserved: frozenset[str] = frozenset()
        self.expiring: list[tuple[int, str, Ttl]] = []
        self._states: dict[str, Any] = {}
        self.infos: dict[str, StateInfo] = {}
        self.on_new_state: Callable[[], None] = _nothing
        self.fencing_token: FencingToken | None = None

    def get_fencing_token(self) -> FencingToken:
        if self.fencing_token is None:
            raise PlanError(
                "NO_FENCING_TOKEN",
                f"operator {self.info.name!r} is no sink, so it has no fencing token",
                location=self.info.location,
                hint="write to the outside in a sink function: add_sink(...) or foreach_batch(...)",
            )
        return self.fencing_token

    def get_task_name(self) -> str:
        return self.info.name

    def get_number_of_parallel_subtasks(self) -> int:
        return self._subtasks

    def get_max_number_of_parallel_subtasks(self) -> int:
        return self._subtasks

    def get_index_of_this_subtask(self) -> int:
        return self.subtask

    def get_attempt_number(self) -> int:
        return 0

    def get_task_name_with_subtasks(self) -> str:
        return f"{self.info.name} ({self.subtask + 1}/{self._subtasks})"

    @property
    def job_parameters(self) -> dict[str, str]:
        """All parameters of the job."""
        return dict(self._parameters)

    def get_job_parameter(self, key: str, default_value: str) -> str:
        return self._parameters.get(key, default_value)

    def get_metrics_group(self) -> KernelMetricGroup:
        return KernelMetricGroup(self.counts.function)

    @property
    def counts(self) -> OperatorCounts:
        """The counts of the operator."""
        return self._reports.of(self.info)

    def add_accumulator(self, name: str, accumulator: Any) -> None:
        known = self._reports.accumulator(name)
        if known is not None and type(known) is not type(accumulator):
            raise PlanError(
                "ACCUMULATOR_TYPE",
                f"accumulator {name!r} is a {type(known).__name__} elsewhere in this job",
                location=self.info.location,
                hint="use one type of accumulator under one name",
            )
        self._reports.accumulators.append((name, accumulator))

    def get_accumulator(self, name: str) -> Any:
        return self._reports.accumulator(name)

    def get_int_counter(self, name: str) -> IntCounter:
        counter: IntCounter = self._accumulator_of(IntCounter, name)
        return counter

    def get_long_counter(self, name: str) -> LongCounter:
        counter: LongCounter = self._accumulator_of(LongCounter, name)
        return counter

    def get_double_counter(self, name: str) -> DoubleCounter:
        counter: DoubleCounter = self._accumulator_of(DoubleCounter, name)
        return counter

    def get_histogram(self, name: str) -> Histogram:
        histogram: Histogram = self._accumulator_of(Histogram, name)
        return histogram

    def _accumulator_of(self, kind: Callable[[], Any], name: str) -> Any:
        if self._reports.accumulator(name) is None:
            self.add_accumulator(name, kind())
        return self._reports.accumulator(name)

    def get_state(self, descriptor: StateDescriptor) -> Any:
        return self._state(descriptor, "value")

    def get_list_state(self, descriptor: StateDescriptor) -> Any:
        return self._state(descriptor, "list")

    def get_map_state(self, descriptor: StateDescriptor) -> Any:
        return self._state(descriptor, "map")

    def get_reducing_state(self, descriptor: StateDescriptor) -> Any:
        return self._state(descriptor, "reducing")

    def get_aggregating_state(self, descriptor: StateDescriptor) -> Any:
        return self._state(descriptor, "aggregating")

    def _state(self, descriptor: StateDescriptor, kind: str) -> Any:
        if self._cursor is None:
            raise PlanError(
                "STATE_WITHOUT_KEY",
                f"operator {self.info.name!r} asks for keyed state but its input is not keyed",
                location=self.info.location,
                hint="call key_by(...) before this operator",
            )
        if descriptor.kind != kind:
            raise PlanError(
                "STATE_KIND",
                f"state {descriptor.name!r} is a {descriptor.kind} state, asked for as {kind}",
                location=self.info.location,
                hint=f"use the getter for {descriptor.kind} state",
            )
        if descriptor.name in self.reserved:
            raise PlanError(
                "STATE_NAME",
                f"operator {self.info.name!r} keeps a state {descriptor.name!r} of its own",
                location=self.info.location,
                hint="give the state another name",
            )
        if descriptor.name not in self._states:
            if descriptor.name not in self.names:
                self.names.append(descriptor.name)
                self.on_new_state()
            index = self.names.index(descriptor.name)
            state = bind(descriptor, self._cursor, index)
            ttl = getattr(state, "_ttl", None)
            if ttl is not None and ttl.in_background:
                self.expiring.append((index, kind, ttl))
            self._states[descriptor.name] = state
            self.infos[descriptor.name] = StateInfo.of(descriptor)
        return self._states[descriptor.name]


_RUNNING: ContextVar[KernelRuntimeContext | None] = ContextVar("running", default=None)


@contextmanager
def running(context: KernelRuntimeContext | None) -> Iterator[None]:
    """Let functions inside of expressions find the context of the operator that computes them."""
    token = _RUNNING.set(context)
    try:
        yield
    finally:
        _RUNNING.reset(token)


def running_context() -> KernelRuntimeContext | None:
    """The context of the operator that is running, None outside of a job."""
    return _RUNNING.get()


def _nothing() -> None:
    """The default of a hook."""
