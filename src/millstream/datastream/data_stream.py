"""PyFlink's place of the classes of streams."""

from millstream.datastream.streams.cached_stream import CachedDataStream
from millstream.datastream.streams.collect import CloseableIterator
from millstream.datastream.streams.connected_streams import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
)
from millstream.datastream.streams.data_stream import DataStream
from millstream.datastream.streams.keyed_stream import KeyedStream
from millstream.datastream.streams.sink_methods import DataStreamSink
from millstream.datastream.windowing.streams import AllWindowedStream, WindowedStream

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CachedDataStream",
    "CloseableIterator",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "KeyedStream",
    "WindowedStream",
]
