"""Random parts of data, by a seed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from millstream.common.state import ValueState, ValueStateDescriptor
from millstream.common.typeinfo import RowTypeInfo, Types
from millstream.datastream.data_stream import DataStream
from millstream.datastream.functions import KeyedProcessFunction, RuntimeContext

__all__ = ["parts_of_rows", "split_stream"]


def bounds_of(weights: Sequence[float]) -> list[float]:
    """The bounds between the parts; the last part ends at 1."""
    return list(accumulate(weights))[:-1]


def parts_of_rows(count: int, weights: Sequence[float], seed: int) -> NDArray[np.int64]:
    """The number of the part of each row.

    Examples
    --------
    >>> parts_of_rows(6, [0.5, 0.5], 1).tolist()
    [1, 1, 0, 1, 0, 0]
    """
    random = np.random.default_rng(seed % 2**64).random(count)
    return np.searchsorted(bounds_of(weights), random, "right")


def _text_of(row: Any) -> str:
    """A text that is the same for rows that are the same."""
    return repr([v.tolist() if isinstance(v, np.ndarray) else v for v in row])


class _Part(KeyedProcessFunction):
    """The rows of one part: of equal rows, each one is drawn on its own."""

    def __init__(self, part: int, bounds: list[float], seed: int) -> None:
        self._part = part
        self._bounds = bounds
        self._seed = seed
        self._seen: ValueState[int]

    def open(self, runtime_context: RuntimeContext) -> None:
        self._seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        seen = self._seen.value() or 0
        self._seen.update(seen + 1)
        drawn = blake2b(f"{self._seed} {seen} {ctx.get_current_key()}".encode(), digest_size=8)
        number = int.from_bytes(drawn.digest(), "big") / 2**64
        if bisect_right(self._bounds, number) == self._part:
            yield value


def split_stream(
    stream: DataStream[Any], info: RowTypeInfo, weights: Sequence[float], seed: int
) -> list[DataStream[Any]]:
    """The parts of a stream: the order of its rows does not matter."""
    keyed = stream.key_by(_text_of, Types.STRING())
    bounds = bounds_of(weights)
    return [
        keyed.process(_Part(part, bounds, seed), output_type=info) for part in range(len(weights))
    ]
