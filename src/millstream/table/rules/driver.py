"""All rewrites of a query, inputs first, until nothing changes any more."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from millstream.table.logical.algebra import Relation
from millstream.table.rules.distinct import distinct_dropped, memberships_of_distinct
from millstream.table.rules.folding import constants_folded
from millstream.table.rules.laterals import joins_of_laterals
from millstream.table.rules.projects import (
    aggregates_of_no_columns,
    filters_merged,
    limits_below_projects,
    limits_merged,
    projects_merged,
)
from millstream.table.rules.pruning import pruned
from millstream.table.rules.pushing import conditions_pushed, filters_pushed
from millstream.table.rules.ranks import filters_of_ranks
from millstream.table.rules.subqueries import joins_of_subqueries

__all__ = ["RULES", "Rule", "rewritten"]

Rule = Callable[[Relation], Relation]
"""Gives an equal table with the same row type, or the table itself."""
RULES: tuple[Rule, ...] = (
    aggregates_of_no_columns,
    joins_of_laterals,
    joins_of_subqueries,
    constants_folded,
    filters_of_ranks,
    filters_pushed,
    conditions_pushed,
    filters_merged,
    limits_below_projects,
    limits_merged,
    projects_merged,
    distinct_dropped,
    memberships_of_distinct,
)
_MOST = 50


def rewritten(relation: Relation, rules: Sequence[Rule] = RULES) -> Relation:
    """The table after all rewrites, with only those columns below that something above reads."""
    found = pruned(_settled(relation, rules, {}))
    return _settled(found, (projects_merged,), {})


def _settled(
    relation: Relation, rules: Sequence[Rule], known: dict[int, tuple[Relation, Relation]]
) -> Relation:
    """The table after rules that give the table itself now. ``known``: what has been settled, by id."""
    if id(relation) in known:
        return known[id(relation)][1]
    first = relation
    for _ in range(_MOST):
        inputs = relation.inputs()
        new = tuple(_settled(each, rules, known) for each in inputs)
        if any(one is not other for one, other in zip(inputs, new, strict=True)):
            relation = relation.with_inputs(new)
        found = relation
        for rule in rules:
            found = rule(found)
        if found is relation:
            break
        relation = found
    known[id(first)] = first, relation
    known[id(relation)] = relation, relation
    return relation
