"""Settings of iterations over graphs."""

from __future__ import annotations

from typing import Any, TypeVar

from millstream.common._logging import accepted_without_effect
from millstream.common.errors import ConfigurationError, user_location
from millstream.graph.elements import EdgeDirection
from millstream.iteration import LoopOptions

__all__ = [
    "GSAConfiguration",
    "IterationConfiguration",
    "ScatterGatherConfiguration",
    "VertexCentricConfiguration",
]

Self = TypeVar("Self", bound="IterationConfiguration")


class IterationConfiguration:
    """Settings that all iterations over graphs have.

    Methods that set something return the configuration, so calls can be chained.

    Examples
    --------
    >>> IterationConfiguration().set_name("distances").set_parallelism(2).get_parallelism()
    2
    """

    def __init__(self) -> None:
        self._name: str | None = None
        self._parallelism = -1
        self._unmanaged = False
        self._num_vertices = False
        self._aggregators: dict[str, Any] = {}
        self._options = LoopOptions()
        self._degrees = False
        self._direction = EdgeDirection.OUT
        self._broadcast_sets: dict[str, list[tuple[str, Any]]] = {}

    def set_name(self: Self, name: str) -> Self:
        """Set the name that errors and the progress show."""
        self._name = name
        return self

    def get_name(self, default_name: str = "") -> str:
        """Return the name, or a default if none was set."""
        return default_name if self._name is None else self._name

    def set_parallelism(self: Self, parallelism: int) -> Self:
        """Set the number of tasks."""
        if not isinstance(parallelism, int) or (parallelism < 1 and parallelism != -1):
            raise ConfigurationError(
                "GRAPH_PARALLELISM",
                f"the parallelism of an iteration must be at least 1, got {parallelism!r}",
                location=user_location(),
                hint="-1 leaves the choice to Millstream",
            )
        self._parallelism = parallelism
        return self

    def get_parallelism(self) -> int:
        """Return the number of tasks; -1: as many as the session runs at once."""
        return self._parallelism

    def set_solution_set_unmanaged_memory(self: Self, unmanaged: bool) -> Self:
        """Accept Gelly's setting; the vertices are always plain objects of the task."""
        accepted_without_effect(
            "set_solution_set_unmanaged_memory", "the vertices are always objects of the task"
        )
        self._unmanaged = unmanaged
        return self

    def is_solution_set_unmanaged_memory(self) -> bool:
        """Return what was set."""
        return self._unmanaged

    def register_aggregator(self: Self, name: str, aggregator: Any) -> Self:
        """Register an aggregator, which functions get by `get_iteration_aggregator`.

        Parameters
        ----------
        name
            Its name.
        aggregator
            An aggregator such as ``LongSumAggregator()``, with the methods ``aggregate``,
            ``get_aggregate`` and ``reset``, or a `millstream.iteration.Aggregator`.
        """
        self._aggregators[name] = aggregator
        return self

    def get_aggregators(self) -> dict[str, Any]:
        """Return the aggregators by name."""
        return dict(self._aggregators)

    def set_opt_num_vertices(self: Self, opt_num_vertices: bool) -> Self:
        """Set whether functions can ask for the number of vertices."""
        self._num_vertices = opt_num_vertices
        return self

    def is_opt_num_vertices(self) -> bool:
        """Return whether functions can ask for the number of vertices."""
        return self._num_vertices

    def set_loop_options(self: Self, options: LoopOptions) -> Self:
        """Set how the loop runs: its mode, and where it keeps snapshots. Gelly has no such method."""
        self._options = options
        return self

    def get_loop_options(self) -> LoopOptions:
        """Return how the loop runs."""
        return self._options

    def _broadcast(self: Self, function: str, name: str, data: Any) -> Self:
        self._broadcast_sets.setdefault(function, []).append((name, data))
        return self

    def _sets_of(self, function: str) -> list[tuple[str, Any]]:
        return list(self._broadcast_sets.get(function, ()))

    def _direct(self, direction: EdgeDirection) -> None:
        self._direction = checked_direction(direction)


def checked_direction(direction: Any) -> EdgeDirection:
    """A direction, or an error if it is none.

    Examples
    --------
    >>> checked_direction(EdgeDirection.IN).name
    'IN'
    """
    if not isinstance(direction, EdgeDirection):
        raise ConfigurationError(
            "GRAPH_DIRECTION",
            f"{direction!r} is no direction of edges",
            location=user_location(),
            hint="use EdgeDirection.IN, EdgeDirection.OUT or EdgeDirection.ALL",
        )
    return direction


class ScatterGatherConfiguration(IterationConfiguration):
    """Settings of a scatter-gather iteration.

    Examples
    --------
    >>> parameters = ScatterGatherConfiguration().set_direction(EdgeDirection.ALL).set_opt_degrees(True)
    >>> parameters.get_direction().name, parameters.is_opt_degrees()
    ('ALL', True)
    """

    def add_broadcast_set_for_scatter_function(
        self, name: str, data: Any
    ) -> ScatterGatherConfiguration:
        """Give all records of a DataSet to the scatter function."""
        return self._broadcast("scatter", name, data)

    def add_broadcast_set_for_gather_function(
        self, name: str, data: Any
    ) -> ScatterGatherConfiguration:
        """Give all records of a DataSet to the gather function."""
        return self._broadcast("gather", name, data)

    def get_scatter_bcast_vars(self) -> list[tuple[str, Any]]:
        """Return the broadcast sets of the scatter function: names and DataSets."""
        return self._sets_of("scatter")

    def get_gather_bcast_vars(self) -> list[tuple[str, Any]]:
        """Return the broadcast sets of the gather function: names and DataSets."""
        return self._sets_of("gather")

    def set_opt_degrees(self, opt_degrees: bool) -> ScatterGatherConfiguration:
        """Set whether functions can ask for the degrees of a vertex."""
        self._degrees = opt_degrees
        return self

    def is_opt_degrees(self) -> bool:
        """Return whether functions can ask for the degrees of a vertex."""
        return self._degrees

    def set_direction(self, direction: EdgeDirection) -> ScatterGatherConfiguration:
        """Set along which edges messages go: OUT, from a vertex to its targets, is the default."""
        self._direct(direction)
        return self

    def get_direction(self) -> EdgeDirection:
        """Return along which edges messages go."""
        return self._direction


class GSAConfiguration(IterationConfiguration):
    """Settings of a gather-sum-apply iteration.

    Examples
    --------
    >>> GSAConfiguration().set_direction(EdgeDirection.IN).get_direction().name
    'IN'
    """

    def add_broadcast_set_for_gather_function(self, name: str, data: Any) -> GSAConfiguration:
        """Give all records of a DataSet to the gather function."""
        return self._broadcast("gather", name, data)

    def add_broadcast_set_for_sum_function(self, name: str, data: Any) -> GSAConfiguration:
        """Give all records of a DataSet to the sum function."""
        return self._broadcast("sum", name, data)

    def add_broadcast_set_for_apply_function(self, name: str, data: Any) -> GSAConfiguration:
        """Give all records of a DataSet to the apply function."""
        return self._broadcast("apply", name, data)

    def get_gather_bcast_vars(self) -> list[tuple[str, Any]]:
        """Return the broadcast sets of the gather function: names and DataSets."""
        return self._sets_of("gather")

    def get_sum_bcast_vars(self) -> list[tuple[str, Any]]:
        """Return the broadcast sets of the sum function: names and DataSets."""
        return self._sets_of("sum")

    def get_apply_bcast_vars(self) -> list[tuple[str, Any]]:
        """Return the broadcast sets of the apply function: names and DataSets."""
        return self._sets_of("apply")

    def set_direction(self, direction: EdgeDirection) -> GSAConfiguration:
        """Set along which edges values go: OUT, from a vertex to its targets, is the default."""
        self._direct(direction)
        return self

    def get_direction(self) -> EdgeDirection:
        """Return along which edges values go."""
        return self._direction


class VertexCentricConfiguration(IterationConfiguration):
    """Settings of a vertex-centric iteration.

    Examples
    --------
    >>> VertexCentricConfiguration().add_broadcast_set("hubs", [1, 2]).get_bcast_vars()
    [('hubs', [1, 2])]
    """

    def add_broadcast_set(self, name: str, data: Any) -> VertexCentricConfiguration:
        """Give all records of a DataSet to the compute function."""
        return self._broadcast("compute", name, data)

    def get_bcast_vars(self) -> list[tuple[str, Any]]:
        """Return the broadcast sets of the compute function: names and DataSets."""
        return self._sets_of("compute")
