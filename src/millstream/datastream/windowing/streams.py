"""Streams cut into windows, and what can be computed for each window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, Self, overload

from millstream.common.errors import PlanError, user_location
from millstream.common.output_tag import OutputTag
from millstream.common.time import to_millis
from millstream.common.type_aliases import DurationLike
from millstream.common.type_variables import K, T, W
from millstream.common.typeinfo import TypeInformation, Types
from millstream.common.typesystem.certainty import guessed, no_surer_than
from millstream.datastream.building.aggregations import (
    FieldMaxBy,
    FieldMinBy,
    FieldReduce,
)
from millstream.datastream.building.field_aggregates import FieldAggregates
from millstream.datastream.building.stream_types import checked_field, output_type_of
from millstream.datastream.functions import AggregateFunction
from millstream.datastream.functions.checks import REDUCE, FunctionKind, check_function, refuse_open
from millstream.datastream.functions.windowed import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from millstream.datastream.windowing.adapters import (
    Count,
    CountedKey,
    PassedOn,
    SummarizedKey,
    in_one_form,
)
from millstream.datastream.windowing.assigners import (
    MergingWindowAssigner,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from millstream.datastream.windowing.checks import (
    Lateness,
    checked_function,
    checked_lateness,
    wrong_function,
)
from millstream.datastream.windowing.evictors import Evictor
from millstream.datastream.windowing.sessions import EventTimeSessionWindows
from millstream.datastream.windowing.summaries import AggregateName, summary_of
from millstream.datastream.windowing.triggers import EventTimeTrigger, Trigger
from millstream.datastream.windowing.untimed import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
)
from millstream.kernel.windows.contents import Aggregated, Fold, Reduced
from millstream.kernel.windows.spec import Alignment, WindowSpec
from millstream.plan.graph import KeyedNode, Selector

if TYPE_CHECKING:
    from millstream.common.type_aliases import TypeLike
    from millstream.common.type_variables import V2, V
    from millstream.common.windows import CountWindow
    from millstream.datastream.functions.types import AnyWindowFunction, ReduceLike
    from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
    from millstream.datastream.streams.data_stream import DataStream

__all__ = ["AllWindowedStream", "Lateness", "WindowedStream", "count_assigner"]

_ARGUMENTS: dict[type, tuple[str, tuple[str, ...]]] = {
    WindowFunction: ("apply", ("key", "window", "inputs")),
    AllWindowFunction: ("apply", ("window", "inputs")),
    ProcessWindowFunction: ("process", ("key", "context", "elements")),
    ProcessAllWindowFunction: ("process", ("context", "elements")),
}
_BY = (FieldMinBy, FieldMaxBy)
_IN_WINDOWS = (
    "keep state in the window function, the second argument: it is opened, and has keyed state"
)


class _Windows(FieldAggregates[T], Generic[K, T, W]):
    """Base of windows with and without keys: assigner, trigger, evictor and lateness."""

    _functions: tuple[type, ...]

    def __init__(
        self,
        stream: DataStream[T],
        selector: Selector,
        key_type: TypeInformation[K] | None,
        assigner: WindowAssigner[Any, W],
        lateness: Lateness,
    ) -> None:
        self._stream = stream
        self._selector = selector
        self._key_type = key_type
        self._assigner = checked_function(assigner, WindowAssigner, "window")
        self._lateness = checked_lateness(lateness)
        self._trigger: Trigger[Any, Any] = assigner.get_default_trigger(
            stream.get_execution_environment()
        )
        self._evictor: Evictor[Any, Any] | None = None
        self._allowed_lateness_ms = 0
        self._late_tag: OutputTag | None = None

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Set when windows fire, instead of the assigner's own rule."""
        self._trigger = checked_function(trigger, Trigger, "trigger")
        if isinstance(self._assigner, MergingWindowAssigner) and not trigger.can_merge():
            raise PlanError(
                "TRIGGER_CANNOT_MERGE",
                f"{trigger!r} cannot be used with {self._assigner!r}, whose windows merge",
                location=user_location(),
                hint="use a trigger whose can_merge() returns True",
            )
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> Self:
        """Set which records are removed from a window before and after its function is called."""
        self._evictor = checked_function(evictor, Evictor, "evictor")
        return self

    def allowed_lateness(self, time_ms: DurationLike) -> Self:
        """Keep windows for this time after their end: a late record makes them fire once more."""
        if not self._assigner.is_event_time():
            raise PlanError(
                "LATENESS_IN_PROCESSING_TIME",
                f"{self._assigner!r} knows no late records: only event time does",
                location=user_location(),
                hint="leave allowed_lateness out, or use event-time windows",
            )
        lateness = to_millis(time_ms)
        if lateness < 0:
            raise PlanError(
                "NEGATIVE_LATENESS",
                f"allowed_lateness cannot be negative, got {time_ms!r}",
                location=user_location(),
                hint='give a duration such as "10 s"',
            )
        self._allowed_lateness_ms = lateness
        return self

    def side_output_late_data(self, output_tag: OutputTag[Any]) -> Self:
        """Send records that are too late for all their windows to a side output.

        Without it they are counted, as metric ``late`` of the operator.
        """
        self._late_tag = checked_function(output_tag, OutputTag, "side_output_late_data")
        return self

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment that the stream belongs to."""
        return self._stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation[T]:
        """Return the type of the records."""
        return self._stream.get_type()

    # -- functions -------------------------------------------------------------------------------

    @overload
    def reduce(self, reduce_function: ReduceLike[T]) -> DataStream[T]: ...

    @overload
    def reduce(
        self, reduce_function: ReduceLike[T], window_function: AnyWindowFunction[T, V, K, W]
    ) -> DataStream[V]: ...

    @overload
    def reduce(
        self,
        reduce_function: ReduceLike[T],
        window_function: AnyWindowFunction[T, object, K, W] | None = None,
        *,
        output_type: TypeLike[V],
    ) -> DataStream[V]: ...

    @overload
    def reduce(
        self,
        reduce_function: ReduceLike[T],
        window_function: AnyWindowFunction[T, object, K, W] | None,
        output_type: TypeLike[V] | None = None,
    ) -> DataStream[V]: ...

    def reduce(
        self, reduce_function: Any, window_function: Any = None, output_type: Any = None
    ) -> DataStream[Any]:
        """Fold the records of a window into one, as they come.

        Parameters
        ----------
        reduce_function
            A function of the result so far and of the new record. It must be associative, and
            commutative if the stream has several channels.
        window_function
            Gets the folded record, with the key and the window; its results are emitted.
        output_type
            The type of the results, see `DataStream.map`.
        """
        check_function(reduce_function, REDUCE)
        refuse_open(reduce_function, "reduce of windows", _IN_WINDOWS)
        reduce: Any = getattr(reduce_function, "reduce", reduce_function)
        fold = Reduced(reduce)
        own_type = guessed(self._input_type())
        return self._folded("Reduce", fold, window_function, output_type, own_type)

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, Any, V],
        *,
        accumulator_type: TypeLike | None = None,
    ) -> DataStream[V]: ...

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, Any, V2],
        window_function: AnyWindowFunction[V2, V, K, W],
        accumulator_type: TypeLike | None = None,
    ) -> DataStream[V]: ...

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, Any, V2],
        window_function: AnyWindowFunction[V2, object, K, W] | None = None,
        accumulator_type: TypeLike | None = None,
        *,
        output_type: TypeLike[V],
    ) -> DataStream[V]: ...

    @overload
    def aggregate(
        self,
        aggregate_function: AggregateFunction[T, Any, V2],
        window_function: AnyWindowFunction[V2, object, K, W] | None,
        accumulator_type: TypeLike | None = None,
        output_type: TypeLike[V] | None = None,
    ) -> DataStream[V]: ...

    def aggregate(
        self,
        aggregate_function: Any,
        window_function: Any = None,
        accumulator_type: Any = None,
        output_type: Any = None,
    ) -> DataStream[Any]:
        """Fold the records of a window into an accumulator, as they come.

        Parameters
        ----------
        aggregate_function
            The `AggregateFunction`. Windows that merge call its ``merge``.
        window_function
            Gets the result, with the key and the window; its results are emitted.
        accumulator_type
            Accepted as in PyFlink; accumulators are stored as they are.
        output_type
            The type of the results, see `DataStream.map`.
        """
        checked_function(aggregate_function, AggregateFunction, "aggregate")
        refuse_open(aggregate_function, "aggregate of windows", _IN_WINDOWS)
        fold = Aggregated(aggregate_function)
        kind = FunctionKind("aggregate", AggregateFunction, "get_result", ("accumulator",))
        own_type = output_type_of(None, aggregate_function, kind)
        return self._folded("Aggregate", fold, window_function, output_type, own_type)

    # -- how the operator is made ----------------------------------------------------------------

    def _input_type(self) -> TypeInformation | None:
        return self._stream._node.output_type

    def _aggregate(
        self, name: str, reducer: type[FieldReduce], field: int | str, numbers: bool = False
    ) -> DataStream:
        found = checked_field(self._input_type(), field, reducer.kind, numbers=numbers)
        fold = Reduced(reducer(found), prefers_older=True, selects=issubclass(reducer, _BY))
        own_type = self._input_type()
        return self._operator(name, PassedOn(), guessed(own_type) if numbers else own_type, fold)

    def _folded(
        self,
        name: str,
        fold: Fold,
        function: Any,
        output_type: Any,
        own_type: TypeInformation | None,
    ) -> DataStream:
        if function is None:
            declared = output_type_of(output_type, fold.function, REDUCE) if output_type else None
            return self._operator(name, PassedOn(), declared or own_type, fold)
        base = next((kind for kind in self._functions if isinstance(function, kind)), None)
        if base is None:
            raise wrong_function(name.lower(), self._functions, function)
        return self._whole(name, base, function, output_type, fold)

    def _whole(
        self, name: str, base: type, function: Any, output_type: Any, fold: Fold | None = None
    ) -> DataStream:
        method, arguments = _ARGUMENTS[base]
        kind = FunctionKind(method, base, method, arguments, plain=False, yields=True)
        check_function(function, kind)
        type_info = output_type_of(output_type, function, kind)
        return self._operator(name, in_one_form(function), type_info, fold)

    def _operator(
        self, name: str, function: Any, output_type: TypeInformation | None, fold: Fold | None
    ) -> DataStream:
        spec = WindowSpec(
            assigner=self._assigner,
            trigger=self._trigger,
            function=function,
            fold=fold,
            evictor=self._evictor,
            allowed_lateness_ms=self._allowed_lateness_ms,
            lateness=self._lateness,
            late_tag=self._late_tag,
            alignment=self._alignment(),
            session_gap=self._session_gap(),
            emits_fold=isinstance(function, PassedOn),
            counts=isinstance(function, CountedKey),
            summarizes=isinstance(function, SummarizedKey),
        )
        return self._stream._then(
            KeyedNode,
            name=f"Window {name}",
            kind="window",
            function=spec,
            selector=self._selector,
            key_type=self._key_type,
            output_type=output_type,
        )

    def _fires_by_time_alone(self) -> bool:
        return self._evictor is None and type(self._trigger) is EventTimeTrigger

    def _session_gap(self) -> int | None:
        """The gap of sessions that fire by the time alone."""
        assigner = self._assigner
        if self._fires_by_time_alone() and type(assigner) is EventTimeSessionWindows:
            return assigner.gap
        return None

    def _alignment(self) -> Alignment | None:
        """How windows follow from the time, if they do and fire by it alone."""
        assigner = self._assigner
        if not self._fires_by_time_alone():
            return None
        if type(assigner) is TumblingEventTimeWindows:
            return Alignment(assigner.size, assigner.size, assigner.offset)
        if type(assigner) is SlidingEventTimeWindows:
            return Alignment(assigner.size, assigner.slide, assigner.offset)
        return None


class WindowedStream(_Windows[K, T, W]):
    """A keyed stream cut into windows, each key by itself.

    Examples
    --------
    >>> from millstream.common import WatermarkStrategy
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> from millstream.datastream.window import TumblingEventTimeWindows
    >>> from millstream.testing import run_local
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> clicks = env.from_collection([("ada", 1, 1_000), ("ada", 2, 4_000), ("ada", 5, 6_000)])
    >>> timed = clicks.assign_timestamps_and_watermarks(
    ...     WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    ...         lambda click, _: click[2]
    ...     )
    ... )
    >>> sums = timed.key_by(0).window(TumblingEventTimeWindows.of("5 s")).sum(1)
    >>> run_local(sums).values()
    [('ada', 3, 1000), ('ada', 5, 6000)]
    """

    _functions = (WindowFunction, ProcessWindowFunction)

    @overload
    def apply(self, window_function: WindowFunction[T, V, K, W]) -> DataStream[V]: ...

    @overload
    def apply(
        self, window_function: WindowFunction[T, object, K, W], output_type: TypeLike[V] | None
    ) -> DataStream[V]: ...

    def apply(self, window_function: Any, output_type: Any = None) -> DataStream[Any]:
        """Call a window function with the key, the window and its records."""
        return self._whole("Apply", WindowFunction, window_function, output_type)

    @overload
    def process(
        self, process_window_function: ProcessWindowFunction[T, V, K, W]
    ) -> DataStream[V]: ...

    @overload
    def process(
        self,
        process_window_function: ProcessWindowFunction[T, object, K, W],
        output_type: TypeLike[V] | None,
    ) -> DataStream[V]: ...

    def process(self, process_window_function: Any, output_type: Any = None) -> DataStream[Any]:
        """Call a process window function: with the window, the clocks, and state."""
        return self._whole("Process", ProcessWindowFunction, process_window_function, output_type)

    def count(self) -> DataStream[tuple[K, int]]:
        """Count the records of each window: pairs (key, number)."""
        key_type = self._key_type
        type_info = None if key_type is None else Types.TUPLE([key_type, Types.LONG()])
        of_pairs = no_surer_than(type_info, key_type)
        return self._operator("Count", CountedKey(), of_pairs, Aggregated(Count(), is_ours=True))

    def summarize(
        self, *aggregates: Literal["count"] | tuple[AggregateName, int | str]
    ) -> DataStream[tuple[Any, ...]]:
        """Compute several aggregates of each window at once: tuples of the key and the results.

        Parameters
        ----------
        aggregates
            ``"count"``, or pairs of ``"sum"``, ``"min"``, ``"max"`` or ``"avg"`` and a field, by
            position or name. Sums of whole numbers are LONG, averages are DOUBLE. A field that is
            None is an error.

        Examples
        --------
        >>> from millstream.common import WatermarkStrategy
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> from millstream.datastream.window import TumblingEventTimeWindows
        >>> from millstream.testing import run_local
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> clicks = env.from_collection([("ada", 1, 1_000), ("ada", 2, 4_000), ("bob", 5, 4_000)])
        >>> timed = clicks.assign_timestamps_and_watermarks(
        ...     WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        ...         lambda click, _: click[2]
        ...     )
        ... )
        >>> windows = timed.key_by(0).window(TumblingEventTimeWindows.of("5 s"))
        >>> sorted(run_local(windows.summarize("count", ("sum", 1), ("avg", 1))).values())
        [('ada', 2, 3, 1.5), ('bob', 1, 5, 5.0)]
        """
        summary, type_info = summary_of(self._input_type(), self._key_type, aggregates)
        fold = Aggregated(summary, is_ours=True)
        return self._operator("Summarize", SummarizedKey(), type_info, fold)


class AllWindowedStream(_Windows[Any, T, W], Generic[T, W]):
    """A stream cut into windows over all records; they are computed in one place."""

    _functions = (AllWindowFunction, ProcessAllWindowFunction)

    @overload
    def apply(self, window_function: AllWindowFunction[T, V, W]) -> DataStream[V]: ...

    @overload
    def apply(
        self, window_function: AllWindowFunction[T, object, W], output_type: TypeLike[V] | None
    ) -> DataStream[V]: ...

    def apply(self, window_function: Any, output_type: Any = None) -> DataStream[Any]:
        """Call a window function with the window and its records."""
        return self._whole("Apply", AllWindowFunction, window_function, output_type)

    @overload
    def process(
        self, process_window_function: ProcessAllWindowFunction[T, V, W]
    ) -> DataStream[V]: ...

    @overload
    def process(
        self,
        process_window_function: ProcessAllWindowFunction[T, object, W],
        output_type: TypeLike[V] | None,
    ) -> DataStream[V]: ...

    def process(self, process_window_function: Any, output_type: Any = None) -> DataStream[Any]:
        """Call a process window function: with the window, the clocks, and state."""
        return self._whole(
            "Process", ProcessAllWindowFunction, process_window_function, output_type
        )

    def count(self) -> DataStream[int]:
        """Count the records of each window."""
        return self._operator("Count", PassedOn(), Types.LONG(), Aggregated(Count(), is_ours=True))


def count_assigner(size: int, slide: int) -> WindowAssigner[Any, CountWindow]:
    """Return the assigner of ``count_window``; a slide of 0 is none."""
    if slide == 0:
        return CountTumblingWindowAssigner.of(size)
    return CountSlidingWindowAssigner.of(size, slide)
