"""Flink's hints where records are to be processed. Results do not depend on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic

from millstream.common.type_variables import T
from millstream.datastream.building.operator_settings import StreamSettings
from millstream.datastream.functions.base import Partitioner
from millstream.datastream.functions.checks import KEY, PARTITION, check_function
from millstream.plan.graph import ExchangeNode

if TYPE_CHECKING:
    from millstream.common.type_variables import K2
    from millstream.datastream.functions.types import KeyLike
    from millstream.datastream.streams.data_stream import DataStream

__all__ = ["ExchangeMethods"]

_SPREAD = "records are spread over tasks by their source and by key_by; results do not depend on it"


class ExchangeMethods(StreamSettings, Generic[T]):
    """The exchanges of a `DataStream`."""

    def rebalance(self) -> DataStream[T]:
        """Accept Flink's hint to spread records evenly."""
        return self._exchange("rebalance", _SPREAD)

    def shuffle(self) -> DataStream[T]:
        """Accept Flink's hint to spread records at random."""
        return self._exchange("shuffle", _SPREAD)

    def rescale(self) -> DataStream[T]:
        """Accept Flink's hint to spread records over nearby tasks."""
        return self._exchange("rescale", _SPREAD)

    def forward(self) -> DataStream[T]:
        """Accept Flink's hint to keep records in their task."""
        return self._exchange("forward", _SPREAD)

    def global_(self) -> DataStream[T]:
        """Accept Flink's hint to send all records to the first task."""
        return self._exchange("global", _SPREAD)

    def partition_custom(
        self,
        partitioner: Callable[[K2, int], int] | Partitioner[K2],
        key_selector: KeyLike[T, K2],
    ) -> DataStream[T]:
        """Accept Flink's way to send records to tasks by a function of their key."""
        check_function(partitioner, PARTITION)
        check_function(key_selector, KEY)
        return self._exchange("partition_custom", _SPREAD)

    def _exchange(self, kind: str, reason: str) -> DataStream[T]:
        return self._env._stream(
            ExchangeNode,
            name=kind.replace("_", " ").title(),
            inputs=(self._id,),
            kind=kind,
            reason=reason,
            output_type=self._node.output_type,
        )
