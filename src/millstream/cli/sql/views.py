"""How the result of a query is shown: as a table, as changes, or as a live table."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator

from millstream.cli.console import Console
from millstream.common.types import Row, RowKind
from millstream.table.execution.tableau import row_texts, tableau
from millstream.table.table_result import TableResult

__all__ = ["MODES", "LiveTable", "show_changelog", "show_live", "show_tableau"]

MODES = ("tableau", "changelog", "table")
"""Values of ``sql-client.execution.result-mode``."""
_EVERY_SECONDS = 0.2


def show_tableau(result: TableResult, write: Callable[[str], None]) -> None:
    """Write rows as Flink's tableau, with their kinds if they come from a stream."""
    for line in result.lines():
        write(line)


def show_changelog(result: TableResult, write: Callable[[str], None]) -> None:
    """Write one line for each change: ``+I[a, 1]``."""
    for row in result.collect():
        (texts,) = row_texts([row], result.row_type, result.zone)
        write(f"{row.get_row_kind()}[{', '.join(texts)}]")


class LiveTable:
    """The rows of a table after the changes so far.

    Examples
    --------
    >>> table = LiveTable()
    >>> for row in (Row("a", 1), Row.of_kind(RowKind.UPDATE_BEFORE, "a", 1), Row("a", 2)):
    ...     table.take(row)
    >>> table.rows(), table.changes
    ([<Row('a', 2)>], 3)
    """

    def __init__(self) -> None:
        self.changes = 0
        self._rows: dict[str, list[Row]] = {}
        self._lock = threading.Lock()

    def take(self, row: Row) -> None:
        """Add a row, or take an equal one away."""
        values = repr(list(row))
        with self._lock:
            self.changes += 1
            if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
                self._rows.setdefault(values, []).append(row)
                return
            left = self._rows.get(values, [])
            if left:
                left.pop()
            if not left:
                self._rows.pop(values, None)

    def rows(self) -> list[Row]:
        """All rows, in the order in which they came."""
        with self._lock:
            return [row for rows in self._rows.values() for row in rows]


def show_live(result: TableResult, write: Callable[[str], None], terminal: Console | None) -> None:
    """Draw the table again as it changes. Without a terminal, write it once, when the job has ended.

    An interrupt stops the job and leaves the last table on the screen.
    """
    table = LiveTable()
    if terminal is None:
        for row in result.collect():
            table.take(row)
        _write_table(table, result, write)
        return
    ended = threading.Event()
    failed: list[BaseException] = []
    reader = threading.Thread(target=_read, args=(result, table, ended, failed), daemon=True)
    reader.start()
    try:
        while not ended.wait(_EVERY_SECONDS):
            _draw(table, result, terminal)
    except KeyboardInterrupt:
        result.collect().close()
    if failed:
        raise failed[0]
    terminal.clear()
    _write_table(table, result, write)


def _read(
    result: TableResult, table: LiveTable, ended: threading.Event, failed: list[BaseException]
) -> None:
    try:
        for row in result.collect():
            table.take(row)
    except BaseException as error:
        failed.append(error)
    finally:
        ended.set()


def _draw(table: LiveTable, result: TableResult, terminal: Console) -> None:
    most = max(1, shutil.get_terminal_size().lines - 6)
    lines = list(_table_lines(table, result, most))
    terminal.draw([*lines, f"{table.changes:,} changes so far; ctrl-C stops the query"])


def _write_table(table: LiveTable, result: TableResult, write: Callable[[str], None]) -> None:
    for line in _table_lines(table, result):
        write(line)


def _table_lines(table: LiveTable, result: TableResult, most: int | None = None) -> Iterator[str]:
    rows = table.rows()
    shown = rows if most is None else rows[-most:]
    lines = list(tableau(shown, result.row_type, zone=result.zone, width=result.width))
    if len(shown) < len(rows):
        lines[-1] = f"the last {len(shown):,} of {len(rows):,} rows"
    yield from lines
