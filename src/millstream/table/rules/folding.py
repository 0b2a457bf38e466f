"""Expressions without columns, computed when the plan is made."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from millstream.table.expressions import kinds
from millstream.table.expressions.context import EvaluationError
from millstream.table.expressions.tree import Call, Case, Cast, Expression, Literal, Symbol
from millstream.table.expressions.vectors import Vector
from millstream.table.functions.evaluate import evaluate
from millstream.table.functions.registry import FUNCTIONS
from millstream.table.logical.algebra import Filter, Join, Project, Relation
from millstream.table.logical.user_calls import UserCall
from millstream.table.rules.conditions import all_of, conjuncts, replaced

__all__ = ["constants_folded", "folded"]

_ONE_ROW = pa.RecordBatch.from_arrays([pa.nulls(1)], names=["nothing"])
_PLAIN = {*kinds.INTEGERS, "BOOLEAN", "DOUBLE", "DECIMAL", "CHAR", "VARCHAR", "DATE", "TIMESTAMP"}
"""Roots of types whose values can be literals again."""
_OF_SESSION = {"FROM_UNIXTIME", "UNIX_TIMESTAMP"}
"""Functions that read the session's time zone, which is not known here, as TIMESTAMP_LTZ does."""


def constants_folded(relation: Relation) -> Relation:
    """Compute the constant parts of conditions and projections; else the table as it is."""
    if isinstance(relation, Project):
        made = tuple(folded(each) for each in relation.expressions)
        return relation if made == relation.expressions else replace(relation, expressions=made)
    if isinstance(relation, Filter):
        condition = _condition(relation.condition)
        if isinstance(condition, Literal) and condition.value is True:
            return relation.input
        return (
            relation if condition == relation.condition else replace(relation, condition=condition)
        )
    if isinstance(relation, Join):
        condition = _condition(relation.condition)
        return (
            relation if condition == relation.condition else replace(relation, condition=condition)
        )
    return relation


def _condition(condition: Expression) -> Expression:
    """A condition without parts that are always TRUE."""
    parts = conjuncts(condition)
    made = [folded(each) for each in parts]
    left = [each for each in made if not (isinstance(each, Literal) and each.value is True)]
    return condition if left == parts else all_of(left)


def folded(expression: Expression) -> Expression:
    """An expression whose constant parts are literals of the same types."""
    return replaced(expression, _literal)


def _literal(expression: Expression) -> Expression | None:
    if isinstance(expression, Literal) or not _is_constant(expression):
        return None
    if kinds.root(expression.type) not in _PLAIN:
        return None
    try:
        array = evaluate(expression, _ONE_ROW)
    except (EvaluationError, pa.ArrowException):
        return None  # What fails here fails when a row comes, or never if none comes.
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    value = Vector(expression.type, 1, array).values[0]
    if value is None and not expression.type.nullable:
        return None
    return Literal(expression.type, value)


def _is_constant(expression: Expression) -> bool:
    return all(_may_be_computed(each) for each in expression.walk())


def _may_be_computed(expression: Expression) -> bool:
    if kinds.root(expression.type) == "TIMESTAMP_LTZ":
        return False
    if isinstance(expression, Literal | Symbol | Case | Cast):
        return True
    if not isinstance(expression, Call) or isinstance(expression, UserCall):
        return False
    found = FUNCTIONS.get(expression.function)
    if found is None or found.run is None or expression.function in _OF_SESSION:
        return False
    return found.deterministic and not found.aggregate
