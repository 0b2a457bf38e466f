"""Projections that nobody needs."""

from __future__ import annotations

from millstream.table.logical.algebra import Aggregate, Project
from millstream.table.rules.driver import rewritten
from millstream.table.rules.projects import aggregates_of_no_columns
from tests.support.sql import Tables, bound


def test_counts_read_the_table_itself():
    tables = Tables().add("t", "a INT", [(1,), (2,)])
    found = rewritten(bound("SELECT COUNT(*) FROM t", tables))
    empty = [e for e in found.walk() if isinstance(e, Project) and not e.expressions]
    assert empty == [] and any(isinstance(e, Aggregate) for e in found.walk())
    assert aggregates_of_no_columns(found) is found
