"""Tables with only those columns, and fields of columns, that a job reads.

A connector that says so with ``prunes`` gets a narrowed entry, and reads its stored columns only.
Others read all columns; the job drops what it does not need behind them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from millstream.table.expressions.tree import Expression, InputRef
from millstream.table.logical.entries import TableColumn, TableEntry
from millstream.table.rules.conditions import paths_of, substituted
from millstream.table.types.logical import LogicalType, RowType

__all__ = ["Path", "narrowed"]

Path = tuple[int, ...]
"""The places of a field in a column, from the outside; the empty path is the whole column."""


def narrowed(entry: TableEntry, wanted: Mapping[str, Iterable[Path]]) -> TableEntry:
    """The table without what is not wanted.

    The column of the watermark and the primary key stay, and what computed columns are made of.
    """
    paths = {name: set(given) for name, given in wanted.items()}
    mark = entry.watermark
    whole = entry.primary_key if mark is None else (*entry.primary_key, mark.column)
    for name in whole:
        paths.setdefault(name, set()).add(())
    if mark is not None:
        _add_paths(paths, mark.expression, entry.columns)
    for each in entry.columns:
        if each.name in paths and each.expression is not None:
            _add_paths(paths, each.expression, entry.stored)
    columns = tuple(
        _partial(each, paths[each.name]) for each in entry.columns if each.name in paths
    )
    if columns == entry.columns:
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


def _add_paths(
    paths: dict[str, set[Path]], expression: Expression, columns: Sequence[TableColumn]
) -> None:
    for column, *fields in paths_of(expression):
        paths.setdefault(columns[column].name, set()).add(tuple(fields))


def _partial(column: TableColumn, paths: Iterable[Path]) -> TableColumn:
    found = _with_fields(column.type, paths)
    return column if found == column.type else replace(column, read_type=found)


def _with_fields(kind: LogicalType, paths: Iterable[Path]) -> LogicalType:
    """A type with those fields of rows only that paths lead to."""
    inner: dict[int, list[Path]] = {}
    for path in paths:
        if not path or not isinstance(kind, RowType):
            return kind
        inner.setdefault(path[0], []).append(path[1:])
    assert isinstance(kind, RowType)
    kept = [(kind.fields[place], inner[place]) for place in sorted(inner)]
    return replace(
        kind,
        fields=tuple(replace(each, type=_with_fields(each.type, below)) for each, below in kept),
    )


def _over(
    expression: Expression, before: Sequence[TableColumn], after: Sequence[TableColumn]
) -> Expression:
    """An expression over columns of which some have gone."""
    places = {each.name: at for at, each in enumerate(after)}

    def change(ref: InputRef) -> Expression:
        return replace(ref, index=places[before[ref.index].name])

    return substituted(expression, change)
