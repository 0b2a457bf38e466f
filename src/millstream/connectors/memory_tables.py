"""Tables in memory: the rows that jobs of a test read, and the changes that they write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from millstream.common.errors import PlanError, user_location
from millstream.common.types import Row

__all__ = ["KeptTable", "MemoryTables", "current_tables", "using_tables"]


class KeptTable:
    """A table that was written: all changes, and the rows that are there now."""

    def __init__(self) -> None:
        self.changes: list[Row] = []
        self.rows: list[Row] = []


class MemoryTables:
    """The tables of a test, see `millstream.testing.in_memory`.

    Examples
    --------
    >>> tables = MemoryTables()
    >>> tables.give({"orders": [(1, "ann")]})
    >>> [list(row) for row in tables.given("orders")]
    [[1, 'ann']]
    """

    def __init__(self) -> None:
        self._given: dict[str, list[Row]] = {}
        self._kept: dict[str, KeptTable] = {}

    def give(self, tables: Mapping[str, Iterable[Row | Sequence[Any]]]) -> None:
        """Add rows to tables that are read."""
        for name, rows in tables.items():
            found = (row if isinstance(row, Row) else Row(*row) for row in rows)
            self._given.setdefault(name, []).extend(found)

    def is_here(self, name: str) -> bool:
        """Whether rows were given for a table."""
        return name in self._given

    def given(self, name: str) -> list[Row]:
        """The rows of a table that is read, those of earlier runs too."""
        return list(self._given.get(name, ()))

    def kept(self, name: str) -> KeptTable:
        """The table as its sink writes it."""
        return self._kept.setdefault(name, KeptTable())

    def changes(self, name: str) -> list[Row]:
        """The changes that were written into a table, in order, those of earlier runs too.

        ``row.get_row_kind()`` says what a row is. A table with a primary key gets no old rows (-U).
        """
        return list(self._found(name).changes)

    def rows(self, name: str) -> list[Row]:
        """The rows that a table has after all changes."""
        return list(self._found(name).rows)

    def _found(self, name: str) -> KeptTable:
        if name not in self._kept:
            names = ", ".join(self._kept) or "none"
            raise PlanError(
                "UNKNOWN_SINK",
                f"nothing was written into a table {name!r} in memory",
                location=user_location(),
                hint=f"tables that were written: {names}; give it 'connector' = 'values', or name it "
                "in in_memory(tables=...)",
            )
        return self._kept[name]


_current: ContextVar[MemoryTables | None] = ContextVar("tables", default=None)


@contextmanager
def using_tables(tables: MemoryTables) -> Iterator[None]:
    """Let jobs that start in this block use tables in memory."""
    token = _current.set(tables)
    try:
        yield
    finally:
        _current.reset(token)


def current_tables() -> MemoryTables | None:
    """The tables of the block around, None if there is none."""
    return _current.get()
