"""Data sets: bounded collections of elements, and what can be done with them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.typeinfo import TypeInformation
from millstream.dataset.functions import Aggregation, Order
from millstream.dataset.operations.base import checked_size, node_of
from millstream.dataset.operations.elements import ElementOperations
from millstream.dataset.operations.groups import SetOperations, checked_aggregate
from millstream.dataset.operations.pairs import PairOperations
from millstream.dataset.operations.results import ResultOperations
from millstream.dataset.plan.nodes import SortPartition

if TYPE_CHECKING:
    from millstream.dataset.iterations import DeltaIteration, IterativeDataSet

__all__ = ["AggregateOperator", "DataSet", "OperatorSet", "SortPartitionOperator"]

D = TypeVar("D", bound="DataSet")


class DataSet(ElementOperations, SetOperations, PairOperations, ResultOperations):
    """A bounded collection of elements: any Python values.

    It is computed when a result is asked for, in memory inside of `millstream.testing.in_memory` and
    on Spark otherwise.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> words = env.from_elements("to be", "or not to be").flat_map(str.split)
    >>> words.map(lambda word: (word, 1)).group_by(0).sum(1).collect()
    [('to', 2), ('be', 2), ('or', 1), ('not', 1)]
    """

    def get_type(self) -> TypeInformation:
        """The type of the elements; PICKLED_BYTE_ARRAY if nothing is known of them."""
        return self._node.type

    def get_execution_environment(self) -> Any:
        """The environment that runs the program."""
        return self._env

    def name(self: D, name: str) -> D:
        """Name the operator, for errors and plans."""
        self._node.name = name
        return self

    def set_parallelism(self: D, parallelism: int) -> D:
        """Let the operator run in so many tasks."""
        self._node.parallelism = checked_size(parallelism, "set_parallelism()", 1)
        return self

    def iterate(self, max_iterations: int) -> IterativeDataSet:
        """Begin an iteration: a step that is repeated on all elements.

        Parameters
        ----------
        max_iterations
            After how many supersteps it ends at the latest.
        """
        from millstream.dataset.iterations import IterativeDataSet

        most = checked_size(max_iterations, "iterate()", 1)
        return IterativeDataSet(self._env, self._node, most)

    def iterate_delta(self, workset: DataSet, max_iterations: int, *keys: Any) -> DeltaIteration:
        """Begin a delta iteration whose solution set is this set.

        Parameters
        ----------
        workset
            What there is to do in the first superstep.
        max_iterations
            After how many supersteps it ends at the latest.
        *keys
            The key of the solution set: fields, or one key selector.
        """
        from millstream.dataset.iterations import begin_delta

        return begin_delta(
            self, workset, max_iterations, self._keys(keys, "iterate_delta"), bool(keys)
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._node.title}, {self._node.type})"


class OperatorSet(DataSet):
    """The result of an operator with a function, which may have broadcast sets.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment, MapFunction, RichFunction
    >>> class Add(RichFunction, MapFunction):
    ...     def map(self, value):
    ...         return value + sum(self.context.get_broadcast_variable("more"))
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> more = env.from_elements(10, 20)
    >>> env.from_elements(1, 2).map(Add()).with_broadcast_set("more", more).collect()
    [31, 32]
    """

    def with_broadcast_set(self, name: Any, set: Any) -> OperatorSet:
        """Give all elements of another set to each task, for ``get_broadcast_variable(name)``.

        Parameters
        ----------
        name
            The name; Flink's Java API takes the set first, which works, too.
        set
            The other set. It must fit in the memory of a task.
        """
        if isinstance(set, str):
            name, set = set, name
        if not isinstance(name, str):
            raise PlanError(
                "DATASET_BROADCAST",
                f"a broadcast set needs a name, got {short_repr(name)}",
                location=user_location(),
            )
        self._node.broadcasts[name] = node_of(set, self, "with_broadcast_set")
        return self

    def returns(self, output_type: TypeInformation) -> OperatorSet:
        """Declare the type of the results."""
        if not isinstance(output_type, TypeInformation):
            raise PlanError(
                "NOT_A_TYPE",
                f"returns() needs a type, got {short_repr(output_type)}",
                location=user_location(),
                hint="use a type from Types, such as Types.LONG()",
            )
        self._node.type = output_type
        return self


class AggregateOperator(OperatorSet):
    """An aggregate, to which more can be added.

    Examples
    --------
    >>> from millstream.dataset import Aggregation, ExecutionEnvironment
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> numbers = env.from_elements(("a", 1, 1), ("a", 2, 5))
    >>> numbers.group_by(0).sum(1).and_agg(Aggregation.MAX, 2).collect()
    [('a', 3, 5)]
    """

    _node: Any

    def and_agg(self, aggregation: Aggregation, field: int | str) -> AggregateOperator:
        """Aggregate another field, too.

        Parameters
        ----------
        aggregation
            ``Aggregation.SUM``, ``MIN`` or ``MAX``.
        field
            The field by position or name.
        """
        from millstream.dataset.plan.keys import keys_of

        keys = keys_of([field], self._node.inputs[0].type, user_location(), "aggregate")
        found = checked_aggregate(self._node, aggregation, field, keys)
        self._node.aggregates = [*self._node.aggregates, found]
        return self


class SortPartitionOperator(DataSet):
    """A set whose partitions are sorted, to which more sort keys can be added.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment, Order
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> pairs = env.from_elements(("b", 1), ("a", 1), ("a", 2)).set_parallelism(1)
    >>> pairs.sort_partition(0).sort_partition(1, Order.DESCENDING).collect()
    [('a', 2), ('a', 1), ('b', 1)]
    """

    def sort_partition(self, field: Any, order: Order = Order.ASCENDING) -> SortPartitionOperator:
        """Sort by another field where the fields before are equal."""
        assert isinstance(self._node, SortPartition)
        key = self._sort_key(field, order, "sort_partition")
        return SortPartitionOperator(self._env, replace(self._node, sort=(*self._node.sort, key)))
