"""DISTINCT where rows differ already, or where nobody counts them."""

from __future__ import annotations

from dataclasses import replace

from millstream.table.expressions.tree import InputRef
from millstream.table.logical.algebra import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    Project,
    Relation,
    SetOperation,
    Sort,
)

__all__ = ["distinct_dropped", "memberships_of_distinct"]


def distinct_dropped(relation: Relation) -> Relation:
    """Drop DISTINCT of a table whose rows all differ; else the table as it is."""
    if isinstance(relation, Distinct) and _all_differ(relation.input):
        return relation.input
    return relation


def memberships_of_distinct(relation: Relation) -> Relation:
    """Drop DISTINCT on the right of a semi or anti join: how often a row is there does not count."""
    if not isinstance(relation, Join) or relation.kind not in ("semi", "anti"):
        return relation
    if isinstance(relation.right, Distinct):
        return replace(relation, right=relation.right.input)
    return relation


def _all_differ(relation: Relation) -> bool:
    if isinstance(relation, Filter | Sort):
        return _all_differ(relation.input)
    if isinstance(relation, Distinct):
        return True
    if isinstance(relation, Aggregate):
        return relation.sets is None
    if isinstance(relation, SetOperation):
        return not relation.all
    if isinstance(relation, Project):
        copied = {each.index for each in relation.expressions if isinstance(each, InputRef)}
        below = relation.input
        wanted = set(range(len(below.row_type.fields)))
        if isinstance(below, Aggregate):
            wanted = set(range(len(below.keys)))
        return wanted <= copied and _all_differ(below)
    return False
