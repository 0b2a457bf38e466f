"""From the columns of a DataFrame to the rows of a savepoint's tables. Nothing here knows Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.common.errors import CheckpointError, TypeMismatchError, short_repr
from millstream.common.typeinfo import TypeInformation, from_arrow
from millstream.kernel.keys.encoding import KeyEncodingError
from millstream.kernel.keys.hashing import stable_hashes
from millstream.kernel.snapshot.fields import PICKLED, Field
from millstream.kernel.snapshot.tables import (
    DETAIL,
    HELD_SCHEMA,
    StateTable,
    TimerTable,
)
from millstream.state_processor.views import reshaped, stored_values

MOST_ROWS = 131_072
MOST_BYTES = 32 << 20
DOMAINS = frozenset({"event", "processing"})


@dataclass(frozen=True)
class RowEncoder:
    """Makes rows of a table of rows with the columns that `TableView` shows.

    ``everywhere``: it is broadcast state, which has no key.
    """

    table: StateTable
    trusted: bool = True
    everywhere: bool = False

    def encode(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The stored columns, with the hashes of keys."""
        table = self.table
        if self.everywhere:
            key = [pa.nulls(rows.num_rows, column.type) for column in table.key.schema()]
            hashes = pa.array(np.zeros(rows.num_rows, np.int64))
        else:
            key = self._columns(table.key, rows)
            hashes = self._hashes(key)
        fields = [self._columns(field, rows) for field in table.fields]
        numbers = [_whole_numbers(rows.column(column.name)) for column in table.numbers]
        arrays = [hashes, *key, *(array for field in fields for array in field), *numbers]
        if isinstance(table, TimerTable):
            arrays += [_domains(rows.column("domain")), *self._columns(DETAIL, rows)]
        stored = pa.RecordBatch.from_arrays(arrays, schema=table.schema())
        return _with_values(stored, fields[-1]) if table.state.shape == "value" else stored

    def _columns(self, field: Field, rows: pa.RecordBatch) -> list[pa.Array]:
        names = set(rows.schema.names)
        stored = field.schema()
        if field.name in names and field.name + PICKLED not in names:
            return encoded(field, rows.column(field.name))
        return [
            reshaped(rows.column(column.name), column.type)
            if column.name in names
            else pa.nulls(rows.num_rows, column.type)
            for column in stored
        ]

    def _hashes(self, columns: list[pa.Array]) -> pa.Array:
        key = self.table.key
        rows = pa.RecordBatch.from_arrays(columns, schema=pa.schema(key.schema()))
        try:
            hashes = stable_hashes(key.decode(rows, trusted=self.trusted))
        except KeyEncodingError as error:
            error.message = f"{self.where}: {error.message}"
            raise
        return pa.array(hashes, pa.int64())

    @property
    def where(self) -> str:
        return where(self.table)


def where(table: StateTable) -> str:
    """Which state it is, in words."""
    name = "timers" if isinstance(table, TimerTable) else f"state {table.state.name!r}"
    return f"{name} of operator {table.uid!r}"


def encoded(field: Field, column: Any) -> list[pa.Array]:
    """A column of any type as the stored columns of a field."""
    natural = from_arrow(column.type)
    kind = field.type_info or natural
    if field.type_info == natural and column.type == natural.to_arrow():
        return [reshaped(column, column.type), pa.nulls(len(column), pa.binary())]
    return field.encode(values_of(kind, column))


def values_of(kind: TypeInformation, column: Any) -> list[Any]:
    """The values of a column as those of a type."""
    wanted = Field("value", kind)
    typed, pickled = wanted.schema()
    try:
        array = reshaped(column, typed.type)
    except (ValueError, pa.ArrowNotImplementedError) as error:
        raise TypeMismatchError(
            "TYPE_MISMATCH",
            f"a column of type {column.type} does not fit {kind}: {error}",
            hint="cast the column, or give the type that it has",
        ) from None
    nothing = pa.nulls(len(array), pa.binary())
    rows = pa.RecordBatch.from_arrays([array, nothing], schema=pa.schema([typed, pickled]))
    return wanted.decode(rows)


def _whole_numbers(column: Any) -> pa.Array:
    """Numbers, or times as milliseconds."""
    if pa.types.is_timestamp(column.type):
        millis = pa.timestamp("ms", tz=column.type.tz)
        column = column.cast(millis, safe=False)
    return reshaped(column, pa.int64())


def _domains(column: Any) -> pa.Array:
    others = set(column.to_pylist()) - DOMAINS
    if others:
        raise CheckpointError(
            "BAD_TIMER",
            f"the domain of a timer is 'event' or 'processing', got {short_repr(others.pop())}",
        )
    return reshaped(column, pa.string())


def _with_values(stored: pa.RecordBatch, columns: list[pa.Array]) -> pa.RecordBatch:
    """Without the rows whose value is null: that is no state."""
    valid = np.zeros(stored.num_rows, bool)
    for column in columns:
        valid |= column.is_valid().to_numpy(zero_copy_only=False)
    return stored if valid.all() else stored.filter(pa.array(valid))


# -- rows on their way to a file ------------------------------------------------------------------


@dataclass
class Uniqueness:
    """Refuses two rows in one place, of rows that come sorted by hash."""

    table: StateTable
    _hash: int | None = None
    _seen: set[Any] = field(default_factory=set)

    def check(self, rows: pa.RecordBatch) -> None:
        columns = self._identity()
        if not columns or not rows.num_rows:
            return
        hashes = rows.column("hash").to_numpy()
        same = np.concatenate([[hashes[0] == self._hash], hashes[1:] == hashes[:-1]])
        candidates = same | np.append(same[1:], True)
        places = np.flatnonzero(candidates)
        chosen = rows.take(pa.array(places))
        identities = list(zip(*self._values(chosen, columns), strict=True))
        for hashed, identity in zip(hashes[places].tolist(), identities, strict=True):
            if hashed != self._hash:
                self._hash = hashed
                self._seen.clear()
            if identity in self._seen:
                raise self._twice(identity)
            self._seen.add(identity)

    def _identity(self) -> list[Field]:
        table = self.table
        if isinstance(table, TimerTable):
            return [table.key, *table.fields, DETAIL]
        return {"value": [table.key], "map": [table.key, table.fields[0]]}.get(
            table.state.shape, []
        )

    def _values(self, rows: pa.RecordBatch, columns: list[Field]) -> Iterator[list[Any]]:
        for column in columns:
            yield [_hashable(value) for value in stored_values(column, rows)]
        if isinstance(self.table, TimerTable):
            yield rows.column("domain").to_pylist()

    def _twice(self, identity: tuple[Any, ...]) -> CheckpointError:
        names = ("key", "map key") if not isinstance(self.table, TimerTable) else ("key", "time")
        shown = " and ".join(
            f"{name} {short_repr(value)}" for name, value in zip(names, identity, strict=False)
        )
        return CheckpointError(
            "DUPLICATE_STATE",
            f"{where(self.table)} has two rows for {shown}",
            hint="make them one before they are written",
        )


def _hashable(value: Any) -> Any:
    return repr(value) if isinstance(value, dict | list) else value


def gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches put together until they are worth a row group."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        many = sum(b.num_rows for b in waiting) >= MOST_ROWS
        if many or sum(b.nbytes for b in waiting) >= MOST_BYTES:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()


def renamed_edges(rows: pa.Table, uids: Mapping[str, str | None]) -> pa.Table:
    """Records that wait, after operators have got other uids or are gone (None)."""
    edges: list[str | None] = []
    for edge in rows.column("edge").to_pylist():
        uid, number, same = edge.rsplit(":", 2)
        uid = uids.get(uid, uid)
        edges.append(None if uid is None else f"{uid}:{number}:{same}")
    column = pa.array(edges, pa.string())
    place = HELD_SCHEMA.get_field_index("edge")
    return rows.set_column(place, HELD_SCHEMA.field(place), column).filter(column.is_valid())
