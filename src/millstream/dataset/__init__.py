"""The DataSet API: programs on bounded data, by Flink's names."""

from __future__ import annotations

from millstream.dataset.aggregators import (
    Aggregator,
    ConvergenceCriterion,
    DoubleSumAggregator,
    DoubleZeroConvergence,
    LongMaxAggregator,
    LongMinAggregator,
    LongSumAggregator,
    LongZeroConvergence,
)
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
from millstream.dataset.iterations import DeltaIteration, IterativeDataSet
from millstream.dataset.joins import CrossOperator, JoinOperator
from millstream.dataset.sinks import DataSink
from millstream.dataset.summaries import ColumnSummary

__all__ = [
    "AggregateOperator",
    "Aggregation",
    "Aggregator",
    "CoGroupFunction",
    "Collector",
    "ColumnSummary",
    "ConvergenceCriterion",
    "CrossFunction",
    "CrossOperator",
    "DataSet",
    "DataSink",
    "DeltaIteration",
    "DoubleSumAggregator",
    "DoubleZeroConvergence",
    "ExecutionEnvironment",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "Function",
    "GroupCombineFunction",
    "GroupReduceFunction",
    "Grouping",
    "IterationRuntimeContext",
    "IterativeDataSet",
    "JoinFunction",
    "JoinHint",
    "JoinOperator",
    "KeySelector",
    "LongMaxAggregator",
    "LongMinAggregator",
    "LongSumAggregator",
    "LongZeroConvergence",
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
