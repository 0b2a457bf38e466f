"""Joins and co-groups: records of two streams that have the same key and share a window."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Self, cast, overload

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.output_tag import OutputTag
from millstream.common.type_aliases import DurationLike
from millstream.common.type_variables import A1, A2, T1, T2, K, T
from millstream.common.typeinfo import PickledBytesTypeInfo, TupleTypeInfo, TypeInformation
from millstream.datastream.building.operator_settings import StreamSettings
from millstream.datastream.building.stream_types import output_type_of
from millstream.datastream.functions.checks import check_function
from millstream.datastream.functions.windowed import ProcessWindowFunction
from millstream.datastream.joining.apply import OfGroups, OfPairs, WithFunction
from millstream.datastream.joining.functions import (
    CO_GROUP,
    CoGroupedWindow,
    CrossFunction,
    JoinedWindow,
    JoinKind,
    pair_function,
)
from millstream.datastream.windowing.assigners import WindowAssigner
from millstream.datastream.windowing.bounded_operations import require_bounded, whole_input_spec
from millstream.datastream.windowing.evictors import Evictor
from millstream.datastream.windowing.streams import Lateness
from millstream.datastream.windowing.triggers import Trigger
from millstream.kernel.steps.routing import Place
from millstream.kernel.windows.spec import WindowSpec
from millstream.plan.graph import KeyedNode, Selector

if TYPE_CHECKING:
    from millstream.common.type_aliases import TypeLike
    from millstream.common.type_variables import V
    from millstream.datastream.functions.types import Key
    from millstream.datastream.streams.data_stream import DataStream, KeyedStream

__all__ = [
    "CoGroupedStreams",
    "CrossedStreams",
    "EqualTo",
    "JoinMethods",
    "JoinedStreams",
    "Where",
    "WithWindow",
    "check_key_types",
]

Made = tuple[ProcessWindowFunction, TypeInformation | None]
"""A function of windows, and the type of what it emits."""

_NUMBERS = frozenset({"BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "BIG_INT", "BIG_DEC"})
_BOUNDED_ONLY = "add .window(...) to join within windows, or use interval_join"


class _TwoStreams(ABC, Generic[T1, T2]):
    """Two streams on their way to one operator."""

    _name: str

    def __init__(self, first: DataStream[T1], second: object) -> None:
        self._first = first
        self._second: DataStream[T2] = _checked_stream(first, second, self._name)

    @property
    def _types(self) -> tuple[TypeInformation | None, TypeInformation | None]:
        return self._first._node.output_type, self._second._node.output_type

    @abstractmethod
    def _made(self, function: Any, output_type: Any) -> Made:
        """The window function made from the function that ``apply`` got."""

    def _operator(
        self,
        spec: WindowSpec,
        output_type: TypeInformation | None,
        selectors: tuple[Selector, Selector],
        key_type: TypeInformation | None = None,
    ) -> DataStream:
        return self._first._env._stream(
            KeyedNode,
            name=self._name.replace("_", " ").title(),
            kind="window",
            inputs=(self._first._id, self._second._id),
            function=spec,
            selector=selectors[0],
            second=selectors[1],
            key_type=key_type,
            output_type=output_type,
        )


class _Matched(_TwoStreams[T1, T2], Generic[T1, T2, A1, A2, K]):
    """Two streams whose records meet by key."""

    def where(
        self, key_selector: Key[T1], key_type: TypeLike | None = None
    ) -> Where[T2, A1, A2, K]:
        """Set the key of the first stream, see `DataStream.key_by`."""
        return Where(self, self._first.key_by(key_selector, key_type))


class JoinedStreams(_Matched[T1, T2, A1, A2, OfPairs]):
    """Two streams to be joined: made by ``a.join(b)`` and the outer joins.

    Every record of the first stream meets every record of the second that has the same key and is
    in the same window. Pairs come by the first record, then by the second, both in order.

    Examples
    --------
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> from millstream.testing import run_local
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> orders = env.from_collection([("ada", 3), ("bob", 5), ("ada", 4)])
    >>> cities = env.from_collection([("ada", "London"), ("cyd", "Rome")])
    >>> joined = orders.join(cities).where(0).equal_to(0)
    >>> run_local(joined.apply(lambda order, city: (*order, city[1]))).values()
    [('ada', 3, 'London'), ('ada', 4, 'London')]
    """

    def __init__(self, first: DataStream[T1], second: object, kind: JoinKind = "inner") -> None:
        self._kind: JoinKind = kind
        self._name = "join" if kind == "inner" else f"{kind}_outer_join"
        super().__init__(first, second)

    def _made(self, function: Any, output_type: Any) -> Made:
        pairs, type_info = pair_function(function, output_type, self._types)
        return JoinedWindow(pairs, self._kind), type_info


class CoGroupedStreams(_Matched[T1, T2, list[T1], list[T2], OfGroups], Generic[T1, T2]):
    """Two streams to be co-grouped: made by ``a.co_group(b)``.

    The function gets all records of a key and window at once, those of each stream in a list. It
    is called if at least one of the lists has records.

    Examples
    --------
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> from millstream.testing import run_local
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> orders = env.from_collection([("ada", 3), ("bob", 5), ("ada", 4)])
    >>> payments = env.from_collection([("ada", 7)])
    >>> def open_amount(orders, payments):
    ...     amount = sum(o[1] for o in orders) - sum(p[1] for p in payments)
    ...     if amount:
    ...         yield orders[0][0], amount
    >>> both = orders.co_group(payments).where(0).equal_to(0)
    >>> run_local(both.apply(open_amount)).values()
    [('bob', 5)]
    """

    _name = "co_group"

    def _made(self, function: Any, output_type: Any) -> Made:
        check_function(function, CO_GROUP)
        return CoGroupedWindow(function, CO_GROUP), output_type_of(output_type, function, CO_GROUP)


class Where(Generic[T2, A1, A2, K]):
    """A join that knows the key of its first stream; `equal_to` gives that of the second."""

    def __init__(self, streams: _Matched[Any, T2, A1, A2, K], first: KeyedStream[Any, Any]) -> None:
        self._streams = streams
        self._first = first

    def equal_to(
        self, key_selector: Key[T2], key_type: TypeLike | None = None
    ) -> EqualTo[A1, A2, K]:
        """Set the key of the second stream; it must have the type of the first key."""
        second = self._streams._second.key_by(key_selector, key_type)
        check_key_types(self._first._key_type, second._key_type, self._streams._name)
        return EqualTo(self._streams, self._first, second)


class EqualTo(WithFunction[A1, A2, K]):
    """A join that knows both keys: it takes windows, or, on bounded streams, the whole input."""

    def __init__(
        self, streams: _Matched[Any, Any, A1, A2, K], first: KeyedStream, second: KeyedStream
    ) -> None:
        self._streams = streams
        self._first = first
        self._second = second

    def window(
        self, window_assigner: WindowAssigner[Any, Any], lateness: Lateness = "channel"
    ) -> WithWindow[A1, A2, K]:
        """Cut both streams into windows: only records of one window meet.

        Parameters
        ----------
        window_assigner
            Says which windows a record belongs to, see `millstream.datastream.window`.
        lateness
            Which clock decides that a record is late, see `KeyedStream.window`.
        """
        return WithWindow(self._streams, self._first, self._second, window_assigner, lateness)

    def _operator(self, function: Any, output_type: Any) -> DataStream[Any]:
        streams = self._streams
        inputs = [self._first, self._second]
        require_bounded(f"{streams._name} without a window", inputs, _BOUNDED_ONLY)
        made, type_info = streams._made(function, output_type)
        selectors = self._first._selector, self._second._selector
        spec = whole_input_spec(made)
        return streams._operator(spec, type_info, selectors, self._first._key_type)


class WithWindow(WithFunction[A1, A2, K]):
    """A join within windows.

    Triggers, evictors and assigners that look at records see those of both streams, as pairs of
    the stream's number, 0 or 1, and the record.

    Examples
    --------
    >>> from millstream.common import WatermarkStrategy
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> from millstream.datastream.window import TumblingEventTimeWindows
    >>> from millstream.testing import run_local
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> in_order = WatermarkStrategy.for_monotonous_timestamps()
    >>> clicks = env.from_collection([("ada", "x"), ("ada", "y")], timestamps=[1_000, 6_000])
    >>> views = env.from_collection([("ada", "page")], timestamps=[4_000])
    >>> joined = (
    ...     clicks.assign_timestamps_and_watermarks(in_order)
    ...     .join(views.assign_timestamps_and_watermarks(in_order))
    ...     .where(0)
    ...     .equal_to(0)
    ...     .window(TumblingEventTimeWindows.of("5 s"))
    ...     .apply(lambda click, view: (click[1], view[1]))
    ... )
    >>> run_local(joined).records()
    [StreamRecord(value=('x', 'page'), timestamp=4999)]
    """

    def __init__(
        self,
        streams: _Matched[Any, Any, A1, A2, K],
        first: KeyedStream,
        second: KeyedStream,
        assigner: WindowAssigner[Any, Any],
        lateness: Lateness,
    ) -> None:
        self._streams = streams
        self._first = first
        self._second = second
        self._windows = first.window(assigner, lateness)
        self._second_late_tag: OutputTag | None = None

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Set when windows fire, instead of the assigner's own rule."""
        self._windows.trigger(trigger)
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> Self:
        """Set which records are removed from a window before and after its function is called."""
        self._windows.evictor(evictor)
        return self

    def allowed_lateness(self, time_ms: DurationLike) -> Self:
        """Keep windows for this time after their end: a late record makes them fire once more."""
        self._windows.allowed_lateness(time_ms)
        return self

    def side_output_late_data(
        self, output_tag: OutputTag[Any], second_tag: OutputTag[Any] | None = None
    ) -> Self:
        """Send records that are too late for all their windows to a side output, as they came.

        Parameters
        ----------
        output_tag
            The side output for late records of the first stream.
        second_tag
            The one for those of the second; by default they go to the same.
        """
        self._windows.side_output_late_data(output_tag)
        if second_tag is not None and not isinstance(second_tag, OutputTag):
            raise PlanError(
                "NOT_A_TAG",
                f"side_output_late_data needs OutputTags, got {short_repr(second_tag)}",
                location=user_location(),
                hint='write OutputTag("name", Types...)',
            )
        self._second_late_tag = output_tag if second_tag is None else second_tag
        return self

    def _operator(self, function: Any, output_type: Any) -> DataStream[Any]:
        made, type_info = self._streams._made(function, output_type)
        windows = self._windows
        spec = WindowSpec(
            assigner=windows._assigner,
            trigger=windows._trigger,
            function=made,
            evictor=windows._evictor,
            allowed_lateness_ms=windows._allowed_lateness_ms,
            alignment=windows._alignment(),
            lateness=windows._lateness,
            late_tag=windows._late_tag,
            second_late_tag=self._second_late_tag,
        )
        selectors = self._first._selector, self._second._selector
        return self._streams._operator(spec, type_info, selectors, self._first._key_type)


class CrossedStreams(_TwoStreams[T1, T2]):
    """Two bounded streams whose records all meet: made by ``a.cross(b)``.

    All records come to one place, so this is for small streams.

    Examples
    --------
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> from millstream.testing import run_local
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> letters, digits = env.from_collection(["a", "b"]), env.from_collection([1, 2])
    >>> run_local(letters.cross(digits).apply()).values()
    [('a', 1), ('a', 2), ('b', 1), ('b', 2)]
    """

    _name = "cross"

    @overload
    def apply(self, function: None = None) -> DataStream[tuple[T1, T2]]: ...

    @overload
    def apply(
        self, function: Callable[[T1, T2], V] | CrossFunction[T1, T2, V]
    ) -> DataStream[V]: ...

    @overload
    def apply(
        self,
        function: Callable[[T1, T2], object] | CrossFunction[T1, T2, object] | None = None,
        *,
        output_type: TypeLike[V],
    ) -> DataStream[V]: ...

    @overload
    def apply(
        self,
        function: Callable[[T1, T2], object] | CrossFunction[T1, T2, object] | None,
        output_type: TypeLike[V] | None,
    ) -> DataStream[V]: ...

    def apply(self, function: Any = None, output_type: Any = None) -> DataStream[Any]:
        """Call a function for each pair of records; without one the results are the pairs."""
        require_bounded("cross", [self._first, self._second], "join by key and window instead")
        made, type_info = self._made(function, output_type)
        spec = whole_input_spec(made)
        return self._operator(spec, type_info, (Place.ONE_SLOT, Place.ONE_SLOT))

    def _made(self, function: Any, output_type: Any) -> Made:
        pairs, type_info = pair_function(function, output_type, self._types)
        return JoinedWindow(pairs, "inner"), type_info


class JoinMethods(StreamSettings, Generic[T]):
    """The methods of `DataStream` that join it with another stream."""

    def join(self, other_stream: DataStream[V]) -> JoinedStreams[T, V, T, V]:
        """Join with another stream: ``a.join(b).where(...).equal_to(...).window(...).apply(...)``.

        Without ``window(...)`` bounded streams are joined as a whole. See `JoinedStreams`.
        """
        return JoinedStreams(cast("DataStream[T]", self), other_stream)

    def left_outer_join(self, other_stream: DataStream[V]) -> JoinedStreams[T, V, T, V | None]:
        """Join, and keep records of this stream that meet no other: the second one then is None."""
        return JoinedStreams(cast("DataStream[T]", self), other_stream, "left")

    def right_outer_join(self, other_stream: DataStream[V]) -> JoinedStreams[T, V, T | None, V]:
        """Join, and keep records of the other stream that meet none: the first one then is None."""
        return JoinedStreams(cast("DataStream[T]", self), other_stream, "right")

    def full_outer_join(
        self, other_stream: DataStream[V]
    ) -> JoinedStreams[T, V, T | None, V | None]:
        """Join, and keep records of both streams that meet no other: the missing one is None."""
        return JoinedStreams(cast("DataStream[T]", self), other_stream, "full")

    def co_group(self, other_stream: DataStream[V]) -> CoGroupedStreams[T, V]:
        """Bring the records of a key together, of both streams: see `CoGroupedStreams`."""
        return CoGroupedStreams(cast("DataStream[T]", self), other_stream)

    def cross(self, other_stream: DataStream[V]) -> CrossedStreams[T, V]:
        """Let each record of this bounded stream meet each of another: see `CrossedStreams`."""
        return CrossedStreams(cast("DataStream[T]", self), other_stream)


def _checked_stream(first: StreamSettings, second: object, call: str) -> Any:
    is_stream = isinstance(second, JoinMethods)
    if is_stream and second._env is first._env:  # type: ignore[attr-defined]
        return second
    found = "a stream of another environment" if is_stream else short_repr(second)
    raise PlanError(
        "NOT_A_STREAM",
        f"{call} needs a stream of the same environment, got {found}",
        location=user_location(),
        hint=f"write a.{call}(b)",
    )


def check_key_types(
    first: TypeInformation | None, second: TypeInformation | None, call: str
) -> None:
    """Raise a `PlanError` at the user's line if keys of two types can never be equal.

    Examples
    --------
    >>> from millstream.common import Types
    >>> check_key_types(Types.INT(), Types.LONG(), "join")
    >>> check_key_types(Types.STRING(), Types.LONG(), "join")
    Traceback (most recent call last):
    millstream.common.errors.PlanError: [KEY_TYPES] join compares keys of the types STRING and \
LONG, which are never equal
    ...
    """
    if _comparable(first, second):
        return
    raise PlanError(
        "KEY_TYPES",
        f"{call} compares keys of the types {first} and {second}, which are never equal",
        location=user_location(),
        hint="select fields of one type, or convert one of the keys",
    )


def _comparable(first: TypeInformation | None, second: TypeInformation | None) -> bool:
    if first is None or second is None or first == second:
        return True
    if isinstance(first, PickledBytesTypeInfo) or isinstance(second, PickledBytesTypeInfo):
        return True
    if isinstance(first, TupleTypeInfo) and isinstance(second, TupleTypeInfo):
        pairs = list(zip(first.field_types, second.field_types, strict=False))
        same_length = len(first.field_types) == len(second.field_types)
        return same_length and all(_comparable(one, other) for one, other in pairs)
    return first.kind in _NUMBERS and second.kind in _NUMBERS
