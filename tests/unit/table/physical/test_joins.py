"""Conditions of joins as keys and a rest."""

from __future__ import annotations

from millstream.table.expressions.kinds import BIGINT, INT
from millstream.table.expressions.tree import InputRef, Literal
from millstream.table.functions import bind
from millstream.table.logical.algebra import Scan, TablePath
from millstream.table.physical.joins import join_parts
from millstream.table.types.logical import RowField, RowType

ROW = RowType(fields=(RowField("a", INT), RowField("b", INT)))
T = Scan(ROW, TablePath("c", "d", "t"))
A, C, D = InputRef(INT, 0, "a"), InputRef(INT, 2, "c"), InputRef(INT, 3, "d")


def test_equal_columns_are_keys_in_either_order():
    parts = join_parts(bind("AND", [bind("=", [D, A]), bind(">", [A, C])]), 2)
    assert parts.side(T, 0).key == (0,) and parts.side(T, 1).key == (1,)
    assert parts.side(T, 1).is_plain and str(parts.rest) == ">(a, c)"


def test_computed_values_become_columns():
    parts = join_parts(bind("=", [bind("+", [A, Literal(INT, 1)]), C]), 2)
    side = parts.side(T, 0)
    assert side.key == (2,) and not side.is_plain and len(side.row_type.fields) == 3
    assert parts.rest is None


def test_null_may_equal_null():
    assert join_parts(bind("IS NOT DISTINCT FROM", [A, C]), 2).null_safe == (True,)


def test_what_is_no_key():
    for condition in (bind("=", [A, A]), bind("=", [A, Literal(INT, 1)]), bind("<", [A, C])):
        assert join_parts(condition, 2).equalities == ()
    assert join_parts(bind("=", [A, InputRef(BIGINT, 2, "c")]), 2).rest is None
