"""Sources under the names of Flink's Java API, and of its older versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast, overload

from millstream.common.configuration import Configuration
from millstream.common.watermark_strategy import WatermarkStrategy
from millstream.datastream.connectors.number_seq import NumberSequenceSource

if TYPE_CHECKING:
    from millstream.common.type_aliases import TypeLike
    from millstream.common.type_variables import V
    from millstream.connectors.source import Source
    from millstream.datastream.environment.settings import EnvironmentSettings
    from millstream.datastream.job_client import JobListener
    from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
    from millstream.datastream.streams.data_stream import DataStream

__all__ = ["MoreSources"]


class MoreSources:
    """The part of `StreamExecutionEnvironment` that says known things under other names."""

    _settings: EnvironmentSettings
    _listeners: list[JobListener]

    @property
    def _me(self) -> StreamExecutionEnvironment:
        return cast("StreamExecutionEnvironment", self)

    @overload
    def from_data(self, data: list[V], /) -> DataStream[V]: ...

    @overload
    def from_data(self, *data: V) -> DataStream[V]: ...

    @overload
    def from_data(self, *data: Any, type_info: TypeLike[V] | None) -> DataStream[V]: ...

    def from_data(self, *data: Any, type_info: Any = None) -> DataStream[Any]:
        """Make a stream of elements, or of one list of them.

        Examples
        --------
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> env.from_data(1, 2, 3).get_type(), env.from_data(["a", "b"]).get_type()
        (LONG, STRING)
        """
        elements = data[0] if len(data) == 1 and isinstance(data[0], list) else list(data)
        return self._me.from_collection(elements, type_info)

    @overload
    def from_elements(self, *elements: V) -> DataStream[V]: ...

    @overload
    def from_elements(self, *elements: Any, type_info: TypeLike[V] | None) -> DataStream[V]: ...

    def from_elements(self, *elements: Any, type_info: Any = None) -> DataStream[Any]:
        """Make a stream of elements; the older form of `from_data`."""
        return self._me.from_collection(list(elements), type_info)

    @overload
    def from_parallel_collection(self, collection: Iterable[V]) -> DataStream[V]: ...

    @overload
    def from_parallel_collection(
        self, collection: Iterable[Any], type_info: TypeLike[V] | None
    ) -> DataStream[V]: ...

    def from_parallel_collection(
        self, collection: Iterable[Any], type_info: Any = None
    ) -> DataStream[Any]:
        """Make a stream of elements, as `from_collection` does: one channel, in order."""
        return self._me.from_collection(collection, type_info)

    def from_sequence(self, start: int, end: int) -> DataStream[int]:
        """Make a stream of the whole numbers from ``start`` to ``end``, both included.

        Examples
        --------
        >>> from millstream.datastream import StreamExecutionEnvironment
        >>> from millstream.testing import run_local
        >>> run_local(lambda env: env.from_sequence(1, 3)).values()
        [1, 2, 3]
        """
        source = NumberSequenceSource(start, end)
        return self._me.from_source(source, WatermarkStrategy.no_watermarks(), "Sequence")

    def generate_sequence(self, start: int, end: int) -> DataStream[int]:
        """Make a stream of whole numbers; the older form of `from_sequence`."""
        return self.from_sequence(start, end)

    def create_input(
        self, input_format: Source, type_info: TypeLike[V] | None = None
    ) -> DataStream[V]:
        """Make a stream of what an input format reads, such as `AvroInputFormat`: it is a source."""
        strategy = WatermarkStrategy.no_watermarks()
        return self._me.from_source(input_format, strategy, type(input_format).__name__, type_info)

    @classmethod
    def create_local_environment(
        cls, parallelism: int | Configuration | None = None, configuration: Any = None
    ) -> StreamExecutionEnvironment:
        """Make an environment; the Spark session says where jobs run, by default on this machine."""
        if isinstance(parallelism, Configuration | Mapping):
            parallelism, configuration = None, parallelism
        make: Any = cls
        env: StreamExecutionEnvironment = make.get_execution_environment(configuration)
        return env if parallelism is None else env.set_parallelism(parallelism)

    def get_configuration(self) -> Configuration:
        """Return the settings that were given by key."""
        return Configuration(self._settings.given)

    def get_job_listeners(self) -> list[JobListener]:
        """Return the listeners."""
        return list(self._listeners)
