"""The core of a harness: the kernel's operator or step of one function, epoch by epoch."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from millstream.common.errors import CheckpointError
from millstream.common.time import MIN_TIMESTAMP
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo
from millstream.kernel.calls.invoke import apply_each, hash_keys
from millstream.kernel.keys.hashing import HashCache
from millstream.kernel.operators.keyed import KeyedOperator
from millstream.kernel.records.buffers import NO_TIMESTAMP, Records
from millstream.kernel.records.columns import as_list
from millstream.kernel.records.order import OrderKeys
from millstream.kernel.records.outputs import MAIN
from millstream.kernel.state.pages import Directory, MemoryStore, PageStore
from millstream.kernel.steps.stateless import (
    FilterStep,
    FlatMapStep,
    Flow,
    FunctionStep,
    MapStep,
    ProcessStep,
    Step,
)
from millstream.kernel.time.clock import Clock
from millstream.testing.engine.local import in_order
from millstream.testing.engine.records import StreamRecord

__all__ = ["Core", "CoreState", "KeyedCore", "StepCore"]

FORMAT = 1
CHANNEL = 0
Element = tuple[Any, int | None]
Outputs = dict[str, list[StreamRecord]]
"""By tag, '' is the main output."""


@dataclass
class CoreState:
    """Everything that an epoch of a harness commits."""

    store: MemoryStore = field(default_factory=MemoryStore)
    directory: Directory = field(default_factory=Directory)
    watermark: int = MIN_TIMESTAMP
    now_ms: int = 0
    position: int = 0

    def copy(self) -> CoreState:
        return CoreState(
            MemoryStore(self.store),
            deepcopy(self.directory),
            self.watermark,
            self.now_ms,
            self.position,
        )

    def to_bytes(self) -> bytes:
        return pickle.dumps((FORMAT, self), protocol=5)

    @staticmethod
    def from_bytes(data: bytes) -> CoreState:
        try:
            version, state = pickle.loads(data)
        except Exception as error:
            raise CheckpointError("BAD_SNAPSHOT", f"this is no snapshot: {error}") from error
        if version != FORMAT or not isinstance(state, CoreState):
            raise CheckpointError("BAD_SNAPSHOT", "this is no snapshot of this version's harness")
        return state


class Core(Protocol):
    """One function, run epoch by epoch."""

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None: ...

    def close(self) -> None: ...

    def run(self, state: CoreState, element: Element | None, *, after: int, ends: bool) -> Outputs:
        """Run an epoch on a state, which it changes: a record or none, then the watermark moves."""
        ...

    def count(self, state: CoreState) -> tuple[int, int, int]:
        """Event-time timers, processing-time timers and states with a value."""
        ...


def _records(state: CoreState, element: Element) -> Records:
    """A record that has come when the watermark stood where it stands."""
    value, timestamp = element
    times = np.array([NO_TIMESTAMP if timestamp is None else timestamp], np.int64)
    stamps = np.array([state.watermark], np.int64)
    keys = OrderKeys.of_fragment(stamps, CHANNEL, 0, state.position)
    state.position += 1
    return Records([value], times, keys)


def _in_order(parts: dict[str, list[Records]]) -> Outputs:
    return {tag: in_order(found) for tag, found in parts.items()}


class KeyedCore:
    """An operator with keys and pages."""

    def __init__(self, operator: KeyedOperator) -> None:
        self.operator = operator

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        self.operator.open(make_context)

    def close(self) -> None:
        self.operator.close()

    def run(self, state: CoreState, element: Element | None, *, after: int, ends: bool) -> Outputs:
        parts: dict[str, list[Records]] = {}

        def emit(tag: str, emitted: Records) -> None:
            parts.setdefault(tag, []).append(emitted)

        records = None if element is None else self._hashed(_records(state, element))
        before = state.watermark
        state.watermark = max(before, after)
        clock = Clock(before, state.watermark, state.now_ms, ends)
        self.operator.run(records, self._pages(state), clock, emit)
        return _in_order(parts)

    def _hashed(self, records: Records) -> Records:
        operator = self.operator
        keys = apply_each(operator.selector, as_list(records.values), operator._failure)
        records.hashes = hash_keys(keys, HashCache(), operator.info)
        return records

    def _pages(self, state: CoreState) -> PageStore:
        return PageStore(state.store, self.operator.info.uid, state.directory, self.operator.names)

    def count(self, state: CoreState) -> tuple[int, int, int]:
        event = tick = entries = 0
        for page in self._pages(state.copy()).scan():
            event += sum(map(len, page.event_timers.values()))
            tick += sum(map(len, page.tick_timers.values()))
            entries += sum(cell is not None for cells in page.entries.values() for cell in cells)
        return event, tick, entries


class _Leaf(Step):
    """Takes what a step sends on."""

    def __init__(self, info: OperatorInfo) -> None:
        super().__init__(info)
        self.parts: list[Records] = []

    def push(self, flow: Flow) -> None:
        self.parts.append(flow.records())

    def send(self, flow: Flow) -> None:
        if flow.values:
            self.push(flow)


class _AllSides(dict[str, Step]):
    """Side outputs for every tag: a harness does not know before which there will be."""

    def __init__(self, info: OperatorInfo) -> None:
        super().__init__()
        self.info = info

    def __contains__(self, tag: object) -> bool:
        return True

    def __missing__(self, tag: str) -> Step:
        self[tag] = leaf = _Leaf(self.info)
        return leaf


_STEPS: dict[str, Callable[[OperatorInfo, Any], FunctionStep]] = {
    "map": MapStep,
    "flat_map": FlatMapStep,
    "filter": FilterStep,
}


class StepCore:
    """A function without keys, which fuses into whatever stage produces its input."""

    def __init__(self, info: OperatorInfo, kind: str, function: Any) -> None:
        self.now_ms = 0
        self.leaf = _Leaf(info)
        self.sides = _AllSides(info)
        if kind == "process":
            step = ProcessStep(info, function, lambda: self.now_ms)
            step.sides = self.sides
            self.step: FunctionStep = step
        else:
            self.step = _STEPS[kind](info, function)
        self.step.children.append(self.leaf)

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        self.step.open(make_context)

    def close(self) -> None:
        self.step.close()

    def run(self, state: CoreState, element: Element | None, *, after: int, ends: bool) -> Outputs:
        self.now_ms = state.now_ms
        self.leaf.parts.clear()
        self.sides.clear()
        if element is not None:
            records = _records(state, element)
            self.step.push(Flow(records.values, records.ts, records.keys))
        state.watermark = max(state.watermark, after)
        leaves: dict[str, Any] = {MAIN: self.leaf, **self.sides}
        return _in_order({tag: leaf.parts for tag, leaf in leaves.items() if leaf.parts})

    def count(self, state: CoreState) -> tuple[int, int, int]:
        return 0, 0, 0
