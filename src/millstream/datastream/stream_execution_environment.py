"""The start of a program: it makes streams and runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, overload

from millstream.common.configuration import Configuration
from millstream.common.errors import PlanError, user_location
from millstream.common.execution_config import ExecutionConfig
from millstream.common.job import JobExecutionResult
from millstream.common.type_aliases import DurationLike
from millstream.common.typeinfo import Types
from millstream.common.watermark_strategy import WatermarkStrategy
from millstream.connectors.collection import CollectionSource
from millstream.connectors.source import Source, SourceSpec
from millstream.datastream.building.execution_plan import ExecutionPlan
from millstream.datastream.building.stream_types import declared_type
from millstream.datastream.checkpoint_config import CheckpointConfig
from millstream.datastream.checkpointing_mode import CheckpointingMode
from millstream.datastream.connectors import DiscardingSink, FileSource
from millstream.datastream.environment.accepted_settings import AcceptedSettings
from millstream.datastream.environment.graph_copy import copy_with_inputs, part_of
from millstream.datastream.environment.inputs import (
    checked_elements,
    dataframe_spec,
    socket_spec,
    source_specs,
)
from millstream.datastream.environment.launch import Launch
from millstream.datastream.environment.more_sources import MoreSources
from millstream.datastream.environment.settings import EnvironmentSettings
from millstream.datastream.environment.submitting import submit_job
from millstream.datastream.environment.unexecuted import Unexecuted
from millstream.datastream.execution_mode import RuntimeExecutionMode
from millstream.datastream.job_client import JobClient, JobListener
from millstream.datastream.streams.data_stream import DataStream, checked_strategy
from millstream.plan.graph import NOT_OPERATORS, JobGraph, N, SinkNode, SourceNode
from millstream.plan.options import JobOptions
from millstream.plan.travel import refuse_what_cannot_travel, unpicklable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from millstream.common.type_aliases import TypeLike
    from millstream.common.type_variables import V
    from millstream.common.types import Row
    from millstream.datastream.timestamped_value import TimestampedValue
    from millstream.kernel.steps.decode import Decoder
    from millstream.plan.physical import Stored

__all__ = ["StreamExecutionEnvironment"]

_STOP_SECONDS = 30


class StreamExecutionEnvironment(AcceptedSettings, MoreSources):
    """Makes streams, holds the settings, and runs jobs.

    Get one with `get_execution_environment`. Nothing runs before `execute`, `execute_async` or
    ``stream.execute_and_collect``; each runs everything that was built since the previous one.

    Examples
    --------
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> env.set_parallelism(4).get_parallelism()
    4
    >>> words = env.from_collection(["to", "be", "or", "not", "to", "be"])
    >>> words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1).print()
    DataStreamSink(Print)
    """

    def __init__(self, spark: SparkSession | None = None) -> None:
        super().__init__(EnvironmentSettings())
        self._spark = spark
        self._graph = JobGraph()
        self._adopted: dict[int, tuple[JobGraph, dict[int, int]]] = {}
        self._listeners: list[JobListener] = []
        self._sends_functions = True
        self._unexecuted = Unexecuted()

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | Mapping[str, Any] | None = None,
        spark: SparkSession | None = None,
    ) -> StreamExecutionEnvironment:
        """Return a new environment.

        Parameters
        ----------
        configuration
            Settings to begin with, see `configure`.
        spark
            The session to run on. Without one the job takes the active session, or starts one
            when it runs.
        """
        env = StreamExecutionEnvironment(spark)
        return env if configuration is None else env.configure(configuration)

    # -- settings --------------------------------------------------------------------------------

    def get_config(self) -> ExecutionConfig:
        """Return the settings of the run that have no method here."""
        return self._settings.config

    def configure(
        self, configuration: Configuration | Mapping[str, Any]
    ) -> StreamExecutionEnvironment:
        """Apply settings by their keys.

        Flink's keys: ``parallelism.default``, ``execution.runtime-mode``,
        ``execution.checkpointing.interval``, ``execution.checkpointing.dir``,
        ``state.checkpoints.dir``, ``pipeline.name``, ``pipeline.auto-watermark-interval``. Ours:
        ``millstream.slots``, ``millstream.channel-order``, ``millstream.progress``,
        ``millstream.trust``, ``millstream.epoch.max-bytes``, ``-files`` and ``-records``,
        ``millstream.worker.memory``. Keys that begin with ``spark.`` go to the Spark session.

        Examples
        --------
        >>> settings = Configuration.from_dict({"parallelism.default": 3, "millstream.slots": 12})
        >>> StreamExecutionEnvironment.get_execution_environment(settings).get_parallelism()
        3
        """
        if not isinstance(configuration, Configuration):
            configuration = Configuration.from_dict(configuration)
        self._settings.configure(configuration)
        return self

    def set_parallelism(self, parallelism: int) -> StreamExecutionEnvironment:
        """Set how many tasks run at once; by default as many as there are cores."""
        self._settings.config.set_parallelism(parallelism)
        return self

    def get_parallelism(self) -> int:
        """Return how many tasks run at once."""
        return self._settings.parallelism

    def set_slots(self, slots: int) -> StreamExecutionEnvironment:
        """Set the number of parts that keys are divided into; by default the parallelism.

        More slots than tasks make the state of each smaller, and leave room to grow.
        """
        self._settings.set_slots(slots)
        return self

    def set_runtime_mode(
        self, execution_mode: RuntimeExecutionMode | str
    ) -> StreamExecutionEnvironment:
        """Set whether to run as a stream, the default, as a batch, or as the sources suggest."""
        self._settings.set_mode(execution_mode)
        return self

    def set_channel_order(self, order: str) -> StreamExecutionEnvironment:
        """Set the order in which records of several channels are processed.

        ``"arrival"``, the default, takes them as they come. ``"watermark"`` holds a record until
        all channels have come as far, so that every event-time program has the same result
        under every schedule, at the price of latency.
        """
        self._settings.set_channel_order(order)
        return self

    def enable_checkpointing(
        self, interval: DurationLike, mode: CheckpointingMode | None = None
    ) -> StreamExecutionEnvironment:
        """Set the time from one checkpoint to the next: milliseconds, ``"10 s"``, a `timedelta`.

        A checkpoint is an epoch: output becomes visible with it. Without this call epochs follow
        each other without a pause.
        """
        self._settings.checkpoints.set_checkpoint_interval(interval)
        if mode is not None:
            self._settings.checkpoints.set_checkpointing_mode(mode)
        return self

    def set_checkpoint_directory(self, path: str) -> StreamExecutionEnvironment:
        """Set where checkpoints are kept: a job that finds its own there goes on from it."""
        self._settings.checkpoints.set_checkpoint_storage_dir(path)
        return self

    def restore_from_savepoint(
        self, path: str, *, allow_non_restored_state: bool = False
    ) -> StreamExecutionEnvironment:
        """Let the next job go on from a savepoint.

        Operators find their state by uid. Started again after a failure, the job goes on from its own
        checkpoint, if that has begun from this savepoint.

        Parameters
        ----------
        path
            The folder of a savepoint, or one that has a single savepoint in it.
        allow_non_restored_state
            Go on without the state of operators that the program does not have any more.
        """
        self._settings.savepoint_path = path
        self._settings.allow_non_restored_state = allow_non_restored_state
        return self

    def get_checkpoint_config(self) -> CheckpointConfig:
        """Return the settings of checkpoints."""
        return self._settings.checkpoints

    # -- sources ---------------------------------------------------------------------------------

    @overload
    def from_collection(self, collection: Iterable[TimestampedValue[V]]) -> DataStream[V]: ...

    @overload
    def from_collection(
        self, collection: Iterable[V], *, timestamps: Iterable[int] | None = None
    ) -> DataStream[V]: ...

    @overload
    def from_collection(
        self,
        collection: Iterable[Any],
        type_info: TypeLike[V] | None,
        *,
        timestamps: Iterable[int] | None = None,
    ) -> DataStream[V]: ...

    def from_collection(
        self,
        collection: Iterable[Any],
        type_info: Any = None,
        *,
        timestamps: Iterable[int] | None = None,
    ) -> DataStream[Any]:
        """Make a stream of elements that the program has.

        Parameters
        ----------
        collection
            The elements; with `TimestampedValue` each brings its event time.
        type_info
            Their type, from `Types` or as a type hint; by default it is found from all of them.
            Each element is checked against it now.
        timestamps
            Their event times in milliseconds, one for each.

        Examples
        --------
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> env.from_collection([("a", 1), ("b", 2)]).get_type()
        TUPLE(STRING, LONG)
        >>> env.from_collection([1, "2"], Types.LONG())
        Traceback (most recent call last):
        millstream.common.errors.TypeMismatchError: [ELEMENT_TYPE] element 1 of the collection, \
'2', is not a LONG: expected int, got str
        ...
        """
        declared = declared_type(type_info)
        elements, times, found = checked_elements(collection, declared, timestamps)
        return self._source("Collection", CollectionSource.of(elements, times), found)

    def read_text_file(self, file_path: str, charset_name: str = "UTF-8") -> DataStream[str]:
        """Make a stream of the lines of a file, a directory or a pattern."""
        (spec,) = FileSource.text(file_path, charset=charset_name).parts()
        return self._source("Text File", spec, Types.STRING())

    def socket_text_stream(self, host: str, port: int) -> DataStream[str]:
        """Make a stream of the lines that a TCP server sends; for trying things out.

        A socket cannot be read twice, so records in flight at a failure are lost.
        """
        return self._source("Socket", socket_spec(host, port), Types.STRING())

    def from_dataframe(
        self,
        df: DataFrame,
        channel: str | None = None,
        position: str | None = None,
        resume: Callable[[Any], DataFrame] | None = None,
    ) -> DataStream[Row]:
        """Make a stream of the rows of a Spark DataFrame, streaming or batch.

        Parameters
        ----------
        df
            The DataFrame.
        channel, position
            Columns with the ordered sequence of a row, and its position there: for example
            ``partition`` and ``offset`` of a Kafka source. Without them the DataFrame is one
            channel whose event time moves at the ends of epochs.
        resume
            Makes the DataFrame of a job that goes on from a savepoint: a function of the offset, as the
            source has written it (for Kafka a dict by topic and partition). Without it a job with
            a streaming DataFrame cannot take savepoints.
        """
        spec, found = dataframe_spec(df, channel, position, resume)
        return self._source("DataFrame", spec, found)

    def from_source(
        self,
        source: Source,
        watermark_strategy: WatermarkStrategy,
        source_name: str,
        type_info: TypeLike[V] | None = None,
    ) -> DataStream[V]:
        """Make a stream of what a source reads.

        Parameters
        ----------
        source
            One of `millstream.datastream.connectors`, or a `millstream.connectors.ChannelSource`.
        watermark_strategy
            How records get event times; `WatermarkStrategy.no_watermarks` if they have none.
        source_name
            The name of the operator.
        type_info
            The type of the records; by default the source says it.
        """
        strategy = checked_strategy(watermark_strategy)
        specs = source_specs(source)
        found = declared_type(type_info) or source.get_produced_type()
        convert = source.conversion()
        if convert is None:
            return self._sources(source_name, specs, found, strategy, source.decoder())
        read = self._sources(source_name, specs, convert.read_type, None)
        records = read.flat_map(convert.function, found).name("Parse")
        return records.assign_timestamps_and_watermarks(strategy)

    def _sources(
        self,
        name: str,
        specs: Sequence[SourceSpec],
        type_info: Any,
        strategy: Any,
        decoder: Decoder | None = None,
    ) -> DataStream:
        streams = [self._source(name, spec, type_info, strategy, decoder) for spec in specs]
        return streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]

    def add_source(
        self,
        source_func: Source,
        source_name: str = "Custom Source",
        type_info: TypeLike[V] | None = None,
    ) -> DataStream[V]:
        """Make a stream of a source without event times; the older form of `from_source`."""
        strategy = WatermarkStrategy.no_watermarks()
        return self.from_source(source_func, strategy, source_name, type_info)

    def _source(
        self,
        name: str,
        spec: SourceSpec,
        type_info: Any,
        strategy: Any = None,
        decoder: Decoder | None = None,
    ) -> DataStream:
        # A custom generator is stateful, so it is an operator of its own behind the source.
        apart = strategy is not None and strategy.kind == "custom"
        stream = self._stream(
            SourceNode,
            name=name,
            source=spec,
            output_type=type_info,
            strategy=None if apart else strategy,
            decoder=decoder,
        )
        return stream.assign_timestamps_and_watermarks(strategy) if apart else stream

    def _session(self) -> SparkSession:
        """The Spark session of the jobs; it begins if there is none yet."""
        from millstream.spark.session.session import get_session

        options = self._settings.options(None)
        return get_session(self._spark, options.parallelism, options.configuration, spare_slots=1)

    # -- running ---------------------------------------------------------------------------------

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run everything built since the last job, and wait for its end.

        Only what leads to a sink runs. A job whose sources have no end runs until it is stopped,
        for example with Ctrl-C.

        Raises
        ------
        PlanError
            The program is wrong; nothing has started.
        MillstreamError
            The job has failed.
        """
        client = self.execute_async(job_name)
        try:
            result = client.get_job_execution_result().result()
        except KeyboardInterrupt:
            with suppress(TimeoutError):
                client.cancel().result(timeout=_STOP_SECONDS)
            raise
        except BaseException as error:
            self._tell(JobListener.on_job_executed, None, error)
            raise
        self._tell(JobListener.on_job_executed, result, None)
        return result

    def execute_async(self, job_name: str | None = None) -> JobClient:
        """Start everything built since the last job, and return a handle on it."""
        job = self._job_graph()
        launched = Launch.read()
        if launched is not None and launched.explain:
            print(self.get_execution_plan())
            raise SystemExit(0)
        options = self._settings.options(job_name)
        self._graph, self._adopted = JobGraph(), {}
        return self._start(job, options)

    def _start(self, job: JobGraph, options: JobOptions) -> JobClient:
        try:
            client = submit_job(self, job, options)
        except BaseException as error:
            self._tell(JobListener.on_job_submitted, None, error)
            raise
        self._tell(JobListener.on_job_submitted, client, None)
        return client

    def get_execution_plan(self) -> ExecutionPlan:
        """Return how the job would run: stages, what is fused, and why.

        It is text, and a diagram in a notebook that knows Mermaid.
        """
        sinks = [node.id for node in self._graph if isinstance(node, SinkNode)]
        return self._explain(sinks or list(self._graph.nodes))

    def register_job_listener(self, job_listener: JobListener) -> None:
        """Call a listener when jobs of this environment start and end."""
        self._listeners.append(job_listener)

    def clear_job_listeners(self) -> None:
        """Remove all listeners."""
        self._listeners.clear()

    def close(self) -> None:
        """Drop the operators that have not run; the Spark session stays."""
        self._unexecuted.asked_for()
        self._graph, self._adopted = JobGraph(), {}

    def _tell(self, what: Callable[..., None], *news: object) -> None:
        for listener in self._listeners:
            getattr(listener, what.__name__)(*news)

    def _explain(self, targets: list[int]) -> ExecutionPlan:
        from millstream.plan.explain import explain

        self._unexecuted.asked_for()
        part = part_of(self._graph, targets)
        for node in list(part):
            if not isinstance(node, SinkNode) and not part.consumers(node.id):
                part.add(SinkNode, name="No Sink", inputs=(node.id,), sink=DiscardingSink())
        options = self._settings.options(None)
        plan = explain(part, options, self._stored(options))
        return ExecutionPlan(plan.text, plan.mermaid)

    @staticmethod
    def _stored(options: JobOptions) -> Stored:
        """The state that a job with these options would begin with."""
        from millstream.plan.physical import NOTHING

        if options.savepoint_path is None and options.checkpoint_dir is None:
            return NOTHING
        from millstream.spark.savepoint.stored_layouts import stored_layouts

        return stored_layouts(options)

    # -- the graph -------------------------------------------------------------------------------

    def _add(self, node_class: type[N], **fields: Any) -> N:
        node = self._graph.add(node_class, location=user_location(), **fields)
        if self._sends_functions:
            try:
                refuse_what_cannot_travel(node)
            except PlanError:
                del self._graph.nodes[node.id]
                raise
        self._unexecuted.built(node.location)
        return node

    def _check_travels(self, function: Any, what: str) -> None:
        """Refuse a function at once that becomes part of an operator later."""
        error = unpicklable(function, what, user_location()) if self._sends_functions else None
        if error is not None:
            raise error

    def _stream(self, node_class: type[N], **fields: Any) -> DataStream:
        return DataStream(self, self._graph, self._add(node_class, **fields).id)

    def _adopt(self, graph: JobGraph, node_id: int) -> int:
        """Copy a stream of an earlier job, with all it reads from, into the current graph."""
        _, known = self._adopted.setdefault(id(graph), (graph, {}))
        before = set(known.values())
        copy_with_inputs(graph, [node_id], self._graph, known)
        for new_id in set(known.values()) - before:
            self._graph.update(new_id, uid=self._graph[new_id].uid)  # refuses a uid twice
        return known[node_id]

    def _job_graph(self) -> JobGraph:
        self._unexecuted.asked_for()
        sinks = [node.id for node in self._graph if isinstance(node, SinkNode)]
        if not sinks:
            raise PlanError(
                "NO_SINK",
                # The first sentence is Flink's: programs look for it.
                "No operators defined in streaming topology. "
                "No stream of this job ends in a sink, so there is nothing to run",
                location=user_location(),
                hint="end one with print(), sink_to(...) or execute_and_collect(); "
                "with DiscardingSink() if only side effects matter",
            )
        job = part_of(self._graph, sinks)
        if not self.get_config().has_auto_generated_uids_enabled():
            _require_uids(job)
        return job


def _require_uids(job: JobGraph) -> None:
    for node in job:
        if node.uid is None and not isinstance(node, NOT_OPERATORS):
            raise PlanError(
                "NO_UID",
                f"operator {node.name!r} has no uid, and auto-generated uids are disabled",
                location=node.location,
                hint="call uid(...) on it",
            )
