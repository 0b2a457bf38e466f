"""Ranks that a filter bounds."""

from __future__ import annotations

import pytest

from millstream.table.rules.driver import rewritten
from millstream.table.rules.nodes import Rank
from tests.support.sql import Tables, bound


@pytest.mark.parametrize(
    ("condition", "bounds"),
    [("n <= 3", (1, 3)), ("n = 2", (2, 2)), ("4 > n", (1, 3)), ("n <= 3 AND n > 1", (2, 3))],
)
def test_conditions_are_ranges(condition, bounds):
    tables = Tables().add("t", "a INT", [])
    inner = "SELECT *, ROW_NUMBER() OVER (ORDER BY a) AS n FROM t"
    sql = f"SELECT a FROM ({inner}) WHERE {condition}"
    found = [e for e in rewritten(bound(sql, tables)).walk() if isinstance(e, Rank)]
    assert [(each.start, each.end) for each in found] == [bounds]
