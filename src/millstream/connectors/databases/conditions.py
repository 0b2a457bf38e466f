"""Conditions of who reads a table, in the SQL of its database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from millstream.connectors.conditions import Comparison, Conditions
from millstream.connectors.databases.dialect import Column, Dialect

__all__ = ["as_sql"]

_MOST_VALUES = 100
"""How many constants a comparison may have; databases take only so many in a statement."""


def as_sql(
    conditions: Conditions, columns: Sequence[Column], dialect: Dialect
) -> tuple[str, list[Any]]:
    """The text behind WHERE, and its values; no text if all rows are wanted.

    A database keeps at least the rows for which the conditions are TRUE here: what it may see in another
    way is left out.
    """
    types = {each.name: each.arrow for each in columns}
    groups = [
        [each for each in group if _is_sure(each, types.get(each.column))] for group in conditions
    ]
    if not all(groups):
        return "", []
    texts = [" and ".join(_text(each, dialect) for each in group) for group in groups]
    values = [value for group in groups for each in group for value in each.values]
    return " or ".join(f"({text})" for text in texts), values


def _text(comparison: Comparison, dialect: Dialect) -> str:
    places = ", ".join("?" for _ in comparison.values)
    name = dialect.quote(comparison.column)
    if comparison.operator == "=":
        return f"{name} in ({places})"
    return f"{name} {comparison.operator} {places}".strip()


def _is_sure(comparison: Comparison, kind: pa.DataType | None) -> bool:
    """Whether a database keeps each row for which a comparison is TRUE here.

    It may find more texts equal, with other cases or blanks, and it has an order of texts of its own.
    """
    if not comparison.values or kind is None:
        return not comparison.values
    if len(comparison.values) > _MOST_VALUES:
        return False
    if pa.types.is_integer(kind):
        return all(type(each) is int for each in comparison.values)
    is_text = all(isinstance(each, str) for each in comparison.values)
    return comparison.operator == "=" and is_text and bool(pa.types.is_string(kind))
