"""All rewrites of a query, inputs first, until nothing changes any more."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from millstream.table.logical.algebra import Relation
from millstream.table.rules.projects import aggregates_of_no_columns
from millstream.table.rules.ranks import filters_of_ranks
from millstream.table.rules.subqueries import joins_of_subqueries

__all__ = ["RULES", "Rule", "rewritten"]

Rule = Callable[[Relation], Relation]
"""Gives an equal table with the same row type, or the table itself."""
RULES: tuple[Rule, ...] = (aggregates_of_no_columns, joins_of_subqueries, filters_of_ranks)
_MOST = 50


def rewritten(relation: Relation, rules: Sequence[Rule] = RULES) -> Relation:
    """The table after all rewrites."""
    inputs = relation.inputs()
    new = tuple(rewritten(each, rules) for each in inputs)
    if any(one is not other for one, other in zip(inputs, new, strict=True)):
        relation = relation.with_inputs(new)
    for _ in range(_MOST):
        found = relation
        for rule in rules:
            found = rule(found)
        if found is relation:
            break
        inputs = found.inputs()
        again = tuple(rewritten(each, rules) for each in inputs)
        relation = found.with_inputs(again) if again != inputs else found
    return relation
