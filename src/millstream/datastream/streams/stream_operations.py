"""The methods of streams that stand in modules of their own."""

from __future__ import annotations

from millstream.common.type_variables import T
from millstream.datastream.joining.static import TableJoinMethods
from millstream.datastream.joining.streams import JoinMethods
from millstream.datastream.streams.changelogs import ChangelogMethods
from millstream.datastream.streams.exchanges import ExchangeMethods
from millstream.datastream.streams.partitions import PartitionMethods
from millstream.datastream.streams.porting_methods import PortingMethods
from millstream.datastream.streams.sink_methods import SinkMethods

__all__ = ["StreamOperations"]


class StreamOperations(
    ChangelogMethods[T],
    ExchangeMethods[T],
    JoinMethods[T],
    PartitionMethods[T],
    PortingMethods[T],
    SinkMethods[T],
    TableJoinMethods[T],
):
    """The methods of a `DataStream` from other modules."""
