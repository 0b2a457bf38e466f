"""Conditions taken apart."""

from __future__ import annotations

from millstream.table.expressions.kinds import BOOLEAN, INT
from millstream.table.expressions.tree import InputRef, Literal
from millstream.table.functions import bind
from millstream.table.rules.conditions import all_of, columns_of, conjuncts, moved

A, B = InputRef(INT, 0, "a"), InputRef(INT, 3, "b")
ONE = bind("=", [A, B])
TWO = bind(">", [B, Literal(INT, 1)])


def test_parts_and_the_whole():
    whole = bind("AND", [ONE, bind("AND", [TWO, ONE])])
    assert conjuncts(whole) == [ONE, TWO, ONE]
    assert conjuncts(Literal(BOOLEAN, True)) == []
    assert conjuncts(all_of([ONE, TWO])) == [ONE, TWO]
    nothing = all_of([])
    assert isinstance(nothing, Literal) and nothing.value is True


def test_columns_are_found_and_moved():
    case = bind("OR", [ONE, TWO])
    assert columns_of(case) == {0, 3}
    assert columns_of(moved(case, lambda i: i + 1)) == {1, 4}
