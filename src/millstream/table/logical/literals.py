"""Literals of SQL as typed constants, with Flink's types."""

from __future__ import annotations

from decimal import Decimal

from millstream.common.errors import PlanError
from millstream.table.expressions import kinds
from millstream.table.expressions.tree import Expression, Literal
from millstream.table.functions import BindError
from millstream.table.functions.cast_text import CastError, parse_date, parse_time, parse_timestamp
from millstream.table.functions.literals import interval_literal
from millstream.table.sql import expressions as sql
from millstream.table.types.logical import MAX_PRECISION, BinaryType
from millstream.table.types.parsing import logical_type

__all__ = ["LiteralError", "bind_literal", "number"]


class LiteralError(ValueError):
    """A literal that has no value."""


def bind_literal(node: sql.Expression) -> Expression | None:
    """The constant of a literal; None if the node is none."""
    if isinstance(node, sql.NullLiteral):
        return Literal(kinds.NULL, None)
    if isinstance(node, sql.BooleanLiteral):
        if node.value is None:
            return Literal(kinds.BOOLEAN, None)
        return Literal(kinds.not_null(kinds.BOOLEAN), node.value)
    if isinstance(node, sql.NumberLiteral):
        return number(node.text)
    if isinstance(node, sql.StringLiteral):
        size = len(node.value.encode("utf-16-le", "surrogatepass")) // 2
        return Literal(kinds.not_null(kinds.char(size)), node.value)
    if isinstance(node, sql.BinaryLiteral):
        return Literal(BinaryType(len(node.value), nullable=False), node.value)
    if isinstance(node, sql.TemporalLiteral):
        return _temporal(node)
    if isinstance(node, sql.IntervalLiteral):
        return _interval(node)
    return None


def number(text: str) -> Literal:
    """A number: INT, BIGINT, DECIMAL, or DOUBLE if it has an exponent.

    Examples
    --------
    >>> str(number("1.50").type), str(number("3000000000").type), str(number("1e3").type)
    ('DECIMAL(3, 2) NOT NULL', 'BIGINT NOT NULL', 'DOUBLE NOT NULL')
    >>> str(number("0.5").type), str(number("1.").type)
    ('DECIMAL(2, 1) NOT NULL', 'INT NOT NULL')
    """
    if "e" in text.lower():
        return Literal(kinds.not_null(kinds.DOUBLE), float(text))
    value, scale = Decimal(text), len(text.partition(".")[2])
    if not scale:
        whole = int(value)
        if -(2**31) <= whole < 2**31:
            return Literal(kinds.not_null(kinds.INT), whole)
        if -(2**63) <= whole < 2**63:
            return Literal(kinds.not_null(kinds.BIGINT), whole)
    # Every digit counts that is written, zeros in front too: 0.5 has two.
    precision = sum(each.isdigit() for each in text)
    if precision > MAX_PRECISION:
        raise LiteralError(f"{text} has {precision} digits, and a number has at most 38")
    return Literal(kinds.not_null(kinds.decimal(precision, scale)), value)


_FORMS = {"DATE": "2024-01-31", "TIME": "10:30:00", "TIMESTAMP": "2024-01-31 10:30:00.123"}


def _temporal(node: sql.TemporalLiteral) -> Expression:
    fraction = min(len(node.text.strip().partition(".")[2]), 9)
    try:
        if node.kind == "DATE":
            return Literal(kinds.not_null(kinds.DATE), _known(parse_date(node.text)))
        if node.kind == "TIME":
            kind = kinds.parse_type(f"TIME({fraction})")
            return Literal(kinds.not_null(kind), _known(parse_time(node.text)))
        if node.kind == "TIMESTAMP":
            kind = kinds.timestamp(fraction)
            return Literal(kinds.not_null(kind), _known(parse_timestamp(node.text, 9)))
    except (CastError, ValueError):
        form = _FORMS[node.kind]
        raise LiteralError(f"{node.text!r} is no {node.kind}; write it like {form!r}") from None
    raise LiteralError(f"there are no literals of {node.kind}; use CAST('...' AS TIMESTAMP_LTZ(3))")


def _known(value: int | None) -> int:
    if value is None:
        raise ValueError("no time")
    return value


def _interval(node: sql.IntervalLiteral) -> Expression:
    unit = node.qualifier.first if node.qualifier.first in ("WEEK", "QUARTER") else None
    name = sql.TypeName("INTERVAL", interval=node.qualifier, span=node.span)
    text = f"-{node.text}" if node.negative else node.text
    if text.startswith("--"):
        text = text[2:]
    try:
        return interval_literal(text, logical_type(name), unit)
    except (BindError, PlanError) as error:
        raise LiteralError(str(error)) from None
