"""Functions that send messages and update vertices: scatter-gather and vertex-centric iterations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from millstream.graph.elements import Edge, EdgeDirection, Neighbor, Vertex
from millstream.graph.functions.base import IterationFunction, MessageIterator

__all__ = [
    "ApplyFunction",
    "ComputeFunction",
    "GatherFunction",
    "MessageCombiner",
    "ScatterFunction",
    "SumFunction",
]

K = TypeVar("K")
VV = TypeVar("VV")
EV = TypeVar("EV")
M = TypeVar("M")

_ONCE = "call either get_edges() or send_message_to_all_neighbors(), and only once per vertex"


def _outside(*ignored: Any) -> None:
    raise RuntimeError("this can be called for a vertex only, while an iteration runs")


class _SendingFunction(IterationFunction):
    """Sends messages along the edges of a vertex."""

    _send: Callable[[Any, Any], None] = staticmethod(_outside)
    _send_many: Callable[[Sequence[Any], Any], None] = staticmethod(_outside)
    _vertex_id: Any = None
    _edges: Sequence[Edge[Any, Any]] | None = None

    def _edges_once(self) -> Sequence[Edge[Any, Any]]:
        edges = self._edges
        if edges is None:
            raise RuntimeError(_ONCE)
        self._edges = None
        return edges

    def get_edges(self) -> Iterator[Edge[Any, Any]]:
        """Return the edges of the vertex.

        It and `send_message_to_all_neighbors` exclude each other, and may be called once per vertex.
        """
        return iter(self._edges_once())

    def send_message_to_all_neighbors(self, message: Any) -> None:
        """Send a message to the other end of each edge."""
        own, edges = self._vertex_id, self._edges_once()
        self._send_many([e[1] if e[0] == own else e[0] for e in edges], message)

    def send_message_to(self, target: Any, message: Any) -> None:
        """Send a message to a vertex by its id. It need not be a neighbour, but it must exist."""
        self._send(target, message)


class _UpdatingFunction(IterationFunction):
    """Changes the value of a vertex, once."""

    _new_value: Any = None
    _value_is_set = False

    def _set(self, value: Any, name: str) -> None:
        if self._value_is_set:
            raise RuntimeError(f"{name}() may be called only once per vertex and superstep")
        self._value_is_set = True
        self._new_value = value


class ScatterFunction(_SendingFunction, Generic[K, VV, M, EV]):
    """Says what a vertex sends: the first half of a scatter-gather iteration.

    Examples
    --------
    >>> class SendDistance(ScatterFunction):
    ...     def send_messages(self, vertex):
    ...         for edge in self.get_edges():
    ...             self.send_message_to(edge.get_target(), vertex.get_value() + edge.get_value())
    """

    def send_messages(self, vertex: Vertex[K, VV]) -> None:
        """Send messages. Called for all vertices in the first superstep, later for those that have
        changed.

        Messages arrive in the same superstep, in `GatherFunction.update_vertex`.
        """
        raise NotImplementedError

    def get_direction(self) -> EdgeDirection:
        """Return which edges `get_edges` returns."""
        return self._context.direction

    def get_in_degree(self) -> int:
        """Return the number of edges that lead to the vertex; -1 without ``set_opt_degrees(True)``."""
        return self._context.in_degree

    def get_out_degree(self) -> int:
        """Return the number of edges that begin at the vertex; -1 without ``set_opt_degrees(True)``."""
        return self._context.out_degree


class GatherFunction(_UpdatingFunction, Generic[K, VV, M]):
    """Says what a vertex makes of its messages, or of a neighbour.

    Gelly has two classes of this name. Here it is one. For a scatter-gather iteration define
    `update_vertex`, and for a gather-sum-apply iteration define `gather`.

    Examples
    --------
    >>> class Shorter(GatherFunction):
    ...     def update_vertex(self, vertex, messages):
    ...         shortest = min(messages)
    ...         if shortest < vertex.get_value():
    ...             self.set_new_vertex_value(shortest)

    >>> class Distances(GatherFunction):
    ...     def gather(self, neighbor):
    ...         return neighbor.get_neighbor_value() + neighbor.get_edge_value()
    """

    def update_vertex(self, vertex: Vertex[K, VV], messages: MessageIterator[M]) -> None:
        """Read the messages, and change the vertex if need be. Called where there are some."""
        raise NotImplementedError

    def gather(self, neighbor: Neighbor[Any, Any]) -> Any:
        """Return a partial value for one neighbour. Called for neighbours that have changed."""
        raise NotImplementedError

    def set_new_vertex_value(self, value: VV) -> None:
        """Set the value of the vertex. It then scatters in the next superstep."""
        self._set(value, "set_new_vertex_value")

    def get_in_degree(self) -> int:
        """Return the number of edges that lead to the vertex; -1 without ``set_opt_degrees(True)``."""
        return self._context.in_degree

    def get_out_degree(self) -> int:
        """Return the number of edges that begin at the vertex; -1 without ``set_opt_degrees(True)``."""
        return self._context.out_degree


class SumFunction(IterationFunction, Generic[VV, EV, M]):
    """Makes one value of two partial values, in a gather-sum-apply iteration.

    It must be associative and commutative: partial values are summed where they are made, then
    where they arrive.

    Examples
    --------
    >>> class Smaller(SumFunction):
    ...     def sum(self, left, right):
    ...         return min(left, right)
    """

    def sum(self, new_value: M, current_value: M) -> M:
        """Return one value for both."""
        raise NotImplementedError


class ApplyFunction(_UpdatingFunction, Generic[K, VV, M]):
    """Changes a vertex, in a gather-sum-apply iteration.

    Examples
    --------
    >>> class UpdateDistance(ApplyFunction):
    ...     def apply(self, new_distance, old_distance):
    ...         if new_distance < old_distance:
    ...             self.set_result(new_distance)
    """

    def apply(self, new_value: M, current_value: VV) -> None:
        """Compare the sum with the value of the vertex, and set the result if it changes."""
        raise NotImplementedError

    def set_result(self, result: VV) -> None:
        """Set the value of the vertex. Its neighbours then gather in the next superstep."""
        self._set(result, "set_result")


class ComputeFunction(_SendingFunction, _UpdatingFunction, Generic[K, VV, EV, M]):
    """Says what a vertex does in a superstep of a vertex-centric iteration.

    Examples
    --------
    >>> class ShortestPaths(ComputeFunction):
    ...     def compute(self, vertex, messages):
    ...         shortest = min(messages, default=0.0 if vertex.get_id() == 1 else float("inf"))
    ...         if shortest < vertex.get_value():
    ...             self.set_new_vertex_value(shortest)
    ...             for edge in self.get_edges():
    ...                 self.send_message_to(edge.get_target(), shortest + edge.get_value())
    """

    def compute(self, vertex: Vertex[K, VV], messages: MessageIterator[M]) -> None:
        """Read the messages, change the vertex, send messages, or nothing of it.

        Called for all vertices in the first superstep, later for those that were sent a message in
        the superstep before.
        """
        raise NotImplementedError

    def set_new_vertex_value(self, value: VV) -> None:
        """Set the value of the vertex. This does not make it active; messages do."""
        self._set(value, "set_new_vertex_value")


class MessageCombiner(IterationFunction, Generic[K, M]):
    """Makes fewer messages of those that go to one vertex, before they travel and when they arrive.

    It is called where there are two messages at least.

    Examples
    --------
    >>> class Shortest(MessageCombiner):
    ...     def combine_messages(self, messages):
    ...         self.send_combined_message(min(messages))
    """

    _combined: list[Any] | None = None

    def combine_messages(self, messages: MessageIterator[M]) -> None:
        """Read the messages for a vertex, and send a combined one."""
        raise NotImplementedError

    def send_combined_message(self, message: M) -> None:
        """Send a message in place of those that were read."""
        if self._combined is None:
            _outside()
            return
        self._combined.append(message)
