"""Aggregators of users in a loop: each task has one, and what they hold is merged after a superstep."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from millstream.iteration import Aggregator

__all__ = ["LocalAggregators", "Merge", "merged_values"]

_NOTHING = "\0nothing"


class Merge:
    """Merges what two tasks have aggregated, by an aggregator of the user.

    Examples
    --------
    >>> Merge(Aggregator.sum())(_NOTHING, 3), Merge(Aggregator.sum())(4, 3)
    (3, 7)
    """

    def __init__(self, aggregator: Any) -> None:
        self.aggregator = aggregator

    def __call__(self, left: Any, right: Any) -> Any:
        if _is_nothing(left) or _is_nothing(right):
            return right if _is_nothing(left) else left
        if isinstance(self.aggregator, Aggregator):
            return self.aggregator.merge(left, right)
        fresh = copy.deepcopy(self.aggregator)
        fresh.reset()
        fresh.aggregate(left)
        fresh.aggregate(right)
        return fresh.get_aggregate()


def _is_nothing(value: Any) -> bool:
    return isinstance(value, str) and value == _NOTHING


class _Functional:
    """An aggregator of loops as an object with methods."""

    def __init__(self, aggregator: Aggregator) -> None:
        self._aggregator = aggregator
        self._value: Any = _NOTHING

    def aggregate(self, value: Any) -> None:
        self._value = Merge(self._aggregator)(self._value, value)

    def get_aggregate(self) -> Any:
        return self._value

    def reset(self) -> None:
        self._value = _NOTHING


class LocalAggregators:
    """The aggregators of one task.

    Examples
    --------
    >>> local = LocalAggregators({"changed": Aggregator.sum()})
    >>> local.objects["changed"].aggregate(2); local.objects["changed"].aggregate(3)
    >>> local.taken(), local.taken() == {"changed": _NOTHING}
    ({'changed': 5}, True)
    """

    def __init__(self, registered: Mapping[str, Any]) -> None:
        self.objects: dict[str, Any] = {
            name: _Functional(each) if isinstance(each, Aggregator) else copy.deepcopy(each)
            for name, each in registered.items()
        }
        for each in self.objects.values():
            each.reset()

    def taken(self) -> dict[str, Any]:
        """Return the aggregates since the last call, and begin again."""
        values = {name: each.get_aggregate() for name, each in self.objects.items()}
        for each in self.objects.values():
            each.reset()
        return values


def merged_values(registered: Mapping[str, Any], *parts: Mapping[str, Any]) -> dict[str, Any]:
    """The aggregates of a superstep that has several parts; None where nothing was aggregated.

    Examples
    --------
    >>> merged_values({"n": Aggregator.sum()}, {"n": 2}, {"n": 5})
    {'n': 7}
    """
    values = {}
    for name, aggregator in registered.items():
        merge, total = Merge(aggregator), _NOTHING
        for part in parts:
            total = merge(total, part.get(name, _NOTHING))
        values[name] = None if _is_nothing(total) else total
    return values
