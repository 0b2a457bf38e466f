"""Trees of the SQL parser as short texts, so that a test can say what it expects in one line."""

from __future__ import annotations

from dataclasses import fields

from millstream.table.sql.expressions import (
    BinaryOperation,
    Call,
    ColumnRef,
    NumberLiteral,
    StringLiteral,
    UnaryOperation,
)
from millstream.table.sql.nodes import Identifier, Name, Node


def shape(value: object) -> str:
    """Operators as ``(+ a b)``, calls as ``f(a)``, others as ``Class(field=value)`` without defaults."""
    if isinstance(value, (BinaryOperation, UnaryOperation)):
        return f"({value.operator} {' '.join(shape(child) for child in value.children())})"
    if isinstance(value, (ColumnRef, Name, Identifier)):
        return str(value.name if isinstance(value, ColumnRef) else value)
    if isinstance(value, NumberLiteral):
        return value.text
    if isinstance(value, StringLiteral):
        return repr(value.value)
    if isinstance(value, tuple):
        return f"[{', '.join(shape(item) for item in value)}]"
    if isinstance(value, Node):
        return _node(value)
    return repr(value) if isinstance(value, str) else str(value)


def _node(node: Node) -> str:
    given = {
        each.name: getattr(node, each.name)
        for each in fields(node)
        if each.name != "span" and getattr(node, each.name) != each.default
    }
    if isinstance(node, Call) and set(given) <= {"name", "arguments"}:
        return f"{node.name}({', '.join(shape(item) for item in node.arguments)})"
    inside = ", ".join(f"{name}={shape(value)}" for name, value in given.items())
    return f"{type(node).__name__}({inside})"
