"""The uid of an operator: a hash of what it computes, so that a changed statement finds its state again.

Names of columns do not count, nor does the text of the statement: kind, keys, expressions, types and the
meaning of the inputs do.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from typing import Any

from millstream.table.expressions.tree import InputRef
from millstream.table.logical.algebra import OuterRef, Relation, Scan
from millstream.table.types.logical import RowType

__all__ = ["canonical", "uid_of"]

_LENGTH = 16


def uid_of(relation: Relation) -> str:
    """The uid of the operator that computes a table."""
    text = repr(canonical(relation))
    digest = hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]
    return f"sql-{type(relation).__name__.lower()}-{digest}"


def canonical(value: Any) -> Any:
    """A value as nested tuples, without the names of columns.

    Examples
    --------
    >>> from millstream.table.expressions.kinds import INT
    >>> canonical(InputRef(INT, 3, "price"))
    ('InputRef', 'INT', 3)
    """
    if isinstance(value, InputRef | OuterRef):
        level = (value.level,) if isinstance(value, OuterRef) else ()
        return (type(value).__name__, str(value.type), value.index, *level)
    if isinstance(value, RowType):
        return tuple(str(each.type) for each in value.fields)
    if isinstance(value, Scan):
        columns = tuple((each.name, str(each.type)) for each in value.row_type.fields)
        return ("Scan", str(value.table), columns, value.options)
    if is_dataclass(value) and not isinstance(value, type):
        if hasattr(value, "as_serializable"):
            return str(value)
        # What does not count in comparisons is no part of the meaning: the code of a function.
        compared = (each for each in fields(value) if each.compare)
        parts = (canonical(getattr(value, each.name)) for each in compared)
        return (type(value).__name__, *parts)
    if isinstance(value, tuple | list):
        return tuple(canonical(each) for each in value)
    return value
