"""Row kinds of changes."""

from __future__ import annotations

from millstream.common import Row, RowKind
from millstream.table.connectors.changes import folded, paired


def minus(*values):
    return Row.of_kind(RowKind.DELETE, *values)


def shown(rows):
    return [f"{row.get_row_kind()}{tuple(row)}" for row in rows]


def test_updates_stand_where_the_new_row_came():
    rows = [minus("a", 1), Row("b", 1), Row("a", 2), minus("c", 3)]
    assert shown(paired(rows, [0])) == ["+I('b', 1)", "-U('a', 1)", "+U('a', 2)", "-D('c', 3)"]
    assert shown(paired([minus(1), Row(2)], [])) == ["-U(1,)", "+U(2,)"]
    assert shown(paired(rows)) == ["-D('a', 1)", "+I('b', 1)", "+I('a', 2)", "-D('c', 3)"]


def test_rows_that_come_and_go_leave_no_trace():
    assert paired([Row("a", [1]), minus("a", [1])], [0]) == []
    assert shown(paired([minus("a", 1), Row("a", 1), Row("a", 1)])) == ["+I('a', 1)"]


def test_values_of_other_types_are_other_rows():
    assert len(paired([Row(1), minus(True)])) == 2
    assert paired([Row(float("nan")), minus(float("nan"))]) == []


def test_the_table_of_changes():
    rows = [
        Row("a", 1),
        Row.of_kind(RowKind.UPDATE_BEFORE, "a", 1),
        Row.of_kind(RowKind.UPDATE_AFTER, "a", 2),
    ]
    assert shown(folded(rows)) == ["+I('a', 2)"]
