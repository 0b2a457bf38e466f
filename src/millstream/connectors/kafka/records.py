"""Records of Kafka: as columns on their way through a task, as objects where a program sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.errors import short_repr
from millstream.common.time import MIN_TIMESTAMP
from millstream.kernel.records.order import Ints

__all__ = ["ConsumerRecord", "columns_of", "offsets_of", "times_of"]

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_NO_TIME = 0
_SHOWN_BYTES = 80


@dataclass(frozen=True, slots=True)
class ConsumerRecord:
    """A record of Kafka, as its consumer gets it.

    Parameters
    ----------
    topic, partition, offset
        Where it is.
    timestamp
        Its time in milliseconds, given by the producer or the broker; None if it has none.
    key, value
        Bytes, or None. A record without a value is a tombstone: it says that its key is deleted.
    headers
        Pairs of name and bytes, in their order; a name may occur more than once.

    Examples
    --------
    >>> ConsumerRecord("orders", 3, 17, 1_000, b"k", b"v", (("trace", b"7"),)).headers
    (('trace', b'7'),)
    """

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    def __repr__(self) -> str:
        shown = (f"{name}={_short(getattr(self, name))}" for name in ("key", "value"))
        place = f"topic={self.topic!r}, partition={self.partition}, offset={self.offset}"
        return f"ConsumerRecord({place}, {', '.join(shown)})"


def _short(data: bytes | None) -> str:
    """The beginning of some bytes."""
    if data is None or len(data) <= _SHOWN_BYTES:
        return repr(data)
    return f"{short_repr(data[:_SHOWN_BYTES])}... ({len(data):,} bytes)"


def columns_of(messages: Sequence[Any], topic: str, *, headers: bool) -> pa.RecordBatch:
    """Messages of a partition as columns."""
    number = len(messages)
    columns = {
        "value": pa.array([message.value() for message in messages], pa.binary()),
        "key": pa.array([message.key() for message in messages], pa.binary()),
        "offset": pa.array([message.offset() for message in messages], pa.int64()),
        "topic": pa.repeat(pa.scalar(topic), number),
        "partition": pa.repeat(pa.scalar(messages[0].partition(), pa.int32()), number),
    }
    if headers:
        found = [message.headers() for message in messages]
        pairs = [_header_rows(one) if one else [] for one in found] if any(found) else None
        columns["headers"] = (
            pa.nulls(number, HEADERS) if pairs is None else pa.array(pairs, HEADERS)
        )
    return pa.RecordBatch.from_pydict(columns)


def _header_rows(headers: Any) -> list[dict[str, Any]]:
    return [{"key": key, "value": value} for key, value in headers]


def offsets_of(batch: pa.RecordBatch) -> Ints:
    """The offsets of a batch."""
    found: Ints = batch.column("offset").to_numpy()
    return found


def times_of(messages: Sequence[Any]) -> Ints:
    """The times of messages; the lowest for one without."""
    found = [message.timestamp() for message in messages]
    return np.array([MIN_TIMESTAMP if kind == _NO_TIME else ts for kind, ts in found], np.int64)
