"""The methods of streams that stand in modules of their own."""

from __future__ import annotations

from millstream.datastream.exchanges import ExchangeMethods
from millstream.datastream.joining.static import TableJoinMethods
from millstream.datastream.joining.streams import JoinMethods
from millstream.datastream.porting_methods import PortingMethods
from millstream.datastream.windowing.partitions import PartitionMethods

__all__ = ["StreamOperations"]


class StreamOperations(
    ExchangeMethods, JoinMethods, PartitionMethods, PortingMethods, TableJoinMethods
):
    """What a `DataStream` has beside what its own module says."""
