"""Statements as jobs."""

from __future__ import annotations

from benchmarks.nexmark.queries import QUERIES
from millstream.plan.graph import SourceNode
from millstream.table.connectors import factory
from millstream.table.connectors.simple import RowsOfProgram
from tests.support.sql import Tables, bound

BIDS = "auction BIGINT, bidder BIGINT, price BIGINT, url STRING, `dateTime` TIMESTAMP(3)"


def nodes(sql, tables):
    planner = tables.planner()
    planner.add(planner.planned(bound(sql, tables)))
    return list(planner.env._graph)


def test_a_table_is_read_once_for_all_its_scans():
    tables = Tables().add("bid", BIDS, [], watermark=("dateTime", "`dateTime`"))
    found = nodes(QUERIES["q5"], tables)
    assert sum(isinstance(each, SourceNode) for each in found) == 1
    assert sum(each.name == "Window Aggregate" for each in found) == 2
    tables = Tables().add("t", "a INT, b INT", [])
    found = nodes(
        "SELECT x.a FROM t AS x JOIN (SELECT b FROM t WHERE a > 1) AS y ON x.a = y.b", tables
    )
    assert sum(isinstance(each, SourceNode) for each in found) == 1


class _Pruning(RowsOfProgram):
    def prunes(self, options):
        return True

    read_columns: tuple[str, ...] = ()

    def read(self, env, entry, options):
        type(self).read_columns = tuple(each.name for each in entry.stored)
        return super().read(env, entry, options)


def test_a_connector_that_prunes_reads_what_all_queries_use(monkeypatch):
    monkeypatch.setitem(factory.CONNECTORS, "values", _Pruning())
    tables = Tables().add("t", "a INT, b INT, c INT, d INT", [])
    planner = tables.planner()
    queries = [planner.planned(bound(f"SELECT {c} FROM t", tables)) for c in ("a", "c")]
    for each in queries:
        planner.add(each)
    assert _Pruning.read_columns == ("a", "c")
    assert sum(isinstance(each, SourceNode) for each in planner.env._graph) == 1
