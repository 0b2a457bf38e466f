"""The sink for tables: rows are added, replaced by key, or deleted by key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from millstream.common.errors import PlanError, short_repr
from millstream.connectors.databases.database import Database
from millstream.connectors.databases.dialect import Column, TableName, Target
from millstream.connectors.databases.errors import bad_argument, database_error
from millstream.connectors.databases.markers import MARKERS
from millstream.connectors.databases.rows import Records, records_of
from millstream.connectors.databases.transactions import TransactionSink, TransactionWriter
from millstream.connectors.sink import Changelog, PartContext

__all__ = ["DatabaseSink"]

Mode = Literal["append", "upsert", "delete"]


@dataclass(frozen=True, kw_only=True)
class DatabaseSink(TransactionSink):
    """Sink that writes to a table of a database, each record once.

    Make one with `append`, `upsert` or `delete`. Fields go to the columns of the same names; fields
    without names, those of tuples, go to ``columns``, by default to all columns of the table in their
    order. The table exists.

    The records of a part and a row of the table ``millstream_epochs`` are written in one transaction:
    after a crash, parts that are there are not written again.

    Examples
    --------
    >>> DatabaseSink.upsert("postgresql://ada:s3cret@db.example/shop", "totals", key="item")
    DatabaseSink(upsert, 'postgresql://ada@db.example:5432/shop', totals, key=('item',))
    """

    table: TableName
    mode: Mode = "append"
    key: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    prefers_columns = True

    @staticmethod
    def append(
        database: Database | str,
        table: TableName,
        *,
        columns: Sequence[str] | None = None,
        markers: TableName = MARKERS,
    ) -> DatabaseSink:
        """Return a sink that adds a row for each record.

        Parameters
        ----------
        database
            A `Database`, or its URL.
        table
            The table: ``"orders"``, ``"sales.orders"``, or a tuple with the parts of its name.
        columns
            The columns for the fields of a record, in their order.
        markers
            The table in which the sink notes epochs; created if it is missing.
        """
        return _sink(database, table, "append", (), columns, markers)

    @staticmethod
    def upsert(
        database: Database | str,
        table: TableName,
        *,
        key: str | Sequence[str],
        columns: Sequence[str] | None = None,
        markers: TableName = MARKERS,
    ) -> DatabaseSink:
        """Return a sink that replaces the row with the same key, or adds one.

        A row of kind DELETE or UPDATE_BEFORE deletes the row with its key, so the sink takes the changes
        of `DataStream.changelog`. Of the records of an epoch with one key, the last one counts.

        Parameters
        ----------
        key
            The key columns. The table has a primary key or unique index of exactly these.
        database, table, columns, markers
            As in `append`.
        """
        return _sink(database, table, "upsert", _key(key), columns, markers)

    @staticmethod
    def delete(
        database: Database | str,
        table: TableName,
        *,
        key: str | Sequence[str],
        columns: Sequence[str] | None = None,
        markers: TableName = MARKERS,
    ) -> DatabaseSink:
        """Return a sink that deletes the rows with the key of a record; see `upsert`."""
        return _sink(database, table, "delete", _key(key), columns, markers)

    def __repr__(self) -> str:
        table = self.table if isinstance(self.table, str) else ".".join(self.table)
        key = f", key={self.key}" if self.key else ""
        return f"DatabaseSink({self.mode}, {self.database.address!r}, {table}{key})"

    @property
    def changelog(self) -> Changelog:  # type: ignore[override]
        return "upsert" if self.mode == "upsert" else "append"

    def open_part(self, context: PartContext) -> TransactionWriter:
        return _TableWriter(self, context)


def _sink(
    database: Database | str,
    table: TableName,
    mode: Mode,
    key: tuple[str, ...],
    columns: Sequence[str] | None,
    markers: TableName,
) -> DatabaseSink:
    return DatabaseSink(
        database=Database.of(database),
        table=table_name(table),
        mode=mode,
        key=key,
        columns=None if columns is None else _columns(columns),
        markers=table_name(markers),
    )


def table_name(name: Any) -> TableName:
    """Return the name of a table, if it is one."""
    parts = name.split(".") if isinstance(name, str) else name
    if not isinstance(parts, list | tuple) or not parts or not all(_is_name(p) for p in parts):
        raise bad_argument(
            f"{short_repr(name)} is no name of a table",
            'give "table", "schema.table", or ("schema", "table") if a name has a dot in it',
        )
    return name if isinstance(name, str) else tuple(parts)


def _is_name(part: Any) -> bool:
    return isinstance(part, str) and part != "" and "\0" not in part


def _columns(columns: Any) -> tuple[str, ...]:
    if isinstance(columns, str) or not all(_is_name(name) for name in columns):
        raise bad_argument(
            f"{short_repr(columns)} is no list of columns", 'give their names: ["word", "n"]'
        )
    return tuple(columns)


def _key(key: Any) -> tuple[str, ...]:
    found = _columns([key] if isinstance(key, str) else key)
    if not found or len(set(found)) != len(found):
        raise bad_argument(f"{short_repr(key)} is no key", 'name each key column once: key=["id"]')
    return found


class _TableWriter(TransactionWriter):
    sink: DatabaseSink

    def prepare(self) -> None:
        records = records_of(self.batches, self.context.type_info)
        target = self._target(records)
        self._refuse_changes(records)
        self.deleted, self.written = _changes(records, target, self.sink.mode)
        self.target, self.gone = target, target.only_key() if target.key else target
        dialect, session = self.session.dialect, self.session
        if target.key:
            dialect.check_key(session, target)
            _refuse_null_keys(self.deleted, self.gone, target.table)
            _refuse_null_keys(self.written, target, target.table)
        for rows, part in ((self.deleted, self.gone), (self.written, target)):
            if rows.num_rows:
                dialect.prepare(session, part)

    def _target(self, records: Records) -> Target:
        dialect, sink = self.session.dialect, self.sink
        table = dialect.table(sink.table)
        there = dialect.describe(self.session, table)
        count = records.table.num_columns
        names = records.names if sink.columns is None else list(sink.columns)
        if names is None:
            names = list(sink.key) if count == len(sink.key) else [c.name for c in there]
        if len(names) != count:
            raise database_error(
                "name",
                f"the records have {count} fields, and there are {len(names)} columns for them in "
                f"table {table} of {sink.database.address}: {', '.join(names)}",
                "name the columns: columns=[...], in the order of the fields",
            )
        columns = tuple(self._column(name, there, table) for name in names)
        found = {column.name for column in columns}
        key = tuple(self._column(name, there, table).name for name in sink.key)
        if not found >= set(key):
            missing = ", ".join(sorted(set(key) - found))
            raise database_error(
                "name",
                f"the records have no field for {missing}, a key column of table {table}",
                "name the columns: columns=[...], in the order of the fields",
            )
        return Target(table, columns, key)

    def _column(self, name: str, there: list[Column], table: str) -> Column:
        fold = str.lower if self.session.dialect.ignores_case else str
        found = [column for column in there if column.name == name]
        found = found or [column for column in there if fold(column.name) == fold(name)]
        if not found:
            raise database_error(
                "name",
                f"table {table} of {self.sink.database.address} has no column {name!r}; it has "
                f"{', '.join(repr(column.name) for column in there)}",
            )
        return found[0]

    def _refuse_changes(self, records: Records) -> None:
        if records.is_back is not None and self.sink.mode == "append":
            raise PlanError(
                "CHANGES_REFUSED",
                f"sink {self.context.name!r} only adds rows, and a record takes one back",
                location=self.context.location,
                hint="use DatabaseSink.upsert(..., key=...)",
            )

    def write_all(self) -> None:
        dialect = self.session.dialect
        if self.deleted.num_rows:
            dialect.delete(self.session, self.gone, self.deleted)
        if self.written.num_rows:
            write = dialect.upsert if self.sink.mode == "upsert" else dialect.append
            write(self.session, self.target, self.written)


def _changes(records: Records, target: Target, mode: Mode) -> tuple[pa.Table, pa.Table]:
    """The keys of rows to delete, and the rows to write."""
    table = records.table.rename_columns([str(i) for i in range(len(target.columns))])
    places = [target.names.index(name) for name in target.key]
    if mode == "delete":
        return table.select(places), table.slice(0, 0)
    if records.is_back is None:
        return table.slice(0, 0).select(places), table
    # The last record of a key says whether its row stays.
    keys = zip(*(table.column(place).to_pylist() for place in places), strict=True)
    last = {key: row for row, key in enumerate(map(_hashable, keys))}
    gone = pa.array([row for row in last.values() if records.is_back[row]], pa.int64())
    kept = pa.array([row for row in last.values() if not records.is_back[row]], pa.int64())
    return table.select(places).take(gone), table.take(kept)


def _hashable(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(repr(value) if isinstance(value, list | dict) else value for value in key)


def _refuse_null_keys(rows: pa.Table, target: Target, table: str) -> None:
    for name in target.key:
        column = rows.column(target.names.index(name))
        if column.null_count:
            place = pc.index(column.is_null(), True).as_py()
            row = short_repr(tuple(found[place].as_py() for found in rows.columns))
            raise database_error(
                "value",
                f"the key column {name!r} of table {table} is NULL in {row}: it finds no row",
                "filter such records out before the sink",
            )
