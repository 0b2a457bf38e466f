"""Methods on all elements, or on groups of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.typeinfo import TypeInformation
from millstream.dataset.functions import Aggregation
from millstream.dataset.operations.base import Operations, checked_size
from millstream.dataset.plan.calls import return_type, user_function
from millstream.dataset.plan.keys import Keys, SortKey
from millstream.dataset.plan.nodes import (
    Aggregate,
    Distinct,
    Extreme,
    First,
    GroupCombine,
    GroupReduce,
    Reduce,
)
from millstream.dataset.plan.records import has_fields, is_pickled

if TYPE_CHECKING:
    from millstream.dataset.data_set import AggregateOperator, DataSet, OperatorSet
    from millstream.dataset.grouping import UnsortedGrouping

__all__ = ["GroupOperations", "SetOperations"]

_NUMBERS = frozenset({"BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "BIG_INT", "BIG_DEC"})


class GroupOperations(Operations):
    """Methods that sets and their groupings have.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> env.from_elements(("a", 1), ("b", 2), ("a", 3)).group_by(0).sum(1).collect()
    [('a', 4), ('b', 2)]
    >>> env.from_elements(1, 2, 3).reduce(lambda x, y: x + y).collect()
    [6]
    """

    _group_keys: Keys | None = None
    _sort: tuple[SortKey, ...] = ()

    def reduce(self, operator: Any) -> OperatorSet:
        """Make one element of each group, by a function of two elements.

        Of no elements comes no result. Each task reduces what it has before data is moved, so the
        function must be associative and commutative.

        Parameters
        ----------
        operator
            A function of two elements, or a `ReduceFunction`.
        """
        location = user_location()
        function = user_function(operator, "reduce", 2, location)
        return self._operator(
            Reduce(
                inputs=(self._node,), type=self._node.type, location=location, name="Reduce",
                keys=self._group_keys, function=function,
            )
        )  # fmt: skip

    def reduce_group(
        self,
        operator: Any,
        combinable: bool = False,
        output_type: TypeInformation | None = None,
    ) -> OperatorSet:
        """Turn each group into any number of elements.

        A group is read as an iterator, and need not fit in memory.

        Parameters
        ----------
        operator
            A function of an iterator, and if it takes two arguments of a collector; or a
            `GroupReduceFunction`.
        combinable
            Whether the function's ``combine`` is called on what each task has, before data is moved.
        output_type
            The type of one result.
        """
        location = user_location()
        function = user_function(operator, "reduce", 1, location)
        combine = None
        if combinable:
            if not hasattr(operator, "combine"):
                raise PlanError(
                    "DATASET_COMBINE",
                    "a combinable reduce_group() needs a function with a method combine",
                    location=location,
                    hint="derive from GroupReduceFunction and GroupCombineFunction",
                )
            combine = user_function(operator, "combine", 1, location)
        return self._operator(
            GroupReduce(
                inputs=(self._node,), type=return_type(function, output_type, elements=True),
                location=location, name="ReduceGroup", keys=self._group_keys, sort=self._sort,
                function=function, combine=combine,
            )
        )  # fmt: skip

    def combine_group(
        self, operator: Any, output_type: TypeInformation | None = None
    ) -> OperatorSet:
        """Turn what each task has of a group into any number of elements; no data is moved.

        Parameters
        ----------
        operator
            A function of an iterator, or a `GroupCombineFunction`.
        output_type
            The type of one result.
        """
        location = user_location()
        function = user_function(operator, "combine", 1, location)
        return self._operator(
            GroupCombine(
                inputs=(self._node,), type=return_type(function, output_type, elements=True),
                location=location, name="CombineGroup", keys=self._group_keys, sort=self._sort,
                function=function,
            )
        )  # fmt: skip

    def aggregate(self, aggregation: Aggregation, field: int | str) -> AggregateOperator:
        """Aggregate a field; more fields by ``and_agg``.

        The result is an element with the aggregates in their fields. Fields that are neither keys nor
        aggregated are those of any element of the group. None does not count.

        Parameters
        ----------
        aggregation
            ``Aggregation.SUM``, ``MIN`` or ``MAX``.
        field
            The field by position or name.
        """
        from millstream.dataset.data_set import AggregateOperator

        node = Aggregate(
            inputs=(self._node,), type=self._node.type, location=user_location(),
            keys=self._group_keys, aggregates=[], name="Aggregate",
        )  # fmt: skip
        return AggregateOperator(self._env, node).and_agg(aggregation, field)

    def sum(self, field: int | str) -> AggregateOperator:
        """The sum of a field, as ``aggregate(Aggregation.SUM, field)``."""
        return self.aggregate(Aggregation.SUM, field)

    def min(self, field: int | str) -> AggregateOperator:
        """The smallest value of a field, as ``aggregate(Aggregation.MIN, field)``."""
        return self.aggregate(Aggregation.MIN, field)

    def max(self, field: int | str) -> AggregateOperator:
        """The largest value of a field, as ``aggregate(Aggregation.MAX, field)``."""
        return self.aggregate(Aggregation.MAX, field)

    def min_by(self, *fields: int | str) -> DataSet:
        """The whole element whose fields are the smallest, compared in this order."""
        return self._extreme(fields, "min_by", largest=False)

    def max_by(self, *fields: int | str) -> DataSet:
        """The whole element whose fields are the largest, compared in this order."""
        return self._extreme(fields, "max_by", largest=True)

    def _extreme(self, fields: Any, what: str, *, largest: bool) -> DataSet:
        return self._set(
            Extreme(
                inputs=(self._node,), type=self._node.type, location=user_location(), name=what,
                keys=self._group_keys, fields=self._keys(fields, what), largest=largest,
            )
        )  # fmt: skip

    def first(self, count: int) -> DataSet:
        """The first elements of each group; of a group that is not sorted, any.

        Parameters
        ----------
        count
            How many; fewer if a group has not as many.
        """
        size = checked_size(count, "first()", 1)
        return self._set(
            First(
                inputs=(self._node,), type=self._node.type, location=user_location(),
                keys=self._group_keys, sort=self._sort, size=size,
            )
        )  # fmt: skip


class SetOperations(GroupOperations):
    """Methods that only whole sets have.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> env.from_elements(3, 1, 3).distinct().collect()
    [3, 1]
    """

    def group_by(self, *keys: Any) -> UnsortedGrouping:
        """Group elements by their keys.

        Parameters
        ----------
        *keys
            Fields by position or name, or one key selector.
        """
        from millstream.dataset.grouping import UnsortedGrouping

        return UnsortedGrouping(self._env, self._node, self._keys(keys, "group_by"))

    def distinct(self, *fields: Any) -> DataSet:
        """One element of those with equal keys.

        Parameters
        ----------
        *fields
            Fields, or one key selector; without them, whole elements are compared.
        """
        return self._set(
            Distinct(
                inputs=(self._node,), type=self._node.type, location=user_location(),
                keys=self._keys(fields, "distinct"),
            )
        )  # fmt: skip


def checked_aggregate(
    node: Aggregate, aggregation: Any, field: Any, keys: Keys
) -> tuple[Aggregation, Keys]:
    """An aggregate of a field that can have it."""
    location = user_location()
    if not isinstance(aggregation, Aggregation):
        raise PlanError(
            "DATASET_AGGREGATE",
            f"aggregate() needs Aggregation.SUM, MIN or MAX, got {short_repr(aggregation)}",
            location=location,
        )
    kind = keys.types[0]
    if not is_pickled(node.type) and not has_fields(node.type):
        raise PlanError(
            "DATASET_AGGREGATE",
            f"records of type {node.type} have no fields to aggregate",
            location=location,
            hint="use reduce(), or make tuples of them",
        )
    if aggregation is Aggregation.SUM and not is_pickled(kind) and kind.kind not in _NUMBERS:
        raise PlanError(
            "DATASET_AGGREGATE",
            f"field {field!r} of type {kind} has no sum",
            location=location,
            hint="sum numbers, or use reduce()",
        )
    return aggregation, keys
