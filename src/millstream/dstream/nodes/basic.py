"""Nodes without state: inputs, and functions of the RDDs of one batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millstream.common.errors import MillstreamError, user_code_error
from millstream.dstream.inputs import Input
from millstream.dstream.nodes.base import Graph, Node, moment
from millstream.dstream.rdd import RDD

__all__ = ["InputNode", "TransformedNode"]


class InputNode(Node):
    """The records of an input."""

    def __init__(self, graph: Graph, source: Input[Any]) -> None:
        super().__init__(graph, (), graph.batch_ms)
        self.source = source
        self.place_of_input = len(graph.inputs)
        graph.inputs.append(source)

    def compute(self, time_ms: int) -> RDD[Any] | None:
        """The records that the batch has taken from the input."""
        taken = self.graph.taken.get(time_ms)
        if taken is None:
            return None
        return self.source.rdd(self.graph.sc, taken[self.place_of_input], time_ms)


class TransformedNode(Node):
    """A function of the RDDs of its parents: ``function(time, rdd, ...)``.

    With one parent there is no RDD if the parent has none; with several, an empty one takes its place.
    """

    def __init__(
        self, graph: Graph, parents: Sequence[Node], function: Callable[..., Any], label: str
    ) -> None:
        super().__init__(graph, parents, parents[0].slide_ms)
        self.function = function
        self.label = label

    def compute(self, time_ms: int) -> RDD[Any] | None:
        """The result of the function."""
        rdds = [parent.rdd_at(time_ms) for parent in self.parents]
        if len(rdds) == 1 and rdds[0] is None:
            return None
        given = [self.graph.sc.emptyRDD() if rdd is None else rdd for rdd in rdds]
        try:
            found = self.function(moment(time_ms), *given)
            return None if found is None else self.graph.sc.as_rdd(found)
        except MillstreamError:
            raise
        except Exception as error:
            described = user_code_error(error, self.label)
            if described.location is None:
                described.location = self.place
            raise described from error
