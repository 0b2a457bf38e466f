"""State of single keys: a function sees the keys of a batch, not all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import takewhile
from typing import Any

from millstream.common.errors import MillstreamError, user_code_error
from millstream.dstream.nodes.base import Graph, Node, StatefulNode, moment
from millstream.dstream.rdd import RDD
from millstream.dstream.rdd.blocks import Block
from millstream.dstream.rdd.partitioning import Partitioner
from millstream.dstream.rdd.sources import Given
from millstream.dstream.state import State, StateSpec

__all__ = ["MapWithStateNode", "StateSnapshotsNode"]

_GONE = None
Entry = tuple[Any, int] | None  # a state and when it was last seen; None: removed


class StateMap:
    """The states of one partition, in the order in which their keys were last seen."""

    def __init__(self, states: Iterable[tuple[Any, Any]] = (), time_ms: int = 0) -> None:
        self.entries: dict[Any, tuple[Any, int]] = {key: (state, time_ms) for key, state in states}
        # The keys that have changed since the last snapshot, last ones last.
        self.changed: dict[Any, None] = {}

    def apply(self, changes: dict[Any, Entry], seen: Iterable[Any] = ()) -> None:
        """Take over what a batch has changed. States of other keys may have been changed in place."""
        for key, entry in changes.items():
            self.entries.pop(key, None)
            if entry is not None:
                self.entries[key] = entry
            self._mark(key)
        for key in seen:
            self._mark(key)

    def _mark(self, key: Any) -> None:
        self.changed.pop(key, None)
        self.changed[key] = None

    def idle(self, before_ms: int) -> Iterator[tuple[Any, Any]]:
        """Keys that were last seen before a time, with their states. Only those are visited."""
        oldest = takewhile(lambda item: item[1][1] < before_ms, self.entries.items())
        return ((key, state) for key, (state, _) in oldest)


class Step:
    """One batch of one partition: changes are kept apart until all of its function calls are done."""

    def __init__(self, node: MapWithStateNode, states: StateMap, time_ms: int) -> None:
        self.states = states
        self.time_ms = time_ms
        self.changes: dict[Any, Entry] = {}
        self.seen: dict[Any, None] = {}
        self.results: list[Any] = []
        self._keeps_times = node.timeout_ms is not None
        self._call = _called(node.function, node.with_time, moment(time_ms), self.results)

    def records(self, records: Iterable[tuple[Any, Any]]) -> None:
        """Call the function with each record."""
        entries, changes, seen = self.states.entries, self.changes, self.seen
        for key, value in records:
            entry = changes[key] if key in changes else entries.get(key)
            state: State[Any] = State() if entry is None else State(entry[0])
            self._call(key, value, state)
            seen[key] = None
            if state._removed:
                changes[key] = _GONE
            elif state._updated or (self._keeps_times and state.exists()):
                changes.pop(key, None)
                changes[key] = (state._state, self.time_ms)

    def timeouts(self, before_ms: int) -> None:
        """Call the function for each key that was not seen for too long."""
        for key, state in self.states.idle(before_ms):
            if key not in self.changes:
                self._call(key, None, State(state, timing_out=True))
                self.changes[key] = _GONE

    def done(self) -> Block[Any]:
        """Take over the changes."""
        self.states.apply(self.changes, self.seen.keys() - self.changes.keys())
        return Block(self.results)


class MapWithStateNode(StatefulNode):
    """A function of each record and the state of its key. The cost of a batch is that of its records."""

    kind = "mapWithState"

    def __init__(
        self, graph: Graph, parent: Node, spec: StateSpec, partitions: int, initial: RDD[Any] | None
    ) -> None:
        super().__init__(graph, [parent], parent.slide_ms)
        self.function = spec._function
        self.with_time = spec._with_time
        self.timeout_ms = spec._timeout_ms
        self.partitioner = Partitioner(partitions, spec._partition_function)
        self.initial = initial
        self.maps: list[StateMap] = []
        self.at_ms: int | None = None
        self._saved = 0

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "maps": [], "at_ms": None, "_saved": 0}

    def compute(self, time_ms: int) -> RDD[Any] | None:
        """The results of a batch. It is computed at once: its states are gone after the next one."""
        if self.at_ms is None:
            self.maps = self._first()
        (parent,) = self.parents
        records = parent.rdd_at(time_ms)
        steps = [Step(self, states, time_ms) for states in self.maps]
        try:
            if records is not None:
                placed = self._placed(records)
                for step, values in zip(steps, placed._run(list, label=self.kind), strict=True):
                    step.records(values)
            if self.timeout_ms is not None:
                for step in steps:
                    step.timeouts(time_ms - self.timeout_ms)
        except MillstreamError:
            raise
        except Exception as error:
            raise user_code_error(error, self.kind) from error
        blocks = [step.done() for step in steps]
        self.at_ms = time_ms
        return self._as_rdd(blocks)

    def _first(self) -> list[StateMap]:
        zero = self.graph.zero_ms or 0
        if self.initial is None:
            return [StateMap() for _ in range(self.partitioner.numPartitions)]
        placed = self._placed(self.initial)
        return [StateMap(values, zero) for values in placed._run(list, label=self.kind)]

    def _placed(self, rdd: RDD[Any]) -> RDD[Any]:
        return rdd.partitionBy(self.partitioner.numPartitions, self.partitioner.partitionFunc)

    def _as_rdd(self, blocks: Sequence[Block[Any]]) -> RDD[Any]:
        read = partial(_block_of, blocks)
        return RDD(self.graph.sc, len(blocks), Given(read), (), self.kind)

    def states(self, time_ms: int) -> RDD[Any] | None:
        """All keys with their states after a batch."""
        self.rdd_at(time_ms)
        if self.at_ms != time_ms:
            return None
        parts = [
            Block((key, state) for key, (state, _) in states.entries.items())
            for states in self.maps
        ]
        found = self._as_rdd(parts)
        found.partitioner = self.partitioner
        return found

    def entries(self) -> int:
        """The number of keys."""
        return sum(len(states.entries) for states in self.maps)

    def save(self) -> tuple[bool, Any]:
        """The keys that have changed, or all of them if the changes since the last whole are as many."""
        changed = sum(len(states.changed) for states in self.maps)
        whole = not self._saved or self._saved + changed > 2 * self.entries()
        self._saved = (0 if whole else self._saved) + max(
            changed if not whole else self.entries(), 1
        )
        keys = [list(states.entries if whole else states.changed) for states in self.maps]
        content = {
            "at": self.at_ms,
            "maps": [
                [(key, states.entries.get(key)) for key in part]
                for states, part in zip(self.maps, keys, strict=True)
            ],
            # Windows over results need those of earlier batches, which cannot be computed again.
            "results": {time_ms: rdd.glom().collect() for time_ms, rdd in self.made.items()},
        }
        for states in self.maps:
            states.changed.clear()
        return whole, content

    def load(self, contents: Sequence[Any]) -> None:
        """States from a snapshot."""
        for content in contents:
            maps = content["maps"]
            self.maps = self.maps or [StateMap() for _ in maps]
            for states, entries in zip(self.maps, maps, strict=True):
                states.apply(dict(entries))
            self.at_ms = content["at"]
        self._place_again()
        self.latest_ms = self.at_ms or 0
        for time_ms, parts in contents[-1]["results"].items():
            self.made[time_ms] = self._as_rdd([Block(part) for part in parts])

    def _place_again(self) -> None:
        """Put each key where records of it will come: rebuilt code may have another partitioner."""
        before, self.maps = self.maps, [StateMap() for _ in range(self.partitioner.numPartitions)]
        entries = [item for states in before for item in states.entries.items()]
        for key, entry in sorted(entries, key=lambda item: item[1][1]):
            self.maps[self.partitioner(key)].entries[key] = entry


class StateSnapshotsNode(Node):
    """All keys of a `MapWithStateNode` with their states, after each batch."""

    def __init__(self, graph: Graph, parent: MapWithStateNode) -> None:
        super().__init__(graph, [parent], parent.slide_ms)

    def compute(self, time_ms: int) -> RDD[Any] | None:
        """The states after the batch."""
        (parent,) = self.parents
        assert isinstance(parent, MapWithStateNode)
        return parent.states(time_ms)


def _called(
    function: Callable[..., Any], with_time: bool, at: datetime, results: list[Any]
) -> Callable[[Any, Any, State[Any]], None]:
    """The function as a step calls it, with what it returns in the results."""
    if not with_time:
        return lambda key, value, state: results.append(function(key, value, state))

    def call(key: Any, value: Any, state: State[Any]) -> None:
        found = function(at, key, value, state)
        if found is not None:
            results.append(found)

    return call


def _block_of(blocks: Sequence[Block[Any]], split: int) -> Iterable[Any]:
    return blocks[split]
