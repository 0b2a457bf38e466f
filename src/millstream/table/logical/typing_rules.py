"""Small rules of types that the binder needs: marks of time, unique names, row types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from millstream.table.expressions.tree import Expression, InputRef
from millstream.table.types.logical import (
    LocalZonedTimestampType,
    LogicalType,
    RowField,
    RowType,
    TimestampType,
)

__all__ = [
    "is_time_attribute",
    "plain",
    "plain_type",
    "row_of",
    "row_type",
    "time_kind",
    "unique_names",
]


def time_kind(kind: LogicalType) -> str | None:
    """ROWTIME, PROCTIME or None."""
    return kind.kind if isinstance(kind, (TimestampType, LocalZonedTimestampType)) else None


def is_time_attribute(kind: LogicalType) -> bool:
    """Whether a column is the time of its table."""
    return time_kind(kind) is not None


def plain_type(kind: LogicalType) -> LogicalType:
    """The type without the mark of a time attribute."""
    if isinstance(kind, (TimestampType, LocalZonedTimestampType)) and kind.kind:
        return kind.with_kind(None)
    return kind


def plain(expression: Expression) -> Expression:
    """The value of a column without the mark of a time attribute: data like any other."""
    if is_time_attribute(expression.type):
        return replace(expression, type=plain_type(expression.type))
    return expression


def unique_names(names: Iterable[str]) -> list[str]:
    """Names of which none is there twice: a second ``a`` becomes ``a0``, as in Flink.

    Examples
    --------
    >>> unique_names(["a", "b", "a", "a"])
    ['a', 'b', 'a0', 'a1']
    """
    pool = list(names)
    used: set[str] = set()
    found = []
    for name in pool:
        chosen, number = name, 0
        while chosen in used or (chosen != name and chosen in pool):
            chosen, number = f"{name}{number}", number + 1
        used.add(chosen)
        found.append(chosen)
    return found


def row_type(names: Sequence[str], types: Sequence[LogicalType]) -> RowType:
    """The row of a table; names become unique."""
    pairs = zip(unique_names(names), types, strict=True)
    return RowType(tuple(RowField(name, kind) for name, kind in pairs), nullable=False)


def row_of(fields: Iterable[RowField]) -> RowType:
    """The row of columns of several tables; names become unique."""
    pool = list(fields)
    names = unique_names(each.name for each in pool)
    return RowType(tuple(replace(f, name=name) for f, name in zip(pool, names, strict=True)))


def references(row: RowType) -> tuple[InputRef, ...]:
    """All columns of a table, in order."""
    return tuple(InputRef(f.type, at, f.name) for at, f in enumerate(row.fields))
