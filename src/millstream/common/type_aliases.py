"""Types of arguments: durations, types, the functions of state, and results of functions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from types import UnionType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from millstream.common.output_tag import OutputTag
from millstream.common.time import Duration, Time
from millstream.common.type_variables import ACC, IN, OUT, V
from millstream.common.typesystem.base import TypeInformation

__all__ = ["DurationLike", "Emitted", "TypeLike"]

DurationLike: TypeAlias = Duration | Time | timedelta | str | int
"""A duration: ``"5 s"``, a `timedelta`, a `Time`, a `Duration`, or an int of milliseconds.

`millstream.common.time.to_millis` reads it.
"""

TypeLike: TypeAlias = TypeInformation[V] | type[V] | UnionType | list[TypeInformation[Any]]
"""A type of records: `Types`, a type hint such as ``tuple[str, int]``, or a list of types for a row.

`millstream.datastream.building.stream_types.declared_type` reads it.
"""

Emitted: TypeAlias = Iterable[OUT | tuple[OutputTag[Any], Any]] | None
"""Results of a process function: values, and pairs (tag, value) for side outputs."""

if TYPE_CHECKING:

    class Reduces(Protocol[V]):
        """A `ReduceFunction`, or any object with its method."""

        def reduce(self, value1: V, value2: V, /) -> V:
            """Return both values in one."""

    class Aggregates(Protocol[IN, ACC, OUT]):
        """An `AggregateFunction`, or any object with its methods."""

        def create_accumulator(self) -> ACC:
            """Return the accumulator of no values."""

        def add(self, value: IN, accumulator: ACC, /) -> ACC:
            """Return the accumulator with one more value."""

        def get_result(self, accumulator: ACC, /) -> OUT:
            """Return the result of the accumulator."""
