"""Spark Streaming's DStreams: a stream of batches, each an RDD, with PySpark's names.

========================== =======================================================
`StreamingContext`         makes streams of inputs, and runs the program
`DStream`                  a stream of batches
`StateSpec`, `State`       settings and state of `DStream.mapWithState`
`SparkContext`, `RDD`      RDDs, which functions of `foreachRDD` and `transform` get
`StreamingListener`        hears about batches
`ManualClock`              moves time in tests
========================== =======================================================
"""

from millstream.dstream.clock import ManualClock
from millstream.dstream.context import StreamingContext
from millstream.dstream.listener import StreamingListener
from millstream.dstream.rdd import RDD, SparkContext, StorageLevel
from millstream.dstream.receivers import Receiver
from millstream.dstream.state import State, StateSpec
from millstream.dstream.streams import DStream

__all__ = [
    "RDD",
    "DStream",
    "ManualClock",
    "Receiver",
    "SparkContext",
    "State",
    "StateSpec",
    "StorageLevel",
    "StreamingContext",
    "StreamingListener",
]
