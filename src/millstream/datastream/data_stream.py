"""Streams of records, and what can be done with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, overload

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.execution_config import ExecutionConfig
from millstream.common.fencing import FencingToken
from millstream.common.output_tag import OutputTag
from millstream.common.state import MapStateDescriptor
from millstream.common.text import TextStyle
from millstream.common.typeinfo import TypeInformation, Types
from millstream.common.watermark_strategy import WatermarkStrategy
from millstream.datastream.collect import CloseableIterator, CollectBuffer
from millstream.datastream.connectors.base import Sink
from millstream.datastream.connectors.print import PrintSink
from millstream.datastream.connectors.spark import SparkSink
from millstream.datastream.execution_plan import ExecutionPlan
from millstream.datastream.fields import Projection
from millstream.datastream.function_checks import (
    FILTER,
    FLAT_MAP,
    KEY,
    MAP,
    PROCESS,
    SINK,
    FunctionKind,
    check_foreach_batch,
    check_function,
    plain_callable,
)
from millstream.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    SinkFunction,
)
from millstream.datastream.operator_settings import OperatorSettings, positive_int
from millstream.datastream.stream_operations import StreamOperations
from millstream.datastream.stream_types import common_type, key_of, output_type_of, projected_type
from millstream.datastream.windowing.assigners import WindowAssigner
from millstream.datastream.windowing.streams import (
    AllWindowedStream,
    Lateness,
    WindowedStream,
    count_assigner,
)
from millstream.kernel.places import Place
from millstream.plan.graph import (
    N,
    SideOutputNode,
    SinkNode,
    StatelessNode,
    TimestampsNode,
    UnionNode,
    function_has_side_outputs,
    takes_dead_letters,
)
from millstream.plan.specs import (
    CollectSpec,
    ForeachBatchSpec,
    FunctionSinkSpec,
    SinkSpec,
)

if TYPE_CHECKING:
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


class DataStream(StreamOperations):
    """A stream of records of one type.

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

    def get_type(self) -> TypeInformation:
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

    def map(self, func: Callable[[Any], Any] | MapFunction, output_type: Any = None) -> DataStream:
        """Replace each record by what a function makes of it.

        Parameters
        ----------
        func
            A function of the record.
        output_type
            The type of the results, from `Types` or as a type hint such as ``tuple[str, int]``.
            By default the function's return annotation says it; without one, results travel
            pickled, which is slower.

        Examples
        --------
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> env.from_collection([1, 2]).map(lambda n: n / 2, output_type=float).get_type()
        DOUBLE
        """
        return self._stateless("map", "Map", func, MAP, output_type_of(output_type, func, MAP))

    def flat_map(
        self, func: Callable[[Any], Iterable[Any] | None] | FlatMapFunction, output_type: Any = None
    ) -> DataStream:
        """Replace each record by any number of others: what a function returns or yields.

        Parameters
        ----------
        func
            A function of the record; None stands for nothing.
        output_type
            The type of one result, see `map`.
        """
        type_info = output_type_of(output_type, func, FLAT_MAP)
        return self._stateless("flat_map", "Flat Map", func, FLAT_MAP, type_info)

    def filter(self, func: Callable[[Any], bool] | FilterFunction) -> DataStream:
        """Keep the records for which a function returns something true."""
        return self._stateless("filter", "Filter", func, FILTER, self._node.output_type)

    def process(self, func: ProcessFunction, output_type: Any = None) -> DataStream:
        """Let a `ProcessFunction` make any number of records of each, also for side outputs."""
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

    def key_by(
        self,
        key_selector: Callable[[Any], Any] | KeySelector | int | str,
        key_type: Any = None,
    ) -> KeyedStream:
        """Group the records by key: state, timers and aggregations then are per key.

        Parameters
        ----------
        key_selector
            A function that returns the key, or the position or name of a field. A key is a
            string, a number, or a tuple of such; never None.
        key_type
            The type of the key, see `map`.

        Examples
        --------
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> env.from_collection([("a", 1), ("b", 2)]).key_by(0).max(1).get_type()
        TUPLE(STRING, LONG)
        """
        if isinstance(key_selector, int | str):
            selector, found = key_of(self._node.output_type, key_selector)
        else:
            selector = plain_callable(key_selector, KEY)
            self._env._check_travels(selector, "key selector of key_by")
            found = None
        if key_type is not None or found is None:
            found = output_type_of(key_type, key_selector, KEY)
        return KeyedStream(self._env, self._graph, self._node_id, selector, found)

    def union(self, *streams: DataStream) -> DataStream:
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
    def connect(self, ds: DataStream) -> ConnectedStreams: ...

    @overload
    def connect(self, ds: BroadcastStream) -> BroadcastConnectedStream: ...

    def connect(
        self, ds: DataStream | BroadcastStream
    ) -> ConnectedStreams | BroadcastConnectedStream:
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

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """Return what a process function emitted under a tag, as ``yield tag, value``.

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

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """Say when records happened, and how far time has come.

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
        self, window_assigner: WindowAssigner[Any, Any], lateness: Lateness = "channel"
    ) -> AllWindowedStream:
        """Cut all records into windows, in one task and without keys: see `KeyedStream.window`."""
        return AllWindowedStream(self, Place.ONE_SLOT, None, window_assigner, lateness)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream:
        """Cut all records into windows of ``size`` records, see `KeyedStream.count_window`."""
        return self.window_all(count_assigner(size, slide))

    # -- exchanges, which results do not depend on -----------------------------------------------

    @overload
    def broadcast(self) -> DataStream: ...

    @overload
    def broadcast(
        self, broadcast_state_descriptor: MapStateDescriptor, *others: MapStateDescriptor
    ) -> BroadcastStream: ...

    def broadcast(self, *descriptors: Any, **named: Any) -> DataStream | BroadcastStream:
        """Send the records to all tasks, which keep what they say in broadcast states.

        Without a state it is only accepted as Flink's hint: each record is processed once.
        """
        states = [*descriptors, *named.values()]
        return BroadcastStream(self, states) if states else self._exchange("broadcast", _BROADCAST)

    # -- sinks -----------------------------------------------------------------------------------

    def print(
        self, sink_identifier: str | None = None, *, text: TextStyle = "flink"
    ) -> DataStreamSink:
        """Print the records on the driver, in order, as epochs are committed.

        Parameters
        ----------
        sink_identifier
            Stands before every record, as in ``words> (hi,1)``.
        text
            ``"flink"`` for the text that PyFlink prints, ``"python"`` for ``str(record)``; they
            differ for records of a declared type.
        """
        return self._sink("Print", PrintSink(sink_identifier or "", text=text).to_spec())

    def print_to_err(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print the records to the standard error stream, see `print`."""
        return self._sink("Print", PrintSink(sink_identifier or "", stderr=True).to_spec())

    def sink_to(self, sink: Sink) -> DataStreamSink:
        """Write the records to a sink.

        Examples
        --------
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> from millstream.datastream.connectors.file_system import FileSink
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> sink = env.from_collection([("a", 1)]).sink_to(FileSink.csv("/tmp/pairs"))
        """
        if not isinstance(sink, Sink):
            raise PlanError(
                "NOT_A_SINK",
                f"sink_to needs a Sink, got {short_repr(sink)}",
                location=user_location(),
                hint="see millstream.datastream.connectors; functions go into add_sink(...)",
            )
        return self._sink(type(sink).__name__, sink.to_spec())

    def add_sink(self, sink_func: Callable[[Any], None] | SinkFunction | Sink) -> DataStreamSink:
        """Call a function for each record, in the task that writes it. A `Sink` does as well."""
        if isinstance(sink_func, Sink):
            return self.sink_to(sink_func)
        check_function(sink_func, SINK)
        return self._sink("Sink", FunctionSinkSpec(function=sink_func))

    def foreach_batch(
        self, func: Callable[[Any, int], None] | Callable[[Any, int, FencingToken], None]
    ) -> DataStreamSink:
        """Call ``func(dataframe, epoch)`` on the driver for each epoch, as in Spark.

        After a crash the last epoch comes again, with the same number: write idempotently by it.

        A function with a third parameter that has no default, or that is named ``token``, is also
        given the `FencingToken` of the epoch. A driver that was stopped and replaced may wake up in the
        middle of the function: a database that compares ``token.attempt`` inside its transaction then
        takes nothing from it.
        """
        takes_token = check_foreach_batch(func)
        return self._sink("Foreach Batch", ForeachBatchSpec(function=func, takes_token=takes_token))

    def write_to(self, format: str, *, mode: str = "append", **options: object) -> DataStreamSink:
        """Write each epoch with a Spark writer, by the name of its format and its options."""
        return self._sink(f"Write {format}", SparkSink(format, mode=mode, **options).to_spec())

    def _sink(self, name: str, spec: SinkSpec) -> DataStreamSink:
        node = self._env._add(SinkNode, name=name, inputs=(self._id,), sink=spec)
        return DataStreamSink(self._env, self._graph, node.id)

    @overload
    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: None = None
    ) -> CloseableIterator: ...

    @overload
    def execute_and_collect(
        self, job_execution_name: str | None = None, *, limit: int
    ) -> list[Any]: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None, limit: int) -> list[Any]: ...

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the job, with all sinks built so far, and bring this stream's records here.

        Parameters
        ----------
        job_execution_name
            The name of the job.
        limit
            Stop the job after so many records and return them as a list. Without a limit the
            result is an iterator; close it, or use it in a ``with`` statement, to stop the job
            early. It ends with the job, and raises the job's error if there is one.
        """
        if limit is not None:
            positive_int("limit", limit)
        buffer = CollectBuffer()
        self._sink("Collect", CollectSpec(deliver=buffer.deliver))
        records = CloseableIterator(buffer, self._env.execute_async(job_execution_name))
        return records if limit is None else records.take(limit)


class DataStreamSink(OperatorSettings):
    """The end of a stream: it can be named, and nothing else can follow it."""

    def set_max_parallelism(self, max_parallelism: int) -> DataStreamSink:
        """Accept Flink's upper limit of the parallelism."""
        positive_int("max_parallelism", max_parallelism)
        return self._note("set_max_parallelism", "a savepoint fits any number of slots")

    def __repr__(self) -> str:
        return f"DataStreamSink({self._node.name})"


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
from millstream.datastream.keyed_stream import KeyedStream  # noqa: E402, I001
from millstream.datastream.cached_stream import CachedDataStream  # noqa: E402
from millstream.datastream.connected_streams import (  # noqa: E402
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
    connected,
)
