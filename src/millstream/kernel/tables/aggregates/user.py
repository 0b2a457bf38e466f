"""Aggregates that users write: objects with ``accumulate``, ``retract``, ``merge`` and ``get_value``."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from millstream.kernel.records.groups import Groups
from millstream.kernel.records.order import Ints
from millstream.kernel.tables.aggregates.base import Accumulator

__all__ = ["UserAggregate"]

_RECORD, _STATE = 0, 1


class UserAggregate(Accumulator):
    """An aggregate function with PyFlink's methods, called record by record.

    ``create_accumulator()`` begins a group, ``accumulate(accumulator, *arguments)`` adds a record,
    ``retract`` takes one back, ``merge(accumulator, accumulators)`` brings groups together, and
    ``get_value(accumulator)`` is the result. ``convert``: makes a value of the column of a result.
    """

    def __init__(
        self,
        function: Any,
        result: pa.DataType,
        convert: Callable[[Any], Any] | None = None,
    ) -> None:
        self.function = function
        self.convert = convert
        self.result_type = result
        self.state_types = (pa.binary(),)

    def rows(self, arguments: Sequence[pa.Array], weights: Ints) -> list[pa.Array]:
        if arguments:
            rows = list(zip(*(column.to_pylist() for column in arguments), strict=True))
        else:
            rows = [()] * len(weights)
        states = [
            pickle.dumps((_RECORD, row, weight))
            for row, weight in zip(rows, weights.tolist(), strict=True)
        ]
        return [pa.array(states, pa.binary())]

    def fold(self, state: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        parts = state[0].take(pa.array(groups.order)).to_pylist()
        bounds = [*groups.starts.tolist(), len(parts)]
        found = [
            pickle.dumps((_STATE, self._folded(parts[start:end])))
            for start, end in itertools.pairwise(bounds)
        ]
        return [pa.array(found, pa.binary())]

    def prefixes(self, state: Sequence[pa.Array], firsts: Ints) -> list[pa.Array]:
        # Record by record: OVER asks no function for ``merge``.
        found: list[bytes] = []
        accumulator: Any = None
        for place, part in enumerate(state[0].to_pylist()):
            if firsts[place] == place:
                accumulator = None
            accumulator = self._folded([part], accumulator)
            found.append(pickle.dumps((_STATE, accumulator)))
        return [pa.array(found, pa.binary())]

    def _folded(self, parts: Sequence[bytes], accumulator: Any = None) -> Any:
        function = self.function
        for part in map(pickle.loads, parts):
            if part[0] == _STATE:
                if accumulator is None:
                    accumulator = part[1]
                else:
                    merged = function.merge(accumulator, [part[1]])
                    accumulator = accumulator if merged is None else merged
                continue
            if accumulator is None:
                accumulator = function.create_accumulator()
            _, row, weight = part
            call = function.accumulate if weight > 0 else function.retract if weight else None
            for _ in range(abs(weight)):
                call(accumulator, *row)  # type: ignore[misc]
        return accumulator

    def results(self, state: Sequence[pa.Array]) -> pa.Array:
        found = []
        for part in map(pickle.loads, state[0].to_pylist()):
            accumulator = part[1] if part[0] == _STATE else self._folded([pickle.dumps(part)])
            value = self.function.get_value(accumulator)
            found.append(value if self.convert is None else self.convert(value))
        return pa.array(found, self.result_type)
