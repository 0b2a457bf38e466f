"""Question marks of statements: which of them stand for values."""

from __future__ import annotations

import pytest

from millstream.connectors.databases.marks import count_marks, translated

EVERYWHERE = [
    ("insert into t values (?, ?)", "insert into t values (%s, %s)", 2),
    ("select '?', 'it''s ?', ?", "select '?', 'it''s ?', %s", 1),
    ('select "a?" from t where b = ?', 'select "a?" from t where b = %s', 1),
    ("select 1 -- why?\n, ?", "select 1 -- why?\n, %s", 1),
    ("select /* ? \n ? */ ?", "select /* ? \n ? */ %s", 1),
    ("select a ?? 'k' and ?", "select a ? 'k' and %s", 1),
    ("select 5 % 2, '100 %', ?", "select 5 %% 2, '100 %%', %s", 1),
    ("select ?-1, a.b*?", "select %s-1, a.b*%s", 2),
]


@pytest.mark.parametrize(("sql", "expected", "marks"), EVERYWHERE)
@pytest.mark.parametrize("kind", ["postgresql", "mysql", "sqlite"])
def test_marks_within_quotes_and_comments_are_none(
    kind: str, sql: str, expected: str, marks: int
) -> None:
    assert translated(sql, kind, "%s") == (expected, marks)


def test_a_driver_that_takes_question_marks_gets_them() -> None:
    assert translated("select 5 % ?, '?'", "sqlite", "?") == ("select 5 % ?, '?'", 1)


def test_backslashes_are_those_of_the_database() -> None:
    text = r"select 'it\'s ?', ?"
    assert count_marks(text, "mysql") == 1
    assert count_marks(r"select 'c:\', ?", "postgresql") == 1
    assert count_marks(rf"select E{text[7:]}", "postgresql") == 1
    assert count_marks("select `a?`, ? # what?", "mysql") == 1
    assert count_marks("select $$ ? $$, $tag$ ? $$ ? $tag$, ?", "postgresql") == 1
