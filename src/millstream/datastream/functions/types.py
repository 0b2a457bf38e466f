"""Functions that streams accept: a plain function or lambda, or an object of the function class."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from millstream.common.type_variables import IN, KEY, OUT, WINDOW, V
from millstream.datastream.functions.base import (
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    ReduceFunction,
    SinkFunction,
)
from millstream.datastream.functions.windowed import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)

__all__ = [
    "AnyWindowFunction",
    "FilterLike",
    "FlatMapLike",
    "Key",
    "KeyLike",
    "MapLike",
    "ReduceLike",
    "SinkLike",
]

MapLike: TypeAlias = Callable[[IN], OUT] | MapFunction[IN, OUT]
FlatMapLike: TypeAlias = Callable[[IN], Iterable[OUT] | None] | FlatMapFunction[IN, OUT]
FilterLike: TypeAlias = Callable[[IN], object] | FilterFunction[IN]
KeyLike: TypeAlias = Callable[[IN], OUT] | KeySelector[IN, OUT]
Key: TypeAlias = Callable[[IN], object] | KeySelector[IN, object] | int | str
ReduceLike: TypeAlias = Callable[[V, V], V] | ReduceFunction[V]
SinkLike: TypeAlias = Callable[[IN], object] | SinkFunction[IN]
AnyWindowFunction: TypeAlias = (
    WindowFunction[IN, OUT, KEY, WINDOW]
    | ProcessWindowFunction[IN, OUT, KEY, WINDOW]
    | AllWindowFunction[IN, OUT, WINDOW]
    | ProcessAllWindowFunction[IN, OUT, WINDOW]
)
