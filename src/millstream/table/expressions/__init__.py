"""The typed expression tree and its reference evaluator over Arrow columns."""

from __future__ import annotations

from millstream.table.expressions.context import Context, EvaluationError
from millstream.table.expressions.tree import (
    Call,
    Case,
    Cast,
    Expression,
    FieldAccess,
    InputRef,
    Literal,
    Symbol,
)

__all__ = [
    "Call",
    "Case",
    "Cast",
    "Context",
    "EvaluationError",
    "Expression",
    "FieldAccess",
    "InputRef",
    "Literal",
    "Symbol",
]
