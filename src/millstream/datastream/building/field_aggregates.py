"""``sum``, ``min``, ``max``, ``min_by`` and ``max_by`` of a field, of keys and of windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic

from millstream.common.type_variables import T
from millstream.datastream.building.aggregations import (
    FieldMax,
    FieldMaxBy,
    FieldMin,
    FieldMinBy,
    FieldReduce,
    FieldSum,
)

if TYPE_CHECKING:
    from millstream.datastream.streams.data_stream import DataStream

__all__ = ["FieldAggregates"]


class FieldAggregates(ABC, Generic[T]):
    """The aggregates of a field, by its position or name.

    "The first record" is that of the key, or that of the window where records are cut into windows.
    """

    def sum(self, position_to_sum: int | str = 0) -> DataStream[T]:
        """Add up a field, by position or name; the other fields stay those of the first record.

        Examples
        --------
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> env.from_collection([("a", "b")]).key_by(0).sum(1)
        Traceback (most recent call last):
        millstream.common.errors.PlanError: [NOT_A_NUMBER] sum cannot add up field 1 of \
TUPLE(STRING, STRING), a STRING
        ...
        """
        return self._aggregate("Sum", FieldSum, position_to_sum, numbers=True)

    def min(self, position_to_min: int | str = 0) -> DataStream[T]:
        """Keep the smallest value of a field; the other fields stay those of the first record."""
        return self._aggregate("Min", FieldMin, position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream[T]:
        """Keep the largest value of a field; the other fields stay those of the first record."""
        return self._aggregate("Max", FieldMax, position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream[T]:
        """Keep the record with the smallest value of a field, the first of equal ones."""
        return self._aggregate("Min By", FieldMinBy, position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream[T]:
        """Keep the record with the largest value of a field, the first of equal ones."""
        return self._aggregate("Max By", FieldMaxBy, position_to_max_by)

    @abstractmethod
    def _aggregate(
        self, name: str, reducer: type[FieldReduce], field: int | str, numbers: bool = False
    ) -> DataStream[T]:
        """Add the operator."""
