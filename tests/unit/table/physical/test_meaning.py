"""Uids of operators by what they compute."""

from __future__ import annotations

from millstream.table.expressions.kinds import INT
from millstream.table.expressions.tree import InputRef, Literal
from millstream.table.functions import bind
from millstream.table.logical.algebra import Filter, Scan, TablePath
from millstream.table.physical.meaning import canonical, uid_of
from millstream.table.types.logical import RowField, RowType


def scan(table="t"):
    return Scan(RowType(fields=(RowField("a", INT),)), TablePath("c", "d", table))


def filtered(name="a", value=1, table="t"):
    row = RowType(fields=(RowField(name, INT),))
    condition = bind(">", [InputRef(INT, 0, name), Literal(INT, value)])
    return Filter(row, scan(table), condition)


def test_names_of_columns_do_not_count():
    assert uid_of(filtered("a")) == uid_of(filtered("b"))


def test_values_tables_and_kinds_count():
    uids = {
        uid_of(filtered()),
        uid_of(filtered(value=2)),
        uid_of(filtered(table="u")),
        uid_of(scan()),
    }
    assert len(uids) == 4
    assert uid_of(filtered()).startswith("sql-filter-")


def test_the_canonical_form_has_no_spans_and_no_names():
    assert canonical((InputRef(INT, 1, "x"), None)) == (("InputRef", "INT", 1), None)
