"""Rows of keys, and their pages as bytes: Arrow columns behind a description of their types.

A page describes itself, so that a savepoint, or a program with other types, can read it without the
program that wrote it. A value that its columns would change, such as a sum that 64 bits do not hold, is
pickled beside them; its key is in columns all the same.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.errors import CheckpointError
from millstream.common.pickling import dumps
from millstream.common.typeinfo import TypeInformation, type_from_dict
from millstream.kernel.keys.hashing import Hashes
from millstream.kernel.records.columns import Columns, field_types
from millstream.kernel.records.key_columns import KeyColumns
from millstream.kernel.records.order import Ints
from millstream.kernel.state import stored_pickles

FORMAT = 1
_MAGIC = b"MSRP"
_HEAD = struct.Struct("<4sHI")
"""Magic bytes, format, and the length of the description."""
_ALIGNED = 16


@dataclass(slots=True)
class Rows:
    """Rows of keys, one for each key. ``others``: values that columns cannot hold, pickled."""

    arrays: list[pa.Array]
    hashes: Hashes
    others: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.hashes)

    def take(self, places: Ints) -> Rows:
        """The rows at some places."""
        taken = pa.array(places)
        others = None if self.others is None else self.others.take(taken)
        arrays = [array.take(taken) for array in self.arrays]
        return Rows(arrays, self.hashes[places], others)

    def slice(self, start: int, stop: int) -> Rows:
        """The rows from start to stop - 1."""
        others = None if self.others is None else self.others.slice(start, stop - start)
        arrays = [array.slice(start, stop - start) for array in self.arrays]
        return Rows(arrays, self.hashes[start:stop], others)

    @property
    def bytes_each(self) -> int:
        """The average size of a row in bytes, about."""
        parts = self.arrays if self.others is None else [*self.arrays, self.others]
        size: int = sum(array.nbytes for array in parts)
        return size // max(len(self), 1) + 4


def concat_rows(parts: Sequence[Rows]) -> Rows:
    """The rows of several parts of one form, one after the other."""
    if len(parts) == 1:
        return parts[0]
    others = None
    if any(part.others is not None for part in parts):
        found = [pa.nulls(len(p), pa.binary()) if p.others is None else p.others for p in parts]
        others = pa.concat_arrays(found)
    arrays = [pa.concat_arrays(same) for same in zip(*(p.arrays for p in parts), strict=True)]
    return Rows(arrays, np.concatenate([part.hashes for part in parts]), others)


@dataclass(frozen=True)
class RowForm:
    """The columns of rows: the type of a row, and where its key is."""

    type_info: TypeInformation
    key: KeyColumns

    @cached_property
    def description(self) -> bytes:
        """The form as a page says it."""
        content = {
            "type": self.type_info.to_dict(),
            "key": list(self.key.places),
            "alone": self.key.alone,
        }
        text = json.dumps(content, sort_keys=True).encode()
        # The columns behind it begin where Arrow can read them in place.
        return text + b" " * (-(_HEAD.size + len(text) + 1) % _ALIGNED)

    @staticmethod
    def described(description: bytes) -> RowForm:
        """The form that a page says it has."""
        content = json.loads(description)
        type_info = type_from_dict(content["type"])
        kinds, places = field_types(type_info), tuple(content["key"])
        key = KeyColumns(places, tuple(kinds[place] for place in places), content["alone"])
        return RowForm(type_info, key)

    @cached_property
    def types(self) -> list[pa.DataType]:
        return [kind.to_arrow() for kind in field_types(self.type_info)]

    @cached_property
    def _schemas(self) -> tuple[pa.Schema, pa.Schema]:
        """The columns in a page, without and with values that are pickled."""
        own = [pa.field(str(i), kind) for i, kind in enumerate(self.types)]
        plain = [*own, pa.field("hash", pa.uint32())]
        return pa.schema(plain), pa.schema([*plain, pa.field("other", pa.binary())])

    def nothing(self) -> Rows:
        """No rows."""
        return Rows([pa.array([], kind) for kind in self.types], np.empty(0, np.uint32))

    # -- values ----------------------------------------------------------------------------------

    def values(self, rows: Rows) -> list[Any]:
        """The rows as Python objects, such as the program sees."""
        found = Columns(self.type_info, rows.arrays).tolist()
        if rows.others is not None:
            for place in np.flatnonzero(rows.others.is_valid().to_numpy(zero_copy_only=False)):
                found[place] = stored_pickles.loads(rows.others[int(place)].as_py())
        return found

    def keys(self, rows: Rows) -> list[Any]:
        """The keys of rows as Python objects."""
        return self.key.values(rows.arrays)

    def rows(self, keys: Sequence[Any], values: Sequence[Any], fits: Sequence[bool]) -> Rows:
        """The rows of keys with values; ``fits``: whether columns hold a value without a change."""
        number = len(self.types)
        in_columns = [value if fit else None for value, fit in zip(values, fits, strict=True)]
        arrays = self.type_info.to_arrow_arrays(in_columns)[:number]
        parts = [keys] if self.key.alone else list(zip(*keys, strict=True))
        for place, kind, part in zip(self.key.places, self.key.kinds, parts, strict=True):
            arrays[place] = kind.to_arrow_arrays(list(part))[0]
        others = None
        if not all(fits):
            pickled = [None if fit else dumps(v) for v, fit in zip(values, fits, strict=True)]
            others = pa.array(pickled, pa.binary())
        return Rows(arrays, self.key.hashes(arrays), others)

    def holds(self, value: Any) -> bool:
        """Whether a value comes back from columns as it is."""
        try:
            back = self.type_info.from_arrow_arrays(self.type_info.to_arrow_arrays([value]))
        except Exception:
            return False
        return dumps(back) == dumps([value])

    # -- bytes -----------------------------------------------------------------------------------

    def encode(self, rows: Rows) -> bytes:
        """Rows as the bytes of a page."""
        has_others = rows.others is not None and rows.others.null_count < len(rows)
        columns = [*rows.arrays, pa.array(rows.hashes)]
        if has_others:
            columns.append(rows.others)
        batch = pa.RecordBatch.from_arrays(columns, schema=self._schemas[has_others])
        description = self.description
        head = _HEAD.pack(_MAGIC, FORMAT, len(description))
        kind = b"\x01" if has_others else b"\x00"
        return b"".join((head, description, kind, memoryview(batch.serialize())))

    def decode(self, data: bytes, uid: str) -> Rows:
        """The rows of a page, in the columns of this form whatever form the page has."""
        description, has_others, content = _parts(data, uid)
        if description != self.description:
            return self._converted(RowForm.described(description), data, uid)
        batch = pa.ipc.read_record_batch(pa.py_buffer(content), self._schemas[has_others])
        number = len(self.types)
        hashes = batch.column(number).to_numpy()
        others = batch.column(number + 1) if has_others else None
        return Rows(batch.columns[:number], hashes, others)

    def _converted(self, stored: RowForm, data: bytes, uid: str) -> Rows:
        rows = stored.decode(data, uid)
        values = stored.values(rows)
        return self.rows(stored.keys(rows), values, [self.holds(value) for value in values])


def _parts(data: bytes, uid: str) -> tuple[bytes, bool, memoryview]:
    """The description of a page, whether it has pickled values, and its columns."""
    magic, version, length = _HEAD.unpack_from(data)
    if magic != _MAGIC or version != FORMAT:
        raise CheckpointError(
            "PAGE_FORMAT",
            f"state of operator {uid!r} has row format {version}, this is {FORMAT}",
            hint="run the Millstream version that wrote it and take a savepoint there",
        )
    end = _HEAD.size + length
    return data[_HEAD.size : end], bool(data[end]), memoryview(data)[end + 1 :]


def decoded_rows(data: bytes, uid: str) -> tuple[list[Any], list[int], list[Any]]:
    """Keys, hashes and values in a page, by what it says of itself."""
    description, _, _ = _parts(data, uid)
    form = RowForm.described(description)
    rows = form.decode(data, uid)
    return form.keys(rows), rows.hashes.tolist(), form.values(rows)
