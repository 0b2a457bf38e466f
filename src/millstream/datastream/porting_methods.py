"""Methods of streams for programs that come from Flink."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from millstream.datastream.collect import CloseableIterator, LaterCollector
from millstream.datastream.operator_settings import StreamSettings
from millstream.plan.specs import CollectSpec

if TYPE_CHECKING:
    from millstream.datastream.cached_stream import CachedDataStream
    from millstream.datastream.data_stream import DataStream

__all__ = ["PortingMethods"]


class PortingMethods(StreamSettings):
    """What a `DataStream` has for ported programs."""

    def get_id(self) -> int:
        """Return the number of the operator in the graph of the job."""
        return self._id

    def get_parallelism(self) -> int:
        """Return how many tasks run at once; it is the same for all operators."""
        return self._env.get_parallelism()

    def cache(self) -> CachedDataStream:
        """Return the stream for use in several jobs; each job computes it again.

        Results are the same as in Flink, which keeps them. To compute a stream once, write it to
        files and read them in later jobs.
        """
        from millstream.datastream.cached_stream import CachedDataStream

        self._note("cache", "each job computes the stream again; write it to files to keep it")
        return CachedDataStream(self._env, self._graph, self._node_id)

    def collect_async(self) -> CloseableIterator:
        """Return the records that the next job brings here; ``env.execute()`` starts it.

        Examples
        --------
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> records = env.from_collection([1, 2]).collect_async()
        """
        collector = LaterCollector(self._env)
        stream = cast("DataStream", self)
        stream._sink("Collect", CollectSpec(deliver=collector.deliver))
        return collector
