"""Texts are cut into statements where Flink's SQL client cuts them."""

from __future__ import annotations

import pytest

from millstream.cli.sql.script import StatementText, cut
from millstream.table.sql.errors import SqlError
from millstream.table.sql.parser import parse


def texts(sql: str) -> list[str]:
    return [each.text for each in cut(sql).statements]


def test_a_semicolon_ends_a_statement_outside_of_quotes_and_comments_only() -> None:
    assert texts("SELECT ';' ; -- no; end\nSELECT /* ; */ `a;b`;") == [
        "SELECT ';'",
        "SELECT /* ; */ `a;b`",
    ]


def test_empty_statements_are_none() -> None:
    assert cut(" ;; -- nothing\n ; ").statements == ()
    assert cut(" -- nothing\n").rest == ""


def test_a_statement_set_is_one_statement() -> None:
    one = "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END"
    assert texts(f"{one}; USE x;") == [one, "USE x"]


def test_begin_statement_set_and_end_are_statements_of_their_own() -> None:
    assert texts("BEGIN STATEMENT SET; INSERT INTO a SELECT 1; END;") == [
        "BEGIN STATEMENT SET",
        "INSERT INTO a SELECT 1",
        "END",
    ]


@pytest.mark.parametrize("opened", ["SELECT 'a", "SELECT `a", "SELECT 1 /* not", "SELECT 1"])
def test_what_is_not_complete_is_the_rest(opened: str) -> None:
    script = cut(f"USE a;\n{opened}")
    assert [each.text for each in script.statements] == ["USE a"]
    assert script.rest.strip() == opened


def test_a_character_without_meaning_is_an_error() -> None:
    with pytest.raises(SqlError, match="has no meaning"):
        cut('SELECT "a";')


def test_errors_name_the_line_of_the_script() -> None:
    second = cut("USE a;\n\n  USE b;  SELECT FROM t;").statements[2]
    assert (second.line, second.column) == (3, 11)
    with pytest.raises(SqlError) as error:
        parse(second.in_place)
    assert (error.value.line, error.value.column) == (3, 18)
    assert StatementText("USE a").in_place == "USE a"
