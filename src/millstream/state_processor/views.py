"""Tables of a savepoint as users see them: columns of Spark's types.

Nothing here knows Spark; a task calls `convert` for the rows of a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import time
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from millstream.common.errors import CheckpointError, short_repr
from millstream.kernel.snapshot.export import OperatorState
from millstream.kernel.snapshot.fields import PICKLED, Field, holds_pickles, untrusted
from millstream.kernel.snapshot.layouts import WINDOWS
from millstream.kernel.snapshot.tables import (
    DETAIL,
    PANES,
    StateTable,
    TimerTable,
    is_broadcast,
)
from millstream.kernel.windows.contents import (
    ELEMENTS,
    FIRST_REDUCED,
    ORDERED_ELEMENTS,
    Order,
)

REPR = "_repr"
REPR_LIMIT = 1_000
LAST_USED = pa.timestamp("us", tz="UTC")

# -- types ----------------------------------------------------------------------------------------

_DDL = {
    pa.string(): "string",
    pa.large_string(): "string",
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp_ntz",
    pa.timestamp("us", tz="UTC"): "timestamp",
}


def spark_type(stored: pa.DataType) -> pa.DataType:
    """The Arrow type in which Spark takes over values of a stored column."""
    if pa.types.is_struct(stored):
        return pa.struct([(f.name, spark_type(f.type)) for f in stored])
    if pa.types.is_list(stored):
        return pa.list_(spark_type(stored.value_type))
    if pa.types.is_map(stored):
        return pa.map_(spark_type(stored.key_type), spark_type(stored.item_type))
    # Spark has a type for times of day, but does not accept it unless it is told to.
    return pa.string() if pa.types.is_time64(stored) else stored


def ddl(schema: Iterable[pa.Field]) -> str:
    """Columns as Spark writes them down.

    Examples
    --------
    >>> ddl([pa.field("key", pa.string()), pa.field("value", pa.list_(pa.int64()))])
    '`key` string, `value` array<bigint>'
    """
    return ", ".join(f"{quoted(field.name)} {_ddl(field.type)}" for field in schema)


def quoted(name: str) -> str:
    """The name of a column as SQL has it."""
    return f"`{name.replace('`', '``')}`"


def _ddl(kind: pa.DataType) -> str:
    if pa.types.is_struct(kind):
        fields = ",".join(f"{quoted(field.name)}:{_ddl(field.type)}" for field in kind)
        return f"struct<{fields}>"
    if pa.types.is_list(kind):
        return f"array<{_ddl(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{_ddl(kind.key_type)},{_ddl(kind.item_type)}>"
    return _DDL[spark_type(kind)]


def reshaped(array: Any, wanted: pa.DataType) -> pa.Array:
    """A column as one of another type; the fields of structs go by their places, not their names."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if array.type == wanted:
        return array
    if pa.types.is_struct(wanted) and pa.types.is_struct(array.type) and wanted.num_fields:
        if array.type.num_fields == wanted.num_fields:
            # `field` leaves out what the struct's own nulls say; the mask brings it back.
            parts = [reshaped(array.field(i), f.type) for i, f in enumerate(wanted)]
            mask = array.is_null() if array.null_count else None
            return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=mask)
    elif pa.types.is_list(wanted) and pa.types.is_list(array.type):
        offsets, mask, start, stop = _spans(array)
        items = reshaped(array.values.slice(start, stop - start), wanted.value_type)
        return pa.ListArray.from_arrays(offsets, items, type=wanted, mask=mask)
    elif pa.types.is_map(wanted) and pa.types.is_map(array.type):
        offsets, mask, start, stop = _spans(array)
        keys = reshaped(array.keys.slice(start, stop - start), wanted.key_type)
        items = reshaped(array.items.slice(start, stop - start), wanted.item_type)
        return pa.MapArray.from_arrays(offsets, keys, items, type=wanted, mask=mask)
    if pa.types.is_time64(wanted) and pa.types.is_string(array.type):
        times = [None if text is None else time.fromisoformat(text) for text in array.to_pylist()]
        return pa.array(times, wanted)
    return array.cast(wanted)


def _spans(array: pa.Array) -> tuple[pa.Array, pa.Array | None, int, int]:
    offsets = array.offsets.to_numpy()
    start, stop = int(offsets[0]), int(offsets[-1])
    mask = array.is_null() if array.null_count else None
    return pa.array(offsets - start, pa.int32()), mask, start, stop


# -- which columns hold anything ------------------------------------------------------------------


def count_values(footer: Any, counts: dict[str, int]) -> None:
    """Add up how many values the columns of a Parquet file have, by its footer."""
    for group in range(footer.num_row_groups):
        rows = footer.row_group(group)
        for i in range(rows.num_columns):
            column = rows.column(i)
            name = column.path_in_schema.split(".")[0]
            known = column.is_stats_set and column.statistics.has_null_count
            nulls = column.statistics.null_count if known else 0
            counts[name] = counts.get(name, 0) + column.num_values - nulls


# -- views ----------------------------------------------------------------------------------------


class View(Protocol):
    """How the rows of a table are shown."""

    @property
    def schema(self) -> pa.Schema: ...

    def convert(self, rows: pa.RecordBatch) -> pa.RecordBatch: ...


@dataclass(frozen=True)
class FieldView:
    """A key or value as users see it.

    One column of its type if all values have one; else ``_repr`` shows every value, and the columns that
    are stored follow. ``counts``: how many values these have.
    """

    field: Field
    counts: Mapping[str, int]
    trusted: bool = True
    shown: str = ""

    @property
    def pickled(self) -> int:
        """How many values are pickled."""
        return self.counts.get(self.field.name + PICKLED, 0)

    @property
    def stored(self) -> list[pa.Field]:
        """The stored columns that are shown as they are."""
        *plain, pickled = self.field.schema()
        if self.field.type_info is None:
            plain = [column for column in plain if self.counts.get(column.name)]
        return [*plain, pickled] if self.pickled else plain

    @property
    def is_plain(self) -> bool:
        """Whether one column says everything."""
        return not self.pickled and len(self.stored) <= 1

    @property
    def has_repr(self) -> bool:
        kind = self.field.type_info
        return not self.is_plain or (kind is not None and holds_pickles(kind))

    def schema(self) -> list[pa.Field]:
        name = self.shown or self.field.name
        shown = pa.field(name + REPR, pa.string())
        if self.is_plain:
            kind = self.stored[0].type if self.stored else pa.string()
            plain = pa.field(name, spark_type(kind))
            return [plain, shown] if self.has_repr else [plain]
        columns = [
            pa.field(name + c.name.removeprefix(self.field.name), spark_type(c.type))
            for c in self.stored
        ]
        typed = self.field.type_info is not None
        return [columns[0], shown, *columns[1:]] if typed else [shown, *columns]

    def convert(self, rows: pa.RecordBatch) -> list[pa.Array]:
        stored = [reshaped(rows.column(c.name), spark_type(c.type)) for c in self.stored]
        if not stored:
            stored = [pa.nulls(rows.num_rows, pa.string())]
        if not self.has_repr:
            return stored
        values = readable_values(self.field, rows, trusted=self.trusted)
        shown = pa.array(values, pa.string())
        typed = self.field.type_info is not None
        return [stored[0], shown, *stored[1:]] if typed else [shown, *stored]


def readable_values(field: Field, rows: pa.RecordBatch, *, trusted: bool) -> list[str | None]:
    """Values as text for people; what cannot be read, or must not be, is None or says why."""
    if not trusted:
        if field.type_info is not None and holds_pickles(field.type_info):
            return [None] * rows.num_rows
        place = rows.schema.get_field_index(field.name + PICKLED)
        nothing = pa.nulls(rows.num_rows, pa.binary())
        rows = rows.set_column(place, field.name + PICKLED, nothing)
    try:
        return [_shown(value) for value in field.decode(rows)]
    except Exception:
        return [_shown_alone(field, rows.slice(i, 1)) for i in range(rows.num_rows)]


def _shown(value: Any) -> str | None:
    return None if value is None else short_repr(value, REPR_LIMIT)


def _shown_alone(field: Field, row: pa.RecordBatch) -> str | None:
    try:
        return _shown(field.decode(row)[0])
    except Exception as error:
        return f"<not readable: {type(error).__name__}: {error}>"


@dataclass(frozen=True)
class TableView:
    """The rows of a state, of timers or of broadcast state."""

    table: StateTable
    counts: Mapping[str, int]
    trusted: bool = True
    with_key: bool = True

    def _field(self, field: Field, shown: str = "") -> FieldView:
        return FieldView(field, self.counts, self.trusted, shown)

    @property
    def fields(self) -> list[FieldView]:
        """Key, map key and value."""
        shown = "time" if isinstance(self.table, TimerTable) else ""
        *first, value = self.table.fields
        found = [*map(self._field, first), self._field(value, shown)]
        return [self._field(self.table.key), *found] if self.with_key else found

    @property
    def _detail(self) -> FieldView | None:
        view = self._field(DETAIL)
        return view if isinstance(self.table, TimerTable) and view.stored else None

    @property
    def schema(self) -> pa.Schema:
        *first, value = self.fields
        columns = [column for field in first for column in field.schema()]
        if self._has_positions:
            columns.append(pa.field("position", pa.int64()))
        columns += value.schema()
        if self.table.state.expires:
            columns.append(pa.field("last_used", LAST_USED))
        if isinstance(self.table, TimerTable):
            columns.append(pa.field("domain", pa.string()))
            columns += self._detail.schema() if self._detail is not None else []
        return pa.schema(columns)

    @property
    def _has_positions(self) -> bool:
        return self.table.state.shape == "list" and not isinstance(self.table, TimerTable)

    def convert(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        *first, value = self.fields
        arrays = [array for field in first for array in field.convert(rows)]
        if self._has_positions:
            arrays.append(rows.column("position"))
        arrays += value.convert(rows)
        if self.table.state.expires:
            used = rows.column("last_used").cast(pa.timestamp("ms", tz="UTC"))
            arrays.append(used.cast(LAST_USED))
        if isinstance(self.table, TimerTable):
            arrays.append(rows.column("domain"))
            arrays += self._detail.convert(rows) if self._detail is not None else []
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


Contents = Callable[[Any], Any]


def _records(content: list[tuple[Any, int, Order | None]]) -> list[Any]:
    return [value for value, _, _ in content]


def _records_in_order(content: list[tuple[Any, int, Order | None]]) -> list[Any]:
    return _records(sorted(content, key=itemgetter(2)))


_CONTENTS: dict[str | None, Contents] = {
    ELEMENTS: _records,
    ORDERED_ELEMENTS: _records_in_order,
    FIRST_REDUCED: itemgetter(1),
}


@dataclass(frozen=True)
class WindowView:
    """The windows of keys. All of a window is pickled, so that it can only be read if it is trusted."""

    table: StateTable
    counts: Mapping[str, int]

    @property
    def _key(self) -> FieldView:
        return FieldView(self.table.key, self.counts)

    @property
    def schema(self) -> pa.Schema:
        times = [pa.field(name, pa.int64()) for name in ("window_start", "window_end")]
        texts = [pa.field(name, pa.string()) for name in ("window", "content", "state")]
        return pa.schema([*self._key.schema(), *times, *texts])

    def convert(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        windows, entries = (field.decode(rows) for field in self.table.fields)
        shown = _CONTENTS.get(self.table.state.layout, lambda content: content)
        contents = [None if e[0] is None else shown(e[0]) for e in entries]
        columns = [
            pa.array([getattr(window, "start", None) for window in windows], pa.int64()),
            pa.array([getattr(window, "end", None) for window in windows], pa.int64()),
            pa.array(map(_shown, windows), pa.string()),
            pa.array(map(_shown, contents), pa.string()),
            pa.array([_shown(entry[1]) for entry in entries], pa.string()),
        ]
        return pa.RecordBatch.from_arrays([*self._key.convert(rows), *columns], schema=self.schema)


_PANE_COLUMNS = {"pane": "pane", "ts": "time", "channel": "channel", "pos": "position"}


@dataclass(frozen=True)
class PaneView:
    """Records that wait for their windows, kept by column; the fields of records have numbers."""

    stored: pa.Schema

    @property
    def _shown(self) -> dict[str, str]:
        own = {name: name for name in self.stored.names if name.startswith("field_")}
        return {**_PANE_COLUMNS, **own}

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(
            [
                pa.field(shown, spark_type(self.stored.field(name).type))
                for name, shown in self._shown.items()
            ]
        )

    def convert(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        names = zip(self._shown, self.schema, strict=True)
        arrays = [reshaped(rows.column(name), field.type) for name, field in names]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def view_of(
    operator: OperatorState,
    name: str,
    counts: Mapping[str, int],
    stored: pa.Schema | None,
    *,
    trusted: bool,
) -> View:
    """How a table is shown; refused if nothing of it may be read."""
    if name == PANES:
        assert stored is not None
        return PaneView(stored)
    table = operator.table(name)
    # A function may call a state so; the windows of an operator have windows for keys.
    if name == WINDOWS and operator.info(name).layout is not None:
        if not trusted:
            raise untrusted(f"state {name!r} of operator {operator.uid!r}")
        return WindowView(table, counts)
    view = TableView(table, counts, trusted, with_key=not is_broadcast(name))
    if not trusted:
        value = view.fields[-1]
        if value.pickled and not any(counts.get(c.name) for c in value.stored[:-1]):
            raise untrusted(f"state {name!r} of operator {operator.uid!r}")
    return view


# -- comparing ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Identity:
    """Key columns and value columns of a table's rows; nothing is unpickled.

    ``table`` None: records, not state.
    """

    table: StateTable | None
    trusted: bool = True

    def rows(self, rows: pa.RecordBatch) -> list[tuple[Any, Any]]:
        """(key, place and content) of each row."""
        table = self.table
        if table is None:
            own = [name for name in rows.schema.names if name != "hash"]
            columns = [rows.column(name).to_pylist() for name in own]
            key = rows.schema.get_field_index("pane")
            keys = columns[0] if key < 0 else rows.column(key).to_pylist()
            return list(zip(keys, zip(*columns, strict=True), strict=True))
        fields = [stored_values(field, rows) for field in table.fields]
        if table.state.shape == "list" and not isinstance(table, TimerTable):
            fields.append(rows.column("position").to_pylist())
        if table.state.expires:
            fields.append(rows.column("last_used").to_pylist())
        if isinstance(table, TimerTable):
            fields += [rows.column("domain").to_pylist(), stored_values(DETAIL, rows)]
        keys = stored_values(table.key, rows)
        return list(zip(keys, zip(*fields, strict=True), strict=True))

    def texts(self, rows: pa.RecordBatch) -> list[tuple[str | None, int, str | None]]:
        """(key, position, content) of each row, for people."""
        table = self.table
        if table is None:
            return [(_shown(key), 0, _shown(content)) for key, content in self.rows(rows)]
        keys, *fields = (
            readable_values(field, rows, trusted=self.trusted)
            for field in (table.key, *table.fields)
        )
        if isinstance(table, TimerTable):
            fields.append(rows.column("domain").to_pylist())
        texts = [_joined(parts) for parts in zip(*fields, strict=True)]
        positions = [0] * rows.num_rows
        if table.state.shape == "list":
            positions = rows.column("position").to_pylist()
        return list(zip(keys, positions, texts, strict=True))


def _joined(parts: Sequence[str | None]) -> str | None:
    known = [part or "?" for part in parts]
    return parts[0] if len(parts) == 1 else ": ".join(known)


def stored_values(field: Field, rows: pa.RecordBatch) -> list[Any]:
    """Values as they are stored: those of a type as Arrow gives them, pickled ones as bytes."""
    columns = [rows.column(column.name) for column in field.schema()]
    found: list[Any] = [None] * rows.num_rows
    for column in columns:
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        if valid.all():
            return list(map(_whole, column.to_pylist()))
        for row in np.flatnonzero(valid).tolist():
            found[row] = _whole(column[row].as_py())
    return found


def _whole(value: Any) -> Any:
    """Numbers that are equal in Python look the same."""
    return int(value) if value.__class__ is float and value.is_integer() else value


def refuse_untrusted_checkpoint(path: str) -> CheckpointError:
    """The pages of a checkpoint are pickled, all of them."""
    error = untrusted(f"checkpoint {path}")
    error.hint = "take a savepoint of it where it is trusted, and read that"
    return error
