"""Aggregates in the kernel's form."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millstream.common.errors import MillstreamError, PlanError
from millstream.table.expressions.kinds import INT
from millstream.table.expressions.tree import InputRef, Literal
from millstream.table.functions import bind
from millstream.table.logical.algebra import AggregateCall, Scan, SortKey, TablePath
from millstream.table.physical.aggregates import GroupingSets, arguments_of
from millstream.table.types.logical import RowField, RowType
from tests.support.sql import Tables, back

T = Scan(RowType(fields=(RowField("a", INT), RowField("b", INT))), TablePath("c", "d", "t"))
A, B = InputRef(INT, 0, "a"), InputRef(INT, 1, "b")


def test_arguments_are_columns_once():
    positive = bind(">", [B, Literal(INT, 0)])
    calls = (AggregateCall(bind("SUM", [B])), AggregateCall(bind("MAX", [B]), filter=positive))
    found = arguments_of(calls, (A,), T)
    assert found.columns == (A, B, positive)
    assert [(c.function, c.arguments, c.filter) for c in found.calls] == [
        ("SUM", (1,), None),
        ("MAX", (1,), 2),
    ]
    assert [each.name for each in found.row_type.fields] == ["a", "b", "$f2"]


def test_an_order_inside_an_aggregate_is_refused():
    with pytest.raises(PlanError, match="WITHIN GROUP"):
        arguments_of((AggregateCall(bind("MAX", [B]), order=(SortKey(0),)),), (), T)


def test_grouping_sets_repeat_rows():
    batch = pa.RecordBatch.from_pydict({"a": [1], "b": [2], "v": [3]})
    rows, arrays = GroupingSets(2, ((0,), ()))(batch)
    assert rows.tolist() == [0, 0]
    assert [each.to_pylist() for each in arrays] == [[1, None], [None, None], [3, 3], [0, 1]]


def test_aggregates_of_all_rows_know_their_clauses():
    t = Tables().add("t", "k STRING, v INT", [("a", 1), ("b", None), ("c", 3)])
    query = """SELECT JSON_OBJECTAGG(KEY k VALUE v), JSON_OBJECTAGG(KEY k VALUE v ABSENT ON NULL),
                      JSON_ARRAYAGG(v), JSON_ARRAYAGG(v NULL ON NULL), PERCENTILE(v, 0.5) FROM t"""
    (found,) = t.table(query)
    assert found == (
        '{"a":1,"b":null,"c":3}',
        '{"a":1,"c":3}',
        "[1,3]",
        "[1,null,3]",
        2.0,
    )


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", 1), ("b", 2), ("a", 3)], "several rows have the key 'a'"),
        ([("a", 1), (None, 2)], "a key is NULL"),
    ],
)
def test_keys_of_json_objects_are_there_once(rows: list[tuple[str, int]], message: str) -> None:
    t = Tables().add("t", "k STRING, v INT", rows)
    with pytest.raises(MillstreamError, match=f"JSON_OBJECTAGG failed: {message}"):
        t.table("SELECT JSON_OBJECTAGG(KEY k VALUE v) FROM t")


def test_what_is_absent_has_no_key():
    t = Tables().add("t", "k STRING, v INT", [("a", None), ("a", None), (None, None), ("b", 1)])
    query = "SELECT JSON_OBJECTAGG(KEY k VALUE v ABSENT ON NULL) FROM t"
    assert t.table(query) == {('{"b":1}',): 1}


def test_a_key_of_a_json_object_may_come_back() -> None:
    rows = [("a", 1), ("b", 2), back("a", 1), ("a", 3)]
    t = Tables().add("t", "k STRING, v INT", rows, updating=True)
    assert t.table("SELECT JSON_OBJECTAGG(KEY k VALUE v) FROM t") == {('{"a":3,"b":2}',): 1}


def test_the_mean_is_the_sum_in_its_type_divided_by_the_count():
    t = Tables().add("t", "v INT", [(2147483647,), (5,), (None,)])
    (found,) = t.table("SELECT SUM(v), AVG(v) FROM t")
    assert found == (-2147483644, -1073741822)
