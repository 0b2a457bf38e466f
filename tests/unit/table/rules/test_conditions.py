"""Conditions taken apart."""

from __future__ import annotations

from millstream.table.expressions.kinds import BOOLEAN, INT
from millstream.table.expressions.tree import InputRef, Literal
from millstream.table.functions import bind
from millstream.table.logical.algebra import OuterRef
from millstream.table.rules.conditions import (
    all_of,
    can_move,
    columns_of,
    conjuncts,
    is_deterministic,
    moved,
)

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


def test_functions_of_chance_and_outer_columns_stay_where_they_are():
    assert is_deterministic(ONE) and can_move(ONE)
    chance = bind(">", [bind("RAND", []), Literal(INT, 1)])
    assert not is_deterministic(chance) and not can_move(chance)
    outer = bind("=", [A, OuterRef(INT, 0, "x")])
    assert is_deterministic(outer) and not can_move(outer)
