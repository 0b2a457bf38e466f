"""Methods on single elements, and those that move elements between partitions."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.typeinfo import TupleTypeInfo, TypeInformation, Types
from millstream.dataset.functions import MapPartitionFunction, Order, RichFunction
from millstream.dataset.operations.base import Operations, checked_size, node_of
from millstream.dataset.plan.calls import return_type, user_function
from millstream.dataset.plan.conditions import condition_of
from millstream.dataset.plan.keys import Keys
from millstream.dataset.plan.nodes import (
    Each,
    Numbered,
    Partition,
    Project,
    Rebalance,
    SampleSize,
    SortPartition,
    Union,
    Where,
)
from millstream.dataset.plan.records import PICKLED, is_pickled

if TYPE_CHECKING:
    from millstream.dataset.data_set import DataSet, OperatorSet, SortPartitionOperator

__all__ = ["ElementOperations"]


class ElementOperations(Operations):
    """Methods on single elements, and those that move elements between partitions.

    Examples
    --------
    >>> from millstream.dataset import ExecutionEnvironment
    >>> env = ExecutionEnvironment.get_execution_environment()
    >>> env.from_elements(1, 2, 3).filter(lambda n: n != 2).map(lambda n: n * 10).collect()
    [10, 30]
    """

    def map(self, operator: Any, output_type: TypeInformation | None = None) -> OperatorSet:
        """Turn each element into one element.

        Parameters
        ----------
        operator
            A function of an element, or a `MapFunction`.
        output_type
            The type of the results; without it, that of the function's annotations. Results of a known
            type are stored in columns.
        """
        return self._each("map", operator, output_type)

    def flat_map(self, operator: Any, output_type: TypeInformation | None = None) -> OperatorSet:
        """Turn each element into any number of elements.

        Parameters
        ----------
        operator
            A function that returns or yields elements, or takes a collector as its second argument; or
            a `FlatMapFunction`.
        output_type
            The type of one result.
        """
        return self._each("flat_map", operator, output_type)

    def map_partition(
        self, operator: Any, output_type: TypeInformation | None = None
    ) -> OperatorSet:
        """Turn the elements of each partition into any number of elements.

        Parameters
        ----------
        operator
            A function of an iterator, or a `MapPartitionFunction`. Which elements are in a partition
            depends on the number of tasks. There is no call for a partition without elements.
        output_type
            The type of one result.
        """
        return self._each("map_partition", operator, output_type)

    def filter(self, operator: Any) -> OperatorSet:
        """Keep the elements for which a function returns true.

        Parameters
        ----------
        operator
            A function of an element, or a `FilterFunction`; or an expression of fields such as
            ``col("f1") > 3``, of `millstream.table.expressions`: that runs in Spark's engine.
        """
        if hasattr(operator, "_shown"):
            location = user_location()
            return self._operator(
                Where(
                    inputs=(self._node,), type=self._node.type, location=location, name="Filter",
                    condition=condition_of(operator, self._node.type, location),
                )
            )  # fmt: skip
        return self._each("filter", operator, self._node.type)

    def _each(self, kind: str, operator: Any, output_type: TypeInformation | None) -> OperatorSet:
        location = user_location()
        function = user_function(operator, kind, 1, location)
        many = kind in ("flat_map", "map_partition")
        found = return_type(function, output_type, elements=many)
        return self._operator(
            Each(
                inputs=(self._node,), type=found, location=location, kind=kind, function=function,
                name=kind.title().replace("_", ""),
            )
        )  # fmt: skip

    def project(self, *fields: int | str) -> DataSet:
        """Keep some fields of each element, as a tuple in this order.

        Parameters
        ----------
        *fields
            The fields by position or name.
        """
        location = user_location()
        keys = self._keys(fields, "project")
        if keys.selector is not None or not keys.fields:
            raise PlanError(
                "DATASET_KEY",
                "project() needs fields by position or name",
                location=location,
                hint="use map() for anything else",
            )
        found = TupleTypeInfo(keys.types)
        return self._set(Project(inputs=(self._node,), type=found, location=location, fields=keys))

    def union(self, other_set: DataSet) -> DataSet:
        """All elements of both sets.

        Parameters
        ----------
        other_set
            A set of elements of the same type.
        """
        location = user_location()
        other = node_of(other_set, self, "union")
        mine = self._node.type
        if not is_pickled(mine) and not is_pickled(other.type) and mine != other.type:
            raise PlanError(
                "DATASET_UNION",
                f"the sets of a union have different types: {mine} and {other.type}",
                location=location,
                hint="map one of them to the type of the other",
            )
        found = PICKLED if is_pickled(other.type) else mine
        return self._set(Union(inputs=(self._node, other), type=found, location=location))

    def rebalance(self) -> DataSet:
        """Spread the elements evenly over all partitions."""
        return self._set(
            Rebalance(inputs=(self._node,), type=self._node.type, location=user_location())
        )

    def partition_by_hash(self, *fields: Any) -> DataSet:
        """Bring elements with equal keys into one partition.

        Parameters
        ----------
        *fields
            Fields, or one key selector.
        """
        return self._partition("hash", self._keys(fields, "partition_by_hash"))

    def partition_by_range(self, *fields: Any) -> DataSet:
        """Bring neighbouring keys into one partition; the first partition has the smallest.

        Parameters
        ----------
        *fields
            Fields, or one key selector.
        """
        return self._partition("range", self._keys(fields, "partition_by_range"))

    def partition_custom(self, partitioner: Any, field: Any) -> DataSet:
        """Let a function choose the partition of each key.

        Parameters
        ----------
        partitioner
            A function of the key and the number of partitions, or a `Partitioner`.
        field
            A field, or a key selector.
        """
        function = user_function(partitioner, "partition", 2, user_location())
        return self._partition("custom", self._keys((field,), "partition_custom"), function.call())

    def _partition(self, kind: str, keys: Keys, function: Any = None) -> DataSet:
        return self._set(
            Partition(
                inputs=(self._node,), type=self._node.type, location=user_location(), kind=kind,
                keys=keys, function=function,
            )
        )  # fmt: skip

    def sort_partition(self, field: Any, order: Order = Order.ASCENDING) -> SortPartitionOperator:
        """Sort the elements within each partition; more fields by further calls.

        Parameters
        ----------
        field
            A field, "*" for the whole element, or a key selector.
        order
            The direction.
        """
        from millstream.dataset.data_set import SortPartitionOperator

        key = self._sort_key(field, order, "sort_partition")
        return SortPartitionOperator(
            self._env,
            SortPartition(
                inputs=(self._node,), type=self._node.type, location=user_location(), sort=(key,)
            ),
        )

    def count_elements_per_partition(self) -> DataSet:
        """Pairs of the number of a partition and the number of its elements, if it has any."""
        kind = Types.TUPLE([Types.LONG(), Types.LONG()])
        return self.map_partition(_Count(), kind).name("Count")

    def zip_with_index(self) -> DataSet:
        """Pairs of a number and the element: consecutive numbers from 0, in order of partitions."""
        return self._numbered(True)

    def zip_with_unique_id(self) -> DataSet:
        """Pairs of a number and the element: different numbers, with gaps; without a pass to count."""
        return self._numbered(False)

    def _numbered(self, consecutive: bool) -> DataSet:
        mine = self._node.type
        found = TupleTypeInfo([Types.LONG(), mine])
        return self._set(
            Numbered(
                inputs=(self._node,), type=found, location=user_location(), consecutive=consecutive
            )
        )

    def sample(
        self, with_replacement: bool = False, fraction: float = 0.1, seed: int | None = None
    ) -> DataSet:
        """A sample to which each element belongs with the same probability.

        Parameters
        ----------
        with_replacement
            Whether an element may come several times; then the fraction is how often on average.
        fraction
            The probability, from 0 to 1 without replacement.
        seed
            Makes the sample the same in every run with equal partitions.
        """
        most = float("inf") if with_replacement else 1.0
        if not isinstance(fraction, int | float) or not 0 <= fraction <= most:
            raise PlanError(
                "DATASET_FRACTION",
                f"sample() needs a fraction of at least 0{'' if with_replacement else ' and at most 1'}"
                f", got {short_repr(fraction)}",
                location=user_location(),
            )
        sampler = _Sample(with_replacement, fraction, _seed(seed))
        found = self.map_partition(sampler, self._node.type)
        return found.name("Sample")

    def sample_with_size(
        self, with_replacement: bool, num_samples: int, seed: int | None = None
    ) -> DataSet:
        """A sample of a fixed size; all elements if there are fewer and none may come twice.

        Parameters
        ----------
        with_replacement
            Whether an element may come several times.
        num_samples
            How many elements.
        seed
            Makes the sample the same in every run with equal partitions.
        """
        size = checked_size(num_samples, "sample_with_size()")
        return self._set(
            SampleSize(
                inputs=(self._node,), type=self._node.type, location=user_location(), size=size,
                seed=_seed(seed), replacement=with_replacement,
            )
        )  # fmt: skip


def _seed(seed: int | None) -> int:
    if seed is None:
        return random.SystemRandom().randrange(1 << 62)
    return checked_size(seed, "a seed", -(1 << 63))


class _Count(RichFunction, MapPartitionFunction):
    def map_partition(self, iterator: Any, collector: Any) -> None:
        count = sum(1 for _ in iterator)
        collector.collect((self.context.get_index_of_this_subtask(), count))


class _Sample(RichFunction, MapPartitionFunction):
    def __init__(self, replacement: bool, fraction: float, seed: int) -> None:
        self._replacement, self._fraction, self._seed = replacement, fraction, seed

    def map_partition(self, iterator: Any, collector: Any) -> Any:
        chance = random.Random(self._seed * 1_000_003 + self.context.get_index_of_this_subtask())
        for value in iterator:
            times = self._times(chance) if self._replacement else chance.random() < self._fraction
            for _ in range(times):
                yield value

    def _times(self, chance: random.Random) -> int:
        """A number of the Poisson distribution, by the times between events."""
        count, passed = 0, chance.expovariate(1.0)
        while passed < self._fraction:
            count, passed = count + 1, passed + chance.expovariate(1.0)
        return count
