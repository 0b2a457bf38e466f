"""The methods of streams that stand in modules of their own."""

from __future__ import annotations

from millstream.datastream.exchanges import ExchangeMethods
from millstream.datastream.joined_streams import JoinMethods
from millstream.datastream.partition_windows import PartitionMethods
from millstream.datastream.static_join import TableJoinMethods

__all__ = ["StreamOperations"]


class StreamOperations(ExchangeMethods, JoinMethods, PartitionMethods, TableJoinMethods):
    """What a `DataStream` has beside what its own module says."""
