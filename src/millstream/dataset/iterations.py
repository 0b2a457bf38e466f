"""Iterations: a step that is repeated, on all elements or on those that have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.dataset.data_set import DataSet
from millstream.dataset.operations.base import Operations, checked_size, node_of
from millstream.dataset.plan.keys import Keys
from millstream.dataset.plan.nodes import (
    BulkLoop,
    DeltaLoop,
    Node,
    Placeholder,
    depends_on_placeholder,
    upstream,
)

if TYPE_CHECKING:
    from millstream.dataset.environment import ExecutionEnvironment

__all__ = ["DeltaIteration", "IterativeDataSet"]


class _Registered:
    """The aggregators of an iteration."""

    def __init__(self) -> None:
        self.aggregators: dict[str, Any] = {}
        self.convergence: tuple[str, Any] | None = None

    def add(self, name: str, aggregator: Any) -> None:
        for method in ("aggregate", "get_aggregate", "reset"):
            if not callable(getattr(aggregator, method, None)):
                raise PlanError(
                    "DATASET_NO_AGGREGATOR",
                    f"aggregator {name!r} has no method {method}: {short_repr(aggregator)}",
                    location=user_location(),
                    hint="use LongSumAggregator() or another Aggregator",
                )
        self.aggregators[name] = aggregator

    def add_criterion(self, name: str, aggregator: Any, criterion: Any) -> None:
        self.add(name, aggregator)
        if not callable(getattr(criterion, "is_converged", None)):
            raise PlanError(
                "DATASET_NO_AGGREGATOR",
                f"the criterion of aggregator {name!r} has no method is_converged",
                location=user_location(),
                hint="derive from ConvergenceCriterion",
            )
        self.convergence = (name, criterion)


class IterativeDataSet(DataSet):
    """The partial solution of an iteration: what the step begins with.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> doubled = env.from_elements(1, 2).iterate(3)
    >>> doubled.close_with(doubled.map(lambda n: n * 2)).collect()
    [8, 16]
    """

    def __init__(self, env: ExecutionEnvironment, source: Node, most: int) -> None:
        place = Placeholder(type=source.type, location=user_location(), name="the partial solution")
        super().__init__(env, place)
        self._source, self._most, self._registered = source, most, _Registered()

    def get_max_iterations(self) -> int:
        """After how many supersteps the iteration ends at the latest."""
        return self._most

    def register_aggregator(self, name: str, aggregator: Any) -> IterativeDataSet:
        """Add an aggregator, which functions of the step find by its name."""
        self._registered.add(name, aggregator)
        return self

    def register_aggregation_convergence_criterion(
        self, name: str, aggregator: Any, convergence_check: Any
    ) -> IterativeDataSet:
        """Add an aggregator whose value decides after each superstep whether the iteration ends."""
        self._registered.add_criterion(name, aggregator, convergence_check)
        return self

    def close_with(self, iteration_result: DataSet, termination_criterion: Any = None) -> DataSet:
        """End the step.

        Parameters
        ----------
        iteration_result
            The next partial solution; after the last superstep, the result.
        termination_criterion
            A set of the step: the iteration ends when it is empty.
        """
        location = user_location()
        result = node_of(iteration_result, self, "close_with")
        termination = (
            None
            if termination_criterion is None
            else node_of(termination_criterion, self, "close_with")
        )
        own_steps_only((result, *([termination] if termination else [])), {self._node})
        if not depends_on_placeholder(result, {}):
            raise PlanError(
                "DATASET_ITERATION",
                "the result of the iteration does not depend on its partial solution",
                location=location,
                hint="compute it from what iterate() has returned",
            )
        assert isinstance(self._node, Placeholder)
        return DataSet(
            self._env,
            BulkLoop(
                inputs=(self._source,), type=self._source.type, location=location, name="Iteration",
                start=self._node, result=result, termination=termination, most=self._most,
                aggregators=self._registered.aggregators, convergence=self._registered.convergence,
            ),
        )  # fmt: skip


class DeltaIteration:
    """A delta iteration: the solution set keeps the results, the workset is what is left to do.

    Examples
    --------
    The smallest number that is connected with each number:

    >>> from millstream.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> edges = env.from_elements((1, 2), (2, 1), (2, 3), (3, 2), (7, 8), (8, 7))
    >>> start = edges.map(lambda edge: (edge[0], edge[0])).distinct()
    >>> loop = start.iterate_delta(start, 10, 0)
    >>> near = loop.get_workset().join(edges).where(0).equal_to(0)
    >>> near = near.using(lambda known, edge: (edge[1], known[1])).group_by(0).min(1)
    >>> better = near.join(loop.get_solution_set()).where(0).equal_to(0)
    >>> better = better.using(lambda new, old: [new] if new[1] < old[1] else [], flat=True)
    >>> sorted(loop.close_with(better, better).collect())
    [(1, 1), (2, 1), (3, 1), (7, 7), (8, 7)]
    """

    def __init__(
        self, env: ExecutionEnvironment, solution: Node, workset: Node, most: int, keys: Keys
    ) -> None:
        location = user_location()
        self._env, self._sources, self._most, self._keys = env, (solution, workset), most, keys
        self._solution = Placeholder(type=solution.type, location=location, name="the solution set")
        self._workset = Placeholder(type=workset.type, location=location, name="the workset")
        self._registered = _Registered()

    def get_solution_set(self) -> DataSet:
        """The solution set as it is in this superstep: join or co-group it by its keys."""
        return DataSet(self._env, self._solution)

    def get_workset(self) -> DataSet:
        """The workset of this superstep."""
        return DataSet(self._env, self._workset)

    def get_initial_solution_set(self) -> DataSet:
        """The solution set before the first superstep."""
        return DataSet(self._env, self._sources[0])

    def get_initial_workset(self) -> DataSet:
        """The workset before the first superstep."""
        return DataSet(self._env, self._sources[1])

    def get_max_iterations(self) -> int:
        """After how many supersteps the iteration ends at the latest."""
        return self._most

    def register_aggregator(self, name: str, aggregator: Any) -> DeltaIteration:
        """Add an aggregator, which functions of the step find by its name."""
        self._registered.add(name, aggregator)
        return self

    def register_aggregation_convergence_criterion(
        self, name: str, aggregator: Any, convergence_check: Any
    ) -> DeltaIteration:
        """Add an aggregator whose value decides after each superstep whether the iteration ends."""
        self._registered.add_criterion(name, aggregator, convergence_check)
        return self

    def close_with(self, delta: DataSet, new_workset: DataSet) -> DataSet:
        """End the step; the iteration ends when the workset is empty.

        Parameters
        ----------
        delta
            New elements for the solution set: each takes the place of that with the same key.
        new_workset
            The next workset.
        """
        mine = Operations(self._env, self._solution)
        changes = node_of(delta, mine, "close_with")
        workset = node_of(new_workset, mine, "close_with")
        own_steps_only((changes, workset), {self._solution, self._workset})
        return DataSet(
            self._env,
            DeltaLoop(
                inputs=self._sources, type=self._sources[0].type, location=user_location(),
                name="DeltaIteration", solution=self._solution, workset=self._workset,
                delta=changes, next_workset=workset, keys=self._keys, most=self._most,
                aggregators=self._registered.aggregators, convergence=self._registered.convergence,
            ),
        )  # fmt: skip


def own_steps_only(results: tuple[Node, ...], own: set[Node]) -> None:
    """Fail if a step uses the sets of another iteration that is still open."""
    seen: set[Node] = set()
    waiting = list(results)
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Placeholder) and node not in own:
            raise PlanError(
                "DATASET_NESTED",
                f"the step uses {node.title} of another iteration",
                location=user_location(),
                hint="iterations cannot be nested; close the other one first",
            )
        waiting.extend(upstream(node))


def begin_delta(
    first: Any, workset: Any, max_iterations: Any, keys: Keys, named: bool
) -> DeltaIteration:
    """Begin a delta iteration."""
    most = checked_size(max_iterations, "iterate_delta()", 1)
    other = node_of(workset, first, "iterate_delta")
    if not keys.fields and keys.selector is None and not named:
        raise PlanError(
            "DATASET_KEY",
            "iterate_delta() needs the key of the solution set",
            location=user_location(),
            hint='write iterate_delta(workset, 10, 0), or "*" for whole elements',
        )
    return DeltaIteration(first._env, first._node, other, most, keys)
