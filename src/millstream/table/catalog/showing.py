"""SHOW and DESCRIBE."""

from __future__ import annotations

from typing import Any

from millstream.common.errors import PlanError
from millstream.table.catalog.errors import catalog_error
from millstream.table.catalog.manager import CatalogManager
from millstream.table.catalog.results import StatementResult, listed, table_of
from millstream.table.catalog.unsupported import not_supported
from millstream.table.expressions import kinds
from millstream.table.functions import FUNCTIONS
from millstream.table.logical.algebra import TablePath
from millstream.table.logical.entries import TableEntry, ViewEntry
from millstream.table.logical.problems import Problems, nearest
from millstream.table.sql import statements as ast
from millstream.table.sql.nodes import Identifier, Source, quoted_name

__all__ = ["describe", "full_name", "show", "show_create"]


def show(node: ast.Show, manager: CatalogManager, source: Source) -> StatementResult:
    """The rows of a SHOW statement."""
    what = node.what
    if what == "CATALOGS":
        return listed("catalog name", sorted(manager.catalogs), node)
    if what == "CURRENT CATALOG":
        return table_of(["current catalog name"], [[manager.current_catalog]])
    if what == "CURRENT DATABASE":
        return table_of(["current database name"], [[manager.current_database]])
    if what == "DATABASES":
        name = node.name.names[0] if node.name else manager.current_catalog
        return listed("database name", manager.catalog_named(name).database_names(), node)
    if what in ("TABLES", "VIEWS"):
        return _tables(node, manager)
    if what in ("FUNCTIONS", "USER FUNCTIONS"):
        words = [each.lower() for each in FUNCTIONS if each.replace("_", "").isalnum()]
        names = set(manager.function_names()) | (set(words) if what == "FUNCTIONS" else set())
        return listed("function name", sorted(names), node)
    if what in ("MODULES", "FULL MODULES"):
        if what == "MODULES":
            return listed("module name", manager.used_modules, node)
        rows = [[each, each in manager.used_modules] for each in manager.modules]
        return table_of(["module name", "used"], rows, [kinds.STRING, kinds.BOOLEAN])
    if what == "COLUMNS":
        return _columns(_found(manager, node.name), node)
    if what in ("CREATE TABLE", "CREATE VIEW"):
        entry = _found(manager, node.name)
        kind = "VIEW" if isinstance(entry, ViewEntry) else "TABLE"
        if not what.endswith(kind):
            message = f"{entry.path} is a {kind.lower()}"
            raise catalog_error("UNKNOWN_TABLE", message, f"write SHOW CREATE {kind}")
        return table_of(["result"], [[show_create(entry)]])
    if what == "CREATE CATALOG":
        return table_of(["result"], [[_create_catalog(manager, node)]])
    if what == "PARTITIONS":
        return table_of(["partition name"], [])
    if what == "JARS":
        return table_of(["jars"], [])
    raise not_supported(f"SHOW {what}", Problems(source), node)


def _tables(node: ast.Show, manager: CatalogManager) -> StatementResult:
    catalog, database = manager.current_catalog, manager.current_database
    if node.name is not None:
        catalog, database = manager.database_path(node.name.names)
    manager.database_named(catalog, database)
    views = node.what == "VIEWS"
    entries = [
        each.path.name
        for each in manager.tables(catalog, database)
        if not views or isinstance(each, ViewEntry)
    ]
    return listed("view name" if views else "table name", entries, node)


def _found(manager: CatalogManager, name: Any) -> TableEntry | ViewEntry:
    found = manager.find_table(name.names)
    if found is None:
        raise manager.no_such_table(name.names, "table", "")
    return found


def describe(node: ast.Describe, manager: CatalogManager, source: Source) -> StatementResult:
    """The rows of a DESCRIBE statement."""
    if node.kind == "TABLE":
        return _columns(_found(manager, node.name), None)
    if node.kind == "CATALOG":
        name = str(node.name)
        catalog = manager.catalog_named(name)
        rows = [["name", name], ["type", catalog.options.get("type", "generic_in_memory")]]
        rows.append(["comment", catalog.comment or ""])
        if node.extended:
            rows += [[f"option:{k}", v] for k, v in sorted(catalog.options.items()) if k != "type"]
        return table_of(["info name", "info value"], rows)
    if node.kind == "FUNCTION":
        return table_of(["info name", "info value"], _function_rows(node, manager))
    if node.kind == "DATABASE":
        catalog_name, name = manager.database_path(node.name.names)  # type: ignore[union-attr]
        database = manager.database_named(catalog_name, name)
        rows = [["name", name], ["comment", database.comment or ""]]
        if node.extended:
            rows += [[key, value] for key, value in database.options.items()]
        return table_of(["info name", "info value"], rows)
    raise not_supported(f"DESCRIBE {node.kind}", Problems(source), node)


def _function_rows(node: ast.Describe, manager: CatalogManager) -> list[list[str]]:
    """The facts about a function: one of the user, or else a built-in one."""
    names = node.name.names if isinstance(node.name, Identifier) else (node.name,)
    user, built_in = manager.find_function(names), FUNCTIONS.get(names[-1].upper())
    if user is not None:
        rows = [_truth("is system function", user.system), _truth("is temporary", user.temporary)]
        details = [["kind", user.kind.upper()], _truth("is deterministic", user.deterministic)]
        details += [["class name", user.class_name]] if user.class_name else []
        details += [["function language", user.language or "PYTHON"]]
    elif built_in is not None:
        rows = [_truth("is system function", True), _truth("is temporary", False)]
        details = [
            ["kind", "AGGREGATE" if built_in.aggregate else "SCALAR"],
            _truth("is deterministic", built_in.deterministic),
        ]
        details += [["signature", built_in.syntax]]
    else:
        known = [*manager.function_names(), *(each.lower() for each in FUNCTIONS)]
        close = nearest(names[-1], known)
        hint = f"did you mean {close[0]}?" if close else "SHOW FUNCTIONS lists all"
        raise catalog_error("UNKNOWN_FUNCTION", f"there is no function {node.name}", hint)
    return rows + details if node.extended else rows


def _truth(name: str, value: bool) -> list[str]:
    return [name, str(value).lower()]


def _columns(entry: TableEntry | ViewEntry, node: Any) -> StatementResult:
    from millstream.table.catalog.results import fits

    rows = []
    comments = False
    shown = entry.declared or entry if isinstance(entry, ViewEntry) else entry
    key = f"PRI({', '.join(shown.primary_key)})" if isinstance(shown, TableEntry) else ""
    for field in entry.row_type.fields:
        extras = mark = comment = None
        in_key = False
        if isinstance(shown, TableEntry):
            column = next(each for each in shown.columns if each.name == field.name)
            extras, comment = _extras(column), column.comment
            in_key = field.name in shown.primary_key
            if shown.watermark is not None and shown.watermark.column == field.name:
                mark = shown.watermark.text
        comments = comments or comment is not None
        kind = field.type.with_nullability(True).as_summary()
        row = [
            field.name,
            kind,
            field.type.nullable,
            key if in_key else None,
            extras,
            mark,
            comment,
        ]
        if node is None or fits(field.name, node):
            rows.append(row)
    names = ["name", "type", "null", "key", "extras", "watermark", "comment"]
    types = [kinds.STRING, kinds.STRING, kinds.BOOLEAN, *[kinds.STRING] * 4]
    size = 7 if comments else 6
    return table_of(names[:size], [row[:size] for row in rows], types[:size])


def _extras(column: Any) -> str | None:
    if column.kind == "computed":
        return f"AS {column.text}"
    if column.kind == "metadata":
        source = f" FROM '{column.metadata_key}'" if column.metadata_key else ""
        return f"METADATA{source}{' VIRTUAL' if column.virtual else ''}"
    return None


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def show_create(entry: TableEntry | ViewEntry) -> str:
    """The statement that makes a table or view again."""
    path = full_name(entry.path)
    temporary = "TEMPORARY " if entry.temporary else ""
    if isinstance(entry, ViewEntry):
        if entry.relation is not None:
            message = (
                f"the view {entry.path.name} was made by the Table API, and has no text of SQL"
            )
            raise PlanError("NOT_SUPPORTED", message, hint=f"use DESCRIBE {entry.path.name}")
        names = ",\n".join(f"  {quoted_name(each.name)}" for each in entry.row_type.fields)
        comment = f"\nCOMMENT {_text(entry.comment)}" if entry.comment else ""
        return f"CREATE {temporary}VIEW {path} (\n{names}\n){comment}\nAS {entry.sql}\n"
    lines = [_column_text(each) for each in entry.columns]
    if entry.watermark is not None:
        lines.append(
            f"WATERMARK FOR {quoted_name(entry.watermark.column)} AS {entry.watermark.text}"
        )
    if entry.primary_key:
        keys = ", ".join(f"{quoted_name(each)}" for each in entry.primary_key)
        lines.append(
            f"CONSTRAINT {quoted_name(entry.primary_key_name or '')} PRIMARY KEY ({keys}) NOT ENFORCED"
        )
    text = f"CREATE {temporary}TABLE {path} (\n" + ",\n".join(f"  {each}" for each in lines) + "\n)"
    if entry.comment:
        text += f"\nCOMMENT {_text(entry.comment)}"
    if entry.distribution is not None:
        text += f"\n{_distribution_text(*entry.distribution)}"
    if entry.partition_keys:
        text += f"\nPARTITIONED BY ({_names(entry.partition_keys)})"
    options = [f"  {_text(key)} = {_text(value)}" for key, value in sorted(entry.options)]
    return text + ("\nWITH (\n" + ",\n".join(options) + "\n)" if options else "") + "\n"


def full_name(path: TablePath) -> str:
    """The name of a table with its catalog and database."""
    return ".".join(map(quoted_name, (path.catalog, path.database, path.name)))


def _names(columns: tuple[str, ...]) -> str:
    return ", ".join(map(quoted_name, columns))


def _distribution_text(kind: str | None, columns: tuple[str, ...], buckets: int | None) -> str:
    by = f" BY {kind or ''}({_names(columns)})" if columns else ""
    return f"DISTRIBUTED{by}" + (f" INTO {buckets} BUCKETS" if buckets else "")


def _column_text(column: Any) -> str:
    from millstream.table.logical.typing_rules import plain_type

    comment = f" COMMENT {_text(column.comment)}" if column.comment else ""
    if column.kind == "computed":
        return f"{quoted_name(column.name)} AS {column.text}{comment}"
    extras = _extras(column)
    kind = plain_type(column.type).as_serializable()
    return f"{quoted_name(column.name)} {kind}{' ' + extras if extras else ''}{comment}"


def _create_catalog(manager: CatalogManager, node: ast.Show) -> str:
    if node.name is None:
        raise PlanError("UNKNOWN_CATALOG", "SHOW CREATE CATALOG needs a name")
    catalog = manager.catalog_named(node.name.names[0])
    pairs = ",\n".join(f"  {_text(k)} = {_text(v)}" for k, v in sorted(catalog.options.items()))
    comment = f"\nCOMMENT {_text(catalog.comment)}" if catalog.comment else ""
    return f"CREATE CATALOG {quoted_name(catalog.name)}{comment}\nWITH (\n{pairs}\n)\n"
