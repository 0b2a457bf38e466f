"""Helpers for streams, as Flink has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from millstream.common.type_aliases import TypeLike
    from millstream.common.type_variables import K2, T
    from millstream.datastream.functions.types import KeyLike
    from millstream.datastream.streams.data_stream import DataStream, KeyedStream

__all__ = ["DataStreamUtils"]


class DataStreamUtils:
    """Flink's helpers for streams."""

    @overload
    @staticmethod
    def reinterpret_as_keyed_stream(
        stream: DataStream[T], key_selector: KeyLike[T, K2], key_type: TypeLike | None = None
    ) -> KeyedStream[K2, T]: ...

    @overload
    @staticmethod
    def reinterpret_as_keyed_stream(
        stream: DataStream[T], key_selector: int | str, key_type: TypeLike[K2] | None = None
    ) -> KeyedStream[K2, T]: ...

    @staticmethod
    def reinterpret_as_keyed_stream(
        stream: DataStream[Any], key_selector: Any, key_type: Any = None
    ) -> KeyedStream[Any, Any]:
        """Group the records by the key that the keyed operator before them has.

        See `DataStream.reinterpret_as_keyed_stream`.

        Examples
        --------
        >>> from millstream.datastream import KeyedProcessFunction, StreamExecutionEnvironment
        >>> class Same(KeyedProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         yield value
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> same = env.from_collection([("a", 1), ("a", 2)]).key_by(0).process(Same())
        >>> DataStreamUtils.reinterpret_as_keyed_stream(same, 0).sum(1).get_name()
        'Sum'
        """
        return stream.reinterpret_as_keyed_stream(key_selector, key_type)
