"""The DataStream API: streams of records, keys, state and time.

The names are those of PyFlink's ``pyflink.datastream``, so that a program ports by its imports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.common.absent import missing_name
from millstream.common.fencing import FencingToken
from millstream.common.output_tag import OutputTag
from millstream.datastream.async_data_stream import AsyncDataStream
from millstream.datastream.building.execution_plan import ExecutionPlan
from millstream.datastream.checkpoint_config import CheckpointConfig
from millstream.datastream.checkpoint_storage import (
    CheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from millstream.datastream.checkpointing_mode import CheckpointingMode
from millstream.datastream.execution_mode import RuntimeExecutionMode
from millstream.datastream.externalized_checkpoint_retention import (
    ExternalizedCheckpointRetention,
)
from millstream.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RuntimeContext,
    SinkFunction,
    SourceFunction,
    WindowFunction,
)
from millstream.datastream.functions.asynchronous import (
    AsyncFunction,
    AsyncRetryPredicate,
    AsyncRetryStrategies,
    AsyncRetryStrategy,
    ResultFuture,
    RetryPredicates,
)
from millstream.datastream.job_client import JobClient, JobListener
from millstream.datastream.joining.functions import (
    CoGroupFunction,
    CrossFunction,
    FlatJoinFunction,
    JoinFunction,
    MapPartitionFunction,
)
from millstream.datastream.joining.streams import CoGroupedStreams, CrossedStreams, JoinedStreams
from millstream.datastream.slot_sharing_group import MemorySize, SlotSharingGroup
from millstream.datastream.state_backend import (
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    PredefinedOptions,
    StateBackend,
)
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.datastream.streams.data_stream import (
    BroadcastConnectedStream,
    BroadcastStream,
    CloseableIterator,
    ConnectedStreams,
    DataStream,
    DataStreamSink,
    KeyedStream,
)
from millstream.datastream.streams.partitions import Order, PartitionWindowedStream
from millstream.datastream.time_characteristic import TimeCharacteristic
from millstream.datastream.time_domain import TimeDomain
from millstream.datastream.timerservice import TimerService
from millstream.datastream.timestamped_value import TimestampedValue
from millstream.datastream.utils import DataStreamUtils
from millstream.datastream.window import (
    CountWindow,
    GlobalWindow,
    MergingWindowAssigner,
    TimeWindow,
    Trigger,
    TriggerResult,
    Window,
    WindowAssigner,
)
from millstream.datastream.windowing.streams import AllWindowedStream, WindowedStream

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AllWindowedStream",
    "AsyncDataStream",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategies",
    "AsyncRetryStrategy",
    "BaseBroadcastProcessFunction",
    "BroadcastConnectedStream",
    "BroadcastProcessFunction",
    "BroadcastStream",
    "CheckpointConfig",
    "CheckpointStorage",
    "CheckpointingMode",
    "CloseableIterator",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoGroupedStreams",
    "CoMapFunction",
    "CoProcessFunction",
    "ConnectedStreams",
    "CountWindow",
    "CrossFunction",
    "CrossedStreams",
    "DataStream",
    "DataStreamSink",
    "DataStreamUtils",
    "EmbeddedRocksDBStateBackend",
    "ExecutionPlan",
    "ExternalizedCheckpointRetention",
    "FencingToken",
    "FileSystemCheckpointStorage",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "GlobalWindow",
    "HashMapStateBackend",
    "JobClient",
    "JobListener",
    "JobManagerCheckpointStorage",
    "JoinFunction",
    "JoinedStreams",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStream",
    "MapFunction",
    "MapPartitionFunction",
    "MemorySize",
    "MergingWindowAssigner",
    "Order",
    "OutputTag",
    "PartitionWindowedStream",
    "Partitioner",
    "PredefinedOptions",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "ResultFuture",
    "RetryPredicates",
    "RuntimeContext",
    "RuntimeExecutionMode",
    "SinkFunction",
    "SlotSharingGroup",
    "SourceFunction",
    "StateBackend",
    "StreamExecutionEnvironment",
    "TimeCharacteristic",
    "TimeDomain",
    "TimeWindow",
    "TimerService",
    "TimestampedValue",
    "Trigger",
    "TriggerResult",
    "Window",
    "WindowAssigner",
    "WindowFunction",
    "WindowedStream",
]

if not TYPE_CHECKING:
    __getattr__ = missing_name(__name__)
