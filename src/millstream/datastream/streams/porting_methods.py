"""Methods of streams for programs that come from Flink."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from millstream.common.type_variables import T
from millstream.datastream.building.operator_settings import StreamSettings

if TYPE_CHECKING:
    from millstream.datastream.streams.cached_stream import CachedDataStream

__all__ = ["PortingMethods"]


class PortingMethods(StreamSettings, Generic[T]):
    """Methods of a `DataStream` for ported programs."""

    def get_id(self) -> int:
        """Return the number of the operator in the graph of the job."""
        return self._id

    def get_parallelism(self) -> int:
        """Return how many tasks run at once; it is the same for all operators."""
        return self._env.get_parallelism()

    def cache(self) -> CachedDataStream[T]:
        """Return the stream for use in several jobs; each job computes it again.

        Results are the same as in Flink, which keeps them. To compute a stream once, write it to
        files and read them in later jobs.
        """
        from millstream.datastream.streams.cached_stream import CachedDataStream

        self._note("cache", "each job computes the stream again; write it to files to keep it")
        return CachedDataStream(self._env, self._graph, self._node_id)
