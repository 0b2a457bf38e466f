"""Tables of databases as sinks, sources and lookups: SQLite, PostgreSQL, MySQL and MariaDB."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from millstream.common.arguments import positive_int
from millstream.common.errors import short_repr
from millstream.common.time import to_millis
from millstream.common.type_aliases import DurationLike
from millstream.connectors.databases import (
    Database,
    DatabaseError,
    DatabaseSink,
    DatabaseSource,
)
from millstream.connectors.databases.dialect import TableName
from millstream.connectors.databases.errors import bad_argument
from millstream.connectors.databases.lookup import Key, LookupTable
from millstream.connectors.databases.sink import table_name
from millstream.datastream.functions.asynchronous import AsyncFunction

__all__ = ["Database", "DatabaseError", "DatabaseLookup", "DatabaseSink", "DatabaseSource"]

Fields = int | str | Sequence[int | str] | Callable[[Any], Any]
"""Fields of a record by place or name, or a function that gives the key."""


class DatabaseLookup(AsyncFunction[Any, Any]):
    """Function that joins each record with the rows of a table that have its key.

    Give it to `AsyncDataStream.unordered_wait`. Records that wait at the same time are looked up with
    one query; answers are kept. A key that is None, or has a None in it, meets nothing.

    Which version of a row a record meets depends on when it is processed, so results are not the
    same under every schedule, nor when an epoch is repeated after a failure.

    Parameters
    ----------
    database
        A `Database`, or its URL.
    table
        The table: ``"items"``, ``"shop.items"``, or a tuple with the parts of its name.
    left_key
        The key of a record: a field by place or name, several of them, or a function.
    right_key
        The key column, or several. By default those with the names of ``left_key``.
    how
        ``"inner"`` drops records without a row, ``"left"`` gives them None.
    function
        A function of record and row. Without one, results are pairs (record, row); rows are `Row`
        objects with the names of the columns. A record with several rows has several results.
    columns
        The columns of the rows, by default all of them.
    cache_size
        The answers for how many keys are kept, in each task; 0: none.
    cache_ttl
        How long they are kept; None: as long as there is room.
    batch_size
        How many keys a query has at most.

    Examples
    --------
    >>> lookup = DatabaseLookup("sqlite:///shop.db", "items", left_key=0, right_key="name")
    >>> lookup.how
    'inner'
    """

    def __init__(
        self,
        database: Database | str,
        table: TableName,
        left_key: Fields,
        right_key: str | Sequence[str] | None = None,
        how: Literal["inner", "left"] = "inner",
        function: Callable[[Any, Any], Any] | None = None,
        *,
        columns: Sequence[str] | None = None,
        cache_size: int = 10_000,
        cache_ttl: DurationLike | None = "1 min",
        batch_size: int = 1_000,
    ) -> None:
        if how not in ("inner", "left"):
            raise bad_argument(f"how={how!r} is no kind of join", 'give "inner" or "left"')
        if not isinstance(cache_size, int) or cache_size < 0:
            raise bad_argument(f"cache_size={cache_size!r} is no size", "give 0 or a larger number")
        self.how = how
        self.function = function
        self.batch_size = positive_int("batch_size", batch_size)
        self._left = _fields(left_key)
        right = _columns(right_key, left_key)
        if isinstance(self._left, tuple) and len(self._left) != len(right):
            raise bad_argument(
                f"the left key has {len(self._left)} fields, and the right key has {len(right)} columns",
                "name a column for each field",
            )
        ttl_ms = None if cache_ttl is None else to_millis(cache_ttl, "cache_ttl")
        self.table = LookupTable(
            Database.of(database), table_name(table), right, columns, cache_size, ttl_ms
        )
        self._waiting: dict[Key, asyncio.Future[list[Any]]] = {}
        self._is_loading = False

    async def open(self, runtime_context: Any) -> None:
        await asyncio.to_thread(self.table.open)

    async def close(self) -> None:
        self.table.close()

    async def async_invoke(self, value: Any) -> Iterable[Any]:
        key = self._key(value)
        rows: list[Any] | None = []
        if None not in key:
            rows = self.table.known(key)
            if rows is None:
                rows = list(await self._ask(key))
        found: list[Any] = rows or ([None] if self.how == "left" else [])
        make = self.function or _pair
        return [make(value, row) for row in found]

    def _key(self, value: Any) -> Key:
        if not isinstance(self._left, tuple):
            found = self._left(value)
            return tuple(found) if isinstance(found, tuple | list) else (found,)
        return tuple(_field(value, field) for field in self._left)

    # -- questions that wait together ------------------------------------------------------------

    def _ask(self, key: Key) -> asyncio.Future[list[Any]]:
        loop = asyncio.get_running_loop()
        future = self._waiting.get(key)
        if future is None:
            future = self._waiting[key] = loop.create_future()
            if not self._is_loading:
                # After the records that are on their way here already.
                self._is_loading = True
                self._task = loop.create_task(self._load())
        # Records share the answer: one that gives up does not end the question of the others.
        return asyncio.shield(future)

    async def _load(self) -> None:
        """Ask for everything that waits. What comes meanwhile waits for the next query."""
        try:
            while self._waiting:
                keys = list(self._waiting)[: self.batch_size]
                asked = {key: self._waiting.pop(key) for key in keys}
                await self._answer(asked)
        finally:
            self._is_loading = False

    async def _answer(self, asked: dict[Key, asyncio.Future[list[Any]]]) -> None:
        try:
            found = await asyncio.to_thread(self.table.load, list(asked))
        except BaseException as error:
            for future in asked.values():
                if not future.done():
                    future.set_exception(error)
                    future.exception()  # A record that gave up does not ask for it.
            if not isinstance(error, Exception):
                raise
            return
        for key, future in asked.items():
            if not future.done():
                future.set_result(found[key])


def _pair(record: Any, row: Any) -> tuple[Any, Any]:
    return record, row


def _fields(key: Any) -> tuple[int | str, ...] | Callable[[Any], Any]:
    if callable(key):
        function: Callable[[Any], Any] = key
        return function
    fields = (key,) if isinstance(key, int | str) else key
    is_key = isinstance(fields, tuple | list) and len(fields) > 0
    if not is_key or not all(isinstance(f, int | str) and not isinstance(f, bool) for f in fields):
        raise bad_argument(
            f"{short_repr(key)} is no key", "give the place or name of a field, or a function"
        )
    return tuple(fields)


def _columns(right: Any, left: Any) -> tuple[str, ...]:
    names = left if right is None else right
    names = (names,) if isinstance(names, str) else names
    is_key = isinstance(names, tuple | list) and len(names) > 0
    if not is_key or not all(isinstance(name, str) for name in names):
        raise bad_argument("the lookup does not name key columns", 'add right_key="id"')
    return tuple(names)


def _field(value: Any, field: int | str) -> Any:
    if isinstance(field, str) and not hasattr(value, "__getitem__"):
        return getattr(value, field)
    if isinstance(field, str) and isinstance(value, tuple):
        return getattr(value, field)
    return value[field]
