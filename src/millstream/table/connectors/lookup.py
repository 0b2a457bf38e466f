"""Rows found by key: those of the program, and those of a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.connectors.databases import Database
from millstream.connectors.databases.lookup import LookupTable
from millstream.connectors.databases.sink import table_name
from millstream.table.connectors.options import Options
from millstream.table.physical.lookups import Key, Values

__all__ = ["RowsByKey", "RowsOfDatabase", "cache_of"]

_AT_ONCE = 1_000
"""How many keys a query has at most."""


class RowsByKey:
    """Rows of the program, by the values at some places."""

    def __init__(self, rows: Sequence[Values], key: Sequence[int]) -> None:
        self._found: dict[Key, list[Values]] = {}
        for row in rows:
            self._found.setdefault(tuple(row[place] for place in key), []).append(row)

    def find(self, keys: Sequence[Key]) -> dict[Key, Sequence[Values]]:
        """The rows of each key."""
        return {key: self._found.get(key, []) for key in keys}


class RowsOfDatabase:
    """Rows of a table of a database, through one connection in each process.

    ``cache``: for how many keys answers are kept, and for how many milliseconds; None: without end.
    """

    def __init__(
        self,
        database: Database,
        table: str,
        key: Sequence[str],
        columns: Sequence[str],
        cache: tuple[int, int | None] = (0, None),
    ) -> None:
        self._made = (database, table, tuple(key), tuple(columns), cache)
        self._table: LookupTable | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_made": self._made, "_table": None}

    def find(self, keys: Sequence[Key]) -> dict[Key, Sequence[Values]]:
        """The rows of each key; many keys are asked for in one query."""
        table = self._opened()
        found: dict[Key, Sequence[Values]] = {}
        asked = []
        for key in keys:
            known = table.known(key)
            if known is None:
                asked.append(key)
            else:
                found[key] = known
        for first in range(0, len(asked), _AT_ONCE):
            found.update(table.load(asked[first : first + _AT_ONCE]))
        return found

    def _opened(self) -> LookupTable:
        if self._table is None:
            database, table, key, columns, cache = self._made
            self._table = LookupTable(database, table_name(table), key, columns, *cache)
            self._table.open()
        return self._table


def cache_of(options: Options) -> tuple[int, int | None]:
    """The cache that options of Flink ask for: how many keys, and how long in milliseconds."""
    kind = options.text("lookup.cache", "NONE").upper()
    if kind not in ("NONE", "PARTIAL", "FULL"):
        raise options.problem(
            f"has 'lookup.cache' = {options.shown('lookup.cache')!r}", "write 'NONE' or 'PARTIAL'"
        )
    legacy = options.number("lookup.cache.max-rows")
    rows = options.number("lookup.partial-cache.max-rows")
    times = [
        options.millis(name)
        for name in (
            "lookup.partial-cache.expire-after-write",
            "lookup.partial-cache.expire-after-access",
            "lookup.cache.ttl",
        )
    ]
    ttl = min((each for each in times if each is not None), default=None)
    if kind == "NONE" and legacy is None:
        return 0, None
    return rows or legacy or 10_000, ttl
