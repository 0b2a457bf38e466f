"""Classes with type parameters: those that have them in PyFlink, and all other ones of the API."""

from __future__ import annotations

from collections.abc import Iterable
from types import new_class
from typing import Any

import cloudpickle
import pytest

from millstream.common import Types
from millstream.common.config_options import ConfigOption
from millstream.common.typeinfo import TypeInformation
from millstream.datastream import (
    AggregateFunction,
    AllWindowedStream,
    BroadcastConnectedStream,
    BroadcastProcessFunction,
    BroadcastStream,
    CoFlatMapFunction,
    CoGroupFunction,
    CoMapFunction,
    ConnectedStreams,
    CoProcessFunction,
    CrossFunction,
    DataStream,
    FilterFunction,
    FlatJoinFunction,
    FlatMapFunction,
    JoinFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStream,
    KeySelector,
    MapFunction,
    MapPartitionFunction,
    OutputTag,
    Partitioner,
    PartitionWindowedStream,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    ReduceFunction,
    SinkFunction,
    TimestampedValue,
    WindowedStream,
    WindowFunction,
)
from millstream.datastream.async_retry_strategies import (
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    NoRetryStrategy,
    RetryPredicate,
)
from millstream.datastream.functions import (
    AllWindowFunction,
    AsyncFunction,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
)
from millstream.datastream.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    AppendingState,
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    MergingState,
    ReadOnlyBroadcastState,
    ReducingState,
    ReducingStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from millstream.datastream.window import (
    CountTumblingWindowAssigner,
    CountWindow,
    Evictor,
    MergingWindowAssigner,
    TimeWindow,
    Trigger,
    WindowAssigner,
)
from millstream.testing import run_local

PARAMETERS = (str, int, bytes, TimeWindow)
AS_IN_PYFLINK: list[tuple[type[Any], int]] = [
    (AsyncFunction, 2),
    (AsyncRetryPredicate, 1),
    (AsyncRetryStrategy, 1),
    (RetryPredicate, 1),
    (NoRetryStrategy, 1),
    (FixedDelayRetryStrategy, 1),
    (ExponentialBackoffDelayRetryStrategy, 1),
    (WindowFunction, 4),
    (AllWindowFunction, 3),
    (ProcessWindowFunction, 4),
    (ProcessWindowFunction.Context, 1),
    (ProcessAllWindowFunction, 3),
    (ProcessAllWindowFunction.Context, 1),
    (BroadcastProcessFunction, 3),
    (KeyedBroadcastProcessFunction, 4),
    (ValueState, 1),
    (AppendingState, 2),
    (MergingState, 2),
    (ReducingState, 1),
    (AggregatingState, 2),
    (ListState, 1),
    (MapState, 2),
    (ReadOnlyBroadcastState, 2),
    (BroadcastState, 2),
    (Trigger, 2),
    (WindowAssigner, 2),
    (MergingWindowAssigner, 2),
    (MergingWindowAssigner.MergeCallback, 1),
    (ConfigOption, 1),
]
OUR_OWN: list[tuple[type[Any], int]] = [
    (DataStream, 1),
    (KeyedStream, 2),
    (WindowedStream, 3),
    (AllWindowedStream, 2),
    (ConnectedStreams, 2),
    (BroadcastStream, 1),
    (BroadcastConnectedStream, 2),
    (PartitionWindowedStream, 1),
    (MapFunction, 2),
    (FlatMapFunction, 2),
    (FilterFunction, 1),
    (KeySelector, 2),
    (Partitioner, 1),
    (ReduceFunction, 1),
    (AggregateFunction, 3),
    (SinkFunction, 1),
    (ProcessFunction, 2),
    (KeyedProcessFunction, 3),
    (KeyedProcessFunction.Context, 1),
    (KeyedProcessFunction.OnTimerContext, 1),
    (CoMapFunction, 3),
    (CoFlatMapFunction, 3),
    (CoProcessFunction, 3),
    (KeyedCoProcessFunction, 4),
    (ProcessJoinFunction, 3),
    (JoinFunction, 3),
    (FlatJoinFunction, 3),
    (CrossFunction, 3),
    (CoGroupFunction, 3),
    (MapPartitionFunction, 2),
    (ValueStateDescriptor, 1),
    (ListStateDescriptor, 1),
    (MapStateDescriptor, 2),
    (ReducingStateDescriptor, 1),
    (AggregatingStateDescriptor, 2),
    (Evictor, 2),
    (OutputTag, 1),
    (TimestampedValue, 1),
    (TypeInformation, 1),
]
NUMBERS = AS_IN_PYFLINK + OUR_OWN


@pytest.mark.parametrize(
    ("generic", "number"), NUMBERS, ids=[generic.__qualname__ for generic, _ in NUMBERS]
)
def test_a_class_takes_its_parameters(generic: Any, number: int) -> None:
    # A ported program derives from it at import.
    derived = new_class("Derived", (generic[PARAMETERS[:number]],))
    assert issubclass(derived, generic)
    with pytest.raises(TypeError, match="Too many"):
        generic[(*PARAMETERS, *PARAMETERS)[: number + 1]]


class CountOf(ProcessWindowFunction[tuple[str, int], tuple[str, int], str, CountWindow]):
    def process(
        self,
        key: str,
        context: ProcessWindowFunction.Context[CountWindow],
        elements: Iterable[tuple[str, int]],
    ) -> Iterable[tuple[str, int]]:
        return [(key, len(list(elements)))]


def test_a_function_with_parameters_runs() -> None:
    result = run_local(
        lambda env: (
            env.from_collection([("a", 1), ("a", 2), ("b", 3)])
            .key_by(lambda pair: pair[0])
            .window(CountTumblingWindowAssigner.of(2))
            .process(CountOf(), Types.TUPLE([Types.STRING(), Types.INT()]))
        )
    )
    assert result.values() == [("a", 2)]


@pytest.mark.parametrize(
    ("plain", "with_parameter"),
    [
        (OutputTag("late"), OutputTag[str]("late")),
        (TimestampedValue("a", 1), TimestampedValue[str]("a", 1)),
    ],
    ids=["tag", "value"],
)
def test_an_object_does_not_know_its_parameter(plain: Any, with_parameter: Any) -> None:
    assert with_parameter == plain
    assert cloudpickle.dumps(with_parameter) == cloudpickle.dumps(plain)


def test_a_function_class_with_parameters_travels() -> None:
    """A class of the main script is pickled as a whole, with the parameters of its bases."""

    class Double(MapFunction[int, int]):
        def map(self, value: int) -> int:
            return value * 2

    again = cloudpickle.loads(cloudpickle.dumps(Double()))
    assert isinstance(again, MapFunction) and again.map(21) == 42
    assert run_local(lambda env: env.from_collection([1, 2]).map(again)).values() == [2, 4]
