"""Tables on narrow terminals, and bars on terminals only."""

from __future__ import annotations

import io
import json

import pytest

from millstream.cli.console import Console
from millstream.cli.text import escaped, fields, progress_bar, table
from millstream.common.errors import MillstreamError
from millstream.common.secrets import Redactor


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_tables_fit_the_width_of_the_terminal() -> None:
    rows = [["a" * 40, "b" * 40, "1"]]
    lines = table(["FIRST", "SECOND", "N"], rows, 50).splitlines()
    assert {len(line) for line in lines} == {50}
    assert lines[1].count("…") == 2
    assert len(table(["FIRST", "SECOND", "N"], rows).splitlines()[1]) == 85


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("back\b\r", "back\\x08\\x0d"),
        ("\x9b2J", "\\x9b2J"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a\u2028b", "a\\u2028b"),
        ("\udcff", "\\udcff"),
        ("\x7f\x00", "\\x7f\\x00"),
        ("Grüße, 語, 🙂", "Grüße, 語, 🙂"),
    ],
)
def test_text_does_not_steer_the_terminal(text: str, shown: str) -> None:
    assert escaped(text) == shown
    for write in (
        lambda console: console.result({}, text, text),
        lambda console: console.note(text),
        lambda console: console.error(MillstreamError("X", text)),
        lambda console: console.error(ValueError(text)),
    ):
        out = io.StringIO()
        write(Console(out=out, err=out))
        assert shown in out.getvalue()
        assert text == shown or text not in out.getvalue()


def test_a_value_cannot_pretend_to_be_another_row_or_field() -> None:
    assert table(["NAME"], [["a\nb\tc"]]) == "NAME\na\\x0ab\\x09c"
    assert fields([("name", "x\nerror  none"), ("error", "y")]).splitlines() == [
        "name   x", "       error  none", "error  y",
    ]  # fmt: skip


def test_json_stays_json_when_a_secret_is_masked() -> None:
    out = io.StringIO()
    console = Console(as_json=True, out=out, err=out)
    console.redact = Redactor({"db.password": "123456", "x.password": "a\nbc"})
    data = {"pid": 1234567, "took": 123456, "said": ["123456", "a\nbc"], "url": "pg://me:pw@h"}
    console.result(data, "")
    assert json.loads(out.getvalue()) == {
        "pid": 1234567, "took": 123456, "said": ["*****", "*****"], "url": "pg://me:*****@h",
    }  # fmt: skip


def test_secrets_of_the_command_line_are_masked_in_all_that_is_written() -> None:
    out = io.StringIO()
    console = Console(out=out, err=out, debug=True)
    console.redact = Redactor({"db.password": "hunter2"})
    console.note("hunter2")
    try:
        raise ValueError("hunter2 is wrong")
    except ValueError as error:
        console.error(error)
    console.note("pg://me:hunter2@host/db")
    console.result({"x": "hunter2"}, "hunter2")
    assert "hunter2" not in out.getvalue()
    assert out.getvalue().count("*****") >= 4


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
