"""Values of partitions as rows that travel between tasks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from millstream.common.pickling import dumps_apart, loads_apart

__all__ = ["NOTES", "SCHEMA", "Blob", "blobs_of", "in_batches", "rows_in", "values_in"]

SCHEMA = pa.schema(
    [
        pa.field("split", pa.int32(), False),
        pa.field("source", pa.int32(), False),
        pa.field("part", pa.int32(), False),
        pa.field("blob", pa.binary(), False),
    ]
)
"""Rows of a partition have its number as split, and are behind one another in one task of Spark."""

NOTES = -1
"""The source of rows without values: what accumulators were given, or that a partition is there."""

_SMALL, _LARGE = 1 << 16, 1 << 20
_FLUSH_BYTES = 4 << 20
_FLUSH_ROWS = 4_096


class Blob(NamedTuple):
    """One row: pickled values on their way to a partition."""

    split: int
    source: int
    part: int
    blob: bytes


def blobs_of(values: Iterable[Any]) -> Iterator[bytes]:
    """Values in pickled pieces, as many in each as give about 64 KB to 1 MB.

    Examples
    --------
    >>> [list(values_in(blob)) for blob in blobs_of(["a", "b"])]
    [['a', 'b']]
    """
    rest, count = iter(values), 64
    while piece := list(itertools.islice(rest, count)):
        blob = dumps_apart(piece)
        yield blob
        if len(blob) < _SMALL:
            count *= 2
        elif len(blob) > _LARGE and count > 1:
            count //= 2


def values_in(blob: bytes) -> Iterator[Any]:
    """The values of a piece; an empty one has none.

    Examples
    --------
    >>> list(values_in(b""))
    []
    """
    return iter(loads_apart(blob)) if blob else iter(())


def rows_in(batches: Iterable[pa.RecordBatch]) -> Iterator[Blob]:
    """The rows of batches of columns."""
    for batch in batches:
        numbers = (batch.column(at).to_pylist() for at in range(3))
        for split, source, part, blob in zip(*numbers, batch.column(3), strict=True):
            yield Blob(split, source, part, blob.as_py())


def in_batches(rows: Iterable[Blob]) -> Iterator[pa.RecordBatch]:
    """Rows as batches of columns of some megabytes.

    Examples
    --------
    >>> [batch.num_rows for batch in in_batches([Blob(0, 0, 0, b"x"), Blob(1, 0, 0, b"")])]
    [2]
    """
    found: list[Blob] = []
    size = 0
    for row in rows:
        found.append(row)
        size += len(row.blob)
        if size >= _FLUSH_BYTES or len(found) >= _FLUSH_ROWS:
            yield _batch(found)
            found, size = [], 0
    if found:
        yield _batch(found)


def _batch(rows: list[Blob]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
