"""The rows between stages as Spark sees them, and which slot goes to which partition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from millstream.kernel.records.buffers import BufferRow

SCHEMA = "slot int, kind int, tag int, header binary, payload binary"
ARROW_SCHEMA = pa.schema(
    [
        ("slot", pa.int32()),
        ("kind", pa.int32()),
        ("tag", pa.int32()),
        ("header", pa.binary()),
        ("payload", pa.binary()),
    ]
)
COLUMNS = tuple(ARROW_SCHEMA.names)
CHUNK_ROWS = 64
CHUNK_BYTES = 8 << 20


def _murmur3_of_int(value: int, seed: int = 42) -> int:
    """Spark's hash of an int column, by which it partitions."""
    mask = 0xFFFFFFFF
    k = value * 0xCC9E2D51 & mask
    k = (k << 15 | k >> 17) & mask
    k = k * 0x1B873593 & mask
    h = seed ^ k
    h = (h << 13 | h >> 19) & mask
    h = (h * 5 + 0xE6546B64) & mask
    h ^= 4
    h ^= h >> 16
    h = h * 0x85EBCA6B & mask
    h ^= h >> 13
    h = h * 0xC2B2AE35 & mask
    h ^= h >> 16
    return h - (1 << 32) if h & 0x80000000 else h


def slot_values(slots: int, partitions: int) -> tuple[int, ...]:
    """The value of the slot column for each slot, so that every partition gets its equal share.

    Examples
    --------
    >>> [_murmur3_of_int(value) % 4 for value in slot_values(8, 4)]
    [0, 1, 2, 3, 0, 1, 2, 3]
    """
    values: list[int] = []
    wanted: dict[int, list[int]] = {part: [] for part in range(partitions)}
    value = 0
    for slot in range(slots):
        part = slot % partitions
        while not wanted[part]:
            wanted[_murmur3_of_int(value) % partitions].append(value)
            value += 1
        values.append(wanted[part].pop(0))
    return tuple(values)


def chunks(rows: Iterable[BufferRow]) -> Iterator[list[BufferRow]]:
    """Rows in groups that are worth a batch and not too large for one."""
    chunk: list[BufferRow] = []
    size = 0
    for row in rows:
        chunk.append(row)
        size += len(row.payload)
        if len(chunk) >= CHUNK_ROWS or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def to_arrow(rows: Iterable[BufferRow], values: tuple[int, ...]) -> Iterator[pa.RecordBatch]:
    """Rows as record batches, slots as their values."""
    for chunk in chunks(rows):
        columns = list(zip(*chunk, strict=True))
        columns[0] = tuple(values[slot] for slot in columns[0])
        arrays = [
            pa.array(column, type=field.type)
            for column, field in zip(columns, ARROW_SCHEMA, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=ARROW_SCHEMA)


def from_arrow(batch: pa.RecordBatch, slots: dict[int, int]) -> Iterator[BufferRow]:
    """The rows of a record batch, slots as indices."""
    columns = [batch.column(name).to_pylist() for name in COLUMNS]
    for slot, *rest in zip(*columns, strict=True):
        yield BufferRow(slots[slot], *rest)
