"""Differences between databases, and the sessions in which one is used."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from millstream.common.errors import short_repr
from millstream.connectors.databases.database import Database
from millstream.connectors.databases.errors import Category, bad_argument, database_error
from millstream.connectors.databases.marks import Style, translated

__all__ = ["ROW", "Column", "Dialect", "Session", "TableName", "Target", "dialect_of", "numbered"]

TableName = str | Sequence[str]
"""A table: ``"orders"``, ``"sales.orders"``, or the parts of the name as they are, dots and all."""

ROW = "millstream_row"
"""The column of a temporary table with the numbers of its rows."""


def numbered(rows: pa.Table) -> pa.Table:
    """Return rows with their numbers."""
    return rows.append_column(ROW, pa.array(np.arange(rows.num_rows, dtype=np.int64)))


@dataclass(frozen=True)
class Column:
    """A column of a table: the database's name of its type, and the Arrow type of its values.

    ``arrow`` is None if Arrow has no type with which each value comes back as it is: then ``python``
    says which class the values have.
    """

    name: str
    type: str
    arrow: pa.DataType | None
    python: str = ""


@dataclass(frozen=True)
class Target:
    """The columns of a table that a sink writes, and those by which it finds rows."""

    table: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def only_key(self) -> Target:
        """The key columns alone."""
        by_name = {column.name: column for column in self.columns}
        return Target(self.table, tuple(by_name[name] for name in self.key), self.key)


class Dialect(ABC):
    """One kind of database: how to connect, quote, describe, write in bulk, and what errors mean.

    Statements that are the same everywhere are made here; values stand as ``?`` in all of them.
    """

    kind: ClassVar[str]
    style: ClassVar[Style] = "%s"
    begin: ClassVar[str] = "begin"
    for_update: ClassVar[str] = " for update"
    ignores_case: ClassVar[bool] = False
    """Whether names of columns are found in any spelling."""

    # -- connections -----------------------------------------------------------------------------

    @abstractmethod
    def connect(self, database: Database) -> Any:
        """Return a connection of the driver that commits each statement by itself."""

    @property
    @abstractmethod
    def errors(self) -> tuple[type[Exception], ...]:
        """The exceptions of the driver."""

    @abstractmethod
    def category(self, error: Exception) -> Category:
        """Return why the database refuses something."""

    def reason(self, error: Exception) -> str:
        """Return what the database says, in one line."""
        return " ".join(str(error).split())

    def failing_row(self, error: Exception) -> int | None:
        """Return the number of the row, from 0, that the database does not take, if it says so."""
        return None

    # -- names -----------------------------------------------------------------------------------

    def quote(self, name: str) -> str:
        """Return a name in quotes; whatever it contains, it stays a name."""
        return '"' + name.replace('"', '""') + '"'

    def table(self, name: TableName) -> str:
        """Return the name of a table in quotes."""
        parts = name.split(".") if isinstance(name, str) else name
        return ".".join(map(self.quote, parts))

    def names(self, columns: Iterable[str], prefix: str = "") -> str:
        """Return a list of names in quotes."""
        return ", ".join(prefix + self.quote(column) for column in columns)

    # -- descriptions ----------------------------------------------------------------------------

    @abstractmethod
    def describe(self, session: Session, relation: str) -> list[Column]:
        """Return the columns of a table or of a query in parentheses."""

    def check_key(self, session: Session, target: Target) -> None:  # noqa: B027
        """Raise an error if rows cannot be found by the key, unless the database refuses that itself."""

    # -- writing ---------------------------------------------------------------------------------

    def prepare(self, session: Session, target: Target) -> None:  # noqa: B027
        """Make what `write` needs and the transaction must not contain."""

    @abstractmethod
    def append(self, session: Session, target: Target, rows: pa.Table) -> None:
        """Add rows; in a transaction."""

    @abstractmethod
    def upsert(self, session: Session, target: Target, rows: pa.Table) -> None:
        """Add rows, or replace those with the same key; of two rows with one key the last counts."""

    @abstractmethod
    def delete(self, session: Session, target: Target, rows: pa.Table) -> None:
        """Delete the rows with these keys; ``rows`` has the key columns only."""

    def on_conflict(self, target: Target) -> str:
        """Return the end of an upsert statement."""
        others = [name for name in target.names if name not in target.key]
        changes = ", ".join(f"{self.quote(n)} = excluded.{self.quote(n)}" for n in others)
        action = f"do update set {changes}" if changes else "do nothing"
        return f"on conflict ({self.names(target.key)}) {action}"

    def same_key(self, target: Target, one: str, other: str) -> str:
        """Return the condition that two relations have the same key."""
        keys = map(self.quote, target.key)
        return " and ".join(f"{one}.{key} = {other}.{key}" for key in keys)

    # -- values of the user's own statements, and reading -----------------------------------------

    @abstractmethod
    def value(self, value: Any) -> Any:
        """Return a Python value as the driver takes it."""

    @abstractmethod
    def stream(
        self, session: Session, sql: str, values: Sequence[Any], size: int
    ) -> Iterator[Sequence[Sequence[Any]]]:
        """Yield the rows of a query in portions; the client never holds all of them."""

    def reader(self, column: Column) -> Callable[[Any], Any] | None:
        """Return what makes a value, not None, one of the column's Arrow type; None: it is one."""
        return None

    # -- markers ---------------------------------------------------------------------------------

    @abstractmethod
    def create_markers(self, table: str) -> str:
        """Return the statement that creates the table of epochs, unless it is there."""

    @abstractmethod
    def insert_unless_there(self, table: str, names: Sequence[str]) -> str:
        """Return the statement that inserts a row unless its key is there."""


@dataclass
class Session:
    """A connection to a database in which statements run; errors are explained."""

    database: Database
    dialect: Dialect
    raw: Any
    stages: dict[Target, str] = field(default_factory=dict)
    """The temporary tables of this connection."""
    may_load: bool | None = None
    """Whether the server takes files from the client; None: nobody has asked it."""
    is_usable: bool = True

    @staticmethod
    def open(database: Database) -> Session:
        """Connect."""
        dialect = dialect_of(database)
        try:
            raw = dialect.connect(database)
        except dialect.errors as error:
            category = dialect.category(error)
            category = "unreachable" if category in ("lost", "failed") else category
            reason = database.masked(dialect.reason(error))
            # The driver's error may show a secret: it does not become the cause.
            raise database_error(category, f"cannot use {database.address}: {reason}") from None
        except TypeError as error:
            raise bad_argument(
                f"the driver does not take the options of {database.address}: {error}",
                "give options of psycopg.connect, pymysql.connect or sqlite3.connect",
            ) from None
        return Session(database, dialect, raw)

    def close(self) -> None:
        self.is_usable = False
        with suppress(Exception):
            self.raw.close()

    def run(self, sql: str, values: Sequence[Any] = (), doing: str = "") -> Any:
        """Run a statement with ``?`` for its values; returns the driver's cursor."""
        with self.explained(doing or "run a statement in"):
            cursor = self.raw.cursor()
            if values:
                cursor.execute(translated(sql, self.dialect.kind, self.dialect.style)[0], values)
            else:
                cursor.execute(sql)
            return cursor

    def run_many(
        self, sql: str, rows: Sequence[Sequence[Any]], doing: str, names: Sequence[str] = ()
    ) -> None:
        """Run a statement once for each row; an error names the row."""
        last: list[Sequence[Any]] = []

        def noted() -> Iterator[Sequence[Any]]:
            for row in rows:
                last[:] = [row]
                yield row

        statement = translated(sql, self.dialect.kind, self.dialect.style)[0]
        with self.explained(doing, lambda _: _shown_row(names, last[0]) if last else ""):
            self.raw.cursor().executemany(statement, noted())

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what happens in the block, or nothing of it."""
        self.run(self.dialect.begin, doing="begin a transaction in")
        try:
            yield
        except BaseException:
            try:
                self.raw.rollback()
            except Exception:
                self.is_usable = False
            raise
        self.run("commit", doing="commit to")

    @contextmanager
    def explained(
        self, doing: str, row_of: Callable[[Exception], str] | None = None
    ) -> Iterator[None]:
        """Raise errors of the driver as `DatabaseError`; ``doing``: "write to table 'words' of"."""
        try:
            yield
        except self.dialect.errors as error:
            category = self.dialect.category(error)
            if category in ("lost", "unreachable"):
                category, self.is_usable = "lost", False
            reason = self.dialect.reason(error)
            row = row_of(error) if row_of is not None and category == "value" else ""
            message = f"cannot {doing} {self.database.address}: {reason}{row}"
            raise database_error(category, self.database.masked(message)) from None

    def with_row(self, names: Sequence[str], rows: pa.Table) -> Callable[[Exception], str]:
        """Return what finds the row that an error is about."""

        def shown(error: Exception) -> str:
            place = self.dialect.failing_row(error)
            if place is None or not 0 <= place < rows.num_rows:
                return ""
            return _shown_row(names, [column[place].as_py() for column in rows.columns])

        return shown


def _shown_row(names: Sequence[str], row: Sequence[Any]) -> str:
    shown = [short_repr(value, 60) for value in row]
    if len(names) == len(shown):
        shown = [f"{name}={value}" for name, value in zip(names, shown, strict=True)]
    text = ", ".join(shown)
    return f"; row ({text[:397] + '...' if len(text) > 400 else text})"


def dialect_of(database: Database) -> Dialect:
    """Return the dialect of a database."""
    if database.kind == "postgresql":
        from millstream.connectors.databases.postgresql import PostgreSql

        return PostgreSql()
    if database.kind == "mysql":
        from millstream.connectors.databases.mysql import MySql

        return MySql()
    from millstream.connectors.databases.sqlite import Sqlite

    return Sqlite()
