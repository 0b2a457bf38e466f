"""The records that wait for a keyed operator, in order; their values are made when they are needed.

Millions of Python objects that all wait at once do not fit the processor's caches. So values of a
declared type stay in Arrow columns until the page of their keys has its turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from millstream.common.typeinfo import TypeInformation
from millstream.kernel.records.buffers import (
    Codec,
    Hashes,
    Received,
    Records,
    columns_of,
    concat_columns,
    merged,
    selected_of,
    weights_of,
)
from millstream.kernel.records.columns import Columns
from millstream.kernel.records.order import Ints, OrderKeys
from millstream.kernel.records.selected import Selected

FEW = 16_384


class Incoming(Protocol):
    """The records of an operator: all in order, with values at some of the rows."""

    @property
    def ts(self) -> Ints: ...
    @property
    def keys(self) -> OrderKeys: ...
    @property
    def hashes(self) -> Hashes | None: ...
    @property
    def weights(self) -> Ints | None: ...

    def __len__(self) -> int: ...

    def values_at(self, rows: Ints) -> list[Any]: ...

    def selected_at(self, rows: Ints) -> Selected | None: ...

    def take(self, rows: Ints) -> Records: ...


@dataclass(slots=True)
class Arrivals:
    """Many records in order. ``places`` says where the value of each lies in the Arrow columns."""

    type_info: TypeInformation
    columns: list[pa.Array]
    places: Ints
    ts: Ints
    keys: OrderKeys
    hashes: Hashes | None
    selected: Selected | None = None
    weights: Ints | None = None

    def __len__(self) -> int:
        return len(self.places)

    def in_columns(self) -> Columns:
        """All values in order, still as columns."""
        if np.array_equal(self.places, np.arange(len(self))):
            return Columns(self.type_info, self.columns)
        places = pa.array(self.places)
        return Columns(self.type_info, [column.take(places) for column in self.columns])

    def values_at(self, rows: Ints) -> list[Any]:
        """The values at the given rows."""
        places = pa.array(self.places[rows])
        return self.type_info.from_arrow_arrays([column.take(places) for column in self.columns])

    def take(self, rows: Ints) -> Records:
        """The records at the given rows."""
        hashes = None if self.hashes is None else self.hashes[rows]
        keys, own = self.keys.take(rows), self.selected_at(rows)
        weights = None if self.weights is None else self.weights[rows]
        return Records(self.values_at(rows), self.ts[rows], keys, hashes, own, weights)

    def selected_at(self, rows: Ints) -> Selected | None:
        """The keys that the selector has given of the records at the given rows."""
        return None if self.selected is None else self.selected.take(rows)


def in_order(parts: Sequence[tuple[Codec, Received]], *, as_columns: bool = False) -> Incoming:
    """The records of some buffers, by order key; ``as_columns``: however few they are."""
    codec, buffers = parts[0][0], [buffer for _, buffer in parts]
    many = as_columns or sum(len(buffer.ts) for buffer in buffers) > FEW
    if many and all(other == codec for other, _ in parts):
        columns = columns_of(codec, buffers)
        if columns is not None:
            return _in_columns(columns, buffers)
    return merged([buffer.decoded(codec) for codec, buffer in parts])


def _in_columns(values: Columns, buffers: Sequence[Received]) -> Arrivals:
    type_info, columns = values.type_info, values.arrays
    ts, keys, hashes = concat_columns(buffers)
    own, weights = selected_of(buffers), weights_of(buffers)
    order = keys.argsort()
    if order is None:
        order = np.arange(len(ts))
        return Arrivals(type_info, columns, order, ts, keys, hashes, own, weights)
    hashes = None if hashes is None else hashes[order]
    own = None if own is None else own.take(order)
    weights = None if weights is None else weights[order]
    ts, keys = ts[order], keys.take(order)
    return Arrivals(type_info, columns, order, ts, keys, hashes, own, weights)
