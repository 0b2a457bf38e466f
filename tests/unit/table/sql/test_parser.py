"""The entrance, and what holds for all parsers."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.table.sql.errors import SqlError
from millstream.table.sql.parser import (
    parse,
    parse_expression,
    parse_identifier,
    parse_script,
    parse_type,
)
from millstream.table.sql.statement_parser import StatementParser
from tests.support.strategies import examples

_TEXT = """
    SELECT FROM WHERE GROUP BY ORDER HAVING ( ) , . * = < > + - a b t 1 2.5 'x' `q` AS AND OR NOT IN IS
    NULL BETWEEN LIKE CASE WHEN THEN ELSE END CAST INT STRING ROW ARRAY MAP [ ] < > JOIN ON LEFT USING
    CREATE TABLE VIEW WITH INSERT INTO VALUES ALTER ADD DROP SET SHOW DESCRIBE INTERVAL DAY TO
    OVER PARTITION ROWS UNION ALL EXISTS TUMBLE DESCRIPTOR => /*+ */ ; ? UNNEST LATERAL EXPLAIN
"""
WORDS = _TEXT.split()


def test_a_statement_may_end_with_a_semicolon() -> None:
    assert parse("USE a;") == parse("USE a;;") == parse("USE a")


def test_a_script_has_several_statements() -> None:
    assert parse_script("USE a; -- one\n USE b;") == (parse("USE a"), parse("USE b"))
    assert parse_script(" ") == ()


@pytest.mark.parametrize("text", ["", ";", "USE a USE b", ";USE a", "USE a; x"])
def test_wrong_scripts(text: str) -> None:
    with pytest.raises(SqlError):
        parse(text)


def test_names_of_the_table_api_may_be_keywords() -> None:
    assert parse_identifier("select.`from x`.t").names == ("select", "from x", "t")
    with pytest.raises(SqlError):
        parse_identifier("a.")


def test_parts_must_end() -> None:
    for parse_part in (parse_expression, parse_type, parse_identifier):
        with pytest.raises(SqlError):
            parse_part("a )")


def test_deep_brackets_are_an_error() -> None:
    assert parse_expression("(" * 40 + "1" + ")" * 40) == parse_expression("1")
    for opening, inside in (
        ("(", "1"),
        ("(", "SELECT 1"),
        ("f(", "1"),
        ("NOT ", "a"),
        ("ARRAY[", "1"),
    ):
        with pytest.raises(SqlError) as info:
            parse_expression(opening * 500 + inside)
        assert info.value.code == "SQL_TOO_DEEP"
    deep = "(" * 500
    for text in (
        f"SELECT * FROM {deep}t",
        f"SELECT * FROM t MATCH_RECOGNIZE (PATTERN {deep}A",
        f"CREATE TABLE t (a {'ARRAY<' * 500}",
        f"{deep}SELECT 1",
    ):
        with pytest.raises(SqlError, match="SQL_TOO_DEEP"):
            parse(text)


def test_wrong_queries_in_many_brackets_are_refused_at_once() -> None:
    """Brackets are tried as a query and as an expression; the work must not double with each."""
    with pytest.raises(SqlError):
        parse_expression("(" * 30 + "SELECT 1 FROM" + ")" * 30)
    assert parse("SELECT " + "(" * 30 + "SELECT 1" + ") + 1" * 30)


def test_long_chains_are_no_deep_brackets() -> None:
    found = parse_expression(" AND ".join(["a = 1"] * 2_000))
    assert sum(1 for _ in found.walk()) > 6_000


@examples(300)
@given(st.lists(st.sampled_from(WORDS), max_size=25))
def test_any_words_are_a_statement_or_an_sql_error(words: list[str]) -> None:
    with suppress(SqlError):
        parse(" ".join(words))


@examples(100)
@given(st.text(max_size=40))
def test_any_text_is_a_statement_or_an_sql_error(text: str) -> None:
    with suppress(SqlError):
        parse(text)


def test_no_parser_redefines_a_method_of_another_by_accident() -> None:
    meant = {"query", "call_or_column", "all_types"}
    owners: dict[str, str] = {}
    for cls in reversed(StatementParser.__mro__[:-1]):
        for name in vars(cls):
            if not name.startswith("__") and name not in meant:
                assert owners.setdefault(name, cls.__name__) == cls.__name__, name
