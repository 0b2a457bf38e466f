"""State of all keys that a function updates in every batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from millstream.common.errors import MillstreamError, user_code_error
from millstream.common.pickling import dumps_apart, loads_apart
from millstream.dstream.nodes.base import Graph, Node, StatefulNode
from millstream.dstream.rdd import RDD, portable_hash
from millstream.dstream.rdd.partitioning import Partitioner
from millstream.dstream.rdd.sources import Given, Part, same_partition

__all__ = ["UpdateStateNode"]

UpdateFunction = Callable[[list[Any], Any], Any]
_CANNOT_CHANGE = frozenset(
    {bool, int, float, complex, str, bytes, type(None), Decimal, date, datetime, time, timedelta}
)


class StatePart:
    """The states of the keys of one partition, as they were after one batch.

    A function may change the state that it gets. States that can change are kept pickled, so that each
    reader has its own.
    """

    __slots__ = ("_pickled", "_states", "size")

    def __init__(self, states: dict[Any, Any]) -> None:
        self.size = len(states)
        self._states: dict[Any, Any] | None = states
        self._pickled = b""
        if not set(map(type, states.values())) <= _CANNOT_CHANGE:
            self._pickled = dumps_apart(list(states.items()))
            self._states = None

    def items(self) -> Iterable[tuple[Any, Any]]:
        """Keys and states."""
        if self._states is not None:
            return self._states.items()
        return loads_apart(self._pickled)


class UpdateStateNode(StatefulNode):
    """The state of each key: ``function(new values, state or None)`` gives the next one.

    The function visits all keys in every batch. A state of None removes the key.
    """

    kind = "updateStateByKey"

    def __init__(
        self,
        graph: Graph,
        parent: Node,
        function: UpdateFunction,
        partitions: int,
        initial: RDD[Any] | None,
    ) -> None:
        super().__init__(graph, [parent], parent.slide_ms)
        self.function = function
        self.partitions = partitions
        self.initial = initial
        self.parts: dict[int, list[StatePart]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "parts": {}}

    def compute(self, time_ms: int) -> RDD[Any] | None:
        """The states after a batch."""
        before_ms = time_ms - self.slide_ms
        before = self.rdd_at(before_ms)
        (parent,) = self.parents
        records = parent.rdd_at(time_ms)
        if self.graph.sc.runner.name != "driver":
            return self._in_tasks(before, records)
        if records is None:
            if before is not None:
                self.parts[time_ms] = self.parts[before_ms]
            return before
        states = self._first() if before is None else self.parts[before_ms]
        placed = records.partitionBy(self.partitions)
        self.parts[time_ms] = [
            StatePart(_updated(self.function, part.items(), placed._values(split)))
            for split, part in enumerate(states)
        ]
        return self._as_rdd(self.parts[time_ms])

    def _first(self) -> list[StatePart]:
        if self.initial is None:
            return [StatePart({}) for _ in range(self.partitions)]
        placed = self.initial.partitionBy(self.partitions)
        return [StatePart(dict(placed._values(split))) for split in range(self.partitions)]

    def _in_tasks(self, before: RDD[Any] | None, records: RDD[Any] | None) -> RDD[Any] | None:
        """The states after a batch, where the runner computes and keeps them."""
        if records is None:
            return before
        if before is None:
            none: list[tuple[Any, Any]] = []
            first = self.graph.sc.parallelize(none, 1) if self.initial is None else self.initial
            before = first.partitionBy(self.partitions)
        function = self.function

        def updated(_: int, parts: Sequence[Part]) -> Iterable[tuple[Any, Any]]:
            states, records = parts
            return _updated(function, dict(states()).items(), records()).items()

        sides = [before, records.partitionBy(self.partitions)]
        by_key = Partitioner(self.partitions, portable_hash)
        return before._gathered(
            self.partitions, same_partition(0, 1), updated, sides, self.kind, by_key
        )._kept()

    def _as_rdd(self, parts: Sequence[StatePart]) -> RDD[Any]:
        read = partial(_items_of, parts)
        by_key = Partitioner(self.partitions, portable_hash)
        return RDD(self.graph.sc, self.partitions, Given(read), (), self.kind, by_key)

    def clear(self, time_ms: int) -> None:
        """Forget old states with their RDDs."""
        super().clear(time_ms)
        for old in self.parts.keys() - self.made.keys():
            del self.parts[old]

    def entries(self) -> int:
        """The number of keys."""
        return sum(part.size for part in self.parts[max(self.parts)]) if self.parts else 0

    def save(self) -> tuple[bool, Any]:
        """The states: each batch may have changed all of them."""
        if self.graph.sc.runner.name != "driver":
            return True, {time_ms: _pickled(rdd).collect() for time_ms, rdd in self.made.items()}
        return True, {
            time_ms: [dumps_apart(list(part.items())) for part in parts]
            for time_ms, parts in self.parts.items()
        }

    def load(self, contents: Sequence[Mapping[int, list[bytes]]]) -> None:
        """States from a snapshot."""
        for time_ms, parts in contents[-1].items():
            self.parts[time_ms] = [StatePart(dict(loads_apart(part))) for part in parts]
            self.partitions = len(parts)
            self.made[time_ms] = self._as_rdd(self.parts[time_ms])
            self.latest_ms = max(self.latest_ms, time_ms)


def _updated(
    function: UpdateFunction,
    states: Iterable[tuple[Any, Any]],
    records: Iterable[tuple[Any, Any]],
) -> dict[Any, Any]:
    """The states of a partition after its records."""
    groups: dict[Any, list[Any]] = {}
    for key, value in records:
        groups.setdefault(key, []).append(value)
    found = {}
    try:
        for key, state in states:
            new = function(groups.pop(key) if key in groups else [], state)
            if new is not None:
                found[key] = new
        for key, values in groups.items():
            new = function(values, None)
            if new is not None:
                found[key] = new
    except MillstreamError:
        raise
    except Exception as error:
        raise user_code_error(error, UpdateStateNode.kind) from error
    return found


def _pickled(rdd: RDD[Any]) -> RDD[bytes]:
    return rdd._narrow(lambda _, states: [dumps_apart(list(states))], True, UpdateStateNode.kind)


def _items_of(parts: Sequence[StatePart], split: int) -> Iterable[tuple[Any, Any]]:
    return parts[split].items()
