"""The uid of an operator: a hash of what it computes, so that a changed statement finds its state again.

A table means its rows and its columns, apart from each other. A projection has the rows of the table
below it; a column means the expression that makes it, down to the columns of tables in the catalog. So
neither names, nor the order of columns, nor columns that others read, nor types change a uid.

The uid of an aggregate says which rows it groups by which keys; what is computed of the groups is found
by `call_label`, aggregate by aggregate. Other operators keep rows: their uid says which columns, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import singledispatch
from typing import Any

from millstream.table.expressions import kinds
from millstream.table.expressions.tree import Call, Cast, Expression, InputRef, Literal, Symbol
from millstream.table.logical.algebra import (
    Aggregate,
    Filter,
    Join,
    Over,
    Project,
    Relation,
    Scan,
    SetOperation,
    Sort,
    SortKey,
    Values,
    WindowTable,
)
from millstream.table.rules.conditions import conjuncts
from millstream.table.rules.nodes import Rank

__all__ = ["call_label", "digest_of", "identity_of", "meaning_of", "uid_of"]

_LENGTH, _MOST_NAMES = 12, 40
Meaning = Any
"""Nested tuples of texts and numbers."""
Columns = Callable[[int], Meaning]


def uid_of(relation: Relation) -> str:
    """The uid of the operator that computes a table: its kind, the tables it reads, and a hash.

    A hint ``/*+ UID('x') */`` says it instead.
    """
    kind = type(relation).__name__.lower()
    for name, options in getattr(relation, "hints", ()):
        if name == "UID" and options:
            return f"sql-{kind}-{options[0][1]}"
    tables = dict.fromkeys(e.table.name for e in relation.walk() if isinstance(e, Scan))
    own: Meaning = rows_of(relation)
    if not isinstance(relation, Aggregate):
        kept = [columns_of(each) for each in (*relation.inputs(), relation)]
        own = (own, kept)
    return f"sql-{kind}-{'-'.join(tables)[:_MOST_NAMES]}-{digest_of(own)}"


def identity_of(relation: Relation) -> str:
    """A text that only equal tables have, with names and types: they are computed once."""
    names = [(each.name, str(each.type)) for each in relation.row_type.fields]
    hints = [getattr(each, "hints", ()) for each in relation.walk()]
    return digest_of((rows_of(relation), columns_of(relation), names, hints))


def call_label(call: Any, source: Relation) -> str:
    """The name of an aggregate's state: its function, and a hash of what it reads of a table."""
    assert isinstance(call.expression, Call)
    told = (
        meaning_of(call.expression, lambda place: column_of(source, place)),
        call.distinct,
        None
        if call.filter is None
        else meaning_of(call.filter, lambda place: column_of(source, place)),
        _sorted_by(source, getattr(call, "order", ())),
    )
    return f"{call.expression.function.lower()}_{digest_of(told)}"


def digest_of(value: Meaning) -> str:
    """A short hash of a meaning."""
    return hashlib.sha256(repr(value).encode()).hexdigest()[:_LENGTH]


def meaning_of(expression: Expression, column: Columns) -> Meaning:
    """The meaning of an expression, given that of columns.

    Examples
    --------
    >>> from millstream.table.expressions.kinds import INT
    >>> meaning_of(InputRef(INT, 3, "price"), lambda place: f"column {place}")
    'column 3'
    """
    if isinstance(expression, InputRef):
        return column(expression.index)
    if isinstance(expression, Literal):
        return (kinds.root(expression.type), expression.value)
    if isinstance(expression, Symbol):
        return expression.text
    if isinstance(expression, Cast):
        target = str(expression.type.with_nullability(True))
        return ("CAST", target, expression.lenient, meaning_of(expression.operand, column))
    if isinstance(expression, Call):
        parts = tuple(meaning_of(each, column) for each in expression.arguments)
        return (expression.function, *parts)
    return _plain(expression, column)


def _plain(value: Any, column: Columns) -> Meaning:
    """Any part of a table, without types and names of columns."""
    if isinstance(value, Relation):
        return (rows_of(value), columns_of(value))
    if isinstance(value, Expression) and isinstance(
        value, InputRef | Literal | Symbol | Call | Cast
    ):
        return meaning_of(value, column)
    if hasattr(value, "as_serializable"):
        return ""
    if is_dataclass(value) and not isinstance(value, type):
        # What does not count in comparisons is no part of the meaning: the code of a function.
        compared = (each for each in fields(value) if each.compare)
        parts = (_plain(getattr(value, each.name), column) for each in compared)
        return (type(value).__name__, *parts)
    if isinstance(value, tuple | list):
        return tuple(_plain(each, column) for each in value)
    return value


def columns_of(relation: Relation) -> tuple[Meaning, ...]:
    """The meanings of the columns of a table, in their order."""
    return tuple(column_of(relation, place) for place in range(len(relation.row_type.fields)))


def _at(relation: Relation, places: Sequence[int]) -> tuple[Meaning, ...]:
    return tuple(column_of(relation, place) for place in places)


def _sorted_by(relation: Relation, keys: Sequence[SortKey]) -> tuple[Meaning, ...]:
    return tuple((column_of(relation, k.index), k.descending, k.nulls_first) for k in keys)


def _parts(condition: Expression, column: Columns) -> tuple[Meaning, ...]:
    """The parts of a condition in an order of their own: that of the text does not count."""
    return tuple(sorted((meaning_of(each, column) for each in conjuncts(condition)), key=repr))


@singledispatch
def rows_of(relation: Relation) -> Meaning:
    """The meaning of the rows of a table, whatever columns it has."""
    own = [
        _plain(getattr(relation, each.name), lambda place: place)
        for each in fields(relation)
        if each.name not in ("row_type", "hints")
    ]
    return (type(relation).__name__, *own)


@singledispatch
def column_of(relation: Relation, place: int) -> Meaning:
    """The meaning of a column of a table, among its rows."""
    return (type(relation).__name__, place)


@rows_of.register
def _(relation: Scan) -> Meaning:
    found: Meaning = ("Scan", str(relation.table), relation.options)
    for each in ("versions", "kinds"):
        found = (*found, each) if getattr(relation, each) else found
    return found


@column_of.register
def _(relation: Scan, place: int) -> Meaning:
    return relation.row_type.fields[place].name


@rows_of.register
def _(relation: Values) -> Meaning:
    return ("Values", _plain(relation.rows, lambda place: place))


@rows_of.register(Project)
@rows_of.register(Over)
def _(relation: Project | Over) -> Meaning:
    return rows_of(relation.input)


@rows_of.register
def _(relation: Sort) -> Meaning:
    return ("Sort", rows_of(relation.input), _sorted_by(relation.input, relation.keys))


@column_of.register
def _(relation: Project, place: int) -> Meaning:
    below = relation.input
    return meaning_of(relation.expressions[place], lambda at: column_of(below, at))


@rows_of.register
def _(relation: Filter) -> Meaning:
    below = relation.input
    parts = set(_parts(relation.condition, lambda at: column_of(below, at)))
    found = rows_of(below)
    if found[0] == "Filter":
        # Two filters are one, wherever projections stand.
        found, parts = found[1], parts | set(found[2])
    return ("Filter", found, tuple(sorted(parts, key=repr)))


@column_of.register(Filter)
@column_of.register(Sort)
def _(relation: Filter | Sort, place: int) -> Meaning:
    return column_of(relation.input, place)


@rows_of.register
def _(relation: Join) -> Meaning:
    parts = _parts(relation.condition, lambda at: _of_side(relation, at))
    return ("Join", relation.kind, rows_of(relation.left), rows_of(relation.right), parts)


@column_of.register
def _(relation: Join, place: int) -> Meaning:
    return _of_side(relation, place)


def _of_side(join: Join, place: int) -> Meaning:
    width = len(join.left.row_type.fields)
    if place < width:
        return ("left", column_of(join.left, place))
    return ("right", column_of(join.right, place - width))


@rows_of.register
def _(relation: Aggregate) -> Meaning:
    below = relation.input
    return ("Aggregate", rows_of(below), _at(below, relation.keys), relation.sets)


@column_of.register
def _(relation: Aggregate, place: int) -> Meaning:
    if place < len(relation.keys):
        return column_of(relation.input, relation.keys[place])
    return call_label(relation.calls[place - len(relation.keys)], relation.input)


@rows_of.register
def _(relation: SetOperation) -> Meaning:
    sides = [(rows_of(each), columns_of(each)) for each in relation.inputs()]
    return ("SetOperation", relation.kind, relation.all, *sides)


@rows_of.register
def _(relation: WindowTable) -> Meaning:
    below = relation.input
    time, keys = column_of(below, relation.time), _at(below, relation.partition)
    sizes = (relation.kind, relation.size, relation.step, relation.offset)
    return ("WindowTable", rows_of(below), sizes, time, keys)


@column_of.register(WindowTable)
@column_of.register(Rank)
def _(relation: WindowTable | Rank, place: int) -> Meaning:
    width = len(relation.input.row_type.fields)
    if place < width:
        return column_of(relation.input, place)
    return (type(relation).__name__, place - width)


@rows_of.register
def _(relation: Rank) -> Meaning:
    below = relation.input
    keys, order = _at(below, relation.partition), _sorted_by(below, relation.order)
    return ("Rank", rows_of(below), keys, order, relation.kind, relation.start, relation.end)


@column_of.register
def _(relation: Over, place: int) -> Meaning:
    below = relation.input
    width = len(below.row_type.fields)
    if place < width:
        return column_of(below, place)
    call = relation.calls[place - width]
    keys, order = _at(below, relation.partition), _sorted_by(below, relation.order)
    frame = _plain(relation.frame, lambda at: at)
    return ("Over", call_label(call, below), keys, order, frame)
