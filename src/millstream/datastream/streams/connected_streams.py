"""Two streams, maybe of different types, that one function reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, overload

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.output_tag import OutputTag
from millstream.common.state import MapStateDescriptor
from millstream.common.type_variables import T1, T2, T
from millstream.common.typeinfo import TypeInformation
from millstream.datastream.building.stream_types import declared_type, output_type_of
from millstream.datastream.functions.adapters import KeyedCoFlatMap, KeyedCoMap, OneInput
from millstream.datastream.functions.checks import (
    BROADCAST_PROCESS,
    CO_FLAT_MAP,
    CO_MAP,
    CO_PROCESS,
    KEYED_BROADCAST_PROCESS,
    KEYED_CO_PROCESS,
    FunctionKinds,
    check_function,
    warn_of_attributes,
)
from millstream.datastream.functions.two_inputs import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
)
from millstream.datastream.streams.data_stream import DataStream
from millstream.datastream.streams.keyed_stream import KeyedStream
from millstream.kernel.operators.two_inputs.specs import BroadcastSpec
from millstream.kernel.steps.routing import Place
from millstream.plan.graph import KeyedNode, StatelessKind, StatelessNode, UnionNode
from millstream.plan.watermark_reads import mentions_watermark

if TYPE_CHECKING:
    from millstream.common.type_aliases import TypeLike
    from millstream.common.type_variables import V1, V2, V
    from millstream.datastream.functions.types import Key
    from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["BroadcastConnectedStream", "BroadcastStream", "ConnectedStreams", "connected"]

_TEXTS = frozenset({"STRING", "CHAR"})
_NUMBERS = frozenset({"BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "BIG_INT", "BIG_DEC"})


class ConnectedStreams(Generic[T1, T2]):
    """Two streams that one function reads, each with a method of its own.

    With keys on both, the function has state per key that both inputs share, and timers; its clock
    is the slower one of both. Without keys nothing is shared: each record is processed once, where
    its stream is made, and a function that keeps values in its attributes gets a warning. To send
    values to all parallel instances, use broadcast state.

    Examples
    --------
    >>> from millstream.datastream import KeyedCoProcessFunction, StreamExecutionEnvironment
    >>> from millstream.datastream.state import ValueStateDescriptor
    >>> from millstream.testing import run_local
    >>> class Enrich(KeyedCoProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.city = runtime_context.get_state(ValueStateDescriptor("city"))
    ...
    ...     def process_element1(self, user, ctx):
    ...         self.city.update(user[1])
    ...
    ...     def process_element2(self, order, ctx):
    ...         yield order[1], self.city.value()
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> users = env.from_collection([("ada", "London")])
    >>> orders = env.from_collection([("ada", "tea"), ("bob", "milk")])
    >>> both = users.key_by(lambda user: user[0]).connect(orders.key_by(lambda order: order[0]))
    >>> run_local(both.process(Enrich())).values()
    [('tea', 'London'), ('milk', None)]
    """

    def __init__(self, stream1: DataStream[T1], stream2: DataStream[T2]) -> None:
        self.stream1 = stream1
        self.stream2 = stream2

    def get_first_input(self) -> DataStream[T1]:
        """Return the first stream."""
        return self.stream1

    def get_type1(self) -> TypeInformation[T1]:
        """Return the type of the first stream."""
        return self.get_first_input().get_type()

    def get_type2(self) -> TypeInformation[T2]:
        """Return the type of the second stream."""
        return self.get_second_input().get_type()

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment that the streams belong to."""
        return self.get_first_input().get_execution_environment()

    def get_second_input(self) -> DataStream[T2]:
        """Return the second stream."""
        return self.stream2

    def key_by(
        self,
        key_selector1: Key[T1],
        key_selector2: Key[T2],
        key_type: TypeLike | None = None,
    ) -> ConnectedStreams[T1, T2]:
        """Group both streams by keys that mean the same, see `DataStream.key_by`.

        Parameters
        ----------
        key_selector1, key_selector2
            For each stream, a function that returns the key, or the position or name of a field.
        key_type
            The type of the key.
        """
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type),
            self.stream2.key_by(key_selector2, key_type),
        )

    @overload
    def map(self, func: CoMapFunction[T1, T2, V]) -> DataStream[V]: ...

    @overload
    def map(
        self, func: CoMapFunction[T1, T2, object], output_type: TypeLike[V] | None
    ) -> DataStream[V]: ...

    def map(self, func: Any, output_type: Any = None) -> DataStream[Any]:
        """Turn each record into one record, with one method for each stream.

        Parameters
        ----------
        func
            The function; on keyed streams it may have state per key.
        output_type
            The type of the results, see `DataStream.map`.
        """
        return self._apply("map", "Co-Map", func, CO_MAP, output_type, KeyedCoMap)

    @overload
    def flat_map(self, func: CoFlatMapFunction[T1, T2, V]) -> DataStream[V]: ...

    @overload
    def flat_map(
        self, func: CoFlatMapFunction[T1, T2, object], output_type: TypeLike[V] | None
    ) -> DataStream[V]: ...

    def flat_map(self, func: Any, output_type: Any = None) -> DataStream[Any]:
        """Turn each record into any number of records, with one method for each stream.

        Parameters
        ----------
        func
            The function; on keyed streams it may have state per key.
        output_type
            The type of one result, see `DataStream.map`.
        """
        return self._apply(
            "flat_map", "Co-Flat Map", func, CO_FLAT_MAP, output_type, KeyedCoFlatMap
        )

    @overload
    def process(
        self, func: CoProcessFunction[T1, T2, V] | KeyedCoProcessFunction[Any, T1, T2, V]
    ) -> DataStream[V]: ...

    @overload
    def process(
        self,
        func: CoProcessFunction[T1, T2, object] | KeyedCoProcessFunction[Any, T1, T2, object],
        output_type: TypeLike[V] | None,
    ) -> DataStream[V]: ...

    def process(self, func: Any, output_type: Any = None) -> DataStream[Any]:
        """Emit any number of records per record, also to side outputs; with keys also for timers.

        Parameters
        ----------
        func
            The function. ``yield value`` emits, ``yield tag, value`` goes to a side output.
        output_type
            The type of what it emits, see `DataStream.map`.
        """
        kinds = CO_PROCESS
        if self._is_keyed() and not isinstance(func, CoProcessFunction):
            kinds = KEYED_CO_PROCESS
        return self._apply("process", "Co-Process", func, kinds, output_type, lambda f: f)

    def _is_keyed(self) -> bool:
        return isinstance(self.stream1, KeyedStream) and isinstance(self.stream2, KeyedStream)

    def _apply(
        self,
        kind: StatelessKind,
        name: str,
        func: Any,
        kinds: FunctionKinds,
        output_type: Any,
        with_state: Callable[[Any], Any],
    ) -> DataStream:
        type_info = _checked(func, kinds, output_type)
        if isinstance(self.stream1, KeyedStream) and isinstance(self.stream2, KeyedStream):
            routes = check_keys(self.stream1, self.stream2)
            return self._operator(f"Keyed {name}", with_state(func), routes, type_info)
        warn_of_attributes(func, kinds)
        if kind == "process" and mentions_watermark(func):
            routes = (Place.BY_CHANNEL, Place.BY_CHANNEL)
            return self._operator(name, func, routes, type_info)
        return self._united(kind, name, func, kinds, type_info)

    def _operator(
        self, name: str, func: Any, routes: tuple[Any, Any], output_type: TypeInformation | None
    ) -> DataStream:
        return self.stream1._env._stream(
            KeyedNode,
            name=name,
            inputs=(self.stream1._id, self.stream2._id),
            kind="co_process",
            function=func,
            selector=routes[0],
            second=routes[1],
            key_type=getattr(self.stream1, "_key_type", None),
            output_type=output_type,
        )

    def _united(
        self,
        kind: StatelessKind,
        name: str,
        func: Any,
        kinds: FunctionKinds,
        output_type: TypeInformation | None,
    ) -> DataStream:
        env = self.stream1._env
        parts = [
            env._add(
                StatelessNode,
                name=f"{name} {number}",
                inputs=(stream._id,),
                kind=kind,
                function=OneInput(func, one.method),
                output_type=output_type,
            ).id
            for number, (stream, one) in enumerate(
                zip((self.stream1, self.stream2), kinds, strict=True), start=1
            )
        ]
        node = env._add(UnionNode, name=name, inputs=tuple(parts), output_type=output_type)
        return _UnitedStream(env, env._graph, node.id)


class _UnitedStream(DataStream[T]):
    """The result of a function without keys over two streams: it runs once for each of them."""

    def get_side_output(self, output_tag: OutputTag[V]) -> DataStream[V]:
        node_id = self._id  # This may change the graph.
        parts = [DataStream(self._env, self._graph, i) for i in self._graph[node_id].inputs]
        first, *others = [part.get_side_output(output_tag) for part in parts]
        return first.union(*others)

    def _change(self, setting: str, **changes: object) -> Self:
        super()._change(setting, **changes)
        for number, node_id in enumerate(self._node.inputs, start=1):
            of_part = dict(changes)
            if "name" in changes:
                of_part["name"] = f"{changes['name']} {number}"
            if "uid" in changes:
                of_part["uid"] = f"{changes['uid']}-{number}"
            self._graph.update(node_id, **of_part)
        return self


class BroadcastStream(Generic[T]):
    """A stream whose records come to all parallel instances, and the states that they write.

    Made by `DataStream.broadcast` with descriptors; another stream can ``connect`` to it.

    Examples
    --------
    >>> from millstream.datastream import StreamExecutionEnvironment
    >>> from millstream.datastream.state import MapStateDescriptor
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> rules = env.from_collection([("limit", 3)]).broadcast(MapStateDescriptor("rules"))
    >>> rules
    BroadcastStream(Collection: 'rules')
    """

    def __init__(
        self, input_stream: DataStream[T], descriptors: Sequence[MapStateDescriptor]
    ) -> None:
        self.input_stream = input_stream
        self.broadcast_state_descriptors = checked_descriptors(descriptors)

    @property
    def _states(self) -> tuple[str, ...]:
        return tuple(descriptor.name for descriptor in self.broadcast_state_descriptors)

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self._states))
        return f"BroadcastStream({self.input_stream._node.name}: {names})"


def checked_descriptors(descriptors: Iterable[Any]) -> tuple[MapStateDescriptor, ...]:
    """Return the descriptors of broadcast states if they can be such."""
    found: dict[str, MapStateDescriptor] = {}
    for descriptor in descriptors:
        if not isinstance(descriptor, MapStateDescriptor):
            raise _bad_descriptor(f"broadcast state is a map, got {short_repr(descriptor)}")
        if descriptor.name in found:
            raise _bad_descriptor(f"two broadcast states have the name {descriptor.name!r}")
        if descriptor.ttl_config is not None:
            raise _bad_descriptor(f"broadcast state {descriptor.name!r} cannot expire")
        found[descriptor.name] = descriptor
    return tuple(found.values())


def _bad_descriptor(message: str) -> PlanError:
    return PlanError(
        "BAD_BROADCAST_STATE",
        message,
        location=user_location(),
        hint='write broadcast(MapStateDescriptor("name", key_type, value_type))',
    )


class BroadcastConnectedStream(Generic[T1, T2]):
    """A stream and a broadcast stream that one function reads.

    Examples
    --------
    >>> from millstream.datastream import BroadcastProcessFunction, StreamExecutionEnvironment
    >>> from millstream.datastream.state import MapStateDescriptor
    >>> from millstream.testing import run_local
    >>> LIMIT = MapStateDescriptor("limit")
    >>> class AboveLimit(BroadcastProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         if value > (ctx.get_broadcast_state(LIMIT).get("limit") or 0):
    ...             yield value
    ...
    ...     def process_broadcast_element(self, value, ctx):
    ...         ctx.get_broadcast_state(LIMIT).put("limit", value)
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> limits = env.from_collection([3]).broadcast(LIMIT)
    >>> numbers = env.from_collection([1, 5, 2, 7])
    >>> run_local(numbers.connect(limits).process(AboveLimit())).values()
    [5, 7]
    """

    def __init__(
        self, non_broadcast_stream: DataStream[T1], broadcast_stream: BroadcastStream[T2]
    ) -> None:
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream

    def get_first_input(self) -> DataStream[T1]:
        """Return the stream that is not broadcast."""
        return self.non_broadcast_stream

    def get_second_input(self) -> BroadcastStream[T2]:
        """Return the broadcast stream."""
        return self.broadcast_stream

    @overload
    def process(
        self,
        func: BroadcastProcessFunction[T1, T2, V] | KeyedBroadcastProcessFunction[Any, T1, T2, V],
    ) -> DataStream[V]: ...

    @overload
    def process(
        self,
        func: BroadcastProcessFunction[T1, T2, object]
        | KeyedBroadcastProcessFunction[Any, T1, T2, object],
        output_type: TypeLike[V] | None,
    ) -> DataStream[V]: ...

    def process(self, func: Any, output_type: Any = None) -> DataStream[Any]:
        """Apply a function to the stream, with the maps that broadcast records have written.

        A broadcast record takes effect at its place in the order, for all keys. All parallel
        instances run ``process_broadcast_element``; what it emits counts once.

        Parameters
        ----------
        func
            A `KeyedBroadcastProcessFunction` if the stream has keys, else a
            `BroadcastProcessFunction`.
        output_type
            The type of what it emits, see `DataStream.map`.
        """
        stream, other = self.non_broadcast_stream, self.broadcast_stream
        is_keyed = isinstance(stream, KeyedStream)
        kinds = KEYED_BROADCAST_PROCESS if is_keyed else BROADCAST_PROCESS
        type_info = _checked(func, kinds, output_type)
        return stream._env._stream(
            KeyedNode,
            name="Keyed Broadcast Process" if is_keyed else "Broadcast Process",
            inputs=(stream._id, other.input_stream._id),
            kind="broadcast",
            function=BroadcastSpec(func, other._states),
            selector=getattr(stream, "_selector", Place.BY_POSITION),
            second=Place.EVERY_SLOT,
            key_type=getattr(stream, "_key_type", None),
            output_type=type_info,
        )


def _checked(func: Any, kinds: FunctionKinds, declared: Any) -> TypeInformation | None:
    """Check a function with a method for each input; return the one type of what they emit."""
    for kind in kinds:
        check_function(func, kind)
    if declared is not None:
        return declared_type(declared)
    first, second = (output_type_of(None, func, kind) for kind in kinds)
    return first if first == second else None


def connected(
    stream: DataStream[V1], other: DataStream[V2] | BroadcastStream[V2]
) -> ConnectedStreams[V1, V2] | BroadcastConnectedStream[V1, V2]:
    """Return two streams as one input for a function."""
    if isinstance(other, BroadcastStream):
        stream._check_stream(other.input_stream, "a.connect(b)")
        return BroadcastConnectedStream(stream, other)
    stream._check_stream(other, "a.connect(b)")
    return ConnectedStreams(stream, other)


def check_keys(stream: KeyedStream, other: KeyedStream) -> tuple[Any, Any]:
    """Return the key selectors of both streams, if their keys can ever be equal."""
    types = (stream._key_type, other._key_type)
    kinds = {found.kind for found in types if found is not None and found.certainty}
    if kinds & _TEXTS and kinds & _NUMBERS:
        raise PlanError(
            "KEY_TYPES",
            f"the keys of both streams never meet: {types[0]} on one, {types[1]} on the other",
            location=user_location(),
            hint="let both key selectors return the same type",
        )
    return stream._selector, other._selector
