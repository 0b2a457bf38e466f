"""DISTINCT that nobody needs."""

from __future__ import annotations

import pytest

from millstream.table.logical.algebra import Distinct
from millstream.table.rules.driver import rewritten
from tests.support.sql import Tables, bound

TABLES = Tables().add("t", "a INT, b INT", [])


@pytest.mark.parametrize(
    ("sql", "needed"),
    [
        ("SELECT DISTINCT a FROM t", True),
        ("SELECT DISTINCT a, COUNT(*) FROM t GROUP BY a", False),
        ("SELECT DISTINCT COUNT(*) FROM t GROUP BY a", True),
        ("SELECT DISTINCT a FROM (SELECT DISTINCT a FROM t)", True),
        ("SELECT DISTINCT a FROM (SELECT a FROM t UNION SELECT b FROM t)", False),
        ("SELECT DISTINCT a FROM (SELECT a FROM t UNION ALL SELECT b FROM t)", True),
        ("SELECT a FROM t WHERE a IN (SELECT DISTINCT b FROM t)", False),
        ("SELECT a FROM t JOIN (SELECT DISTINCT b FROM t) AS u ON t.a = u.b", True),
    ],
)
def test_rows_that_differ_already(sql, needed):
    found = [e for e in rewritten(bound(sql, TABLES)).walk() if isinstance(e, Distinct)]
    assert len(found) == needed
