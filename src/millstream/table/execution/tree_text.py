"""Tables as lines of text: each with what it does, and below it those that it is made from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import singledispatch
from typing import Any

from millstream.table.logical.algebra import (
    Aggregate,
    Filter,
    FromChangelog,
    Join,
    Limit,
    Over,
    Project,
    Relation,
    Scan,
    SetOperation,
    Sort,
    SortKey,
    ToChangelog,
    Values,
    WindowTable,
)
from millstream.table.rules.nodes import Rank

__all__ = ["line_of", "tree_lines"]

More = Callable[[Relation], Sequence[str]]
"""Gives more parts of the line of a table."""


def tree_lines(relation: Relation, more: More = lambda _: ()) -> list[str]:
    """The lines of a table and of those below it, drawn as Flink draws them."""
    lines = [line_of(relation, more(relation))]
    inputs = relation.inputs()
    for at, each in enumerate(inputs):
        below = tree_lines(each, more)
        lines.append(f"{'+- ' if at == len(inputs) - 1 else ':- '}{below[0]}")
        indent = "   " if at == len(inputs) - 1 else ":  "
        lines += [f"{indent}{line}" for line in below[1:]]
    return lines


def line_of(relation: Relation, more: Sequence[str] = ()) -> str:
    """The line of a table without those below it: ``Filter(where=[>(n, 1)])``."""
    return f"{type(relation).__name__}({', '.join([*_parts(relation), *more])})"


@singledispatch
def _parts(relation: Relation) -> list[str]:
    """The parts of a table's line; the fields of its class, if there is no better text."""
    shown = []
    for field in fields(relation):
        value = getattr(relation, field.name)
        if field.name != "row_type" and not isinstance(value, Relation) and value not in ((), None):
            shown.append(_part(field.name, [value]))
    return shown


def _part(name: str, values: Sequence[Any]) -> str:
    return f"{name}=[{', '.join(map(str, values))}]"


def _names(relation: Relation) -> list[str]:
    return [field.name for field in relation.row_type.fields]


def _chosen(relation: Relation, places: Sequence[int]) -> list[str]:
    names = _names(relation)
    return [names[place] for place in places]


def _sorted(relation: Relation, keys: Sequence[SortKey]) -> list[str]:
    names = _names(relation)
    return [f"{names[key.index]} {'DESC' if key.descending else 'ASC'}" for key in keys]


@_parts.register
def _(relation: Scan) -> list[str]:
    path = relation.table
    table = f"table=[[{path.catalog}, {path.database}, {path.name}]]"
    return [table, _part("fields", _names(relation))]


@_parts.register
def _(relation: Values) -> list[str]:
    return [_part("rows", [len(relation.rows)]), _part("fields", _names(relation))]


@_parts.register
def _(relation: Project) -> list[str]:
    pairs = zip(relation.expressions, _names(relation), strict=True)
    return [_part("select", [_named(str(text), name) for text, name in pairs])]


def _named(text: str, name: str) -> str:
    return text if text == name else f"{text} AS {name}"


@_parts.register
def _(relation: Filter) -> list[str]:
    return [_part("where", [relation.condition])]


@_parts.register
def _(relation: Join) -> list[str]:
    kind = f"joinType=[{relation.kind.capitalize()}Join]"
    return [kind, _part("where", [relation.condition])]


@_parts.register
def _(relation: Aggregate) -> list[str]:
    keys = _chosen(relation.input, relation.keys)
    names = _names(relation)[len(keys) :]
    calls = [_call(each) for each in relation.calls]
    shown = [_named(text, name) for text, name in zip(calls, names, strict=False)]
    return [*([_part("groupBy", keys)] if keys else []), _part("select", [*keys, *shown])]


def _call(call: Any) -> str:
    text = str(call.expression)
    if getattr(call, "distinct", False):
        text = text.replace("(", "(DISTINCT ", 1)
    condition = getattr(call, "filter", None)
    return text if condition is None else f"{text} FILTER {condition}"


@_parts.register
def _(relation: Over) -> list[str]:
    return [
        _part("partitionBy", _chosen(relation.input, relation.partition)),
        _part("orderBy", _sorted(relation.input, relation.order)),
        _part("select", [_call(each) for each in relation.calls]),
    ]


@_parts.register
def _(relation: Rank) -> list[str]:
    return [
        f"rankType=[{relation.kind}]",
        f"rankRange=[{relation.start}..{relation.end}]",
        _part("partitionBy", _chosen(relation.input, relation.partition)),
        _part("orderBy", _sorted(relation.input, relation.order)),
    ]


@_parts.register
def _(relation: WindowTable) -> list[str]:
    (time,) = _chosen(relation.input, [relation.time])
    step = "" if relation.step is None else f", step=[{relation.step} ms]"
    return [f"window=[{relation.kind}(time=[{time}], size=[{relation.size} ms]{step})]"]


@_parts.register
def _(relation: ToChangelog) -> list[str]:
    return [f"op=[{_names(relation)[0]}]", _part("codes", _codes(relation.codes))]


@_parts.register
def _(relation: FromChangelog) -> list[str]:
    (op,) = _chosen(relation.input, [relation.op])
    return [f"op=[{op}]", _part("codes", _codes(relation.codes))]


def _codes(pairs: Sequence[tuple[str, str]]) -> list[str]:
    return [one if one == other else f"{one} -> {other}" for one, other in pairs]


@_parts.register
def _(relation: Sort) -> list[str]:
    return [_part("orderBy", _sorted(relation.input, relation.keys))]


@_parts.register
def _(relation: Limit) -> list[str]:
    fetch = "all" if relation.fetch is None else relation.fetch
    return [f"offset=[{relation.offset}]", f"fetch=[{fetch}]"]


@_parts.register
def _(relation: SetOperation) -> list[str]:
    return [f"all=[{str(relation.all).lower()}]", _part("kind", [relation.kind])]
