"""Filters as near to the sources as they can be: a rule for each kind of table below a filter.

A part of a condition moves if it gives the same at any time, and if the rows that it drops have no
part in what becomes of others: through a projection with its expressions in place of columns, into the
sides of a join that its kind allows, below an aggregate if it reads keys only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import singledispatch

from millstream.table.expressions.tree import Expression, InputRef
from millstream.table.logical.algebra import (
    Aggregate,
    Correlate,
    Distinct,
    Filter,
    Join,
    LateralJoin,
    Over,
    Project,
    Relation,
    SetOperation,
    Sort,
    TemporalJoin,
    WindowTable,
)
from millstream.table.rules.conditions import all_of, can_move, columns_of, conjuncts, substituted
from millstream.table.rules.nodes import Rank

__all__ = ["conditions_pushed", "filtered", "filters_pushed"]

Parts = list[Expression]


def filters_pushed(relation: Relation) -> Relation:
    """Move the parts of a filter below the table that it filters; else the table as it is."""
    if not isinstance(relation, Filter):
        return relation
    parts = conjuncts(relation.condition)
    wanted = [each for each in parts if can_move(each)]
    found = _below(relation.input, wanted) if wanted else None
    if found is None:
        return relation
    source, left = found
    rest = [each for each in parts if each not in wanted or each in left]
    return filtered(source, rest)


def conditions_pushed(relation: Relation) -> Relation:
    """Move the parts of a join's condition that read one side into this side, where its kind allows."""
    if not isinstance(relation, Join):
        return relation
    width = len(relation.left.row_type.fields)
    sides: tuple[Parts, Parts, Parts] = ([], [], [])
    allowed = {
        "inner": (0, 1),
        "semi": (0, 1),
        "left": (1,),
        "anti": (1,),
        "right": (0,),
        "full": (),
    }[relation.kind]
    for part in conjuncts(relation.condition):
        side = _side(part, width) if can_move(part) else None
        sides[side if side in allowed else 2].append(part)
    if not sides[0] and not sides[1]:
        return relation
    return replace(
        relation,
        left=filtered(relation.left, sides[0]),
        right=filtered(relation.right, _shifted(relation.right, sides[1], width)),
        condition=all_of(sides[2]),
    )


def filtered(relation: Relation, parts: Sequence[Expression]) -> Relation:
    """The rows of a table for which all parts are TRUE."""
    return Filter(relation.row_type, relation, all_of(parts)) if parts else relation


@singledispatch
def _below(relation: Relation, parts: Parts) -> tuple[Relation, Parts] | None:
    """The table with some parts of a filter below it, and the parts that are left; None: no part."""
    return None


def _split(parts: Parts, can: Callable[[Expression], bool]) -> tuple[Parts, Parts]:
    inside = [each for each in parts if can(each)]
    return inside, [each for each in parts if each not in inside]


def _within(relation: Relation, columns: set[int], parts: Parts) -> tuple[Relation, Parts] | None:
    """Move the parts that read some columns only, which the input has at the same places."""
    inside, rest = _split(parts, lambda each: columns_of(each) <= columns)
    (source,) = relation.inputs()
    return (relation.with_inputs((filtered(source, inside),)), rest) if inside else None


@_below.register
def _(relation: Project, parts: Parts) -> tuple[Relation, Parts] | None:
    made = relation.expressions

    def fits(part: Expression) -> bool:
        return all(can_move(made[i]) for i in columns_of(part))

    inside, rest = _split(parts, fits)
    below = [substituted(each, lambda ref: made[ref.index]) for each in inside]
    if not inside:
        return None
    return replace(relation, input=filtered(relation.input, below)), rest


@_below.register
def _(relation: Join, parts: Parts) -> tuple[Relation, Parts] | None:
    width = len(relation.left.row_type.fields)
    kind = relation.kind
    sides: tuple[Parts, Parts, Parts] = ([], [], [])
    left: Parts = []
    for part in parts:
        side = _side(part, width)
        if side == 0 and kind in ("inner", "left", "semi", "anti"):
            sides[0].append(part)
        elif side == 1 and kind in ("inner", "right"):
            sides[1].append(part)
        elif kind == "inner":
            sides[2].append(part)
        else:
            left.append(part)
    if not any(sides):
        return None
    found = replace(
        relation,
        left=filtered(relation.left, sides[0]),
        right=filtered(relation.right, _shifted(relation.right, sides[1], width)),
        condition=all_of([*conjuncts(relation.condition), *sides[2]]),
    )
    return found, left


@_below.register(LateralJoin)
@_below.register(TemporalJoin)
def _(relation: LateralJoin | TemporalJoin, parts: Parts) -> tuple[Relation, Parts] | None:
    if relation.kind not in ("inner", "left"):
        return None
    width = len(relation.left.row_type.fields)
    inside, rest = _split(parts, lambda each: _side(each, width) == 0)
    return (replace(relation, left=filtered(relation.left, inside)), rest) if inside else None


@_below.register
def _(relation: Correlate, parts: Parts) -> tuple[Relation, Parts] | None:
    return _within(relation, set(range(len(relation.input.row_type.fields))), parts)


@_below.register
def _(relation: WindowTable, parts: Parts) -> tuple[Relation, Parts] | None:
    # The windows of a row depend on others in sessions only: those of its partition.
    columns = set(range(len(relation.input.row_type.fields)))
    if relation.kind == "SESSION":
        columns = set(relation.partition)
    return _within(relation, columns, [each for each in parts if columns_of(each)])


@_below.register(Over)
@_below.register(Rank)
def _(relation: Over | Rank, parts: Parts) -> tuple[Relation, Parts] | None:
    # A row that goes takes part in the values of others, except if its whole partition goes.
    known = [each for each in parts if columns_of(each)]
    return _within(relation, set(relation.partition), known)


@_below.register(Sort)
@_below.register(Distinct)
def _(relation: Sort | Distinct, parts: Parts) -> tuple[Relation, Parts] | None:
    return _within(relation, set(range(len(relation.row_type.fields))), parts)


@_below.register
def _(relation: Aggregate, parts: Parts) -> tuple[Relation, Parts] | None:
    if relation.sets is not None:
        return None
    keys = relation.keys
    inside, rest = _split(parts, lambda e: bool(columns_of(e)) and max(columns_of(e)) < len(keys))
    if not inside:
        return None
    fields = relation.input.row_type.fields

    def column(ref: InputRef) -> Expression:
        place = keys[ref.index]
        return InputRef(fields[place].type, place, fields[place].name)

    below = [substituted(each, column) for each in inside]
    return replace(relation, input=filtered(relation.input, below)), rest


@_below.register
def _(relation: SetOperation, parts: Parts) -> tuple[Relation, Parts] | None:
    left, right = relation.left, relation.right
    found = replace(
        relation,
        left=filtered(left, _shifted(left, parts, 0)),
        right=filtered(right, _shifted(right, parts, 0)),
    )
    return found, []


def _shifted(relation: Relation, parts: Parts, width: int) -> Parts:
    """Conditions over the columns of a table that come behind those of another one, over its own."""
    fields = relation.row_type.fields

    def column(ref: InputRef) -> Expression:
        place = ref.index - width
        return InputRef(fields[place].type, place, fields[place].name)

    return [substituted(each, column) for each in parts]


def _side(part: Expression, width: int) -> int | None:
    """The side that a condition reads; None if it reads both, or none."""
    columns = columns_of(part)
    if not columns:
        return None
    if max(columns) < width:
        return 0
    return 1 if min(columns) >= width else None
