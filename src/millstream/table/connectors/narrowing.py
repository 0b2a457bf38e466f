"""Tables with only those columns that a job reads.

A connector that says so with ``prunes`` gets a narrowed entry, and reads its stored columns only.
Others read all columns; the job drops what it does not need behind them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from millstream.table.expressions.tree import Expression, InputRef
from millstream.table.logical.entries import TableColumn, TableEntry
from millstream.table.rules.conditions import columns_of, substituted

__all__ = ["narrowed"]


def narrowed(entry: TableEntry, wanted: Collection[str]) -> TableEntry:
    """The table without columns that are not wanted.

    The column of the watermark and the primary key stay, and what computed columns are made of.
    """
    names = {*wanted, *entry.primary_key}
    mark = entry.watermark
    if mark is not None:
        names |= {mark.column, *_read_by(mark.expression, entry.columns)}
    for each in entry.columns:
        if each.name in names and each.expression is not None:
            names |= _read_by(each.expression, entry.stored)
    columns = tuple(each for each in entry.columns if each.name in names)
    if len(columns) == len(entry.columns):
        return entry
    stored = [each for each in columns if each.kind != "computed"]
    made = tuple(
        each
        if each.expression is None
        else replace(each, expression=_over(each.expression, entry.stored, stored))
        for each in columns
    )
    if mark is not None:
        mark = replace(mark, expression=_over(mark.expression, entry.columns, columns))
    return replace(entry, columns=made, watermark=mark)


def _read_by(expression: Expression, columns: Sequence[TableColumn]) -> set[str]:
    return {columns[each].name for each in columns_of(expression)}


def _over(
    expression: Expression, before: Sequence[TableColumn], after: Sequence[TableColumn]
) -> Expression:
    """An expression over columns of which some have gone."""
    places = {each.name: at for at, each in enumerate(after)}

    def change(ref: InputRef) -> Expression:
        return replace(ref, index=places[before[ref.index].name])

    return substituted(expression, change)
