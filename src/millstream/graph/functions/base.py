"""The part that all functions of iterations share: the superstep, aggregators and broadcast sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import length_hint
from typing import Any, Generic, TypeVar

from millstream.graph.elements import EdgeDirection

__all__ = ["IterationContext", "IterationFunction", "MessageIterator"]

M = TypeVar("M")


@dataclass
class IterationContext:
    """The answers to the questions that functions of one task can ask.

    Examples
    --------
    >>> IterationContext(superstep=3).superstep
    3
    """

    superstep: int = 0
    number_of_vertices: int = -1
    direction: EdgeDirection = EdgeDirection.OUT
    in_degree: int = -1
    out_degree: int = -1
    aggregators: Mapping[str, Any] = field(default_factory=dict)
    previous: Mapping[str, Any] = field(default_factory=dict)


class MessageIterator(Generic[M]):
    """The messages that a vertex has received, in no particular order.

    It can be read once: by ``for``, or by ``next`` as long as `has_next` says so.

    Examples
    --------
    >>> messages = MessageIterator([3, 1, 2])
    >>> next(messages), messages.has_next(), min(messages), messages.has_next()
    (3, True, 1, False)
    """

    __slots__ = ("_rest",)

    def __init__(self, messages: Sequence[M]) -> None:
        self._rest = iter(messages)

    def __iter__(self) -> Iterator[M]:
        return self._rest

    def __next__(self) -> M:
        return next(self._rest)

    def has_next(self) -> bool:
        """Whether there is one more message."""
        return length_hint(self._rest) > 0


class IterationFunction:
    """The base of all functions of iterations.

    Each task has its own copy of a function, which lives as long as the iteration. What is not a
    message, a vertex value or an aggregate stays in the task.
    """

    # Set in the task; a subclass need not call __init__ of this class.
    _context: IterationContext = IterationContext()
    _broadcast_sets: Mapping[str, list[Any]] = {}

    def pre_superstep(self) -> None:
        """Prepare a superstep: called in each task before its first vertex."""

    def post_superstep(self) -> None:
        """Finish a superstep: called in each task after its last vertex."""

    def get_superstep_number(self) -> int:
        """Return the number of the superstep, from 1."""
        return self._context.superstep

    def get_iteration_aggregator(self, name: str) -> Any:
        """Return the aggregator of this superstep that has a name; None if there is none.

        It has a method ``aggregate(value)``. What all tasks have aggregated can be read in the next
        superstep, by `get_previous_iteration_aggregate`.
        """
        return self._context.aggregators.get(name)

    def get_previous_iteration_aggregate(self, name: str) -> Any:
        """Return what all tasks have aggregated in the superstep before; None in the first one."""
        return self._context.previous.get(name)

    def get_broadcast_set(self, name: str) -> list[Any]:
        """Return the records of the DataSet that was broadcast to this function under a name."""
        try:
            return self._broadcast_sets[name]
        except KeyError:
            known = ", ".join(map(repr, sorted(self._broadcast_sets))) or "none"
            raise KeyError(
                f"no broadcast set {name!r} for {type(self).__name__}; there are: {known}"
            ) from None

    def get_number_of_vertices(self) -> int:
        """Return the number of vertices; -1 without ``set_opt_num_vertices(True)``."""
        return self._context.number_of_vertices
