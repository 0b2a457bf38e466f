"""The nodes of stateful tables; `test_lowering` runs them."""

from __future__ import annotations

from millstream.connectors.collection import CollectionSource
from millstream.plan.graph import JobGraph, KeyedNode, SourceNode
from millstream.table.expressions.kinds import BIGINT, INT
from millstream.table.functions import bind
from millstream.table.logical.algebra import Aggregate, AggregateCall, Scan, TablePath
from millstream.table.physical.compiled import row_info
from millstream.table.physical.lowering import Lowering
from millstream.table.physical.meaning import uid_of
from millstream.table.types.logical import RowField, RowType
from tests.support.sql import Tables


def test_operators_have_uids_and_know_whether_rows_are_taken_back():
    scan = Scan(RowType(fields=(RowField("a", INT),)), TablePath("c", "d", "t"))
    row = RowType(fields=(RowField("a", INT), RowField("n", BIGINT)))
    count = AggregateCall(bind("COUNT", []))
    inner = Aggregate(row, scan, (0,), (count,))
    outer = Aggregate(RowType(fields=(RowField("m", BIGINT),)), inner, (), (count,))

    def read(graph, scan):
        source = CollectionSource.of([])
        return graph.add(
            SourceNode, name="t", source=source, output_type=row_info(scan.row_type)
        ).id

    graph = JobGraph()
    Lowering(graph, read).node(outer)
    found = [node for node in graph if isinstance(node, KeyedNode)]
    assert [node.uid for node in found] == [uid_of(inner), uid_of(outer)]
    assert [node.function.changes for node in found] == [False, True]


def tables():
    rows = [(1, "x", 5), (1, "y", None), (None, "x", 1)]
    return Tables().add("t", "a INT, b STRING, c INT", rows)


def test_arguments_of_grouping_sets_keep_their_values_where_keys_are_null():
    found = tables().table("SELECT a, COUNT(a), COUNT(*) FROM t GROUP BY ROLLUP (a)")
    assert found == {(1, 2, 2): 1, (None, 0, 1): 1, (None, 2, 3): 1}


def test_grouping_says_which_keys_are_no_keys_of_a_row():
    query = "SELECT GROUPING(a), GROUPING(a, b), GROUP_ID(), COUNT(*) FROM t GROUP BY CUBE (a, b)"
    assert tables().table(query) == {
        (0, 0, 0, 1): 3,
        (0, 1, 0, 2): 1,
        (0, 1, 0, 1): 1,
        (1, 2, 0, 2): 1,
        (1, 2, 0, 1): 1,
        (1, 3, 0, 3): 1,
    }
    assert tables().table("SELECT a, GROUPING(a) FROM t GROUP BY a") == {(1, 0): 1, (None, 0): 1}
