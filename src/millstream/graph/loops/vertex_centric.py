"""Vertex-centric iterations: one function reads messages, changes the vertex and sends messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.common.errors import MillstreamError
from millstream.graph.functions.base import MessageIterator
from millstream.graph.loops.outgoing import Messages, combine_all
from millstream.graph.loops.two_phases import known_vertex, messages_of
from millstream.graph.loops.values import isolated
from millstream.graph.loops.vertex_loop import VertexLoop
from millstream.iteration import Outbox, Task

__all__ = ["VertexCentricLoop"]


class VertexCentricLoop(VertexLoop):
    """Calls a compute function, and a combiner if there is one."""

    def supersteps(self) -> int:
        """How many supersteps the loop has at most, with that of the routing."""
        return 1 + self.settings.max_iterations

    def step(self, task: Task, step: int, inbox: Sequence[Any]) -> Outbox:
        """Call the function for all vertices at first, then for those with messages."""
        self.context.superstep = step
        if step > 1:
            self.previous_aggregates(task.aggregates)
        self.hook("compute", "pre_superstep")
        outgoing = self._computed(inbox, first=step == 1)
        self.hook("compute", "post_superstep")
        active = len(outgoing.by_target)
        return Outbox(outgoing.parts(task), self.take_aggregates(), active)

    def _computed(self, inbox: Sequence[Any], *, first: bool) -> Messages:
        function: Any = self.functions["compute"]
        outgoing = Messages()
        function._send, function._send_many = outgoing.send, outgoing.send_many
        combining = "combiner" in self.functions
        if first:
            messages: dict[Any, list[Any]] = {key: [] for key in self.values}
        else:
            messages = messages_of(inbox)
            if combining:
                combine_all(messages, self._combine)
        values = self.values
        vertex = None
        try:
            for key, own in messages.items():
                vertex = known_vertex(values, key, own)
                function._vertex_id, function._edges = key, self.edges[key]
                function._value_is_set = False
                function.compute(vertex, MessageIterator(own))
                if function._value_is_set:
                    values[key] = isolated(function._new_value)
        except MillstreamError:
            raise
        except Exception as error:
            raise self.failed(error, "compute", "compute", vertex) from error
        if combining:
            outgoing.combined(self._combine)
        return outgoing

    def _combine(self, target: Any, messages: list[Any]) -> list[Any]:
        function: Any = self.functions["combiner"]
        combined: list[Any] = []
        function._combined = combined
        try:
            function.combine_messages(MessageIterator(messages))
        except MillstreamError:
            raise
        except Exception as error:
            place = (target, messages)
            raise self.failed(error, "combiner", "combine_messages", place) from error
        finally:
            function._combined = None
        return [isolated(message) for message in combined]
