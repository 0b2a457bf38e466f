"""Words, literals and signs."""

from __future__ import annotations

import pytest

from millstream.table.sql.errors import SqlError
from millstream.table.sql.lexer import tokens_of
from millstream.table.sql.nodes import Source


def tokens(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in tokens_of(Source(text))[:-1]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select a_1 $b", [("word", "SELECT"), ("word", "A_1"), ("word", "$B")]),
        ("`a``b`", [("quoted", "`a``b`")]),
        ("'it''s'", [("string", "'it''s'")]),
        ("'two\nlines'", [("string", "'two\nlines'")]),
        ("1 1.5 .5 1. 1e3 1.5E-3", [("number", n) for n in ("1", "1.5", ".5", "1.", "1e3", "1.5E-3")]),
        ("1a", [("number", "1"), ("word", "A")]),
        ("x'0A' X'ff'", [("binary", "x'0A'"), ("binary", "X'ff'")]),
        ("U&'a' N'b' _UTF8'c'", [("unicode", "U&'a'"), ("prefixed", "N'b'"), ("prefixed", "_UTF8'c'")]),
        ("a--b\nc", [("word", "A"), ("word", "C")]),
        ("a//b\nc", [("word", "A"), ("word", "C")]),
        ("a/* b /* c */d", [("word", "A"), ("word", "D")]),
        ("a/**/b", [("word", "A"), ("word", "B")]),
        ("/*+ x */", [("sign", "/*+"), ("word", "X"), ("sign", "*/")]),
        ("a=>b<>c!=d<=e||f", None),
        ("größe", [("word", "GRÖSSE")]),
    ],
)  # fmt: skip
def test_tokens(text: str, expected: list[tuple[str, str]] | None) -> None:
    found = tokens(text)
    if expected is None:
        assert [text for kind, text in found if kind == "sign"] == ["=>", "<>", "!=", "<=", "||"]
    else:
        assert found == expected


def test_tokens_know_their_places() -> None:
    source = Source("a\n  'b'")
    _, second, end = tokens_of(source)
    span = source.span(second.start, second.stop)
    assert (span.line, span.column, span.end_line, span.end_column) == (2, 3, 2, 5)
    assert end.kind == "end"


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("a 'b", "SQL_UNCLOSED", 3),
        ("a `b", "SQL_UNCLOSED", 3),
        ("a /* b", "SQL_UNCLOSED", 3),
        ('a "b"', "SQL_CHARACTER", 3),
        ("a # b", "SQL_CHARACTER", 3),
        ("a @ b", "SQL_CHARACTER", 3),
    ],
)
def test_errors(text: str, code: str, column: int) -> None:
    with pytest.raises(SqlError) as info:
        tokens_of(Source(text))
    assert (info.value.code, info.value.column) == (code, column)
    assert info.value.hint
