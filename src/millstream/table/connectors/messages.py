"""Messages of a source as rows of a table: the columns of value and key, and metadata."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from millstream.common.typeinfo import RowTypeInfo
from millstream.kernel.records.columns import Columns, Values
from millstream.kernel.records.order import Ints
from millstream.kernel.steps.decode import Decoded, Undecoded
from millstream.table.connectors.formats import Codec, Message

__all__ = ["ColumnsDecoder", "MessageDecoder", "Part"]

Part = tuple[Literal["value", "key", "read", "format", "time"], Any]
"""Where a column comes from: a place in the value or key, a column of what is read, the metadata of
the format, or the event time of the message in milliseconds."""


@dataclass(frozen=True)
class ColumnsDecoder:
    """Columns that are read as they are: only their types get the table's names."""

    output: RowTypeInfo

    def open(self) -> None: ...

    def decode(self, values: Values, timestamps: Ints) -> Decoded:
        assert isinstance(values, Columns)
        return Decoded(Columns(self.output, list(values.arrays)))


@dataclass(frozen=True)
class MessageDecoder:
    """Makes rows of messages.

    Parameters
    ----------
    output
        The columns of the table.
    parts
        Where each of them comes from.
    value, key
        The codecs of value and key.
    upsert
        A message without a value deletes the row of its key; other sources leave it out.
    several
        A message may have several rows.
    changes
        A message may take rows back.
    converted
        What makes a value of a column of what was read, by place, where it is not the same.
    """

    output: RowTypeInfo
    parts: tuple[Part, ...]
    value: Codec
    key: Codec | None = None
    upsert: bool = False
    several: bool = False
    changes: bool = False
    converted: tuple[tuple[int, Callable[[Any], Any]], ...] = ()

    def open(self) -> None: ...

    def decode(self, values: Values, timestamps: Ints) -> Decoded:
        assert isinstance(values, Columns)
        read = _named(values)
        if self.key is None and not self.upsert and not self.changes:
            columns = self.value.columns(read["value"])
            if columns is not None:
                return Decoded(Columns(self.output, self._whole(columns, read, timestamps)))
        messages, keys = read["value"].to_pylist(), None
        if self.key is not None:
            keys = read["key"].to_pylist()
        rows: list[tuple[Message | None, Message | None]] = []
        places: list[int] = []
        failed: list[Undecoded] = []
        for place, message in enumerate(messages):
            try:
                found = self._rows(message, None if keys is None else keys[place])
            except Exception as error:
                failed.append(Undecoded(place, error, message))
                continue
            rows += found
            places += [place] * len(found)
        arrays = self._arrays(rows, np.array(places, np.int64), read, timestamps)
        weights = None
        if self.changes or self.upsert:
            weights = np.array([-1 if v is None else v.weight for v, _ in rows], np.int64)
        everything = len(places) == len(messages) and weights is None
        found_at = None if everything else places
        return Decoded(Columns(self.output, arrays), found_at, failed, weights)

    def _rows(
        self, message: bytes | str | None, key: bytes | None
    ) -> list[tuple[Message | None, Message | None]]:
        own: Message | None = None
        if self.key is not None and key is not None:
            own = next(iter(self.key.read_all(key)), None)
        if message is None:
            return [(None, own)] if self.upsert and own is not None else []
        data = message.encode() if isinstance(message, str) else message
        return [(found, own) for found in self.value.read_all(data)]

    def _whole(
        self, columns: list[pa.Array], read: dict[str, pa.Array], timestamps: Ints
    ) -> list[pa.Array]:
        """All columns, of which those of the value are known."""
        kinds = [each.to_arrow() for each in self.output.field_types]
        if all(origin == "value" for origin, _ in self.parts):
            chosen = [columns[which] for _, which in self.parts]
        else:
            places = np.arange(len(timestamps))
            others = self._arrays([(None, None)] * len(places), places, read, timestamps)
            chosen = [
                columns[which] if origin == "value" else other
                for (origin, which), other in zip(self.parts, others, strict=True)
            ]
        return [_with_all_fields(each, kind) for each, kind in zip(chosen, kinds, strict=True)]

    def _arrays(
        self,
        rows: Sequence[tuple[Message | None, Message | None]],
        places: Ints,
        read: dict[str, pa.Array],
        timestamps: Ints,
    ) -> list[pa.Array]:
        kinds = [each.to_arrow() for each in self.output.field_types]
        converted = dict(self.converted)
        found: list[pa.Array] = []
        for number, ((origin, which), kind) in enumerate(zip(self.parts, kinds, strict=True)):
            if origin == "read" and number not in converted:
                found.append(read[which].take(pa.array(places)).cast(kind))
                continue
            if origin == "time":
                found.append(
                    pa.array(timestamps[places], pa.int64()).cast(_millis(kind)).cast(kind)
                )
                continue
            if origin == "read":
                values = read[which].take(pa.array(places)).to_pylist()
            elif origin == "format":
                values = [None if row is None else row.metadata.get(which) for row, _ in rows]
            else:
                side = 0 if origin == "value" else 1
                values = [None if row[side] is None else row[side][which] for row in rows]  # type: ignore[index]
            if number in converted:
                values = [None if each is None else converted[number](each) for each in values]
            found.append(pa.array(values, kind))
        return found


def _with_all_fields(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Rows of which only some fields were read; nobody looks at the others, which are NULL."""
    if column.type == kind or not pa.types.is_struct(kind):
        return column
    read = dict(zip((each.name for each in column.type), column.flatten(), strict=True))
    fields = [
        _with_all_fields(read[each.name], each.type)
        if each.name in read
        else pa.nulls(len(column), each.type)
        for each in kind
    ]
    return pa.StructArray.from_arrays(fields, fields=list(kind), mask=column.is_null())


def _named(values: Columns) -> dict[str, pa.Array]:
    names = getattr(values.type_info, "get_field_names", None)
    return dict(zip(names() if names is not None else ["value"], values.arrays, strict=True))


def _millis(kind: pa.DataType) -> pa.DataType:
    return pa.timestamp("ms", kind.tz) if pa.types.is_timestamp(kind) else kind
