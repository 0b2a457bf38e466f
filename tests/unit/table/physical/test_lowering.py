"""Tables of the algebra, run in memory."""

from __future__ import annotations

from collections import Counter

import pytest

from millstream.common import Row, RowKind
from millstream.common.errors import PlanError
from millstream.connectors.collection import CollectionSource
from millstream.plan.graph import JobGraph, SinkNode, SourceNode, StatelessNode
from millstream.plan.options import JobOptions
from millstream.table.expressions.kinds import INT, STRING
from millstream.table.expressions.tree import InputRef, Literal
from millstream.table.functions import bind
from millstream.table.logical.algebra import (
    Distinct,
    Filter,
    Project,
    Relation,
    Scan,
    SetOperation,
    Sort,
    TablePath,
    Values,
)
from millstream.table.physical.compiled import row_info
from millstream.table.physical.lowering import Lowering
from millstream.table.physical.traits import ScanTraits, Traits
from millstream.table.types.logical import RowField, RowType
from millstream.testing import CollectSink, LocalJob

ROW = RowType(fields=(RowField("a", INT), RowField("b", STRING)))
A, B = InputRef(INT, 0, "a"), InputRef(STRING, 1, "b")
T = Scan(ROW, TablePath("c", "d", "t"))
ROWS = [(1, "x"), (2, "y"), (1, "x"), (3, None)]


def read(rows):
    def reader(graph: JobGraph, scan: Scan) -> int:
        source = CollectionSource.of(rows)
        info = row_info(scan.row_type)
        node = graph.add(SourceNode, name=scan.table.name, source=source, output_type=info)
        if not any(isinstance(each, Row) for each in rows):
            return node.id
        return graph.add(
            StatelessNode,
            name="Changes",
            inputs=(node.id,),
            kind="changelog",
            function=None,
            output_type=info,
        ).id

    return reader


def run(relation: Relation, rows=ROWS, reads=2, updating=False) -> Counter:
    graph = JobGraph()
    traits = Traits(lambda _: ScanTraits(updating))
    lowering = Lowering(graph, read([Row(*r) if isinstance(r, tuple) else r for r in rows]), traits)
    sink = CollectSink()
    graph.add(
        SinkNode, name="out", inputs=(lowering.node(relation),), sink=sink, changelog="retract"
    )
    job = LocalJob(graph, JobOptions(parallelism=1, slots=2))
    while not job.exhausted():
        job.epoch(reads)
    job.epoch(0, end=True)
    found: Counter = Counter()
    for row in (value for value, _ in job.outputs["out"]):
        found[tuple(row)] += -1 if row.get_row_kind() is RowKind.DELETE else 1
    return +found


def test_projection_and_filter():
    plus = bind("+", [A, Literal(INT, 10)])
    row = RowType(fields=(RowField("s", plus.type), RowField("b", STRING)))
    query = Project(row, Filter(ROW, T, bind(">", [A, Literal(INT, 1)])), (plus, B))
    assert run(query) == Counter([(12, "y"), (13, None)])


def test_values():
    rows = ((Literal(INT, 1), Literal(STRING, "p")), (Literal(INT, 2), Literal(STRING, None)))
    assert run(Values(ROW, rows)) == Counter([(1, "p"), (2, None)])


def test_distinct_and_set_operations():
    assert run(Distinct(ROW, T)) == Counter([(1, "x"), (2, "y"), (3, None)])
    some = Values(ROW, ((Literal(INT, 3), Literal(STRING, None)),))
    assert run(SetOperation(ROW, T, some, "INTERSECT", False)) == Counter([(3, None)])
    assert run(SetOperation(ROW, T, some, "EXCEPT", True)) == Counter({(1, "x"): 2, (2, "y"): 1})
    assert run(SetOperation(ROW, T, some, "UNION", True))[3, None] == 2


def test_rows_that_are_taken_back():
    rows = [Row(1, "x"), Row(2, "y"), Row.of_kind(RowKind.DELETE, 1, "x")]
    assert run(Distinct(ROW, T), rows, updating=True) == Counter([(2, "y")])


def test_equal_tables_are_read_once():
    graph = JobGraph()
    other = Scan(ROW, TablePath("c", "d", "t"))
    Lowering(graph, read([])).node(SetOperation(ROW, T, other, "UNION", True))
    assert sum(isinstance(node, SourceNode) for node in graph) == 1


def test_what_does_not_run_is_refused_by_name():
    with pytest.raises(PlanError, match="Sort"):
        Lowering(JobGraph(), read([])).node(Sort(ROW, T, ()))
