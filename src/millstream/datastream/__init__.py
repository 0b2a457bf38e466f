"""The DataStream API: streams of records, keys, state and time.

The names are those of PyFlink's ``pyflink.datastream``, so that a program ports by its imports.
"""

from __future__ import annotations

from millstream.common.output_tag import OutputTag
from millstream.datastream.checkpoint_config import CheckpointConfig
from millstream.datastream.checkpoint_storage import (
    CheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from millstream.datastream.checkpointing_mode import CheckpointingMode
from millstream.datastream.data_stream import (
    CloseableIterator,
    DataStream,
    DataStreamSink,
    KeyedStream,
)
from millstream.datastream.execution_mode import RuntimeExecutionMode
from millstream.datastream.execution_plan import ExecutionPlan
from millstream.datastream.externalized_checkpoint_retention import (
    ExternalizedCheckpointRetention,
)
from millstream.datastream.functions import (
    AggregateFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
    SinkFunction,
    SourceFunction,
)
from millstream.datastream.job_client import JobClient, JobListener
from millstream.datastream.slot_sharing_group import MemorySize, SlotSharingGroup
from millstream.datastream.state_backend import (
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    PredefinedOptions,
    StateBackend,
)
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.datastream.time_characteristic import TimeCharacteristic
from millstream.datastream.time_domain import TimeDomain
from millstream.datastream.timerservice import TimerService
from millstream.datastream.timestamped_value import TimestampedValue
from millstream.datastream.window import CountWindow, GlobalWindow, TimeWindow, Window

__all__ = [
    "AggregateFunction",
    "CheckpointConfig",
    "CheckpointStorage",
    "CheckpointingMode",
    "CloseableIterator",
    "CountWindow",
    "DataStream",
    "DataStreamSink",
    "EmbeddedRocksDBStateBackend",
    "ExecutionPlan",
    "ExternalizedCheckpointRetention",
    "FileSystemCheckpointStorage",
    "FilterFunction",
    "FlatMapFunction",
    "GlobalWindow",
    "HashMapStateBackend",
    "JobClient",
    "JobListener",
    "JobManagerCheckpointStorage",
    "KeySelector",
    "KeyedProcessFunction",
    "KeyedStream",
    "MapFunction",
    "MemorySize",
    "OutputTag",
    "Partitioner",
    "PredefinedOptions",
    "ProcessFunction",
    "ReduceFunction",
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
    "Window",
]
