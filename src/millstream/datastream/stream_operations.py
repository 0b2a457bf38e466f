"""The methods of streams that stand in modules of their own."""

from __future__ import annotations

from millstream.common.type_variables import T
from millstream.datastream.changelogs import ChangelogMethods
from millstream.datastream.exchanges import ExchangeMethods
from millstream.datastream.joining.static import TableJoinMethods
from millstream.datastream.joining.streams import JoinMethods
from millstream.datastream.porting_methods import PortingMethods
from millstream.datastream.sink_methods import SinkMethods
from millstream.datastream.windowing.partitions import PartitionMethods

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
