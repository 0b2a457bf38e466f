"""Algorithms and analytics: what `Graph.run` runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from millstream.graph.graph import Graph

__all__ = ["GraphAlgorithm", "GraphAnalytic"]

K = TypeVar("K")
VV = TypeVar("VV")
EV = TypeVar("EV")
T = TypeVar("T")


class GraphAlgorithm(ABC, Generic[K, VV, EV, T]):
    """A computation on a graph, whose result is a graph or a DataSet.

    Examples
    --------
    >>> class Loops(GraphAlgorithm):
    ...     "Edges from a vertex to itself."
    ...     def run(self, input):
    ...         return input.get_edges().filter(lambda edge: edge[0] == edge[1])
    """

    @abstractmethod
    def run(self, input: Graph[K, VV, EV]) -> T:
        """Compute the result for a graph."""


class GraphAnalytic(ABC, Generic[K, VV, EV, T]):
    """A computation on a graph, whose result is a value.

    `run` prepares it, and `execute` or `get_result` computes it.

    Examples
    --------
    >>> class CountEdges(GraphAnalytic):
    ...     def run(self, input):
    ...         self.graph = input
    ...         return self
    ...     def get_result(self):
    ...         return self.graph.number_of_edges()
    """

    @abstractmethod
    def run(self, input: Graph[K, VV, EV]) -> Any:
        """Prepare the computation for a graph; return this analytic."""

    @abstractmethod
    def get_result(self) -> T:
        """Return the result."""

    def execute(self, job_name: str | None = None) -> T:
        """Compute and return the result.

        Parameters
        ----------
        job_name
            What Gelly calls the job. It has no effect.
        """
        return self.get_result()
