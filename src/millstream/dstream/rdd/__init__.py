"""RDDs without a JVM: batches of values in partitions, as functions of DStreams get them."""

from millstream.dstream.rdd.context import SparkContext
from millstream.dstream.rdd.hashing import portable_hash
from millstream.dstream.rdd.iterables import ResultIterable
from millstream.dstream.rdd.rdd import RDD
from millstream.dstream.rdd.shared import Accumulator, AccumulatorParam, Broadcast
from millstream.dstream.rdd.statistics import StatCounter
from millstream.dstream.rdd.storage import StorageLevel

__all__ = [
    "RDD",
    "Accumulator",
    "AccumulatorParam",
    "Broadcast",
    "ResultIterable",
    "SparkContext",
    "StatCounter",
    "StorageLevel",
    "portable_hash",
]
