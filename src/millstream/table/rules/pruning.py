"""Columns that nobody reads, dropped from the top of a query down to its tables.

Each kind of table says which columns of its inputs it needs for those that are wanted of it. What
keeps rows (joins, ranks, OVER) gets exactly these, so that no state has columns without use. A kind
without a rule here needs all columns of its inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

from millstream.table.expressions.tree import Expression, InputRef
from millstream.table.logical.algebra import (
    Aggregate,
    AggregateCall,
    Correlate,
    Filter,
    Join,
    Limit,
    Over,
    Project,
    Relation,
    Scan,
    SetOperation,
    Sort,
    SortKey,
    Subquery,
    TableFunction,
    Unnest,
    Values,
    WindowTable,
)
from millstream.table.rules.conditions import columns_of, moved
from millstream.table.rules.nodes import Rank
from millstream.table.types.logical import RowType

__all__ = ["pruned"]

_LARGE = {"ROW", "ARRAY", "MAP", "MULTISET", "VARCHAR", "CHAR", "VARBINARY", "BINARY"}


@dataclass(frozen=True)
class Narrow:
    """A table with some of its columns. ``places``: where they are now."""

    relation: Relation
    places: Mapping[int, int]

    def moved(self, expression: Expression) -> Expression:
        """An expression over the columns as they are now."""
        return moved(expression, self.places.__getitem__)

    def at(self, places: Iterable[int]) -> tuple[int, ...]:
        """Places of columns as they are now."""
        return tuple(self.places[each] for each in places)

    def sorted_by(self, keys: Iterable[SortKey]) -> tuple[SortKey, ...]:
        """The same order over the columns as they are now."""
        return tuple(replace(key, index=self.places[key.index]) for key in keys)


def pruned(relation: Relation) -> Relation:
    """The same table, with narrow inputs."""
    return _narrow(relation, _all(relation)).relation


def _all(relation: Relation) -> set[int]:
    return set(range(len(relation.row_type.fields)))


def _kept(relation: Relation, wanted: set[int]) -> list[int]:
    """The columns to keep, in their order; one at least, which should be small: rows need a column."""
    fields = relation.row_type.fields
    if wanted or not fields:
        return sorted(wanted)
    sizes = [each.type.root in _LARGE for each in fields]
    return [sizes.index(False) if False in sizes else 0]


def _row(relation: Relation, places: Sequence[int]) -> RowType:
    fields = relation.row_type.fields
    return replace(relation.row_type, fields=tuple(fields[each] for each in places))


def _places(kept: Sequence[int]) -> dict[int, int]:
    return {each: at for at, each in enumerate(kept)}


def _exactly(relation: Relation, wanted: set[int]) -> Narrow:
    """A table with the wanted columns and no others."""
    kept = _kept(relation, wanted)
    found = _narrow(relation, set(kept))
    if len(found.relation.row_type.fields) == len(kept):
        return found
    fields = found.relation.row_type.fields
    columns = tuple(InputRef(fields[at].type, at, fields[at].name) for at in found.at(kept))
    row = _row(found.relation, found.at(kept))
    return Narrow(Project(row, found.relation, columns), _places(kept))


@singledispatch
def _narrow(relation: Relation, wanted: set[int]) -> Narrow:
    """A table with at least the wanted columns, in their order."""
    inputs = tuple(_narrow(each, _all(each)).relation for each in relation.inputs())
    same = all(one is other for one, other in zip(inputs, relation.inputs(), strict=True))
    found = relation if same else relation.with_inputs(inputs)
    return Narrow(found, _places(range(len(relation.row_type.fields))))


@_narrow.register
def _(relation: Scan, wanted: set[int]) -> Narrow:
    kept = _kept(relation, wanted)
    if len(kept) == len(relation.row_type.fields):
        return Narrow(relation, _places(kept))
    return Narrow(replace(relation, row_type=_row(relation, kept)), _places(kept))


@_narrow.register
def _(relation: Values, wanted: set[int]) -> Narrow:
    kept = _kept(relation, wanted)
    rows = tuple(tuple(row[at] for at in kept) for row in relation.rows)
    return Narrow(replace(relation, row_type=_row(relation, kept), rows=rows), _places(kept))


@_narrow.register
def _(relation: Project, wanted: set[int]) -> Narrow:
    kept = _kept(relation, wanted)
    expressions = [relation.expressions[at] for at in kept]
    below = _narrow(relation.input, _read(relation.input, expressions))
    made = tuple(map(below.moved, expressions))
    row = _row(relation, kept)
    return Narrow(Project(row, below.relation, made), _places(kept))


def _read(source: Relation, expressions: Iterable[Expression]) -> set[int]:
    """The columns that expressions read; a query inside of one may read all."""
    found: set[int] = set()
    for each in expressions:
        if any(isinstance(part, Subquery) for part in each.walk()):
            return _all(source)
        found |= columns_of(each)
    return found


@_narrow.register
def _(relation: Filter, wanted: set[int]) -> Narrow:
    below = _narrow(relation.input, wanted | _read(relation.input, [relation.condition]))
    source = below.relation
    return Narrow(Filter(source.row_type, source, below.moved(relation.condition)), below.places)


@_narrow.register
def _(relation: Sort, wanted: set[int]) -> Narrow:
    below = _exactly(relation.input, wanted | {key.index for key in relation.keys})
    keys = below.sorted_by(relation.keys)
    return Narrow(Sort(below.relation.row_type, below.relation, keys), below.places)


@_narrow.register
def _(relation: Limit, wanted: set[int]) -> Narrow:
    # The order by which the first rows are found stays directly below.
    narrow = _narrow if isinstance(relation.input, Sort) else _exactly
    below = narrow(relation.input, wanted)
    found = replace(relation, row_type=below.relation.row_type, input=below.relation)
    return Narrow(found, below.places)


@_narrow.register
def _(relation: Join, wanted: set[int]) -> Narrow:
    width = len(relation.left.row_type.fields)
    needed = wanted | columns_of(relation.condition)
    left = _exactly(relation.left, {each for each in needed if each < width})
    right = _exactly(relation.right, {each - width for each in needed if each >= width})
    shift = len(left.relation.row_type.fields)
    places = {**left.places, **{width + old: shift + new for old, new in right.places.items()}}
    own = left.places if relation.kind in ("semi", "anti") else places
    found = replace(
        relation,
        row_type=_row(relation, sorted(own)),
        left=left.relation,
        right=right.relation,
        condition=moved(relation.condition, places.__getitem__),
    )
    return Narrow(found, own)


@_narrow.register
def _(relation: Aggregate, wanted: set[int]) -> Narrow:
    width = len(relation.keys)
    kept = [*range(width), *sorted(each for each in wanted if each >= width)]
    kept = kept or [0]
    calls = [relation.calls[each - width] for each in kept[width:]]
    needed = set(relation.keys)
    for call in calls:
        needed |= columns_of(call.expression) | {key.index for key in call.order}
        needed |= set() if call.filter is None else columns_of(call.filter)
    below = _narrow(relation.input, needed)
    found = replace(
        relation,
        row_type=_row(relation, kept),
        input=below.relation,
        keys=below.at(relation.keys),
        calls=tuple(_call(each, below) for each in calls),
    )
    return Narrow(found, _places(kept))


def _call(call: AggregateCall, below: Narrow) -> AggregateCall:
    return replace(
        call,
        expression=below.moved(call.expression),
        filter=None if call.filter is None else below.moved(call.filter),
        order=below.sorted_by(call.order),
    )


@_narrow.register
def _(relation: WindowTable, wanted: set[int]) -> Narrow:
    width = len(relation.input.row_type.fields)
    needed = {each for each in wanted if each < width} | {relation.time, *relation.partition}
    below = _narrow(relation.input, needed)
    places, kept = _behind(below, relation)
    found = replace(
        relation,
        row_type=_row(relation, kept),
        input=below.relation,
        time=below.places[relation.time],
        partition=below.at(relation.partition),
    )
    return Narrow(found, places)


def _behind(below: Narrow, relation: Any) -> tuple[dict[int, int], list[int]]:
    """Places of a table's columns that are those of a narrow input and its own behind them."""
    width = len(relation.input.row_type.fields)
    own = range(width, len(relation.row_type.fields))
    shift = len(below.relation.row_type.fields)
    old = {new: each for each, new in below.places.items()}
    kept = [*(old[at] for at in range(shift)), *own]
    return {each: at for at, each in enumerate(kept)}, kept


@_narrow.register
def _(relation: Over, wanted: set[int]) -> Narrow:
    width = len(relation.input.row_type.fields)
    needed = {each for each in wanted if each < width} | {*relation.partition}
    needed |= {key.index for key in relation.order}
    for call in relation.calls:
        needed |= columns_of(call.expression)
        needed |= set() if call.filter is None else columns_of(call.filter)
    below = _exactly(relation.input, needed)
    places, kept = _behind(below, relation)
    calls = tuple(
        replace(
            call,
            expression=below.moved(call.expression),
            filter=None if call.filter is None else below.moved(call.filter),
        )
        for call in relation.calls
    )
    found = replace(
        relation,
        row_type=_row(relation, kept),
        input=below.relation,
        partition=below.at(relation.partition),
        order=below.sorted_by(relation.order),
        calls=calls,
    )
    return Narrow(found, places)


@_narrow.register
def _(relation: Rank, wanted: set[int]) -> Narrow:
    width = len(relation.input.row_type.fields)
    needed = {each for each in wanted if each < width} | {*relation.partition}
    below = _exactly(relation.input, needed | {key.index for key in relation.order})
    places, kept = _behind(below, relation)
    found = replace(
        relation,
        row_type=_row(relation, kept),
        input=below.relation,
        partition=below.at(relation.partition),
        order=below.sorted_by(relation.order),
    )
    return Narrow(found, places)


@_narrow.register
def _(relation: SetOperation, wanted: set[int]) -> Narrow:
    columns = wanted if relation.kind == "UNION" and relation.all else _all(relation)
    kept = _kept(relation, columns)
    left, right = (_exactly(each, set(kept)).relation for each in relation.inputs())
    return Narrow(
        replace(relation, row_type=_row(relation, kept), left=left, right=right), _places(kept)
    )


@_narrow.register
def _(relation: Correlate, wanted: set[int]) -> Narrow:
    width = len(relation.input.row_type.fields)
    function = relation.function
    read = function.arguments if isinstance(function, TableFunction) else (function.collection,)
    if isinstance(function, TableFunction) and function.call is not None:
        read = (*read, function.call)
    condition = () if relation.condition is None else (relation.condition,)
    needed = _read(relation.input, read) | wanted
    for each in condition:
        needed |= columns_of(each)
    below = _narrow(relation.input, {each for each in needed if each < width})
    places, kept = _behind(below, relation)
    found = replace(
        relation,
        row_type=_row(relation, kept),
        input=below.relation,
        function=_function(function, below),
        condition=moved(condition[0], places.__getitem__) if condition else None,
    )
    return Narrow(found, places)


def _function(function: TableFunction | Unnest, below: Narrow) -> TableFunction | Unnest:
    if isinstance(function, Unnest):
        return replace(function, collection=below.moved(function.collection))
    return replace(
        function,
        arguments=tuple(map(below.moved, function.arguments)),
        call=None if function.call is None else below.moved(function.call),
    )
