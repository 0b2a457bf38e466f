"""The three ways to show a query."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator

import pytest

from millstream.cli.console import Console
from millstream.cli.sql import views
from millstream.cli.sql.views import LiveTable, show_changelog, show_live, show_tableau
from millstream.common.types import Row, RowKind
from millstream.table.table_result import TableResult
from millstream.table.types.logical import RowType
from millstream.table.types.parsing import parse_logical_type


def result(*rows: Row) -> TableResult:
    row_type = parse_logical_type("ROW<word STRING, n BIGINT>")
    assert isinstance(row_type, RowType)
    return TableResult(row_type, rows, streaming=True)


def changes() -> list[Row]:
    return [
        Row("a", 1),
        Row("b", None),
        Row.of_kind(RowKind.UPDATE_BEFORE, "a", 1),
        Row.of_kind(RowKind.UPDATE_AFTER, "a", 2),
        Row.of_kind(RowKind.DELETE, "b", None),
    ]


def test_a_tableau_has_all_changes_with_their_kinds() -> None:
    lines: list[str] = []
    show_tableau(result(*changes()), lines.append)
    assert [line[2:4] for line in lines if line.startswith("| ")] == [
        "op", "+I", "+I", "-U", "+U", "-D",
    ]  # fmt: skip
    assert lines[-1] == "5 rows in set"


def test_a_changelog_has_one_line_for_each_change() -> None:
    lines: list[str] = []
    show_changelog(result(*changes()), lines.append)
    assert lines == ["+I[a, 1]", "+I[b, <NULL>]", "-U[a, 1]", "+U[a, 2]", "-D[b, <NULL>]"]


def test_without_a_terminal_the_last_table_is_written_once() -> None:
    lines: list[str] = []
    show_live(result(*changes()), lines.append, None)
    assert lines == [
        "+------+---+",
        "| word | n |",
        "+------+---+",
        "|    a | 2 |",
        "+------+---+",
        "1 row in set",
    ]


def test_on_a_terminal_the_last_table_stays() -> None:
    lines: list[str] = []
    terminal = Terminal()
    show_live(result(*changes()), lines.append, Console(out=terminal))
    assert lines[3] == "|    a | 2 |"
    assert terminal.getvalue().endswith("\x1b[2J")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_values_in_the_live_view_do_not_steer_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = threading.Event()

    class Drawn(Terminal):
        def flush(self) -> None:
            drawn.set()

    def rows() -> Iterator[Row]:
        yield Row("\x1b]0;title\x07\nx", 1)
        assert drawn.wait(60)

    monkeypatch.setattr(views, "_EVERY_SECONDS", 0.001)
    lasting = TableResult(result().row_type, rows(), streaming=True)
    terminal = Drawn()
    show_live(lasting, lambda _: None, Console(out=terminal))
    assert "\\x1b]0;title\\x07\\x0ax" in terminal.getvalue()
    assert "\x1b]" not in terminal.getvalue()


def test_the_error_of_a_job_is_raised_from_the_live_view() -> None:
    def rows():
        yield Row("a", 1)
        raise ValueError("the job has failed")

    broken = TableResult(result().row_type, rows(), streaming=True)
    with pytest.raises(ValueError, match="the job has failed"):
        show_live(broken, lambda _: None, Console(out=Terminal()))


def test_equal_rows_are_counted() -> None:
    table = LiveTable()
    for row in (Row(1), Row(1), Row.of_kind(RowKind.DELETE, 1)):
        table.take(row)
    assert table.rows() == [Row(1)]
