"""The ends of streams: what takes records out of the job."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, overload

from millstream.common.arguments import positive_int
from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.fencing import FencingToken
from millstream.common.text import TextStyle
from millstream.common.type_variables import T
from millstream.connectors.simple_sinks import (
    CalledFunction,
    CollectingSink,
    ForeachBatchSink,
    PrintSink,
)
from millstream.connectors.sink import Sink
from millstream.datastream.building.operator_settings import OperatorSettings, StreamSettings
from millstream.datastream.connectors.spark import SparkSink
from millstream.datastream.functions.checks import SINK, check_foreach_batch, check_function
from millstream.datastream.streams.collect import CloseableIterator, CollectBuffer, LaterCollector
from millstream.plan.graph import SinkNode

if TYPE_CHECKING:
    from millstream.datastream.functions.types import SinkLike

__all__ = ["DataStreamSink", "SinkMethods"]


class SinkMethods(StreamSettings, Generic[T]):
    """The methods of `DataStream` that end it."""

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
        return self._sink("Print", PrintSink(sink_identifier or "", text=text))

    def print_to_err(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print the records to the standard error stream, see `print`."""
        return self._sink("Print", PrintSink(sink_identifier or "", stderr=True))

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
        sink.validate()
        sink_input: SinkMethods[Any] = sink.preprocess(self)
        return sink_input._sink(type(sink).__name__, sink)

    def add_sink(self, sink_func: SinkLike[T] | Sink) -> DataStreamSink:
        """Call a function for each record, in the task that writes it. A `Sink` does as well."""
        if isinstance(sink_func, Sink):
            return self.sink_to(sink_func)
        check_function(sink_func, SINK)
        return self._sink("Sink", CalledFunction(sink_func))

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
        return self._sink("Foreach Batch", ForeachBatchSink(func, takes_token))

    def write_to(self, format: str, *, mode: str = "append", **options: object) -> DataStreamSink:
        """Write each epoch with a Spark writer, by the name of its format and its options."""
        return self._sink(f"Write {format}", SparkSink(format, mode=mode, **options))

    def _sink(self, name: str, sink: Sink) -> DataStreamSink:
        node = self._env._add(SinkNode, name=name, inputs=(self._id,), sink=sink)
        return DataStreamSink(self._env, self._graph, node.id)

    @overload
    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: None = None
    ) -> CloseableIterator[T]: ...

    @overload
    def execute_and_collect(
        self, job_execution_name: str | None = None, *, limit: int
    ) -> list[T]: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None, limit: int) -> list[T]: ...

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator[T] | list[T]:
        """Run the job, with all sinks built so far, and bring this stream's records here.

        Parameters
        ----------
        job_execution_name
            The name of the job.
        limit
            Stop the job after this many records and return them as a list. Without a limit the
            result is an iterator; close it, or use it in a ``with`` statement, to stop the job
            early. It ends with the job, and raises the job's error if there is one.
        """
        if limit is not None:
            positive_int("limit", limit)
        buffer = CollectBuffer()
        self._sink("Collect", CollectingSink(buffer.deliver))
        records: CloseableIterator[T] = CloseableIterator(
            buffer, self._env.execute_async(job_execution_name)
        )
        return records if limit is None else records.take(limit)

    def collect_async(self) -> CloseableIterator[T]:
        """Return the records that the next job brings here; ``env.execute()`` starts it.

        Examples
        --------
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> records = env.from_collection([1, 2]).collect_async()
        """
        collector: LaterCollector[T] = LaterCollector(self._env)
        self._sink("Collect", CollectingSink(collector.deliver))
        return collector


class DataStreamSink(OperatorSettings):
    """The end of a stream: it can be named, and no operator can follow it."""

    def set_max_parallelism(self, max_parallelism: int) -> DataStreamSink:
        """Accept Flink's upper limit of the parallelism."""
        positive_int("max_parallelism", max_parallelism)
        return self._note("set_max_parallelism", "a savepoint fits any number of slots")

    def __repr__(self) -> str:
        return f"DataStreamSink({self._node.name})"
