"""The last step of joins and co-groups: the function for what meets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, overload

from millstream.common.type_variables import A1, A2, IN1, IN2, OUT, K
from millstream.datastream.joining.functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
)

if TYPE_CHECKING:
    from millstream.common.type_aliases import TypeLike
    from millstream.common.type_variables import V1, V2, V
    from millstream.datastream.streams.data_stream import DataStream

    FlatPairLike: TypeAlias = Callable[[IN1, IN2], Iterator[OUT]] | FlatJoinFunction[IN1, IN2, OUT]
    PairLike: TypeAlias = Callable[[IN1, IN2], OUT] | JoinFunction[IN1, IN2, OUT]
    GroupLike: TypeAlias = (
        Callable[[list[IN1], list[IN2]], Iterable[OUT] | None] | CoGroupFunction[IN1, IN2, OUT]
    )

__all__ = ["OfGroups", "OfPairs", "WithFunction"]

OfPairs = Literal["pairs"]
"""A join: the function gets two records. Only type checkers look at this."""

OfGroups = Literal["groups"]
"""A co-group: the function gets two lists of records."""


class WithFunction(ABC, Generic[A1, A2, K]):
    """A join or co-group that lacks only its function.

    The parameters are for type checkers: what the function gets of each stream, and whether these are
    records or lists of records.
    """

    @overload
    def apply(self, function: None = None) -> DataStream[tuple[A1, A2]]: ...

    @overload
    def apply(
        self: WithFunction[list[V1], list[V2], OfGroups], function: GroupLike[V1, V2, V]
    ) -> DataStream[V]: ...

    @overload
    def apply(
        self: WithFunction[A1, A2, OfPairs], function: FlatPairLike[A1, A2, V]
    ) -> DataStream[V]: ...

    @overload
    def apply(
        self: WithFunction[A1, A2, OfPairs], function: PairLike[A1, A2, V]
    ) -> DataStream[V]: ...

    @overload
    def apply(
        self,
        function: Callable[[A1, A2], object]
        | JoinFunction[A1, A2, object]
        | FlatJoinFunction[A1, A2, object]
        | CoGroupFunction[Any, Any, object]
        | None = None,
        *,
        output_type: TypeLike[V],
    ) -> DataStream[V]: ...

    @overload
    def apply(
        self,
        function: Callable[[A1, A2], object]
        | JoinFunction[A1, A2, object]
        | FlatJoinFunction[A1, A2, object]
        | CoGroupFunction[Any, Any, object]
        | None,
        output_type: TypeLike[V] | None,
    ) -> DataStream[V]: ...

    def apply(self, function: Any = None, output_type: Any = None) -> DataStream[Any]:
        """Call a function for what meets.

        Parameters
        ----------
        function
            Of a join: a `JoinFunction`, a `FlatJoinFunction` or a plain function of two records;
            one that yields gives any number of results. Without one the results are the pairs. Of
            a co-group: a `CoGroupFunction` or a plain function of two lists.
        output_type
            The type of the results, see `DataStream.map`.

        Returns
        -------
        DataStream
            The results. Within windows, their event time is the last one of the window. Without
            windows they come when both streams have ended; both must be bounded.
        """
        return self._operator(function, output_type)

    @abstractmethod
    def _operator(self, function: Any, output_type: Any) -> DataStream[Any]:
        """Add the operator."""
