"""Hints that say nothing, or something wrong, are errors."""

from __future__ import annotations

import pytest

from millstream.table.sql.errors import SqlError
from tests.support.catalogs import catalog, run


@pytest.mark.parametrize(
    "hint",
    [
        "STATE_TTL('u' = '1 d', 'z' = '2 d')",
        "STATE_TTL('x' = '1 d')",
        "BROADCAST(x), SHUFFLE_HASH(z)",
        "MULTI_JOIN(u, z)",
        "LOOKUP('table' = 'z')",
        "LOOKUP('table' = 'z', 'retry-predicate' = 'lookup_miss', 'retry-strategy' = 'fixed_delay',"
        " 'fixed-delay' = '1 s', 'max-attempts' = '3')",
        "UID('mine')",
    ],
)
def test_hints_about_tables_of_the_query_are_taken(hint: str) -> None:
    run(f"SELECT /*+ {hint} */ x.a FROM u AS x, z", catalog())


@pytest.mark.parametrize(
    ("hint", "message", "advice"),
    [
        ("STAT_TTL('u' = '1 d')", "there is no hint STAT_TTL for this place", "STATE_TTL?"),
        ("STATE_TTL('uu' = '1 d')", "STATE_TTL names uu, which is not in FROM", "mean u?"),
        ("STATE_TTL('u')", "STATE_TTL gives a time to each table", "STATE_TTL('t' = '1 d')"),
        ("BROADCAST", "BROADCAST names no table", "write BROADCAST(t)"),
        ("BROADCAST(v)", "BROADCAST names v, which is not in FROM", "tables here: u"),
        ("LOOKUP('tabl' = 'u')", "LOOKUP has no option tabl", "did you mean table?"),
        ("LOOKUP('async' = 'true')", "LOOKUP names no table", "LOOKUP('table' = 't', ...)"),
        ("LOOKUP('table' = 'u', 'max-attempts' = '3')", "how to retry, but not", "all four"),
    ],
)
def test_wrong_hints_are_underlined(hint: str, message: str, advice: str) -> None:
    with pytest.raises(SqlError) as error:
        run(f"SELECT /*+ {hint} */ a FROM u", catalog())
    assert error.value.code == "HINT" and error.value.column == 12
    assert message in error.value.message and advice in str(error.value.hint)


def test_a_table_takes_options_only() -> None:
    run("SELECT a FROM u /*+ OPTIONS('k' = 'v') */", catalog())
    for statement in (
        "SELECT a FROM u /*+ OPTION('k' = 'v') */",
        "SELECT a FROM u /*+ STATE_TTL('u' = '1 d') */",
        "INSERT INTO u /*+ OPTION('k' = 'v') */ SELECT * FROM u",
    ):
        with pytest.raises(SqlError, match=r"did you mean OPTIONS|hints here: OPTIONS"):
            run(statement, catalog())


def test_a_join_without_a_condition_is_refused() -> None:
    run("SELECT u.a FROM u CROSS JOIN z", catalog())
    with pytest.raises(SqlError, match="JOIN needs a condition"):
        run("SELECT u.a FROM u JOIN z", catalog())
