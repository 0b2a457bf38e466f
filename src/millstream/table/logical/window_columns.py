"""Which columns of a table are the start, the end and the time of windows."""

from __future__ import annotations

from typing import Literal

from millstream.table.expressions.tree import InputRef
from millstream.table.logical.algebra import (
    Aggregate,
    Correlate,
    Distinct,
    Filter,
    Join,
    Limit,
    Over,
    Project,
    Relation,
    Sort,
    TemporalJoin,
    WindowTable,
)

__all__ = ["WindowRole", "window_columns"]

WindowRole = Literal["start", "end", "time"]


def window_columns(relation: Relation) -> dict[int, WindowRole]:
    """For each column that comes from a windowing table function: what it is.

    A group by start and end keeps them; what else makes new rows loses them.
    """
    if isinstance(relation, WindowTable):
        first = len(relation.input.row_type.fields)
        return {first: "start", first + 1: "end", first + 2: "time"}
    if isinstance(relation, Project):
        below = window_columns(relation.input)
        return {
            at: below[each.index]
            for at, each in enumerate(relation.expressions)
            if isinstance(each, InputRef) and each.index in below
        }
    if isinstance(relation, (Filter, Over, Sort, Limit, Correlate, Distinct)):
        return window_columns(relation.input)
    if isinstance(relation, (Join, TemporalJoin)):
        return window_columns(relation.left)
    if isinstance(relation, Aggregate):
        below = window_columns(relation.input)
        found = {at: below[key] for at, key in enumerate(relation.keys) if key in below}
        return found if {"start", "end"} <= set(found.values()) else {}
    return {}
