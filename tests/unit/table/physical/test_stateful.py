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
