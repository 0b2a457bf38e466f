"""The DataSet API: programs on bounded data, by Flink's names."""

from __future__ import annotations

from millstream.dataset.data_set import (
    AggregateOperator,
    DataSet,
    OperatorSet,
    SortPartitionOperator,
)
from millstream.dataset.environment import ExecutionEnvironment, get_environment
from millstream.dataset.functions import (
    Aggregation,
    CoGroupFunction,
    Collector,
    CrossFunction,
    FilterFunction,
    FlatJoinFunction,
    FlatMapFunction,
    Function,
    GroupCombineFunction,
    GroupReduceFunction,
    IterationRuntimeContext,
    JoinFunction,
    JoinHint,
    KeySelector,
    MapFunction,
    MapPartitionFunction,
    Order,
    Partitioner,
    ReduceFunction,
    RichFunction,
    RuntimeContext,
    WriteMode,
)
from millstream.dataset.grouping import Grouping, SortedGrouping, UnsortedGrouping
from millstream.dataset.joins import CrossOperator, JoinOperator

__all__ = [
    "AggregateOperator",
    "Aggregation",
    "CoGroupFunction",
    "Collector",
    "CrossFunction",
    "CrossOperator",
    "DataSet",
    "ExecutionEnvironment",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "Function",
    "GroupCombineFunction",
    "GroupReduceFunction",
    "Grouping",
    "IterationRuntimeContext",
    "JoinFunction",
    "JoinHint",
    "JoinOperator",
    "KeySelector",
    "MapFunction",
    "MapPartitionFunction",
    "OperatorSet",
    "Order",
    "Partitioner",
    "ReduceFunction",
    "RichFunction",
    "RuntimeContext",
    "SortPartitionOperator",
    "SortedGrouping",
    "UnsortedGrouping",
    "WriteMode",
    "get_environment",
]
