"""Projections that nobody needs."""

from __future__ import annotations

from dataclasses import replace

from millstream.table.logical.algebra import Aggregate, Project, Relation

__all__ = ["aggregates_of_no_columns"]


def aggregates_of_no_columns(relation: Relation) -> Relation:
    """Let an aggregate that reads no column, as COUNT(*), read the table itself: rows need a column."""
    if not isinstance(relation, Aggregate):
        return relation
    below = relation.input
    if isinstance(below, Project) and not below.expressions:
        return replace(relation, input=below.input)
    return relation
