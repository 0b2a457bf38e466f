"""Buffers: many records in one row, the only thing that travels between stages.

A `BufferRow` is ``(slot, kind, tag, header, payload)``. Of a data buffer the tag names the edge it
travels on; the payload holds the order columns as raw arrays (a column with one value only is kept
in the header instead) and the values as the edge's codec writes them.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.common.errors import PlanError, TypeMismatchError
from millstream.common.pickling import dumps_apart, loads_apart
from millstream.common.time import MIN_TIMESTAMP
from millstream.common.typeinfo import TypeInformation, Types
from millstream.common.types import Row, RowKind
from millstream.common.typesystem.certainty import is_declared
from millstream.kernel.keys.hashing import Hashes as Hashes
from millstream.kernel.records.columns import (
    Columns,
    Values,
    as_list,
    concat_arrays,
    concat_columns_of,
    field_types,
)
from millstream.kernel.records.order import COLUMNS, Ints, OrderKeys, Paths, concat
from millstream.kernel.records.plain import MARK, gathered, is_plain, plain_columns, read_plain
from millstream.kernel.records.selected import Selected, concat_selected

CONTROL = 0
DATA = 1
REPORT = 2
STATE = 3

NO_TIMESTAMP = MIN_TIMESTAMP
TARGET_RECORDS = 16_384
TARGET_BYTES = 1 << 20

KeyBytes = tuple[bytes | memoryview, bytes | memoryview]
"""Keys as they travel, see `Selected.to_bytes`."""


class BufferRow(NamedTuple):
    """One row between stages. ``slot`` is an index 0..S-1; the runtime maps it to its own value."""

    slot: int
    kind: int
    tag: int
    header: bytes
    payload: bytes


class Codec(Protocol):
    """How the values of one edge are written."""

    def encode(self, values: Values) -> bytes: ...

    def decode(self, data: memoryview) -> list[Any]: ...

    def columns_of(self, values: Values) -> Columns | None:
        """Values as the columns that they may travel as; None if they are no columns."""

    def gathered(self, buffers: list[memoryview]) -> Columns | None:
        """The values of several buffers that have travelled as columns; None if one has not."""


@dataclass(frozen=True)
class PickleCodec:
    """Values of unknown type: columns if they have come as such, or else one pickle per buffer."""

    def encode(self, values: Values) -> bytes:
        if isinstance(values, Columns) and is_plain(values):
            return MARK + _stream_of(values.in_own_types())
        return dumps_apart(as_list(values))

    def decode(self, data: memoryview) -> list[Any]:
        return loads_apart(data) if data[:8] != MARK else _plain(data).tolist()

    def columns_of(self, values: Values) -> Columns | None:
        return values if isinstance(values, Columns) else plain_columns(values)

    def gathered(self, buffers: list[memoryview]) -> Columns | None:
        if any(data[:8] != MARK for data in buffers):
            return None
        return gathered(list(map(_plain, buffers)))


def _plain(data: memoryview) -> Columns:
    return read_plain(pa.ipc.open_stream(data[len(MARK) :]).read_next_batch())


def _stream_of(arrays: list[pa.Array]) -> bytes:
    batch = pa.record_batch(arrays, names=[str(i) for i in range(len(arrays))])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


@dataclass(frozen=True)
class ArrowCodec:
    """Values of a declared type, as Arrow columns; what does not fit the type is refused."""

    type_info: TypeInformation

    def encode(self, values: Values) -> bytes:
        return _stream_of(self.arrays(values))

    def columns_of(self, values: Values) -> Columns | None:
        return Columns(self.type_info, self.arrays(values))

    def arrays(self, values: Values) -> list[pa.Array]:
        """The columns of values of this type."""
        if isinstance(values, Columns) and values.type_info == self.type_info:
            return values.in_own_types()
        try:
            return self.type_info.to_arrow_arrays(as_list(values))
        except TypeMismatchError as error:
            if not is_declared(self.type_info):
                error.hint = NOT_DECLARED
            raise

    def decode(self, data: memoryview) -> list[Any]:
        return self.type_info.from_arrow_arrays(self.columns([data]))

    def columns(self, buffers: list[memoryview]) -> list[pa.Array]:
        """The columns of several buffers, one behind the other."""
        batches = [pa.ipc.open_stream(data).read_next_batch() for data in buffers]
        return concat_arrays([batch.columns for batch in batches])

    def gathered(self, buffers: list[memoryview]) -> Columns | None:
        return Columns(self.type_info, self.columns(buffers))


@dataclass(frozen=True)
class InferredCodec(PickleCodec):
    """Values of a type that is not declared: whatever they are, they come back as they are."""

    type_info: TypeInformation

    def decode(self, data: memoryview) -> list[Any]:
        # Records that waited in an older savepoint are columns. A pickle never begins like this.
        if data[:4] == ARROW_STREAM:
            return ArrowCodec(self.type_info).decode(data)
        return super().decode(data)


NOT_DECLARED = (
    "nobody declares this type: it follows from a type hint or from values. A window that is computed "
    "by column keeps its records so; declare the type that the values have, with output_type="
)
ARROW_STREAM = b"\xff\xff\xff\xff"
"""What Arrow's streams begin with."""


def codec_for(type_info: TypeInformation | None) -> Codec:
    """Arrow columns for a declared type, a pickle for any other."""
    if type_info is None or type_info == Types.PICKLED_BYTE_ARRAY():
        return PickleCodec()
    return ArrowCodec(type_info) if is_declared(type_info) else InferredCodec(type_info)


@dataclass(slots=True)
class Records:
    """Records of one edge: values, event times, order keys and key hashes side by side.

    ``selected``: the keys that their selector has given; None if it reads a field, as their operator
    can do again. ``weights``: how often each record counts, less than 0 if it is taken back; None: once.
    """

    values: Values
    ts: Ints
    keys: OrderKeys
    hashes: Hashes | None = None
    selected: Selected | None = None
    weights: Ints | None = None

    def __len__(self) -> int:
        return len(self.values)

    def values_at(self, rows: Ints) -> list[Any]:
        """The values at the given rows."""
        return as_list(self._taken(rows))

    def _taken(self, rows: Ints) -> Values:
        if isinstance(self.values, Columns):
            return self.values.take(rows)
        return list(map(self.values.__getitem__, rows.tolist()))

    def take(self, rows: Ints) -> Records:
        """The records at the given rows."""
        return Records(
            self._taken(rows),
            self.ts[rows],
            self.keys.take(rows),
            None if self.hashes is None else self.hashes[rows],
            self.selected_at(rows),
            None if self.weights is None else self.weights[rows],
        )

    def selected_at(self, rows: Ints) -> Selected | None:
        """The keys that the selector has given of the records at the given rows."""
        return None if self.selected is None else self.selected.take(rows)

    def slice(self, start: int, stop: int) -> Records:
        """The records start..stop-1; columns are not copied."""
        whole, stop = self.values, min(stop, len(self))
        return Records(
            whole.slice(start, stop - start) if isinstance(whole, Columns) else whole[start:stop],
            self.ts[start:stop],
            self.keys.slice(start, stop),
            None if self.hashes is None else self.hashes[start:stop],
            self.selected_at(np.arange(start, stop)),
            None if self.weights is None else self.weights[start:stop],
        )


def encode(records: Records, codec: Codec, *, raised: bool) -> tuple[bytes, bytes]:
    """Header and payload of a data buffer. ``raised``: the stamps have had their floors."""
    keys = None if records.selected is None else records.selected.to_bytes()
    return _framed(records, len(records.values), keys, codec.encode(records.values), raised)


def _framed(
    records: Records | Received,
    n: int,
    selected_keys: KeyBytes | None,
    data: bytes | memoryview,
    raised: bool,
) -> tuple[bytes, bytes]:
    chunks: list[bytes | memoryview] = []
    columns = [records.ts, *(getattr(records.keys, name) for name in COLUMNS)]
    if records.weights is not None and not (records.weights == 1).all():
        columns.append(records.weights)
    fields = [_pack(column, chunks) for column in columns]
    hashes = ABSENT if records.hashes is None else _pack(records.hashes, chunks)
    path: bytes | int
    if isinstance(records.keys.path, bytes):
        path = records.keys.path
    else:
        path = records.keys.path.dtype.itemsize
        chunks.append(records.keys.path.tobytes())
    sizes: list[int] = []
    for part in selected_keys or ():
        chunks.append(part)
        sizes.append(len(part))
    chunks.append(data)
    header = pickle.dumps((n, raised, fields, hashes, path, *sizes), protocol=5)
    return header, b"".join(chunks)


ABSENT = "absent"


def _pack(array: npt.NDArray[Any], chunks: list[bytes | memoryview]) -> int | None:
    """The value of a constant column; None says that the column's bytes are in the payload."""
    first = array[0]
    if (array == first).all():
        return int(first)
    chunks.append(array.tobytes())
    return None


class _Payload:
    """Reads the arrays of a payload one after the other."""

    def __init__(self, payload: bytes, n: int) -> None:
        self.payload = payload
        self.n = n
        self.offset = 0

    def array(self, dtype: npt.DTypeLike, constant: int | None = None) -> npt.NDArray[Any]:
        if constant is not None:
            return np.full(self.n, constant, dtype)
        array = np.frombuffer(self.payload, dtype, self.n, self.offset)
        self.offset += array.nbytes
        return array

    def bytes(self, count: int) -> memoryview:
        self.offset += count
        return memoryview(self.payload)[self.offset - count : self.offset]

    def rest(self) -> memoryview:
        return memoryview(self.payload)[self.offset :]


def header_of_count(n: int) -> bytes:
    """The header of a data buffer of which only the number of records is known."""
    return pickle.dumps((n,), protocol=5)


def record_count(header: bytes) -> int:
    """How many records a data buffer has."""
    n: int = pickle.loads(header)[0]
    return n


def decode(header: bytes, payload: bytes, codec: Codec) -> Records:
    """The records of a data buffer as a sink gets them: weights become kinds of rows."""
    return with_kinds(Received.of(header, payload).decoded(codec))


def with_kinds(records: Records) -> Records:
    """Records that count once each: a row that is taken back is one of the kind DELETE."""
    if records.weights is None:
        return records
    times = np.abs(records.weights)
    rows = np.repeat(np.arange(len(times)), times)
    values = records.values_at(rows)
    is_back = (records.weights < 0)[rows].tolist()
    kinds = [_taken_back(v) if back else v for v, back in zip(values, is_back, strict=True)]
    whole = replace(records, values=list(records.values), weights=None).take(rows)
    return replace(whole, values=kinds)


def _taken_back(value: Any) -> Row:
    if not isinstance(value, Row | tuple):
        raise PlanError(
            "CHANGES_REFUSED",
            f"a sink cannot show that {value!r:.200} is taken back: it is no row",
            hint="let the records of a changelog be rows or tuples",
        )
    found = Row.of_kind(RowKind.DELETE, *value)
    names = getattr(value, "_fields", None)
    if names is not None:
        found.set_field_names(list(names))
    return found


def decode_columns(header: bytes, payload: bytes, codec: Codec) -> Records:
    """The records of a data buffer; values of a declared type stay columns."""
    received = Received.of(header, payload)
    return with_kinds(received.in_columns(codec) or received.decoded(codec))


@dataclass(slots=True)
class Received:
    """A data buffer whose values, and the keys that go with them, are still as they travelled.

    ``raised``: the stamps have had their floors. ``stayed``: values that have not travelled.
    """

    data: memoryview
    ts: Ints
    keys: OrderKeys
    hashes: Hashes | None
    raised: bool
    selected_keys: KeyBytes | None = None
    weights: Ints | None = None
    stayed: Columns | None = None

    @staticmethod
    def handed(records: Records, values: Columns) -> Received:
        """Records, with values as columns, that an operator of the same stage takes."""
        counts = records.weights is not None and not (records.weights == 1).all()
        return Received(
            memoryview(b""),
            records.ts,
            replace(records.keys),
            records.hashes,
            raised=True,
            weights=records.weights if counts else None,
            stayed=values,
        )

    @staticmethod
    def of(header: bytes, payload: bytes) -> Received:
        # Buffers of older versions, which have waited since, have no keys.
        n, raised, fields, hashes, path, *sizes = pickle.loads(header)
        reader = _Payload(payload, n)
        columns = [reader.array(np.int64, value) for value in fields]
        # Weights are there only if some record does not count once.
        ts, stamp, born, channel, frag, pos, *weights = columns
        decoded_hashes = None if hashes == ABSENT else reader.array(np.uint32, hashes)
        decoded_path: Paths = path if isinstance(path, bytes) else reader.array(f"S{path}")
        keys = OrderKeys(stamp, born, channel, frag, pos, decoded_path)
        own = (reader.bytes(sizes[0]), reader.bytes(sizes[1])) if sizes else None
        weighed = weights[0] if weights else None
        return Received(reader.rest(), ts, keys, decoded_hashes, raised, own, weighed)

    @property
    def selected(self) -> Selected | None:
        """The keys that travel with the records, if there are any."""
        return None if self.selected_keys is None else Selected.from_bytes(*self.selected_keys)

    def decoded(self, codec: Codec, number: int | None = None) -> Records:
        """The records, with their values; given a number, pairs of it and the value."""
        values = codec.decode(self.data) if self.stayed is None else self.stayed.tolist()
        if number is not None:
            values = [(number, value) for value in values]
        return self._with(values)

    def in_columns(self, codec: Codec) -> Records | None:
        """The records with their values as columns; None if they are not, or one is missing."""
        values = columns_of(codec, [self])
        if values is None:
            return None
        is_whole = len(values.arrays) == max(len(field_types(values.type_info)), 1)
        return self._with(values) if is_whole else None

    def _with(self, values: Values) -> Records:
        return Records(values, self.ts, self.keys, self.hashes, self.selected, self.weights)

    def encoded(self, *, raised: bool) -> tuple[bytes, bytes]:
        """New header and payload; the values stay as they are."""
        return _framed(self, len(self.ts), self.selected_keys, self.data, raised)


def columns_of(codec: Codec, buffers: Sequence[Received]) -> Columns | None:
    """The values of several buffers as columns, one behind the other; None if one has no columns."""
    if all(buffer.stayed is None for buffer in buffers):
        return codec.gathered([buffer.data for buffer in buffers])
    # Values stay only on edges of a declared type, where all buffers have the same columns.
    each = [b.stayed if b.stayed is not None else codec.gathered([b.data]) for b in buffers]
    found = [columns for columns in each if columns is not None]
    return Columns(found[0].type_info, concat_arrays([columns.arrays for columns in found]))


def concat_columns(parts: Sequence[Records | Received]) -> tuple[Ints, OrderKeys, Hashes | None]:
    """Event times, order keys and hashes of several buffers of one edge, one after the other."""
    hashes = [part.hashes for part in parts if part.hashes is not None]
    return (
        np.concatenate([part.ts for part in parts]),
        concat([part.keys for part in parts]),
        np.concatenate(hashes) if len(hashes) == len(parts) else None,
    )


def selected_of(parts: Sequence[Records | Received]) -> Selected | None:
    """The keys that go with the records of several buffers, one after the other."""
    return concat_selected([part.selected for part in parts], [len(part.ts) for part in parts])


def weights_of(parts: Sequence[Records | Received]) -> Ints | None:
    """The weights of several buffers, one after the other; None if all records count once."""
    if all(part.weights is None for part in parts):
        return None
    found = [np.ones(len(p.ts), np.int64) if p.weights is None else p.weights for p in parts]
    return np.concatenate(found)


def concat_records(parts: list[Records]) -> Records:
    """All records of several buffers of one edge, one after the other."""
    if len(parts) == 1:
        return parts[0]
    columns = [part.values for part in parts if isinstance(part.values, Columns)]
    values: Values
    if len(columns) == len(parts) and all(c.type_info == columns[0].type_info for c in columns):
        values = concat_columns_of(columns)
    else:
        values = [value for part in parts for value in as_list(part.values)]
    return Records(values, *concat_columns(parts), selected_of(parts), weights_of(parts))


def merged(parts: list[Records]) -> Records:
    """All records of several buffers, by order key."""
    records = concat_records(parts)
    order = records.keys.argsort()
    return records if order is None else records.take(order)


@dataclass(slots=True)
class BufferWriter:
    """Gathers the records of one edge and one slot, and emits a row when a buffer is full."""

    slot: int
    tag: int
    codec: Codec
    raised: bool
    emit: Callable[[BufferRow], None]
    parts: list[Records] = field(default_factory=list)
    size: int = 0
    limit: int = TARGET_RECORDS

    def add(self, records: Records) -> None:
        """Add records; full buffers go out at once."""
        self.parts.append(records)
        self.size += len(records)
        if self.size >= self.limit:
            self.flush()

    def flush(self) -> None:
        """Send out what is there."""
        if not self.parts:
            return
        records = concat_records(self.parts)
        self.parts, self.size = [], 0
        if isinstance(records.values, Columns):
            # A buffer that is found to be too large has been written for nothing.
            self._aim_at(records.values.nbytes // len(records))
        step = self.limit  # large records lower the limit on the way
        for start in range(0, len(records), step):
            whole = len(records) <= step
            self._emit(records if whole else records.slice(start, start + step))

    def _emit(self, records: Records) -> None:
        header, payload = encode(records, self.codec, raised=self.raised)
        if len(payload) > TARGET_BYTES and len(records) > 1:
            self._aim_at(len(payload) // len(records))
            middle = len(records) // 2
            self._emit(records.slice(0, middle))
            self._emit(records.slice(middle, len(records)))
            return
        self.emit(BufferRow(self.slot, DATA, self.tag, header, payload))

    def _aim_at(self, size: int) -> None:
        """Let no buffer have more records of this many bytes than fill one half of it."""
        self.limit = max(1, min(self.limit, TARGET_BYTES // (2 * max(size, 1))))
