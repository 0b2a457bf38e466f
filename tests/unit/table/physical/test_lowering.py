"""Tables of the algebra, run in memory."""

from __future__ import annotations

from collections import Counter

import pytest

from millstream.common import Row, RowKind
from millstream.common.errors import PlanError
from millstream.connectors.collection import CollectionSource
from millstream.plan.graph import JobGraph, SinkNode, SourceNode, StatelessNode
from millstream.plan.options import JobOptions
from millstream.table.expressions.kinds import BIGINT, BOOLEAN, INT, STRING
from millstream.table.expressions.tree import InputRef, Literal
from millstream.table.functions import bind
from millstream.table.logical.algebra import (
    Aggregate,
    AggregateCall,
    Distinct,
    Filter,
    Join,
    Project,
    Relation,
    Scan,
    SetOperation,
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


class Unknown(Relation):
    """A table that nobody computes."""


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
    with pytest.raises(PlanError, match="Unknown"):
        Lowering(JobGraph(), read([])).node(Unknown(ROW))


COUNT = AggregateCall(bind("COUNT", []))


def fields(*kinds):
    return RowType(fields=tuple(RowField(f"c{i}", kind) for i, kind in enumerate(kinds)))


def test_group_aggregates_with_filters_and_computed_arguments():
    plus = bind("SUM", [bind("+", [A, Literal(INT, 10)])])
    some = AggregateCall(bind("COUNT", []), filter=bind(">", [A, Literal(INT, 1)]))
    calls = (COUNT, AggregateCall(plus), some)
    query = Aggregate(fields(STRING, BIGINT, plus.type, BIGINT), T, (1,), calls)
    assert run(query) == Counter([("x", 2, 22, 0), ("y", 1, 12, 1), (None, 1, 13, 1)])


def test_aggregates_of_aggregates():
    inner = Aggregate(fields(STRING, BIGINT), T, (1,), (COUNT,))
    outer = Aggregate(fields(BIGINT, BIGINT), inner, (1,), (COUNT,))
    assert run(outer) == Counter([(2, 1), (1, 2)])


def test_grouping_sets():
    query = Aggregate(fields(INT, STRING, BIGINT), T, (0, 1), (COUNT,), ((0,), (1,), ()))
    assert run(query) == Counter(
        [
            (1, None, 2),
            (2, None, 1),
            (3, None, 1),
            (None, "x", 2),
            (None, "y", 1),
            (None, None, 1),
            (None, None, 4),
        ]
    )


def joined(kind, condition):
    right = Values(
        ROW, ((Literal(INT, 11), Literal(STRING, "p")), (Literal(INT, 2), Literal(STRING, "q")))
    )
    row = ROW if kind in ("semi", "anti") else fields(INT, STRING, INT, STRING)
    return run(Join(row, T, right, kind, condition))


def test_joins_by_columns_and_by_computed_values():
    right = InputRef(INT, 2, "a")
    assert joined("inner", bind("=", [A, right])) == Counter([(2, "y", 2, "q")])
    computed = bind("=", [right, bind("+", [A, Literal(INT, 10)])])
    assert joined("inner", computed) == Counter({(1, "x", 11, "p"): 2})
    assert joined("left", computed)[2, "y", None, None] == 1
    assert joined("anti", computed) == Counter([(2, "y"), (3, None)])


def test_joins_with_other_conditions():
    both = bind(
        "AND", [bind("=", [A, InputRef(INT, 2, "a")]), bind("=", [B, Literal(STRING, "z")])]
    )
    assert joined("semi", both) == Counter()
    less = bind(">", [InputRef(INT, 2, "a"), bind("*", [A, Literal(INT, 4)])])
    assert joined("inner", less) == Counter({(1, "x", 11, "p"): 2, (2, "y", 11, "p"): 1})
    assert sum(joined("inner", Literal(BOOLEAN, True)).values()) == 8
