"""The parser takes what Flink's takes, and refuses what Flink's refuses, by recorded verdicts."""

from __future__ import annotations

from millstream.table.sql.errors import SqlError
from millstream.table.sql.parser import parse
from tests.support.parity.sql_statements import recorded


def takes(text: str) -> bool:
    try:
        parse(text)
    except SqlError as error:
        assert error.line, "an error has a place"
        return False
    return True


def test_statements_that_flink_takes() -> None:
    statements = recorded("taken")
    assert len(statements) > 1_500
    assert [text for text in statements if not takes(text)] == []


def test_statements_that_flink_refuses() -> None:
    statements = recorded("refused")
    assert len(statements) > 3_000
    assert [text for text in statements if takes(text)] == []


def test_known_differences() -> None:
    """What Flink's parser takes and no part of Flink runs, and two quirks of its grammar."""
    assert [text for text in recorded("stricter") if takes(text)] == []
    assert [text for text in recorded("laxer") if not takes(text)] == []
