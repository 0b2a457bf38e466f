"""The entrance, and what holds for all parsers."""

from __future__ import annotations

import pytest

from millstream.table.sql.errors import SqlError
from millstream.table.sql.parser import (
    parse,
    parse_expression,
    parse_identifier,
    parse_script,
    parse_type,
)
from millstream.table.sql.statement_parser import StatementParser


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


def test_no_parser_redefines_a_method_of_another_by_accident() -> None:
    meant = {"query", "call_or_column", "all_types"}
    owners: dict[str, str] = {}
    for cls in reversed(StatementParser.__mro__[:-1]):
        for name in vars(cls):
            if not name.startswith("__") and name not in meant:
                assert owners.setdefault(name, cls.__name__) == cls.__name__, name
