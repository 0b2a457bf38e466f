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
from millstream.table.sql.expressions import ColumnRef
from millstream.table.sql.nodes import Identifier, Source

__all__ = ["alter_table", "reset_options"]


def alter_table(
    old: TableEntry, action: Any, manager: CatalogManager, source: Source
) -> TableEntry:
    """The table after an action that is no renaming of it."""
    builder = _opened(old, manager, source)
    if isinstance(action, ast.SetOptions):
        builder.options.update({each.key: each.value for each in action.options})
    elif isinstance(action, ast.ResetOptions):
        reset_options(builder.options, action.keys, "ALTER TABLE", "connector")
    elif isinstance(action, ast.AddColumns):
        _add(builder, action)
    elif isinstance(action, ast.DropColumns):
        for each in action.columns:
            _drop(builder, each)
    elif isinstance(action, ast.RenameColumn):
        _rename(builder, action.old, action.new)
    elif isinstance(action, ast.DropPart):
        _drop_part(builder, action.part)
    elif isinstance(action, ast.DropConstraint):
        if action.name.text != old.primary_key_name:
            key = old.primary_key_name
            hint = f"its primary key is the constraint {key}" if key else "it has no primary key"
            message = f"there is no constraint {action.name.text}"
            raise catalog_error("UNKNOWN_CONSTRAINT", message, hint, action.name)
        builder.primary_key, builder.primary_key_name = (), None
    else:
        hint = "partitions come with the rows that are written, and go with their files"
        raise catalog_error("NOT_SUPPORTED", "ALTER TABLE cannot add or drop partitions", hint)
    return builder.finish(old.path, comment=old.comment, temporary=old.temporary, source=old.source)


def reset_options(
    options: dict[str, str], keys: tuple[str, ...], statement: str, kept: str
) -> None:
    """Take options away; the one that says what kind of thing this is has to stay."""
    if not keys:
        message = f"{statement} ... RESET names no option"
        raise catalog_error("TABLE_OPTION", message, "write RESET ('key')")
    if kept in keys:
        message = f"{statement} ... RESET cannot take the option {kept} away"
        raise catalog_error("TABLE_OPTION", message, "drop it, and create another one")
    for key in keys:
        options.pop(key, None)


def _drop_part(builder: TableBuilder, part: str) -> None:
    """DROP WATERMARK, DROP DISTRIBUTION or DROP PRIMARY KEY."""
    found = {"WATERMARK": builder.watermark, "DISTRIBUTION": builder.distribution}
    if not found.get(part, builder.primary_key):
        hint = "SHOW CREATE TABLE shows what the table has"
        raise catalog_error("NOTHING_TO_DROP", f"the table has no {part}", hint)
    if part == "WATERMARK":
        builder.watermark = None
    elif part == "DISTRIBUTION":
        builder.distribution = None
    else:
        builder.primary_key, builder.primary_key_name = (), None


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


def _place(builder: TableBuilder, column: Identifier) -> int:
    name = str(column)
    names = [each.name for each in builder.columns]
    if name not in names:
        close = nearest(name, names)
        hint = f"did you mean {close[0]}?" if close else f"its columns are {', '.join(names)}"
        raise catalog_error("UNKNOWN_COLUMN", f"there is no column {name}", hint, column)
    return names.index(name)


def _check_unused(builder: TableBuilder, column: Identifier, hint: str) -> None:
    """Refuse to take a column away from a computed column or the watermark."""
    name = str(column)
    users = {f"the computed column {own}": node for own, (node, _) in builder.computed.items()}
    if builder.watermark is not None:
        users["the watermark"] = builder.watermark[1]
    for owner, node in users.items():
        if any(name in each.name.names for each in node.walk() if isinstance(each, ColumnRef)):
            message = f"{owner} needs column {name}"
            raise catalog_error("COLUMN_IN_USE", message, hint, column)


def _add(builder: TableBuilder, action: ast.AddColumns) -> None:
    for position in action.columns:
        old = builder.columns[_place(builder, position.column.name)] if action.modify else None
        made = builder.add(position.column, replacing=action.modify)
        if old is not None and made.comment is None:
            at = builder.columns.index(made)
            made = builder.columns[at] = replace(made, comment=old.comment)
        if position.place is not None:
            builder.columns.remove(made)
            after = position.after
            first = position.place == "FIRST"
            at = 0 if first or after is None else _place(builder, after) + 1
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


def _drop(builder: TableBuilder, column: Identifier) -> None:
    name, at = str(column), _place(builder, column)
    used = {"the primary key": builder.primary_key, "the partition keys": builder.partition_keys}
    if builder.watermark is not None:
        used["the watermark"] = (builder.watermark[0],)
    for owner, names in used.items():
        if name in names:
            message = f"{owner} needs column {name}"
            raise catalog_error("COLUMN_IN_USE", message, "drop that first", column)
    builder.computed.pop(name, None)
    _check_unused(builder, column, "drop that first")
    del builder.columns[at]


def _rename(builder: TableBuilder, column: Identifier, renamed: Identifier) -> None:
    old, new = str(column), str(renamed)
    at = _place(builder, column)
    if any(each.name == new for each in builder.columns):
        message = f"there is a column {new} already"
        raise catalog_error("DUPLICATE_COLUMN", message, "choose another name", renamed)
    if old in builder.partition_keys:
        message = f"the partition keys need column {old}"
        hint = "its values are names of folders: create another table"
        raise catalog_error("COLUMN_IN_USE", message, hint, column)
    if builder.watermark is not None and builder.watermark[0] == old:
        message = f"the watermark needs column {old}"
        raise catalog_error("COLUMN_IN_USE", message, "drop the watermark first", column)
    if old not in builder.computed:
        _check_unused(builder, column, "drop that first, and add it again with the new name")
    builder.columns[at] = replace(builder.columns[at], name=new)
    if old in builder.computed:
        builder.computed[new] = builder.computed.pop(old)
    builder.primary_key = tuple(new if each == old else each for each in builder.primary_key)
