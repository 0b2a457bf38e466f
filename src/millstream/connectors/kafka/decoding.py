"""Records of the program, made of columns that a partition gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    SimpleStringSchema,
)
from millstream.common.time import MIN_TIMESTAMP
from millstream.common.typeinfo import Types
from millstream.connectors.kafka.records import ConsumerRecord
from millstream.kernel.records.columns import Columns, Values
from millstream.kernel.records.order import Ints
from millstream.kernel.steps.decode import Decoded, Undecoded

__all__ = ["RecordDecoder", "ValueDecoder"]


def _column(values: Columns, name: str) -> pa.Array:
    names = values.type_info.get_field_names()  # type: ignore[attr-defined]
    return values.arrays[names.index(name)]


def _records(values: Columns, timestamps: Ints, rows: Iterable[int]) -> list[ConsumerRecord]:
    """The records at some rows, as objects."""
    places = pa.array(list(rows), pa.int64())
    names = values.type_info.get_field_names()  # type: ignore[attr-defined]
    columns = {
        name: array.take(places).to_pylist()
        for name, array in zip(names, values.arrays, strict=True)
    }
    times = [None if ts == MIN_TIMESTAMP else ts for ts in timestamps[places.to_numpy()].tolist()]
    headers = columns.get("headers") or [None] * len(places)
    fields = (columns[name] for name in ("key", "value"))
    place = (columns[name] for name in ("topic", "partition", "offset"))
    return list(map(ConsumerRecord, *place, times, *fields, map(_pairs, headers)))


def _pairs(headers: list[dict[str, Any]] | None) -> tuple[tuple[str, bytes | None], ...]:
    return tuple((one["key"], one["value"]) for one in headers) if headers else ()


@dataclass(frozen=True)
class ValueDecoder:
    """Makes records of values alone. Tombstones have none, so nothing is made of them."""

    schema: DeserializationSchema[Any]

    def open(self) -> None:
        _open(self.schema)

    def decode(self, values: Values, timestamps: Ints) -> Decoded:
        assert isinstance(values, Columns)
        column = _column(values, "value")
        by_column = self._by_column(column)
        if by_column is not None:
            return by_column
        return _each(
            self.schema.deserialize,
            column.to_pylist(),
            lambda rows: _records(values, timestamps, rows),
        )

    def _by_column(self, column: pa.Array) -> Decoded | None:
        """Text and bytes without an object of Python for each; None if that is not possible."""
        if type(self.schema) is ByteArraySchema:
            made = Columns(self.schema.get_produced_type(), [column])
        elif type(self.schema) is SimpleStringSchema and self.schema.charset == "utf-8":
            try:
                made = Columns(Types.STRING(), [column.cast(pa.string())])
            except pa.ArrowInvalid:
                return None
        else:
            return None
        if not column.null_count:
            return Decoded(made)
        there = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
        return Decoded(made.take(there), there)


@dataclass(frozen=True)
class RecordDecoder:
    """Makes records of whole records of Kafka: key, headers, timestamp and place are there."""

    deserialize: Callable[[ConsumerRecord], Any]
    schema: Any = None
    """What has an ``open``, if anything has."""

    def open(self) -> None:
        _open(self.schema)

    def decode(self, values: Values, timestamps: Ints) -> Decoded:
        assert isinstance(values, Columns)
        records = _records(values, timestamps, range(len(values)))
        return _each(self.deserialize, records, lambda rows: [records[row] for row in rows])


def _open(schema: Any) -> None:
    opener = getattr(schema, "open", None)
    if callable(opener):
        opener()


def _each(
    deserialize: Callable[[Any], Any],
    given: list[Any],
    shown: Callable[[list[int]], list[ConsumerRecord]],
) -> Decoded:
    """Call a function with each of some values; None, given or returned, makes no record."""
    try:
        made = [None if one is None else deserialize(one) for one in given]
        errors: dict[int, Exception] = {}
    except Exception:
        made, errors = _one_by_one(deserialize, given)
    places = [place for place, one in enumerate(made) if one is not None]
    if len(places) == len(given):
        return Decoded(made)
    letters = shown(list(errors)) if errors else []
    failed = [Undecoded(p, e, v) for (p, e), v in zip(errors.items(), letters, strict=True)]
    return Decoded([made[place] for place in places], places, failed)


def _one_by_one(
    deserialize: Callable[[Any], Any], given: list[Any]
) -> tuple[list[Any], dict[int, Exception]]:
    """The results, None where there is none, and the exceptions by place."""
    made: list[Any] = []
    errors: dict[int, Exception] = {}
    for place, one in enumerate(given):
        try:
            made.append(None if one is None else deserialize(one))
        except Exception as error:
            made.append(None)
            errors[place] = error
    return made, errors
