"""Expressions that have a value for every row."""

from __future__ import annotations

from millstream.table.expressions.tree import Call, Cast, Expression, OwnCall

__all__ = ["never_fails"]

_NEVER_FAIL = {"=", "<>", "<", "<=", ">", ">=", "AND", "OR", "NOT", "IS NULL", "IS NOT NULL"}
_NEVER_FAIL |= {"IS TRUE", "IS FALSE", "IS NOT TRUE", "IS NOT FALSE", "BETWEEN", "IN", "LIKE"}
_NEVER_FAIL |= {"LOWER", "UPPER", "CHAR_LENGTH"}


def never_fails(expression: Expression) -> bool:
    """Whether no row can make the evaluation fail, so that it may see more rows than it has to."""
    return all(
        each.function in _NEVER_FAIL
        if isinstance(each, Call)
        else not isinstance(each, Cast | OwnCall)
        for each in expression.walk()
    )
