"""Messages as bytes: columns as they lie in memory, other values pickled.

A header in JSON says what the buffers behind it are. What is read shares no memory with what was
written, and arrays of numpy can be changed.
"""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.pickling import dumps

__all__ = ["decoded", "encoded", "encoded_size"]

_ATOMS = (int, float, str, bool, type(None))
_LENGTH = struct.Struct("<Q")
# A buffer begins where Arrow and numpy read it fastest.
_ALIGNED = 64

Node = Any


class _Writer:
    """The buffers of a message, and where the next one begins."""

    def __init__(self) -> None:
        self.buffers: list[Any] = []
        self.size = 0

    def add(self, buffer: Any, size: int) -> list[int]:
        """Add a buffer; its place."""
        place = [self.size, size]
        padding = -size % _ALIGNED
        if size:
            self.buffers.append(buffer)
        if padding:
            self.buffers.append(bytes(padding))
        self.size += size + padding
        return place

    def node(self, value: Any) -> Node:
        """The description of a value, whose buffers are added."""
        kind = type(value)
        if kind in _ATOMS:
            return ["atom", value]
        if kind is np.ndarray and value.dtype.kind in "biufcmMSU":
            array: Any = np.ascontiguousarray(value).reshape(-1)
            # Also times, whose memory Python shows to nobody, are bytes.
            view = memoryview(array.view(np.uint8)) if array.size else b""
            return ["numpy", value.dtype.str, list(value.shape), *self.add(view, array.nbytes)]
        if kind is dict and all(type(key) is str for key in value):
            return ["dict", [[key, self.node(item)] for key, item in value.items()]]
        if isinstance(value, pa.Array | pa.ChunkedArray | pa.RecordBatch | pa.Table):
            return self._arrow(value)
        data = dumps(value)
        return ["pickle", *self.add(data, len(data))]

    def _arrow(self, value: Any) -> Node:
        if isinstance(value, pa.Array):
            name, batches = "array", [pa.record_batch([value], [""])]
        elif isinstance(value, pa.RecordBatch):
            name, batches = "batch", [value]
        else:
            table = pa.table([value], [""]) if isinstance(value, pa.ChunkedArray) else value
            name = "chunks" if isinstance(value, pa.ChunkedArray) else "table"
            return [name, *self._stream(table.schema, table.to_batches())]
        return [name, *self._stream(batches[0].schema, batches)]

    def _stream(self, schema: pa.Schema, batches: list[pa.RecordBatch]) -> list[int]:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as stream:
            for batch in batches:
                stream.write_batch(batch)
        buffer = sink.getvalue()
        return self.add(memoryview(buffer), buffer.size)


def encoded(value: Any) -> list[Any]:
    """The bytes of a value, as buffers to be written one behind the other.

    Examples
    --------
    >>> parts = encoded({"id": np.arange(3), "name": "x"})
    >>> decoded(bytearray(b"".join(parts)))
    {'id': array([0, 1, 2]), 'name': 'x'}
    """
    writer = _Writer()
    header = json.dumps(writer.node(value), separators=(",", ":")).encode()
    header += b" " * (-(len(header) + _LENGTH.size) % _ALIGNED)
    return [_LENGTH.pack(len(header)) + header, *writer.buffers]


def encoded_size(parts: list[Any]) -> int:
    """How many bytes the buffers of a message have.

    Examples
    --------
    >>> encoded_size(encoded(None))
    64
    """
    return sum(len(part) for part in parts)


def decoded(data: bytearray) -> Any:
    """The value that `encoded` has written; its arrays lie in ``data``."""
    (length,) = _LENGTH.unpack_from(data)
    begin = _LENGTH.size + length
    node = json.loads(data[_LENGTH.size : begin])
    return _value(node, memoryview(data)[begin:])


def _value(node: Node, body: memoryview) -> Any:
    kind = node[0]
    if kind == "atom":
        return node[1]
    if kind == "dict":
        return {key: _value(item, body) for key, item in node[1]}
    if kind == "numpy":
        _, dtype, shape, at, size = node
        flat = np.frombuffer(body[at : at + size], dtype) if size else np.empty(0, dtype)
        return flat.reshape(shape)
    _, at, size = node
    data = body[at : at + size]
    return pickle.loads(data) if kind == "pickle" else _READERS[kind](pa.ipc.open_stream(data))


_READERS: dict[str, Callable[[Any], Any]] = {
    "array": lambda stream: stream.read_next_batch().column(0),
    "batch": lambda stream: stream.read_next_batch(),
    "chunks": lambda stream: stream.read_all().column(0),
    "table": lambda stream: stream.read_all(),
}
