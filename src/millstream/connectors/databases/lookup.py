"""Rows of a table by key: many keys in one query, answers kept for a while."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from millstream.common.types import Row
from millstream.connectors.databases.database import Database
from millstream.connectors.databases.dialect import Session, TableName
from millstream.connectors.databases.errors import DatabaseError, database_error

__all__ = ["LookupTable"]

Key = tuple[Any, ...]


class LookupTable:
    """A table in which rows are looked up by key columns, through one connection.

    Keys are compared as Python compares them: an answer to the key ``"ada"`` that only a collation takes
    for equal, such as ``"Ada"``, does not count.

    Parameters
    ----------
    database, table
        Where the rows are.
    key
        The key columns.
    columns
        The columns of the rows, None for all.
    cache_size
        The answers of how many keys are kept; an answer may be that there is no row.
    ttl_ms
        How long they are kept; None: as long as there is room.
    """

    clock = staticmethod(time.monotonic)

    def __init__(
        self,
        database: Database,
        table: TableName,
        key: Sequence[str],
        columns: Sequence[str] | None = None,
        cache_size: int = 0,
        ttl_ms: int | None = None,
    ) -> None:
        self.database = database
        self.table = table
        self.key = tuple(key)
        self.columns = None if columns is None else tuple(columns)
        self.cache_size = cache_size
        self.ttl_ms = ttl_ms
        self.session: Session | None = None
        self._cache: OrderedDict[Key, tuple[float, list[Key]]] = OrderedDict()

    def open(self) -> None:
        """Connect, and see that the table and its columns are there."""
        self.session = session = Session.open(self.database)
        quoted = session.dialect.table(self.table)
        there = [column.name for column in session.dialect.describe(session, quoted)]
        self.names = tuple(there) if self.columns is None else self.columns
        for name in (*self.key, *self.names):
            if name not in there:
                raise database_error(
                    "name",
                    f"table {quoted} of {self.database.address} has no column {name!r}; it has "
                    f"{', '.join(map(repr, there))}",
                )

    def close(self) -> None:
        if self.session is not None:
            self.session.close()
            self.session = None

    # -- answers ---------------------------------------------------------------------------------

    def known(self, key: Key) -> list[Row] | None:
        """Return the rows of a key if they are kept; None: the database has to be asked."""
        found = self._cache.get(key)
        if found is None:
            return None
        since, rows = found
        if self.ttl_ms is not None and (self.clock() - since) * 1_000 >= self.ttl_ms:
            del self._cache[key]
            return None
        self._cache.move_to_end(key)
        return self._rows(rows)

    def load(self, keys: Sequence[Key]) -> dict[Key, list[Row]]:
        """Ask the database for some keys, in one query."""
        found: dict[Key, list[Key]] = {key: [] for key in keys}
        width = len(self.key)
        for row in self._query(keys):
            # What a collation takes for equal has another key here.
            with suppress(KeyError):
                found[tuple(row[:width])].append(tuple(row[width:]))
        self._keep(found.items())
        return {key: self._rows(rows) for key, rows in found.items()}

    def _rows(self, rows: Iterable[Key]) -> list[Row]:
        make = Row(*self.names)
        return [make(*row) for row in rows]

    def _keep(self, answers: Iterable[tuple[Key, list[Key]]]) -> None:
        now = self.clock()
        for key, rows in answers:
            self._cache[key] = now, rows
            self._cache.move_to_end(key)
        while len(self._cache) > self.cache_size:
            self._cache.popitem(last=False)

    def _query(self, keys: Sequence[Key]) -> list[Sequence[Any]]:
        try:
            return self._ask(keys)
        except DatabaseError as error:
            if error.code != "DATABASE_LOST":
                raise
        # The server has ended the connection, perhaps while it waited; a question may be asked again.
        self.close()
        self.open()
        return self._ask(keys)

    def _ask(self, keys: Sequence[Key]) -> list[Sequence[Any]]:
        session = self.session
        assert session is not None, "the table is open"
        dialect = session.dialect
        names = dialect.names((*self.key, *self.names))
        one = " and ".join(f"{dialect.quote(name)} = ?" for name in self.key)
        if len(self.key) == 1:
            condition = f"{dialect.quote(self.key[0])} in ({', '.join('?' * len(keys))})"
        else:
            condition = " or ".join(f"({one})" for _ in keys)
        table = dialect.table(self.table)
        values = [dialect.value(value) for key in keys for value in key]
        sql = f"select {names} from {table} where {condition}"
        return list(session.run(sql, values, f"look up rows of table {table} of").fetchall())
