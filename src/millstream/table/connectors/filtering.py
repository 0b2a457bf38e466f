"""Filters above a table as conditions of its connector, which may leave out rows that they drop.

The filters stay where they are, so a connector may use any part of what it gets. A table is read once
for all scans of a job: rows that one of them wants are read.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, get_args

from millstream.connectors.conditions import Comparison, Conditions, Operator
from millstream.table.connectors.factory import connector_of
from millstream.table.expressions.tree import Call, Expression, InputRef, Literal
from millstream.table.logical.entries import TableEntry
from millstream.table.rules.conditions import conjuncts

__all__ = ["restricted"]

_TURNED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
_BEGIN = datetime.datetime(1970, 1, 1)


def restricted(entry: TableEntry, filters: Sequence[Expression | None]) -> TableEntry:
    """The table with those parts of filters that its connector can use.

    ``filters``: of each scan the filter right above it, whose columns have the names of the table; None
    if it wants all rows. Rows that follow a watermark are all read, because each of them moves it; rows
    of a table that changes, because each belongs to others.
    """
    connector, options = connector_of(entry)
    if entry.watermark is not None or connector.changes(entry, options) != "append":
        return entry
    stored = {each.name for each in entry.stored}
    groups: list[tuple[Comparison, ...]] = []
    for each in filters:
        parts = [] if each is None else [c for p in conjuncts(each) for c in _comparisons(p)]
        groups.append(
            tuple(
                part
                for part in parts
                if part.column in stored and connector.skips(entry, options, part)
            )
        )
    found: Conditions = tuple(dict.fromkeys(groups))
    return replace(entry, conditions=found) if all(found) else entry


def _comparisons(part: Expression) -> Iterator[Comparison]:
    """The comparisons that have to be TRUE if a condition is; none if it is of another form."""
    if not isinstance(part, Call):
        return
    first, *others = part.arguments
    if part.function in ("IS NULL", "IS NOT NULL") and isinstance(first, InputRef):
        yield Comparison(first.name, part.function)  # type: ignore[arg-type]
    elif part.function == "IN" and isinstance(first, InputRef):
        yield from _compared(first, "=", others)
    elif part.function == "BETWEEN" and isinstance(first, InputRef) and len(others) == 2:
        yield from _compared(first, ">=", others[:1])
        yield from _compared(first, "<=", others[1:])
    elif part.function in _TURNED and len(others) == 1:
        if isinstance(first, InputRef):
            yield from _compared(first, part.function, others)
        elif isinstance(others[0], InputRef):
            yield from _compared(others[0], _TURNED[part.function], [first])


def _compared(
    column: InputRef, operator: str, others: Sequence[Expression]
) -> Iterator[Comparison]:
    values = [_value(each, column) for each in others]
    if values and None not in values:
        assert operator in get_args(Operator)
        yield Comparison(column.name, operator, tuple(values))  # type: ignore[arg-type]


def _value(expression: Expression, column: InputRef) -> Any:
    """The constant as Python object, None if it is none or of a type that sources order otherwise."""
    if not isinstance(expression, Literal) or expression.value is None:
        return None
    root, other = column.type.root, expression.type.root
    if root in _WHOLE and other in _WHOLE:
        return expression.value
    if root == other == "VARCHAR" or (root == "VARCHAR" and other == "CHAR"):
        return expression.value
    if root == other == "DATE":
        return _BEGIN.date() + datetime.timedelta(days=expression.value)
    if root == other == "TIMESTAMP_WITHOUT_TIME_ZONE" and expression.value % 1_000 == 0:
        return _BEGIN + datetime.timedelta(microseconds=expression.value // 1_000)
    return None
