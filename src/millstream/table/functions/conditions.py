"""Conditional functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millstream.table.expressions import kinds
from millstream.table.expressions.context import Context
from millstream.table.expressions.kinds import LogicalType
from millstream.table.expressions.tree import Call, Case, Expression, Literal
from millstream.table.expressions.vectors import Vector, build, each_value
from millstream.table.functions.operators import comparable
from millstream.table.functions.registry import BindError, bind, function, to_type, vectorised

__all__ = ["bind_case"]

CONDITIONAL = "conditional"


def bind_case(
    branches: Sequence[tuple[Expression, Expression]], otherwise: Expression | None
) -> Case:
    """``CASE WHEN condition THEN result ... ELSE otherwise END``."""
    last = otherwise or Literal(kinds.NULL, None)
    results = [result for _, result in branches]
    if kinds.is_mixed_days([each.type for each in [*results, last]]):
        raise BindError("dates and timestamps are no results of one CASE")
    kind = kinds.chosen_type([each.type for each in [*results, last]])
    nullable = any(each.type.nullable for each in [*results, last])
    return Case(
        kinds.with_nullability(kind, nullable),
        tuple(condition for condition, _ in branches),
        tuple(to_type(result, kind) for result in results),
        to_type(last, kind),
    )


def _coalesce_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if not arguments:
        raise BindError("at least one argument is needed")
    types = [each.type for each in arguments]
    kind = kinds.common_type(types)
    if kinds.is_mixed_days(types):
        if kinds.root(kind) == "TIMESTAMP_LTZ":
            raise BindError("a DATE and a TIMESTAMP_LTZ have no common type here")
        kind = kinds.DATE
    nullable = all(each.type.nullable for each in arguments)
    return [to_type(each, kind) for each in arguments], kinds.with_nullability(kind, nullable)


def _first(vectors: list[Vector]) -> pa.Array:
    if vectors[0].type.children:
        rows = zip(*(vector.values for vector in vectors), strict=True)
        return build(
            [next((each for each in row if each is not None), None) for row in rows],
            vectors[0].type,
        )
    return pc.coalesce(*(vector.array for vector in vectors))


@vectorised("COALESCE", CONDITIONAL, "COALESCE(value1 [, value2]*)", _coalesce_type)
def _coalesce(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """The first value that is not NULL."""
    return _first(vectors)


def _if_null_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if len(arguments) != 2:
        raise BindError("two arguments are needed")
    converted, kind = _coalesce_type(arguments)
    first = arguments[0].type
    if not first.nullable and (kinds.is_string(first) or kinds.is_binary(first)):
        return arguments, first  # Flink does not convert texts to longer ones
    return converted, kind


@vectorised("IFNULL", CONDITIONAL, "IFNULL(value, replacement)", _if_null_type)
def _if_null(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """The value, or the replacement if it is NULL."""
    return _first(vectors) if vectors[0].type.nullable else vectors[0].array


def _null_if_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if len(arguments) != 2:
        raise BindError("two arguments are needed")
    bind("=", arguments)
    return arguments, kinds.with_nullability(arguments[0].type, True)


@vectorised("NULLIF", CONDITIONAL, "NULLIF(value1, value2)", _null_if_type)
def _null_if(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """NULL if both values are equal, otherwise the first."""

    def row(first: Any, second: Any) -> Any:
        return None if second is not None and first == second else first

    return build(each_value(row, vectors, context.length, strict=False), call.type)


def _if_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if len(arguments) != 3 or kinds.root(arguments[0].type) not in ("BOOLEAN", "NULL"):
        raise BindError("a condition and two values are needed")
    for each in arguments[1:]:
        if each.type.children or kinds.root(each.type) == "NULL":
            raise BindError(f"IF takes no {each.type}; CASE WHEN does")
    kind = kinds.chosen_type([each.type for each in arguments[1:]])
    nullable = any(each.type.nullable for each in arguments)
    converted = [arguments[0], *(to_type(each, kind) for each in arguments[1:])]
    return converted, kinds.with_nullability(kind, nullable)


@vectorised("IF", CONDITIONAL, "IF(condition, value1, value2)", _if_type)
def _if(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """The first value if the condition is TRUE, otherwise the second."""
    condition = vectors[0].array.fill_null(False)
    return pc.if_else(condition, vectors[1].array, vectors[2].array)


def _extreme_type(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
    if not arguments:
        raise BindError("at least one argument is needed")
    if (
        len({kinds.is_string(each.type) for each in arguments if kinds.root(each.type) != "NULL"})
        > 1
    ):
        raise BindError("texts and other values have no common type")
    converted = comparable(arguments)
    kind = kinds.plain_interval(kinds.common_type([each.type for each in converted]))
    return converted, kinds.with_nullability(kind, any(each.type.nullable for each in converted))


@vectorised("GREATEST", CONDITIONAL, "GREATEST(value1 [, value2]*)", _extreme_type)
def _greatest(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """The greatest value; NULL if one of them is NULL."""
    return build(each_value(lambda *row: max(row), vectors, context.length), call.type)


@vectorised("LEAST", CONDITIONAL, "LEAST(value1 [, value2]*)", _extreme_type)
def _least(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
    """The least value; NULL if one of them is NULL."""
    return build(each_value(lambda *row: min(row), vectors, context.length), call.type)


@function(
    "TYPEOF",
    "conversion",
    "TYPEOF(value [, full])",
    "ANY BOOLEAN?",
    "STRING?",
    strict=False,
    pass_call=True,
)
def _typeof(call: Call, value: Any, full: bool | None = None) -> str:
    """The type of the value, as a text."""
    kind = call.arguments[0].type
    return kind.as_serializable() if full else kind.as_summary()
