"""Harnesses: one function, in its real operator, with time moved by hand."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import Any, Literal, Self

from millstream.common.by_value import dumps_by_value
from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.output_tag import OutputTag
from millstream.common.time import MIN_TIMESTAMP
from millstream.common.watermark_strategy import Watermark
from millstream.datastream.building.stream_types import key_of
from millstream.datastream.functions import KeySelector
from millstream.datastream.functions.adapters import KeyedFilter, KeyedFlatMap, KeyedMap
from millstream.datastream.functions.checks import (
    FILTER,
    FLAT_MAP,
    KEY,
    KEYED_PROCESS,
    MAP,
    PROCESS,
    REDUCE,
    FunctionKind,
    check_function,
    plain_callable,
)
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo
from millstream.kernel.calls.reports import Reports
from millstream.kernel.calls.totals import JobParts, Totals
from millstream.kernel.operators.channel import ChannelOperator
from millstream.kernel.operators.keyed import KeyedOperator
from millstream.kernel.operators.reduce import ReduceOperator
from millstream.kernel.state.cells import Cursor
from millstream.metrics import OperatorMetrics
from millstream.plan.graph import StatelessNode
from millstream.plan.watermark_reads import reads_watermark
from millstream.testing.engine.cores import Core, CoreState, KeyedCore, StepCore
from millstream.testing.engine.marks import checked_time
from millstream.testing.engine.records import StreamRecord

__all__ = ["KeyedProcessHarness", "ProcessHarness"]

UID = "harness"
Kind = Literal["map", "flat_map", "filter", "process", "reduce"]
_KINDS: dict[str, FunctionKind] = {
    "map": MAP,
    "flat_map": FLAT_MAP,
    "filter": FILTER,
    "process": PROCESS,
}
_KEYED_KINDS: dict[str, FunctionKind] = {
    "process": KEYED_PROCESS,
    "reduce": REDUCE,
    "map": MAP,
    "flat_map": FLAT_MAP,
    "filter": FILTER,
}
_ADAPTERS: dict[str, Callable[[Any], Any]] = {
    "map": KeyedMap,
    "flat_map": KeyedFlatMap,
    "filter": KeyedFilter,
}


class _Harness:
    """Base of both harnesses: every call is a small epoch, committed if it succeeds."""

    def __init__(self, function: Any, name: str) -> None:
        self.info = OperatorInfo(name, UID, user_location())
        self.function = function
        self._copy = _pickled(function)
        self._reports = Reports()
        self._totals = Totals(JobParts(operators={UID: name}))
        self._state = CoreState()
        self._output: list[StreamRecord | Watermark] = []
        self._sides: dict[str, list[StreamRecord]] = {}
        self._is_open = self._is_closed = self._is_used = False
        self._core = self._make_core(function)

    def _make_core(self, function: Any) -> Core:
        raise NotImplementedError

    # -- life ------------------------------------------------------------------------------------

    def open(self) -> None:
        """Open the function; the first call of any other method does it too."""
        if self._is_closed:
            raise PlanError(
                "HARNESS_CLOSED",
                "the harness is closed: nothing comes after the end",
                location=user_location(),
                hint="make a new one, or restore() a snapshot",
            )
        if not self._is_open:
            self._is_used = True
            self._core.open(self._make_context)
            self._is_open = True

    def close(self) -> None:
        """Come to the end: the clock goes to infinity, everything fires, the function is closed."""
        if not self._is_closed:
            self.open()
            self._run(self._state.copy(), ends=True)
            self._output.append(Watermark.MAX_WATERMARK)
            self._shut()
            self._is_closed = True

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            # The test has failed: the end would only bring more errors.
            self._shut()

    def _shut(self) -> None:
        if self._is_open:
            self._is_open = False
            self._core.close()

    def _make_context(self, info: OperatorInfo, cursor: Cursor | None) -> KernelRuntimeContext:
        return KernelRuntimeContext(info, self._reports, 0, 1, cursor)

    # -- input -----------------------------------------------------------------------------------

    def process_element(self, value: Any, timestamp: int | None = None) -> None:
        """Give the function a record, with its event time if it has one."""
        self.open()
        time = None if timestamp is None else checked_time(timestamp)
        self._run(self._state.copy(), (value, time))

    def process_elements(self, *elements: Any, timestamped: bool = False) -> None:
        """Give it several records; with ``timestamped`` they are pairs (value, timestamp)."""
        for element in elements:
            self.process_element(*(element if timestamped else (element,)))

    def process_watermark(self, timestamp: int | Watermark) -> None:
        """Move the watermark, which fires timers. It never goes back."""
        self.open()
        mark = timestamp if isinstance(timestamp, Watermark) else Watermark(timestamp)
        if mark != Watermark.MAX_WATERMARK:
            checked_time(mark.timestamp)
        moves = mark.timestamp > self._state.watermark
        self._run(self._state.copy(), after=mark.timestamp)
        if moves:
            self._output.append(mark)

    def set_processing_time(self, timestamp: int) -> None:
        """Move processing time, which fires its timers. It begins at 0 and never goes back."""
        self.open()
        state = self._state.copy()
        state.now_ms = max(state.now_ms, checked_time(timestamp))
        self._run(state)

    def _run(
        self,
        state: CoreState,
        element: tuple[Any, int | None] | None = None,
        *,
        after: int = MIN_TIMESTAMP,
        ends: bool = False,
    ) -> None:
        """One epoch. If it fails, nothing has happened, but what the function did to itself."""
        try:
            outputs = self._core.run(state, element, after=after, ends=ends)
        except BaseException:
            self._reports.take(0)
            raise
        self._state = state
        counts = self._reports.of(self.info)
        counts.records_in += element is not None
        counts.records_out += sum(map(len, outputs.values()))
        self._totals.add(self._reports.take(0))
        for tag, records in outputs.items():
            target: list[Any] = self._sides.setdefault(tag, []) if tag else self._output
            target.extend(records)

    # -- output ----------------------------------------------------------------------------------

    def extract_output(self) -> list[Any]:
        """The values that the function has emitted so far."""
        return [item.value for item in self._output if isinstance(item, StreamRecord)]

    def get_output(self) -> list[StreamRecord | Watermark]:
        """Everything emitted so far: values with event times, and watermarks in between."""
        return list(self._output)

    def get_side_output(self, tag: OutputTag | str) -> list[StreamRecord]:
        """Return what the function has emitted to a side output so far, with event times."""
        tag_id = tag.tag_id if isinstance(tag, OutputTag) else tag
        return list(self._sides.get(tag_id, ()))

    def clear_output(self) -> None:
        """Forget what was emitted so far, side outputs included."""
        self._output.clear()
        self._sides.clear()

    def accumulators(self) -> dict[str, Any]:
        """The values of the function's accumulators, by name."""
        return self._totals.accumulators()

    def metrics(self) -> OperatorMetrics:
        """Measurements: counters and other metrics of the function, records in and out."""
        return self._totals.metrics().operators[UID]

    # -- state -----------------------------------------------------------------------------------

    def current_watermark(self) -> int:
        """How far event time has come."""
        return self._state.watermark

    def current_processing_time(self) -> int:
        """How far processing time has come."""
        return self._state.now_ms

    def num_event_time_timers(self) -> int:
        """How many event-time timers wait, of all keys."""
        return self._core.count(self._state)[0]

    def num_processing_time_timers(self) -> int:
        """How many processing-time timers wait, of all keys."""
        return self._core.count(self._state)[1]

    def num_keyed_state_entries(self) -> int:
        """How many states have a value, of all keys: 0 when everything was cleaned up."""
        return self._core.count(self._state)[2]

    def snapshot(self) -> bytes:
        """The content of a checkpoint: state, timers and clocks."""
        return self._state.to_bytes()

    def restore(self, snapshot: bytes) -> None:
        """Go on from a snapshot, as a restarted task does: with a new copy of the function.

        The copy is what the function was when the harness was made; a function that has not been
        used yet is used itself. Records that were emitted stay.
        """
        function = self._fresh_function()
        state = CoreState.from_bytes(snapshot)
        self._shut()
        self.function = function
        self._reports = Reports()
        self._core = self._make_core(function)
        self._state = state
        self._is_closed = False
        self.open()

    def _fresh_function(self) -> Any:
        if not self._is_used:
            return self.function
        if isinstance(self._copy, bytes):
            return pickle.loads(self._copy)
        raise PlanError(
            "UNPICKLABLE_FUNCTION",
            f"{short_repr(self.function)} cannot be copied: {self._copy}",
            location=self.info.location,
            hint="make what it holds (a lock, a connection, a session) in open(), not before",
        )


def _pickled(function: Any) -> bytes | Exception:
    """A function as it is now. One that holds a mock can be tested, but not restarted."""
    try:
        data = dumps_by_value(function)
    except Exception as error:
        return error
    return data


class KeyedProcessHarness(_Harness):
    """Runs a function on a keyed stream: state, timers, side outputs; time is moved by hand.

    The function runs in the operator of the real job, on pages of state that pass through bytes.
    Every call is an epoch of its own.

    Parameters
    ----------
    function
        A `KeyedProcessFunction`; or a `MapFunction`, `FlatMapFunction`, `FilterFunction` or
        `ReduceFunction` on a keyed stream.
    key_selector
        As in ``key_by``: a function, or the position or name of a field.
    kind
        What a plain function is for: only ``"reduce"`` takes one on a keyed stream.
    name
        The name of the operator in errors and metrics.

    Examples
    --------
    >>> from millstream.common import Types
    >>> from millstream.datastream import KeyedProcessFunction
    >>> from millstream.datastream.state import ValueStateDescriptor
    >>> class Alarm(KeyedProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))
    ...
    ...     def process_element(self, value, ctx):
    ...         self.last.update(ctx.timestamp())
    ...         ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
    ...
    ...     def on_timer(self, timestamp, ctx):
    ...         if timestamp == self.last.value() + 10:
    ...             self.last.clear()
    ...             yield f"{ctx.get_current_key()} is silent"
    >>> harness = KeyedProcessHarness(Alarm(), lambda value: value)
    >>> harness.process_element("a", 1)
    >>> harness.process_element("a", 5)
    >>> harness.num_event_time_timers(), harness.num_keyed_state_entries()
    (2, 1)
    >>> harness.process_watermark(12)
    >>> harness.extract_output()
    []
    >>> harness.process_watermark(15)
    >>> harness.get_output()[-2:]
    [StreamRecord(value='a is silent', timestamp=15), Watermark(timestamp=15)]
    >>> harness.num_keyed_state_entries()
    0
    """

    def __init__(
        self,
        function: Any,
        key_selector: Callable[[Any], Any] | KeySelector | int | str,
        *,
        kind: Kind | None = None,
        name: str = "Keyed Process",
    ) -> None:
        if isinstance(key_selector, int | str):
            self._selector = key_of(None, key_selector)[0]
        else:
            self._selector = plain_callable(key_selector, KEY)
        self._kind = _kind_of(function, kind, _KEYED_KINDS)
        super().__init__(function, name)

    def _make_core(self, function: Any) -> Core:
        if self._kind == "reduce":
            return KeyedCore(ReduceOperator(self.info, function, self._selector, timed=True))
        if self._kind in _ADAPTERS:
            function = _ADAPTERS[self._kind](function)
        return KeyedCore(KeyedOperator(self.info, function, self._selector, timed=True))


class ProcessHarness(_Harness):
    """Runs a function on a stream without keys: a process, map, flat_map or filter function.

    Parameters
    ----------
    function
        A `ProcessFunction`, `MapFunction`, `FlatMapFunction`, `FilterFunction`, or, with ``kind``, a
        plain function.
    kind
        What a plain function is for: ``"map"``, ``"flat_map"`` or ``"filter"``.
    name
        The name of the operator in errors and metrics.

    Examples
    --------
    >>> with ProcessHarness(lambda line: line.split(), kind="flat_map") as harness:
    ...     harness.process_element("to be", 7)
    >>> harness.extract_output()
    ['to', 'be']
    """

    def __init__(self, function: Any, *, kind: Kind | None = None, name: str | None = None) -> None:
        self._kind = _kind_of(function, kind, _KINDS)
        super().__init__(function, name or self._kind.replace("_", " ").title())

    def _make_core(self, function: Any) -> Core:
        if self._kind == "process":
            node = StatelessNode(id=1, name="", kind="process", function=function)
            if reads_watermark(node):
                return KeyedCore(ChannelOperator(self.info, function, timed=True, freeze=True))
        return StepCore(self.info, self._kind, function)


def _kind_of(function: Any, kind: str | None, kinds: dict[str, FunctionKind]) -> str:
    """The kind of a function, as given or by its class; checked as the stream would."""
    found = kind or next((k for k, v in kinds.items() if isinstance(function, v.base)), None)
    if found is None and "process" in kinds and hasattr(function, "process_element"):
        found = "process"
    if found not in kinds:
        plain: Iterable[str] = ["reduce"] if "reduce" in kinds else ["map", "flat_map", "filter"]
        raise PlanError(
            "UNKNOWN_KIND",
            f"what is {short_repr(function)} for?" if kind is None else f"kind {kind!r} is unknown",
            location=user_location(),
            hint=f"give a function object, or a plain function with kind= one of {list(plain)}",
        )
    place = kinds[found]
    if "reduce" in kinds and found in _ADAPTERS:
        # A plain function has no state: key_by before it changes nothing, so nothing is keyed.
        place = place._replace(plain=False)
    check_function(function, place)
    return found
