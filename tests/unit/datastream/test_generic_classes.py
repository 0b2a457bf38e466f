"""Classes that take type parameters in PyFlink take them here."""

from __future__ import annotations

from collections.abc import Iterable
from types import new_class
from typing import Any

import pytest

from millstream.common import Types
from millstream.common.config_options import ConfigOption
from millstream.datastream import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
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
    AppendingState,
    BroadcastState,
    ListState,
    MapState,
    MergingState,
    ReadOnlyBroadcastState,
    ReducingState,
    ValueState,
)
from millstream.datastream.window import (
    CountTumblingWindowAssigner,
    CountWindow,
    MergingWindowAssigner,
    TimeWindow,
    Trigger,
    WindowAssigner,
)
from millstream.testing import run_local

PARAMETERS = (str, int, bytes, TimeWindow)
NUMBERS: list[tuple[type[Any], int]] = [
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


@pytest.mark.parametrize(
    ("generic", "number"), NUMBERS, ids=[generic.__qualname__ for generic, _ in NUMBERS]
)
def test_a_class_takes_as_many_parameters_as_in_pyflink(generic: Any, number: int) -> None:
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
