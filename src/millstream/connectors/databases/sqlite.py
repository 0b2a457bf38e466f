"""SQLite: the database that needs no server."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from millstream.common.time import Instant
from millstream.common.types import Row
from millstream.connectors.databases.database import Database
from millstream.connectors.databases.dialect import Column, Dialect, Session, Target
from millstream.connectors.databases.errors import Category
from millstream.connectors.databases.texts import as_text, in_utc, json_text

__all__ = ["Sqlite"]

BUSY_SECONDS = 60.0
"""How long a writer waits for others: one connection writes at a time."""

# By what a declared type contains, the first that fits; SQLite itself knows types only by such rules.
_TYPES: tuple[tuple[str, pa.DataType | None, str], ...] = (
    ("TIMESTAMPTZ", pa.timestamp("us", tz="UTC"), ""),
    ("WITH TIME ZONE", pa.timestamp("us", tz="UTC"), ""),
    ("TIMESTAMP", pa.timestamp("us"), ""),
    ("DATETIME", pa.timestamp("us"), ""),
    ("DATE", pa.date32(), ""),
    ("TIME", pa.time64("us"), ""),
    ("BOOL", pa.bool_(), ""),
    ("INT", pa.int64(), ""),
    ("CHAR", pa.string(), ""),
    ("CLOB", pa.string(), ""),
    ("TEXT", pa.string(), ""),
    ("JSON", pa.string(), ""),
    ("BLOB", pa.binary(), ""),
    ("REAL", pa.float64(), ""),
    ("FLOA", pa.float64(), ""),
    ("DOUB", pa.float64(), ""),
    ("DEC", None, "Decimal"),
    ("NUMERIC", None, "Decimal"),
)
_CATEGORIES: tuple[tuple[str, Category], ...] = (
    ("no such table", "name"),
    ("no such column", "name"),
    ("no column named", "name"),
    ("on conflict clause does not match", "key"),
    ("unable to open", "unreachable"),
    ("not a database", "unreachable"),
    ("is locked", "conflict"),
    ("readonly", "denied"),
    ("disk i/o error", "lost"),
)


class Sqlite(Dialect):
    """SQLite, with Python's own driver."""

    kind = "sqlite"
    style = "?"
    # A transaction that reads first and writes later could be refused in between.
    begin = "begin immediate"
    for_update = ""
    ignores_case = True

    def connect(self, database: Database) -> Any:
        chosen = {k: v for k, v in database.options if k == "timeout" or not database.is_jdbc}
        options = {"timeout": BUSY_SECONDS, **chosen}
        options["timeout"] = float(options["timeout"])
        # Lookups take turns with a connection in several threads.
        return sqlite3.connect(
            database.name, isolation_level=None, check_same_thread=False, **options
        )

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        return (sqlite3.Error,)

    def category(self, error: Exception) -> Category:
        if isinstance(error, sqlite3.IntegrityError | sqlite3.DataError):
            return "value"
        text = str(error).lower()
        return next((category for part, category in _CATEGORIES if part in text), "failed")

    def describe(self, session: Session, relation: str) -> list[Column]:
        # A view knows the declared types of a query's columns; this one is the connection's own.
        session.run("drop view if exists temp.millstream_described")
        session.run(f"create temp view millstream_described as select * from {relation}")
        try:
            found = session.run("pragma temp.table_info(millstream_described)").fetchall()
        finally:
            session.run("drop view temp.millstream_described")
        return [
            _column(name, declared or self._type_of_first(session, relation, name))
            for _, name, declared, *_ in found
        ]

    def _type_of_first(self, session: Session, relation: str, name: str) -> str:
        """The type of an expression: that of its first value, as SQLite has no other."""
        quoted = self.quote(name)
        sql = f"select typeof({quoted}) from {relation} where {quoted} is not null limit 1"
        found = session.run(sql).fetchone()
        return str(found[0]) if found else "text"

    # -- writing ---------------------------------------------------------------------------------

    def append(self, session: Session, target: Target, rows: pa.Table) -> None:
        self._insert(session, target, rows, "")

    def upsert(self, session: Session, target: Target, rows: pa.Table) -> None:
        self._insert(session, target, rows, self.on_conflict(target))

    def _insert(self, session: Session, target: Target, rows: pa.Table, end: str) -> None:
        marks = ", ".join("?" * len(target.columns))
        sql = f"insert into {target.table} ({self.names(target.names)}) values ({marks}) {end}"
        doing = f"write to table {target.table} of"
        session.run_many(sql, _values(rows), doing, target.names)

    def delete(self, session: Session, target: Target, rows: pa.Table) -> None:
        same = " and ".join(f"{self.quote(name)} = ?" for name in target.key)
        sql = f"delete from {target.table} where {same}"
        session.run_many(sql, _values(rows), f"delete from table {target.table} of", target.key)

    # -- values ----------------------------------------------------------------------------------

    def value(self, value: Any) -> Any:
        if value is None or isinstance(value, int | float | str | bytes):
            return value
        if isinstance(value, dt.datetime):
            return value.isoformat(" ")
        if isinstance(value, dt.date | dt.time):
            return value.isoformat()
        if isinstance(value, Instant):
            return in_utc(value).replace(tzinfo=None).isoformat(" ")
        if isinstance(value, list | tuple | dict | Row):
            return json_text(value)
        return str(value)

    def stream(
        self, session: Session, sql: str, values: Sequence[Any], size: int
    ) -> Iterator[Sequence[Sequence[Any]]]:
        cursor = session.run(sql, values, "read from")
        while rows := cursor.fetchmany(size):
            yield rows

    def reader(self, column: Column) -> Callable[[Any], Any] | None:
        kind = column.arrow
        if kind is None:
            return lambda value: Decimal(str(value))
        if pa.types.is_boolean(kind):
            return bool
        if pa.types.is_timestamp(kind):
            return dt.datetime.fromisoformat if kind.tz is None else _in_zone
        if pa.types.is_date(kind):
            return dt.date.fromisoformat
        if pa.types.is_time(kind):
            return dt.time.fromisoformat
        return str if pa.types.is_string(kind) else None

    # -- markers ---------------------------------------------------------------------------------

    def create_markers(self, table: str) -> str:
        return (
            f"create table if not exists {table} (job text not null, sink text not null, "
            "part integer not null, epoch integer not null, fingerprint text not null, "
            "attempt integer not null, primary key (job, sink, part))"
        )

    def insert_unless_there(self, table: str, names: Sequence[str]) -> str:
        marks = ", ".join("?" * len(names))
        return f"insert into {table} ({', '.join(names)}) values ({marks}) on conflict do nothing"


def _column(name: str, declared: str) -> Column:
    upper = declared.upper()
    for part, arrow, python in _TYPES:
        if part in upper:
            return Column(name, declared, arrow, python)
    return Column(name, declared, None)


def _in_zone(text: str) -> dt.datetime:
    time = dt.datetime.fromisoformat(text)
    return time.replace(tzinfo=time.tzinfo or dt.UTC)


def _values(rows: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(_column_values(column) for column in rows.columns), strict=True))


def _column_values(column: pa.ChunkedArray) -> list[Any]:
    kind, is_a = column.type, pa.types
    if is_a.is_null(kind):
        return [None] * len(column)
    if is_a.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not (is_a.is_integer(kind) or is_a.is_floating(kind) or is_a.is_binary(kind)):
        column = pa.chunked_array([as_text(chunk) for chunk in column.chunks], pa.string())
    values: list[Any] = column.to_pylist()
    return values
