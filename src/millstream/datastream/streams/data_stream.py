"""Streams of records and their operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, overload

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.execution_config import ExecutionConfig
from millstream.common.output_tag import OutputTag
from millstream.common.state import MapStateDescriptor
from millstream.common.type_variables import T
from millstream.common.typeinfo import TypeInformation, Types
from millstream.common.watermark_strategy import WatermarkStrategy
from millstream.datastream.building.execution_plan import ExecutionPlan
from millstream.datastream.building.fields import Projection
from millstream.datastream.building.stream_types import (
    common_type,
    key_of,
    output_type_of,
    projected_type,
)
from millstream.datastream.functions import (
    ProcessFunction,
)
from millstream.datastream.functions.checks import (
    FILTER,
    FLAT_MAP,
    KEY,
    MAP,
    PROCESS,
    FunctionKind,
    check_function,
    plain_callable,
)
from millstream.datastream.streams.collect import CloseableIterator
from millstream.datastream.streams.sink_methods import DataStreamSink
from millstream.datastream.streams.stream_operations import StreamOperations
from millstream.datastream.windowing.assigners import WindowAssigner
from millstream.datastream.windowing.streams import (
    AllWindowedStream,
    Lateness,
    WindowedStream,
    count_assigner,
)
from millstream.kernel.steps.routing import Place
from millstream.plan.graph import (
    N,
    ReinterpretNode,
    SideOutputNode,
    StatelessNode,
    TimestampsNode,
    UnionNode,
    function_has_side_outputs,
    takes_dead_letters,
)

if TYPE_CHECKING:
    from millstream.common.type_aliases import TypeLike
    from millstream.common.type_variables import K2, W2, V
    from millstream.common.windows import CountWindow
    from millstream.datastream.functions.types import FilterLike, FlatMapLike, KeyLike, MapLike
    from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CachedDataStream",
    "CloseableIterator",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "KeyedStream",
    "WindowedStream",
]

_BROADCAST = (
    "every record is processed once: functions without keyed state run in whatever task "
    "produces their input"
)


class DataStream(StreamOperations[T]):
    """A stream of records of one type: ``DataStream[int]`` is one of whole numbers.

    Streams are made by a `StreamExecutionEnvironment` and by the methods of other streams. They
    only describe: nothing runs before ``env.execute()``.

    Examples
    --------
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> lines = env.from_collection(["to be", "or not"])
    >>> words = lines.flat_map(lambda line: line.split()).map(lambda word: (word, 1))
    >>> counts = words.key_by(lambda pair: pair[0]).sum(1)
    >>> counts.get_name()
    'Sum'
    """

    # -- about the stream ------------------------------------------------------------------------

    def get_name(self) -> str:
        """Return the name of the operator that makes this stream."""
        return self._node.name

    def get_type(self) -> TypeInformation[T]:
        """Return the type of the records; of an unknown type they travel pickled."""
        known = self._node.output_type
        return Types.PICKLED_BYTE_ARRAY() if known is None else known

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment that the stream belongs to."""
        return self._env

    def get_execution_config(self) -> ExecutionConfig:
        """Return the configuration of the environment."""
        return self._env.get_config()

    def explain(self) -> ExecutionPlan:
        """Return how this stream would be computed: stages, what is fused, and why."""
        return self._env._explain([self._id])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._node.name}: {self.get_type()})"

    # -- one record at a time --------------------------------------------------------------------

    @overload
    def map(self, func: MapLike[T, V]) -> DataStream[V]: ...

    @overload
    def map(self, func: MapLike[T, object], output_type: TypeLike[V] | None) -> DataStream[V]: ...

    def map(self, func: Any, output_type: Any = None) -> DataStream[Any]:
        """Apply a function to each record.

        Parameters
        ----------
        func
            A function of the record. On a keyed stream a `MapFunction` may keep state per key.
        output_type
            The type of the results, from `Types` or as a type hint such as ``tuple[str, int]``.
            By default it is the function's return annotation; without one, results travel
            pickled, which is slower.

        Examples
        --------
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> env.from_collection([1, 2]).map(lambda n: n / 2, output_type=float).get_type()
        DOUBLE
        """
        return self._apply("map", "Map", func, MAP, output_type_of(output_type, func, MAP))

    @overload
    def flat_map(self, func: FlatMapLike[T, V]) -> DataStream[V]: ...

    @overload
    def flat_map(
        self, func: FlatMapLike[T, object], output_type: TypeLike[V] | None
    ) -> DataStream[V]: ...

    def flat_map(self, func: Any, output_type: Any = None) -> DataStream[Any]:
        """Replace each record with the records that a function returns or yields.

        Parameters
        ----------
        func
            A function of the record; None means no result. On a keyed stream a
            `FlatMapFunction` may keep state per key.
        output_type
            The type of one result, see `map`.
        """
        type_info = output_type_of(output_type, func, FLAT_MAP)
        return self._apply("flat_map", "Flat Map", func, FLAT_MAP, type_info)

    def filter(self, func: FilterLike[T]) -> DataStream[T]:
        """Keep the records for which a function returns something true.

        On a keyed stream a `FilterFunction` may keep state per key.
        """
        return self._apply("filter", "Filter", func, FILTER, self._node.output_type)

    @overload
    def process(self, func: ProcessFunction[T, V]) -> DataStream[V]: ...

    @overload
    def process(
        self, func: ProcessFunction[T, object], output_type: TypeLike[V] | None
    ) -> DataStream[V]: ...

    def process(self, func: Any, output_type: Any = None) -> DataStream[Any]:
        """Apply a `ProcessFunction`, which emits any number of records, also to side outputs."""
        type_info = output_type_of(output_type, func, PROCESS)
        return self._stateless("process", "Process", func, PROCESS, type_info)

    def project(self, *field_indexes: int | str) -> DataStream:
        """Keep some fields of each tuple or row, in the order given.

        Examples
        --------
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> env.from_collection([("a", 1, True)]).project(2, 0).get_type()
        TUPLE(BOOLEAN, STRING)
        """
        fields, type_info = projected_type(self._node.output_type, field_indexes)
        return self._stateless("map", "Project", Projection(fields), MAP, type_info)

    def _apply(
        self,
        kind: Literal["map", "flat_map", "filter"],
        name: str,
        func: Any,
        function_kind: FunctionKind,
        output_type: TypeInformation | None,
    ) -> DataStream:
        """Add an operator with a function of the user's; on a keyed stream it may have state."""
        return self._stateless(kind, name, func, function_kind, output_type)

    def _stateless(
        self,
        kind: Literal["map", "flat_map", "filter", "process"],
        name: str,
        func: Any,
        function_kind: FunctionKind,
        output_type: TypeInformation | None,
    ) -> DataStream:
        check_function(func, function_kind)
        return self._then(
            StatelessNode, name=name, kind=kind, function=func, output_type=output_type
        )

    def _then(self, node_class: type[N], **fields: Any) -> DataStream:
        """Add an operator that reads this stream."""
        return self._env._stream(node_class, inputs=(self._id,), **fields)

    # -- keys, unions, side outputs, time --------------------------------------------------------

    @overload
    def key_by(
        self, key_selector: KeyLike[T, K2], key_type: TypeLike | None = None
    ) -> KeyedStream[K2, T]: ...

    @overload
    def key_by(
        self,
        key_selector: int | str | tuple[int | str, ...],
        key_type: TypeLike[K2] | None = None,
    ) -> KeyedStream[K2, T]: ...

    def key_by(self, key_selector: Any, key_type: Any = None) -> KeyedStream[Any, T]:
        """Group the records by key: state, timers and aggregations then are per key.

        Parameters
        ----------
        key_selector
            A function that returns the key, or the position or name of a field, or a tuple of
            such for a key of several fields. A key is a string, a number, or a tuple of such;
            never None, but a part of a tuple may be None.
        key_type
            The type of the key, see `map`.

        Examples
        --------
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> env.from_collection([("a", 1), ("b", 2)]).key_by(0).max(1).get_type()
        TUPLE(STRING, LONG)
        """
        selector, found = self._key(key_selector, key_type, "key_by")
        return KeyedStream(self._env, self._graph, self._node_id, selector, found)

    @overload
    def reinterpret_as_keyed_stream(
        self, key_selector: KeyLike[T, K2], key_type: TypeLike | None = None
    ) -> KeyedStream[K2, T]: ...

    @overload
    def reinterpret_as_keyed_stream(
        self,
        key_selector: int | str | tuple[int | str, ...],
        key_type: TypeLike[K2] | None = None,
    ) -> KeyedStream[K2, T]: ...

    def reinterpret_as_keyed_stream(
        self, key_selector: Any, key_type: Any = None
    ) -> KeyedStream[Any, T]:
        """Group the records by the key that the keyed operator before them has: without an exchange.

        The program promises that each record has the key of the state from which it was emitted. The
        next operator then runs in the same stage. A record with a key of another slot is an error.
        Behind anything else than a keyed operator it is `key_by`.

        Parameters
        ----------
        key_selector
            A function that returns the key, or the position or name of a field.
        key_type
            The type of the key, see `map`.

        Examples
        --------
        >>> from millstream.datastream import KeyedProcessFunction, StreamExecutionEnvironment
        >>> class Doubled(KeyedProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         yield value[0], 2 * value[1]
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> doubled = env.from_collection([("a", 1), ("b", 2)]).key_by(0).process(Doubled())
        >>> total = doubled.reinterpret_as_keyed_stream(0).sum(1)
        >>> "chained" in str(total.explain())
        True
        """
        selector, found = self._key(key_selector, key_type, "reinterpret_as_keyed_stream")
        stream = self._then(
            ReinterpretNode,
            name="Reinterpret As Keyed Stream",
            selector=selector,
            output_type=self._node.output_type,
        )
        return KeyedStream(self._env, self._graph, stream._node_id, selector, found)

    def _key(
        self, key_selector: Any, key_type: Any, call: str
    ) -> tuple[Callable[[Any], Any], TypeInformation | None]:
        """A key selector and the type of its keys."""
        if isinstance(key_selector, int | str | tuple):
            selector, found = key_of(self._node.output_type, key_selector)
        else:
            selector = plain_callable(key_selector, KEY)
            self._env._check_travels(selector, f"key selector of {call}")
            found = None
        if key_type is not None or found is None:
            found = output_type_of(key_type, key_selector, KEY)
        return selector, found

    def union(self, *streams: DataStream[V]) -> DataStream[T | V]:
        """Merge streams of one type into one."""
        if not streams:
            return DataStream(self._env, self._graph, self._node_id)
        for stream in streams:
            self._check_stream(stream, "a.union(b, c)")
        everyone = [self, *streams]
        return self._env._stream(
            UnionNode,
            name="Union",
            inputs=tuple(stream._id for stream in everyone),
            output_type=common_type([stream._node.output_type for stream in everyone]),
        )

    @overload
    def connect(self, ds: DataStream[V]) -> ConnectedStreams[T, V]: ...

    @overload
    def connect(self, ds: BroadcastStream[V]) -> BroadcastConnectedStream[T, V]: ...

    def connect(
        self, ds: DataStream[V] | BroadcastStream[V]
    ) -> ConnectedStreams[T, V] | BroadcastConnectedStream[T, V]:
        """Let one function read this stream and another one, or a broadcast stream."""
        return connected(self, ds)

    def _check_stream(self, other: object, example: str) -> None:
        if isinstance(other, DataStream) and other._env is self._env:
            return
        found = "a stream of another environment" if isinstance(other, DataStream) else repr(other)
        raise PlanError(
            "NOT_A_STREAM",
            f"a stream of the same environment is needed, got {found}",
            location=user_location(),
            hint=f"write {example}",
        )

    def get_side_output(self, output_tag: OutputTag[V]) -> DataStream[V]:
        """Return the stream of values that a function emitted as ``yield tag, value``.

        Call it on the stream that ``process`` returned; for the tag of ``on_error``, on the stream
        that has this policy.
        """
        if not isinstance(output_tag, OutputTag):
            raise PlanError(
                "NOT_A_TAG",
                f"get_side_output needs an OutputTag, got {short_repr(output_tag)}",
                location=user_location(),
                hint='write get_side_output(OutputTag("name", Types...))',
            )
        node = self._node
        skipped = takes_dead_letters(node, output_tag.tag_id)
        if not skipped and not function_has_side_outputs(node):
            raise PlanError(
                "NO_SIDE_OUTPUT",
                f"operator {node.name!r} has no side outputs (asked for {output_tag.tag_id!r})",
                location=user_location(),
                hint="call get_side_output on the result of process(...) itself, or on that of "
                "on_error('skip', tag) with the same tag",
            )
        name = f"Side Output {output_tag.tag_id}"
        type_info = None if skipped else output_tag.type_info
        return self._then(SideOutputNode, name=name, tag=output_tag.tag_id, output_type=type_info)

    def assign_timestamps_and_watermarks(
        self, watermark_strategy: WatermarkStrategy
    ) -> DataStream[T]:
        """Assign event times to records and watermarks to channels.

        Examples
        --------
        >>> from millstream.common import WatermarkStrategy
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> events = env.from_collection([("a", 1_000), ("b", 3_000)])
        >>> timed = events.assign_timestamps_and_watermarks(
        ...     WatermarkStrategy.for_bounded_out_of_orderness("2 s")
        ...     .with_timestamp_assigner(lambda event, _: event[1])
        ... )
        >>> timed.get_type()
        TUPLE(STRING, LONG)
        """
        return self._then(
            TimestampsNode,
            name="Timestamps/Watermarks",
            strategy=checked_strategy(watermark_strategy),
            output_type=self._node.output_type,
        )

    def window_all(
        self, window_assigner: WindowAssigner[Any, W2], lateness: Lateness = "channel"
    ) -> AllWindowedStream[T, W2]:
        """Cut all records into windows, in one task and without keys: see `KeyedStream.window`."""
        return AllWindowedStream(self, Place.ONE_SLOT, None, window_assigner, lateness)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream[T, CountWindow]:
        """Cut all records into windows of ``size`` records, see `KeyedStream.count_window`."""
        return self.window_all(count_assigner(size, slide))

    # -- exchanges, which results do not depend on -----------------------------------------------

    @overload
    def broadcast(self) -> DataStream[T]: ...

    @overload
    def broadcast(
        self, broadcast_state_descriptor: MapStateDescriptor, *others: MapStateDescriptor
    ) -> BroadcastStream[T]: ...

    def broadcast(self, *descriptors: Any, **named: Any) -> DataStream[T] | BroadcastStream[T]:
        """Send the records to all tasks, which keep them in broadcast states.

        Without a state it is only accepted as Flink's hint: each record is processed once.
        """
        states = [*descriptors, *named.values()]
        return BroadcastStream(self, states) if states else self._exchange("broadcast", _BROADCAST)


def checked_strategy(strategy: object) -> WatermarkStrategy:
    """Return a watermark strategy if it is one."""
    if isinstance(strategy, WatermarkStrategy):
        return strategy
    raise PlanError(
        "NOT_A_STRATEGY",
        f"a WatermarkStrategy is needed, got {short_repr(strategy)}",
        location=user_location(),
        hint="for example WatermarkStrategy.for_monotonous_timestamps()",
    )


# PyFlink has these classes in this module. KeyedStream derives from DataStream, hence down here.
from millstream.datastream.streams.keyed_stream import KeyedStream  # noqa: E402, I001
from millstream.datastream.streams.cached_stream import CachedDataStream  # noqa: E402
from millstream.datastream.streams.connected_streams import (  # noqa: E402
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
    connected,
)
