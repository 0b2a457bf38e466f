"""Iterations: scatter-gather, gather-sum-apply, vertex-centric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from millstream.common.errors import PlanError, user_location
from millstream.common.memory_mode import memory_tasks
from millstream.common.typeinfo import Types
from millstream.graph.functions.configuration import (
    GSAConfiguration,
    IterationConfiguration,
    ScatterGatherConfiguration,
    VertexCentricConfiguration,
)
from millstream.graph.functions.messages import (
    ApplyFunction,
    ComputeFunction,
    GatherFunction,
    MessageCombiner,
    ScatterFunction,
    SumFunction,
)
from millstream.graph.loops.running import cells, run_vertices
from millstream.graph.loops.two_phases import GatherSumApplyLoop, ScatterGatherLoop
from millstream.graph.loops.values import packed, unpacked
from millstream.graph.loops.vertex_centric import VertexCentricLoop
from millstream.graph.loops.vertex_loop import CELL, Settings
from millstream.graph.operations.base import EV, VV, GraphBase, K
from millstream.graph.operations.sides import as_vertex, data_set_of, plain
from millstream.graph.operations.types import VertexTypeInfo, tuple_of

if TYPE_CHECKING:
    from millstream.dataset import DataSet
    from millstream.graph.graph import Graph
    from millstream.iteration import LoopResult

__all__ = ["Iterations"]


class Iterations(GraphBase[K, VV, EV]):
    """Runs iterations of user functions.

    Examples
    --------
    See `millstream.graph.Graph`.
    """

    def run_scatter_gather_iteration(
        self,
        scatter_function: ScatterFunction[Any, Any, Any, Any],
        gather_function: GatherFunction[Any, Any, Any],
        maximum_number_of_iterations: int,
        parameters: ScatterGatherConfiguration | None = None,
    ) -> Graph[K, VV, EV]:
        """Run a scatter-gather iteration: vertices that have changed send messages, then vertices with
        messages update their values.

        It ends when no vertex has changed. The iteration runs at once, not when its result is used.

        Parameters
        ----------
        scatter_function
            What a vertex sends.
        gather_function
            What a vertex makes of its messages.
        maximum_number_of_iterations
            The most supersteps.
        parameters
            The settings.

        Examples
        --------
        >>> from millstream.graph import GatherFunction, Graph, ScatterFunction
        >>> from millstream.testing import in_memory
        >>> class Tell(ScatterFunction):
        ...     def send_messages(self, vertex):
        ...         self.send_message_to_all_neighbors(vertex.get_value())
        >>> class Smallest(GatherFunction):
        ...     def update_vertex(self, vertex, messages):
        ...         smallest = min(messages)
        ...         if smallest < vertex.get_value():
        ...             self.set_new_vertex_value(smallest)
        >>> with in_memory():
        ...     graph = Graph.from_collection([(1, 2), (2, 3)], lambda key: key)
        ...     components = graph.run_scatter_gather_iteration(Tell(), Smallest(), 10)
        ...     sorted(components.get_vertices().collect())
        [Vertex(1, 1), Vertex(2, 1), Vertex(3, 1)]
        """
        functions = {"scatter": scatter_function, "gather": gather_function}
        kinds = {"scatter": ScatterFunction, "gather": GatherFunction}
        configuration = parameters or ScatterGatherConfiguration()
        settings = _settings(functions, kinds, maximum_number_of_iterations, configuration)
        program = ScatterGatherLoop(settings, functions)
        return self._iterated("scatter-gather iteration", program, configuration)

    def run_gather_sum_apply_iteration(
        self,
        gather_function: GatherFunction[Any, Any, Any],
        sum_function: SumFunction[Any, Any, Any],
        apply_function: ApplyFunction[Any, Any, Any],
        maximum_number_of_iterations: int,
        parameters: GSAConfiguration | None = None,
    ) -> Graph[K, VV, EV]:
        """Run a gather-sum-apply iteration: each edge from a vertex that has changed makes a partial
        value, these are summed per vertex, and the sum changes the vertex or does not.

        It ends when no vertex has changed. The iteration runs at once, not when its result is used.

        Parameters
        ----------
        gather_function
            The partial value of a neighbour.
        sum_function
            One value of two.
        apply_function
            The new value of a vertex.
        maximum_number_of_iterations
            The most supersteps.
        parameters
            The settings.
        """
        functions = {"gather": gather_function, "sum": sum_function, "apply": apply_function}
        kinds = {"gather": GatherFunction, "sum": SumFunction, "apply": ApplyFunction}
        configuration = parameters or GSAConfiguration()
        settings = _settings(functions, kinds, maximum_number_of_iterations, configuration)
        program = GatherSumApplyLoop(settings, functions)
        return self._iterated("gather-sum-apply iteration", program, configuration)

    def run_vertex_centric_iteration(
        self,
        compute_function: ComputeFunction[Any, Any, Any, Any],
        combiner: MessageCombiner[Any, Any] | None,
        maximum_number_of_iterations: int,
        parameters: VertexCentricConfiguration | None = None,
    ) -> Graph[K, VV, EV]:
        """Run a vertex-centric iteration, as Pregel does: a vertex reads its messages, changes its value
        and sends messages that arrive in the next superstep.

        It ends when there are no messages. The iteration runs at once, not when its result is used.

        Parameters
        ----------
        compute_function
            What a vertex does.
        combiner
            Makes fewer messages of those that go to one vertex; None for none.
        maximum_number_of_iterations
            The most supersteps.
        parameters
            The settings.

        Examples
        --------
        >>> from millstream.graph import ComputeFunction, Graph
        >>> from millstream.testing import in_memory
        >>> class Longest(ComputeFunction):
        ...     "The number of edges on the longest way that leads to a vertex of a tree."
        ...     def compute(self, vertex, messages):
        ...         depth = max(messages, default=0)
        ...         self.set_new_vertex_value(depth)
        ...         self.send_message_to_all_neighbors(depth + 1)
        >>> with in_memory():
        ...     graph = Graph.from_collection([(1, 2), (2, 3)], lambda key: 0)
        ...     sorted(graph.run_vertex_centric_iteration(Longest(), None, 9).get_vertices().collect())
        [Vertex(1, 0), Vertex(2, 1), Vertex(3, 2)]
        """
        functions: dict[str, Any] = {"compute": compute_function}
        if combiner is not None:
            functions["combiner"] = combiner
        kinds = {"compute": ComputeFunction, "combiner": MessageCombiner}
        configuration = parameters or VertexCentricConfiguration()
        settings = _settings(functions, kinds, maximum_number_of_iterations, configuration)
        program = VertexCentricLoop(settings, functions)
        return self._iterated("vertex-centric iteration", program, configuration)

    def _iterated(
        self, name: str, program: Any, parameters: IterationConfiguration
    ) -> Graph[Any, Any, Any]:
        tasks = parameters.get_parallelism()
        result = run_vertices(
            parameters.get_name(name),
            program,
            _packed(self._vertices.data()),
            _packed(self._edges.data()),
            tasks if tasks > 0 else None,
            parameters.get_loop_options(),
        )
        key = self._vertices.parts()[0]
        graph = self._with(vertices=self._read(result, key))
        graph._loop_result = result
        return graph

    def _read(self, result: LoopResult, key: Any) -> DataSet:
        env = self.get_context()
        if memory_tasks() is not None:
            found = [
                as_vertex(record)
                for cell in result.to_arrow()[CELL].to_pylist()
                for record in unpacked(cell)
            ]
            return env.from_collection(found)
        kind = tuple_of(VertexTypeInfo, [key, Types.PICKLED_BYTE_ARRAY()])
        return data_set_of(env, result.to_dataframe()).flat_map(_unpacked, kind)


def _packed(data: DataSet) -> Any:
    """The input of a loop: cells of records."""
    if memory_tasks() is not None:
        return cells(data.collect())
    return data.map_partition(_cells, Types.ROW_NAMED([CELL], [_BYTES])).to_dataframe()


_BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())


def _cells(records: Iterator[Any]) -> Iterator[tuple[bytes]]:
    for cell in packed(records):
        yield (cell,)


def _unpacked(row: Any) -> Iterator[Any]:
    for record in unpacked(row[0]):
        yield as_vertex(record)


def _settings(
    functions: Mapping[str, Any],
    kinds: Mapping[str, type],
    iterations: int,
    parameters: IterationConfiguration,
) -> Settings:
    for role, function in functions.items():
        if not isinstance(function, kinds[role]):
            raise PlanError(
                "GRAPH_FUNCTION",
                f"the {role} function must be a {kinds[role].__name__}, got {function!r}",
                location=user_location(),
                hint=f"derive its class from {kinds[role].__name__}, and give an object of it",
            )
    iterations = plain(iterations)
    if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 1:
        raise PlanError(
            "GRAPH_ITERATIONS",
            f"the maximum number of iterations must be at least 1, got {iterations!r}",
            location=user_location(),
        )
    sets = {
        role: {name: _all(data) for name, data in parameters._sets_of(role)} for role in functions
    }
    return Settings(
        max_iterations=iterations,
        direction=parameters._direction,
        degrees=parameters._degrees,
        num_vertices=parameters.is_opt_num_vertices(),
        aggregators=parameters.get_aggregators(),
        broadcast_sets=sets,
    )


def _all(data: Any) -> list[Any]:
    return list(data.collect()) if hasattr(data, "collect") else list(data)
