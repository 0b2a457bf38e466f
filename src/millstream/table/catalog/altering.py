"""ALTER TABLE: the table after the change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millstream.table.catalog.errors import catalog_error
from millstream.table.catalog.manager import CatalogManager
from millstream.table.catalog.tables import TableBuilder
from millstream.table.logical.entries import TableEntry
from millstream.table.logical.problems import nearest
from millstream.table.sql import statements as ast
from millstream.table.sql.nodes import Source

__all__ = ["alter_table"]


def alter_table(
    old: TableEntry, action: Any, manager: CatalogManager, source: Source
) -> TableEntry:
    """The table after an action that is no renaming of it."""
    builder = _opened(old, manager, source)
    if isinstance(action, ast.SetOptions):
        builder.options.update({each.key: each.value for each in action.options})
    elif isinstance(action, ast.ResetOptions):
        for key in action.keys:
            builder.options.pop(key, None)
    elif isinstance(action, ast.AddColumns):
        _add(builder, action)
    elif isinstance(action, ast.DropColumns):
        for each in action.columns:
            _drop(builder, str(each))
    elif isinstance(action, ast.RenameColumn):
        _rename(builder, str(action.old), str(action.new))
    elif isinstance(action, ast.DropPart):
        if action.part == "WATERMARK":
            builder.watermark = None
        elif action.part == "DISTRIBUTION":
            builder.distribution = None
        else:
            builder.primary_key, builder.primary_key_name = (), None
    elif isinstance(action, ast.DropConstraint):
        if action.name.text != old.primary_key_name:
            raise catalog_error("UNKNOWN_CONSTRAINT", f"there is no constraint {action.name.text}")
        builder.primary_key, builder.primary_key_name = (), None
    else:
        raise catalog_error("NOT_SUPPORTED", "partitions of tables in memory cannot be changed")
    return builder.finish(old.path, comment=old.comment, temporary=old.temporary, source=old.source)


def _opened(old: TableEntry, manager: CatalogManager, source: Source) -> TableBuilder:
    """The parts of a table; computed columns are bound again, over the new columns."""
    builder = TableBuilder(manager, source, options=dict(old.options))
    builder.primary_key, builder.primary_key_name = old.primary_key, old.primary_key_name
    builder.partition_keys, builder.distribution = old.partition_keys, old.distribution
    if old.watermark is not None:
        builder.copy_watermark(old.watermark)
    for each in old.columns:
        builder.copy_column(each)
    return builder


def _place(builder: TableBuilder, name: str) -> int:
    names = [each.name for each in builder.columns]
    if name not in names:
        close = nearest(name, names)
        hint = f"did you mean {close[0]}?" if close else f"its columns are {', '.join(names)}"
        raise catalog_error("UNKNOWN_COLUMN", f"there is no column {name}", hint)
    return names.index(name)


def _add(builder: TableBuilder, action: ast.AddColumns) -> None:
    for position in action.columns:
        name = str(position.column.name)
        if action.modify:
            _place(builder, name)
        made = builder.add(position.column, replacing=action.modify)
        if position.place is not None:
            builder.columns.remove(made)
            after = position.after
            at = (
                0 if position.place == "FIRST" or after is None else _place(builder, str(after)) + 1
            )
            builder.columns.insert(at, made)
    for constraint in action.constraints:
        if action.modify:
            builder.primary_key = ()
        builder.key(constraint, tuple(each.text for each in constraint.columns))
    if action.watermark is not None:
        mark = action.watermark
        if builder.watermark is not None and not action.modify:
            raise catalog_error(
                "DUPLICATE_WATERMARK", "the table has a watermark already", "MODIFY it"
            )
        text = builder.text(mark.value)
        builder.watermark = (str(mark.column), mark.value, text, builder.source)
    if action.distribution is not None:
        spread = action.distribution
        names = tuple(each.text for each in spread.columns)
        builder.distribution = (spread.kind, names, spread.buckets)


def _drop(builder: TableBuilder, name: str) -> None:
    at = _place(builder, name)
    used = {"the primary key": builder.primary_key, "the partition keys": builder.partition_keys}
    if builder.watermark is not None:
        used["the watermark"] = (builder.watermark[0],)
    for owner, names in used.items():
        if name in names:
            raise catalog_error("COLUMN_IN_USE", f"{owner} needs column {name}", "drop that first")
    del builder.columns[at]
    builder.computed.pop(name, None)


def _rename(builder: TableBuilder, old: str, new: str) -> None:
    at = _place(builder, old)
    if any(each.name == new for each in builder.columns):
        raise catalog_error("DUPLICATE_COLUMN", f"there is a column {new} already")
    builder.columns[at] = replace(builder.columns[at], name=new)
    if old in builder.computed:
        builder.computed[new] = builder.computed.pop(old)
    builder.primary_key = tuple(new if each == old else each for each in builder.primary_key)
    keys = builder.partition_keys
    builder.partition_keys = tuple(new if each == old else each for each in keys)
    if builder.watermark is not None and builder.watermark[0] == old:
        message = f"the watermark needs column {old}"
        raise catalog_error("COLUMN_IN_USE", message, "drop the watermark first")
