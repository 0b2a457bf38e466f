"""Constants computed when the plan is made."""

from __future__ import annotations

import pytest

from millstream.table.expressions.tree import Literal
from millstream.table.logical.algebra import Project
from millstream.table.rules.driver import rewritten
from millstream.table.rules.folding import folded
from tests.support.sql import Tables, bound, tree

TABLES = Tables().add("t", "a INT, b STRING, d DATE", [])


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT a FROM t WHERE a > 1 + 2", "Filter[>(a, 3)](t[a])"),
        ("SELECT a FROM t WHERE 1 = 1", "t[a]"),
        ("SELECT a FROM t WHERE 1 = 1 AND a > 2", "Filter[>(a, 2)](t[a])"),
        ("SELECT UPPER('x') AS u FROM t", "Project['X'](t[a])"),
        # A failure is not moved from the row to the plan.
        ("SELECT 1 / 0 AS u FROM t", "Project[/(1, 0)](t[a])"),
    ],
)
def test_constant_parts_are_literals(sql, found):
    assert tree(rewritten(bound(sql, TABLES))) == found


def only(sql):
    project = bound(sql, TABLES)
    assert isinstance(project, Project)
    return project.expressions[0]


@pytest.mark.parametrize("text", ["RAND()", "NOW()", "FROM_UNIXTIME(0)", "ARRAY[1]"])
def test_what_depends_on_time_chance_or_session_stays(text):
    expression = only(f"SELECT {text} FROM t")
    assert folded(expression) == expression


def test_types_stay():
    expression = only("SELECT CAST(1 AS BIGINT) + 2 FROM t")
    assert folded(expression) == Literal(expression.type, 3)
