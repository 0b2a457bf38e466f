"""``x < SOME (query)``, ``x >= ALL (query)`` and their like, by aggregates of the query."""

from __future__ import annotations

from millstream.table.expressions import kinds
from millstream.table.expressions.tree import Call, Expression, InputRef, Literal
from millstream.table.functions import bind, bind_case
from millstream.table.logical.algebra import Aggregate, AggregateCall, Relation, Subquery
from millstream.table.logical.typing_rules import row_type

__all__ = ["compared_with_all", "compared_with_some"]

_NOT = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "<>"}
_EXTREMES = {"<": ("MAX",), "<=": ("MAX",), ">": ("MIN",), ">=": ("MIN",), "<>": ("MIN", "MAX")}


def compared_with_all(value: Expression, operator: str, query: Relation) -> Expression:
    """``value operator ALL (query)``: no value of the query is one that the opposite is true of."""
    return bind("NOT", [compared_with_some(value, _NOT[operator], query)])


def compared_with_some(value: Expression, operator: str, query: Relation) -> Expression:
    """``value operator SOME (query)``: true of the least or the greatest value, if of any.

    Without rows it is FALSE. If it is not TRUE and the query has a NULL, it is NULL.
    """
    column = query.row_type.fields[0]
    ref = InputRef(column.type, 0, column.name)
    tests = [
        bind(operator, [value, _aggregate(query, bind(function, [ref]))])
        for function in _EXTREMES[operator]
    ]
    found = tests[0] if len(tests) == 1 else bind("OR", tests)
    rows, known = (_aggregate(query, bind("COUNT", each)) for each in ([], [ref]))
    none = bind("=", [rows, Literal(kinds.not_null(kinds.BIGINT), 0)])
    unknown = Literal(kinds.BOOLEAN, None)
    no = Literal(kinds.not_null(kinds.BOOLEAN), False)
    is_true = bind("IS TRUE", [found])
    has_null = bind(">", [rows, known])
    return bind_case([(none, no), (is_true, found), (has_null, unknown)], found)


def _aggregate(query: Relation, call: Expression) -> Subquery:
    assert isinstance(call, Call)
    grouped = Aggregate(row_type(["EXPR$0"], [call.type]), query, (), (AggregateCall(call),))
    return Subquery(kinds.with_nullability(call.type, True), "scalar", grouped)
