"""Tables on narrow terminals, and bars on terminals only."""

from __future__ import annotations

import io

import pytest

from millstream.cli.console import Console
from millstream.cli.text import progress_bar, table


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_tables_fit_the_width_of_the_terminal() -> None:
    rows = [["a" * 40, "b" * 40, "1"]]
    lines = table(["FIRST", "SECOND", "N"], rows, 50).splitlines()
    assert {len(line) for line in lines} == {50}
    assert lines[1].count("…") == 2
    assert len(table(["FIRST", "SECOND", "N"], rows).splitlines()[1]) == 85


def test_only_a_terminal_sets_a_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "61")
    assert Console(out=Terminal()).width == 61
    assert Console(out=io.StringIO()).width is None


def test_a_bar_is_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    err = Terminal()
    with Console(err=err).progress("savepoint") as progress:
        progress(0, 4_000_000)
        progress(4_000_000, 4_000_000)
    first, last = err.getvalue().rstrip("\n").split("\r")
    assert first.startswith("savepoint [------------------------]   0%  0 B of 4.0 MB")
    assert last.startswith("savepoint [########################] 100%  4.0 MB of 4.0 MB")
    assert err.getvalue().endswith("\n")


@pytest.mark.parametrize(
    ("err", "options"),
    [(io.StringIO(), {}), (Terminal(), {"quiet": True}), (Terminal(), {"as_json": True})],
)
def test_no_bar_where_nobody_looks(err: io.StringIO, options: dict[str, bool]) -> None:
    console = Console(err=err, **options)  # type: ignore[arg-type]
    with console.progress("savepoint") as progress:
        progress(1, 2)
    assert err.getvalue() == ""


def test_a_bar_never_says_more_than_all() -> None:
    bar = progress_bar("restore", 30, 20, "files", 1.0)
    assert bar == "restore [########################] 100%  30 files of 20 files  30 files/s"
    assert "left" in progress_bar("restore", 10, 20, "files", 1.0)


def test_unexpected_errors_are_one_line_too() -> None:
    err = io.StringIO()
    Console(err=err).error(ValueError("strange\nindeed"))
    assert err.getvalue() == "millstream: ValueError: strange\n  what to do: --debug shows where\n"
