"""Functions as tasks get them: copies, made of what the program gave when the job was submitted."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

from millstream.common.by_value import dumps_by_value
from millstream.common.errors import PlanError
from millstream.plan.graph import JobGraph, Node
from millstream.plan.travel import refuse_what_cannot_travel

__all__ = ["FunctionCopies"]

# Sources and sinks stay what they are: a test source remembers its marks, a sink its records.
_FIELDS = ("function", "selector", "second", "strategy")
_IN_TESTS = (
    "; to test it as it is, use run_local(program, copy_functions=False), "
    "where program is a function that builds it"
)


class FunctionCopies:
    """Makes graphs with new copies of all functions of one graph.

    On Spark a function reaches its tasks pickled, and a restarted task begins with a new copy. A
    function that keeps its state in an attribute loses it then; so it does here.
    """

    def __init__(self, graph: JobGraph) -> None:
        self._graph = graph
        self._data = _pickled(graph)

    def graph(self) -> JobGraph:
        """A graph like the one given, with new copies of its functions."""
        copies: dict[int, dict[str, Any]] = pickle.loads(self._data)
        return JobGraph({n.id: dataclasses.replace(n, **copies[n.id]) for n in self._graph})


def _pickled(graph: JobGraph) -> bytes:
    functions = {node.id: _functions(node) for node in graph}
    try:
        # All at once: what two functions share is shared by their copies too.
        data = dumps_by_value(functions)
    except Exception as error:
        raise _unpicklable(graph, error) from error
    return data


def _functions(node: Node) -> dict[str, Any]:
    return {name: getattr(node, name) for name in _FIELDS if hasattr(node, name)}


def _unpicklable(graph: JobGraph, error: Exception) -> PlanError:
    for node in graph:
        refuse_what_cannot_travel(node, _IN_TESTS)
    return PlanError("UNPICKLABLE_FUNCTION", f"the job cannot be sent to the workers: {error}")
