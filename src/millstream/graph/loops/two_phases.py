"""Scatter-gather and gather-sum-apply: a superstep sends from vertices that have changed, then
updates vertices.

A superstep of the user is two supersteps of the loop: one sends, one receives. Both are one if
nobody can see the difference: if there are no aggregators and no calls before and after supersteps.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from millstream.common.errors import MillstreamError
from millstream.graph.elements import Neighbor, Vertex
from millstream.graph.functions.base import IterationFunction, MessageIterator
from millstream.graph.loops.outgoing import Messages, Sums, parted, received
from millstream.graph.loops.values import isolated
from millstream.graph.loops.vertex_loop import Settings, VertexLoop, unknown_vertex
from millstream.iteration import Outbox, Task

__all__ = ["GatherSumApplyLoop", "ScatterGatherLoop"]


class TwoPhases(VertexLoop):
    """A loop whose supersteps send, then receive."""

    senders: tuple[str, ...]
    receivers: tuple[str, ...]

    def __init__(self, settings: Settings, functions: Mapping[str, IterationFunction]) -> None:
        super().__init__(settings, functions)
        hooks = ("pre_superstep", "post_superstep")
        self.fused = not settings.aggregators and all(
            getattr(type(each), hook) is getattr(IterationFunction, hook)
            for each in functions.values()
            for hook in hooks
        )

    def supersteps(self) -> int:
        """How many supersteps the loop has at most, with that of the routing."""
        iterations = self.settings.max_iterations
        return 2 + iterations if self.fused else 1 + 2 * iterations

    def step(self, task: Task, step: int, inbox: Sequence[Any]) -> Outbox:
        """Send, or receive, or first receive and then send."""
        if self.fused:
            if step > 1:
                self._receive(step - 1, inbox)
            if step > self.settings.max_iterations:
                return Outbox(active=0)
            return Outbox(self._send(task, step), active=len(self.changed))
        if step % 2:
            if step > 1:
                self.previous_aggregates(self._half, task.aggregates)
            active = len(self.changed)
            return Outbox(self._send(task, (step + 1) // 2), self.take_aggregates(), active)
        self._half = dict(task.aggregates)
        self._receive(step // 2, inbox)
        return Outbox((), self.take_aggregates(), len(self.changed))

    def _send(self, task: Task, superstep: int) -> list[Any]:
        self.context.superstep = superstep
        for role in self.senders:
            self.hook(role, "pre_superstep")
        parts = self.send(task)
        for role in self.senders:
            self.hook(role, "post_superstep")
        return parts

    def _receive(self, superstep: int, inbox: Sequence[Any]) -> None:
        self.context.superstep = superstep
        for role in self.receivers:
            self.hook(role, "pre_superstep")
        self.changed = []
        self.receive(inbox)
        for role in self.receivers:
            self.hook(role, "post_superstep")

    @abstractmethod
    def send(self, task: Task) -> list[Any]:
        """The messages of the vertices that have changed, for each task."""

    @abstractmethod
    def receive(self, inbox: Sequence[Any]) -> None:
        """Update the vertices that were sent something."""


class ScatterGatherLoop(TwoPhases):
    """Calls a scatter function and a gather function."""

    senders = ("scatter",)
    receivers = ("gather",)

    def send(self, task: Task) -> list[Any]:
        """Let vertices send messages."""
        function: Any = self.functions["scatter"]
        outgoing = Messages()
        function._send, function._send_many = outgoing.send, outgoing.send_many
        vertex = None
        try:
            for key in self.changed:
                self.set_degrees(key)
                function._vertex_id, function._edges = key, self.edges[key]
                vertex = Vertex(key, self.values[key])
                function.send_messages(vertex)
        except MillstreamError:
            raise
        except Exception as error:
            raise self.failed(error, "scatter", "send_messages", vertex) from error
        return outgoing.parts(task)

    def receive(self, inbox: Sequence[Any]) -> None:
        """Let vertices read their messages."""
        function: Any = self.functions["gather"]
        values = self.values
        vertex = None
        try:
            for key, messages in messages_of(inbox).items():
                vertex = known_vertex(values, key, messages)
                self.set_degrees(key)
                function._value_is_set = False
                function.update_vertex(vertex, MessageIterator(messages))
                if function._value_is_set:
                    values[key] = isolated(function._new_value)
                    self.changed.append(key)
        except MillstreamError:
            raise
        except Exception as error:
            raise self.failed(error, "gather", "update_vertex", vertex) from error


def messages_of(inbox: Sequence[Any]) -> dict[Any, list[Any]]:
    """The messages of all tasks by target, in order of tasks.

    Examples
    --------
    >>> from millstream.graph.loops.outgoing import parted
    >>> sent = parted(Task(0, 1), {7: ["a"]})
    >>> messages_of([*sent, None, *sent])
    {7: ['a', 'a']}
    """
    merged: dict[Any, list[Any]] = {}
    for targets, lists in received(inbox):
        if not merged:
            merged = dict(zip(targets, lists, strict=True))
            continue
        for target, messages in zip(targets, lists, strict=True):
            found = merged.get(target)
            if found is None:
                merged[target] = messages
            else:
                found += messages
    return merged


def known_vertex(values: Mapping[Any, Any], key: Any, messages: Any) -> Vertex[Any, Any]:
    """The vertex that is sent something.

    Examples
    --------
    >>> known_vertex({7: "a"}, 7, [])
    Vertex(7, 'a')
    """
    try:
        return Vertex(key, values[key])
    except KeyError:
        raise unknown_vertex(key, "a message was sent to it") from None


class GatherSumApplyLoop(TwoPhases):
    """Calls a gather, a sum and an apply function."""

    senders = ("gather", "sum")
    receivers = ("sum", "apply")

    def _sum(self, left: Any, right: Any) -> Any:
        function: Any = self.functions["sum"]
        try:
            return function.sum(left, right)
        except MillstreamError:
            raise
        except Exception as error:
            raise self.failed(error, "sum", "sum", (self._key, (left, right))) from error

    def send(self, task: Task) -> list[Any]:
        """Let edges of vertices that have changed gather, and sum what goes to one vertex."""
        function: Any = self.functions["gather"]
        sums = Sums(self._sum)
        vertex = None
        try:
            for key in self.changed:
                value = self.values[key]
                vertex = Vertex(key, value)
                for edge in self.edges[key]:
                    gathered = function.gather(Neighbor(value, edge[2]))
                    self._key = edge[1] if edge[0] == key else edge[0]
                    sums.add(self._key, isolated(gathered))
        except MillstreamError:
            raise
        except Exception as error:
            raise self.failed(error, "gather", "gather", vertex) from error
        return parted(task, sums.by_target)

    def receive(self, inbox: Sequence[Any]) -> None:
        """Sum what all tasks have sent, and apply it."""
        sums = Sums(self._sum)
        for targets, parts in received(inbox):
            for self._key, part in zip(targets, parts, strict=True):
                sums.add(self._key, part)
        function: Any = self.functions["apply"]
        values = self.values
        vertex = None
        try:
            for key, total in sums.by_target.items():
                vertex = known_vertex(values, key, total)
                function._value_is_set = False
                function.apply(total, vertex[1])
                if function._value_is_set:
                    values[key] = isolated(function._new_value)
                    self.changed.append(key)
        except MillstreamError:
            raise
        except Exception as error:
            raise self.failed(error, "apply", "apply", vertex) from error
