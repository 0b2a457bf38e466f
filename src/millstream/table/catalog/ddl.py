"""Statements that change or show catalogs and options: effect and result.

`execute_ddl(statement, manager, sql)` gives a `StatementResult`, or None for a statement that is not
its own: queries, INSERT, EXPLAIN and those that run jobs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from millstream.common.errors import PlanError
from millstream.table.catalog.altering import alter_table, reset_options
from millstream.table.catalog.errors import catalog_error
from millstream.table.catalog.manager import Catalog, CatalogManager, Database
from millstream.table.catalog.option_names import warn_of_name
from millstream.table.catalog.python_functions import entry_at
from millstream.table.catalog.results import OK, StatementResult, table_of
from millstream.table.catalog.showing import describe, full_name, show
from millstream.table.catalog.tables import build_table
from millstream.table.catalog.unsupported import not_supported
from millstream.table.logical.binder import bind_in, bind_query, binder_context
from millstream.table.logical.entries import FunctionEntry, TableEntry, ViewEntry
from millstream.table.logical.problems import Problems, nearest
from millstream.table.logical.relation_binder import renamed
from millstream.table.sql import statements as ast
from millstream.table.sql.errors import SqlError
from millstream.table.sql.expressions import ColumnRef, Star
from millstream.table.sql.nodes import Identifier, Source, Span
from millstream.table.sql.queries import Query, Select, SetOperation
from millstream.table.types.logical import RowField

__all__ = ["execute_ddl"]

_CATALOGS = {"spark": "millstream.table.connectors.spark_catalog"}
"""Modules of catalogs of other kinds, by the option ``type``; each has ``make_catalog``."""


def execute_ddl(
    statement: Any, manager: CatalogManager, sql: str | Source
) -> StatementResult | None:
    """Run a statement of DDL; CREATE TABLE AS only makes the table here, see its ``query``."""
    handler = _HANDLERS.get(type(statement))
    if handler is None:
        if isinstance(statement, ast.Unsupported):
            raise not_supported(statement.feature, Problems(_source(sql)), statement)
        return None
    source = _source(sql)
    try:
        return handler(statement, manager, source)
    except SqlError:
        raise
    except PlanError as error:
        place = getattr(error, "node", None) or getattr(statement, "name", None)
        node = place if hasattr(place, "span") else statement
        raise Problems(source).error(error.code, error.message, node, error.hint) from None


def _source(sql: str | Source) -> Source:
    return Source(sql) if isinstance(sql, str) else sql


def _create_table(
    node: ast.CreateTable, manager: CatalogManager, source: Source
) -> StatementResult:
    path = manager.path(node.name.names)
    known = manager.find_table(node.name.names)
    if known is not None and node.if_not_exists:
        return OK
    if node.replace and not node.creates and known is None:
        raise catalog_error("UNKNOWN_TABLE", f"there is no table {path} to replace")
    query = None if node.query is None else bind_query(node.query, manager, source)
    entry = build_table(node, manager, source, path, query)
    manager.add_table(entry, if_not_exists=node.if_not_exists, replacing=node.replace)
    return OK


def _create_view(node: ast.CreateView, manager: CatalogManager, source: Source) -> StatementResult:
    path = manager.path(node.name.names)
    names = tuple(each.text for each in node.columns)
    entry = _view(node.query, manager, source, path, names, node)
    entry = replace(entry, comment=node.comment, temporary=node.temporary)
    manager.add_table(entry, if_not_exists=node.if_not_exists, replacing=node.replace)
    return OK


def _view(
    query: Any,
    manager: CatalogManager,
    source: Source,
    path: Any,
    names: tuple[str, ...],
    node: Any,
) -> ViewEntry:
    context = binder_context(manager, source)
    relation = bind_in(context, query)
    written = names or _written_names(query, relation.row_type.fields)
    _check_names(written, source, node)
    if names:
        if len(names) != len(relation.row_type.fields):
            count = len(relation.row_type.fields)
            message = f"the view names {len(names)} columns, and its query has {count}"
            raise Problems(source).error("COLUMN_COUNT", message, node.name, "name all columns")
        relation = renamed(relation, names)
    text = _with_full_names(source.text, query.span, context.found)
    return ViewEntry(
        path,
        relation.row_type,
        query,
        text,
        source,
        names,
        manager.current_catalog,
        manager.current_database,
    )


def _with_full_names(text: str, span: Span, found: dict[int, tuple[Identifier, Any]]) -> str:
    """The text of a query with catalogs and databases at its tables: it can run in any database."""
    parts, at = [], span.start
    for start in sorted(found):
        name, path = found[start]
        parts += [text[at:start], full_name(path)]
        at = name.span.stop
    return "".join([*parts, text[at : span.stop]])


def _check_names(names: Sequence[str], source: Source, node: Any) -> None:
    """Two columns of one name could not be told apart by who reads the view."""
    name, most = Counter(names).most_common(1)[0] if names else ("", 0)
    if most > 1:
        message = f"the view has two columns {name}"
        hint = f"give one another name: {name} AS ..., or name all columns behind the view"
        raise Problems(source).error("DUPLICATE_COLUMN", message, node.name, hint)


def _written_names(query: Query, fields: Sequence[RowField]) -> list[str]:
    """The names of the columns of a query as it has them; the binder numbers equal ones."""
    body: Any = query
    while isinstance(body, Query | SetOperation):
        body = body.body if isinstance(body, Query) else body.left
    if not isinstance(body, Select):
        return []
    stars = sum(isinstance(item.value, Star) for item in body.items)
    names: list[str] = []
    for item in body.items:
        known = [field.name for field in fields[len(names) :]]
        if isinstance(item.value, Star):
            # Which columns belong to which of several stars is not known here.
            count = len(fields) - len(body.items) + 1 if stars == 1 else 0
            names += known[:count]
        elif item.alias is not None:
            names.append(item.alias.text)
        elif isinstance(item.value, ColumnRef):
            names.append(item.value.name.names[-1])
    return names


def _alter_view(node: ast.AlterView, manager: CatalogManager, source: Source) -> StatementResult:
    old = manager.find_table(node.name.names)
    if not isinstance(old, ViewEntry):
        raise manager.no_such_table(node.name.names, "view", "ALTER TABLE")
    if node.query is not None:
        made = _view(node.query, manager, source, old.path, (), node)
        made = replace(made, temporary=old.temporary, comment=old.comment)
        manager.add_table(made, replacing=True)
        return OK
    assert node.new_name is not None
    path = manager.path(node.new_name.names)
    manager.add_table(replace(old, path=path))
    manager.drop_table(old.path, view=True, temporary=old.temporary)
    return OK


def _alter_table(node: ast.AlterTable, manager: CatalogManager, source: Source) -> StatementResult:
    old = manager.find_table(node.name.names)
    if old is None and node.if_exists:
        return OK
    if not isinstance(old, TableEntry):
        raise manager.no_such_table(node.name.names, "table", "ALTER VIEW")
    if isinstance(node.action, ast.RenameTable):
        path = manager.path(node.action.name.names)
        manager.add_table(replace(old, path=path))
        manager.drop_table(old.path, view=False, temporary=old.temporary)
        return OK
    manager.add_table(alter_table(old, node.action, manager, source), replacing=True)
    return OK


def _drop(node: ast.Drop, manager: CatalogManager, source: Source) -> StatementResult:
    if node.kind in ("TABLE", "VIEW"):
        path = manager.path(node.name.names)
        done = manager.drop_table(path, view=node.kind == "VIEW", temporary=node.temporary)
        if not done and not node.if_exists:
            raise _nothing_to_drop(node, manager)
    elif node.kind == "FUNCTION":
        path = manager.path(node.name.names)
        done = manager.drop_function(path, temporary=node.temporary, system=node.system)
        if not done and not node.if_exists:
            message = f"there is no function {node.name}"
            raise catalog_error("UNKNOWN_FUNCTION", message, "SHOW USER FUNCTIONS lists all")
    elif node.kind == "DATABASE":
        _drop_database(node, manager)
    else:
        _drop_catalog(node, manager)
    return OK


def _nothing_to_drop(node: ast.Drop, manager: CatalogManager) -> PlanError:
    found = manager.find_table(node.name.names)
    temporary = "TEMPORARY " if found is not None and found.temporary else ""
    kind = "VIEW" if isinstance(found, ViewEntry) else "TABLE"
    other = f"DROP {temporary}{kind}" if found is not None else f"DROP {node.kind} IF EXISTS"
    what = f"temporary {node.kind.lower()}" if node.temporary else node.kind.lower()
    return manager.no_such_table(node.name.names, what, other, default=f"write {other}")


def _drop_database(node: ast.Drop, manager: CatalogManager) -> None:
    catalog, name = manager.database_path(node.name.names)
    owner = manager.catalog_named(catalog)
    if not owner.has_database(name):
        if node.if_exists:
            return
        manager.database_named(catalog, name)
    if (catalog, name) == (manager.current_catalog, manager.current_database):
        message = f"{name} is the current database"
        raise catalog_error("DATABASE_IN_USE", message, "USE another one first")
    if owner.databases[name].tables and not node.cascade:
        hint = "write DROP DATABASE ... CASCADE"
        raise catalog_error("DATABASE_NOT_EMPTY", f"database {name} is not empty", hint)
    del owner.databases[name]


def _drop_catalog(node: ast.Drop, manager: CatalogManager) -> None:
    name = node.name.names[0]
    if name not in manager.catalogs and node.if_exists:
        return
    manager.catalog_named(name)
    if name == manager.current_catalog:
        hint = "USE CATALOG another one first"
        raise catalog_error("CATALOG_IN_USE", f"{name} is the current catalog", hint)
    del manager.catalogs[name]


def _create_database(node: Any, manager: CatalogManager, source: Source) -> StatementResult:
    catalog, name = manager.database_path(node.name.names)
    owner = manager.catalog_named(catalog)
    if owner.has_database(name):
        if not node.if_not_exists:
            hint = "write CREATE DATABASE IF NOT EXISTS"
            raise catalog_error("DATABASE_EXISTS", f"there is a database {name} already", hint)
        return OK
    options = {each.key: each.value for each in node.options}
    owner.databases[name] = Database(name, options=options, comment=node.comment)
    return OK


def _create_catalog(node: Any, manager: CatalogManager, source: Source) -> StatementResult:
    options = {each.key: each.value for each in node.options}
    kind, name = options.get("type"), node.name.text
    _check_catalog_options(kind or "", options)
    if kind in _CATALOGS:
        made = import_module(_CATALOGS[kind]).make_catalog(name, options, node.comment)
    elif kind == "generic_in_memory":
        default = options.get("default-database", "default")
        made = Catalog(name, {default: Database(default)}, options, node.comment, default)
    else:
        message = f"there is no catalog of type {kind}" if kind else "the option type is missing"
        hint = "write 'type' = 'generic_in_memory', or 'type' = 'spark' for the tables of Spark"
        raise catalog_error("CATALOG_TYPE", message, hint)
    manager.add_catalog(made, node.if_not_exists)
    return OK


def _check_catalog_options(kind: str, options: dict[str, str]) -> None:
    known = ("type", "default-database", "property-version")
    for key in options:
        if key not in known and kind:
            close = nearest(key, known)
            hint = f"did you mean {close[0]}?" if close else f"the options are {', '.join(known)}"
            message = f"a catalog of type {kind} has no option {key}"
            raise catalog_error("TABLE_OPTION", message, hint)


def _create_function(node: Any, manager: CatalogManager, source: Source) -> StatementResult:
    path = manager.path(node.name.names)
    manager.add_function(path, _function(node), if_not_exists=node.if_not_exists)
    return OK


def _alter_function(
    node: ast.AlterFunction, manager: CatalogManager, source: Source
) -> StatementResult:
    if node.temporary:
        message = "a temporary function cannot be altered"
        raise catalog_error("NOT_SUPPORTED", message, "DROP TEMPORARY FUNCTION, then CREATE it")
    path = manager.path(node.name.names)
    if not manager.drop_function(path, temporary=False, system=False):
        if node.if_exists:
            return OK
        hint = "SHOW USER FUNCTIONS lists all"
        raise catalog_error("UNKNOWN_FUNCTION", f"there is no function {node.name}", hint)
    manager.add_function(path, _function(node))
    return OK


def _function(node: ast.CreateFunction | ast.AlterFunction) -> FunctionEntry:
    """The function that a statement names; one in Python has to be there."""
    name = node.name.names[-1]
    if node.language == "PYTHON":
        return entry_at(node.class_name, name, temporary=node.temporary, system=node.system)
    return FunctionEntry(
        name,
        "scalar",
        class_name=node.class_name,
        language=node.language,
        temporary=node.temporary,
        system=node.system,
    )


def _alter_database(node: Any, manager: CatalogManager, source: Source) -> StatementResult:
    database = manager.database_named(*manager.database_path(node.name.names))
    database.options.update({each.key: each.value for each in node.options})
    return OK


def _alter_catalog(node: Any, manager: CatalogManager, source: Source) -> StatementResult:
    catalog = manager.catalog_named(node.name.text)
    if isinstance(node.action, ast.SetOptions):
        changed = {each.key: each.value for each in node.action.options}
        if "type" in changed:
            message = "ALTER CATALOG ... SET cannot change the type"
            raise catalog_error("CATALOG_TYPE", message, "drop it, and create another one")
        _check_catalog_options(catalog.options.get("type", ""), changed)
        catalog.options.update(changed)
    elif isinstance(node.action, ast.ResetOptions):
        reset_options(catalog.options, node.action.keys, "ALTER CATALOG", "type")
    else:
        catalog.comment = node.comment
    return OK


def _use(node: ast.Use, manager: CatalogManager, source: Source) -> StatementResult:
    if node.kind == "CATALOG":
        manager.use_catalog(node.name.names[0])
    else:
        manager.use_database(node.name.names)
    return OK


def _set(node: ast.SetOption, manager: CatalogManager, source: Source) -> StatementResult:
    if node.key is None:
        pairs = [[key, value] for key, value in sorted(manager.options.items())]
        return table_of(["key", "value"], pairs)
    warn_of_name(node.key)
    manager.options[node.key] = node.value or ""
    return OK


def _reset(node: ast.Reset, manager: CatalogManager, source: Source) -> StatementResult:
    if node.key is None:
        manager.options.clear()
    else:
        manager.options.pop(node.key, None)
    return OK


_HANDLERS: dict[type, Callable[[Any, CatalogManager, Source], StatementResult]] = {
    ast.CreateTable: _create_table,
    ast.CreateView: _create_view,
    ast.CreateDatabase: _create_database,
    ast.CreateCatalog: _create_catalog,
    ast.CreateFunction: _create_function,
    ast.AlterTable: _alter_table,
    ast.AlterView: _alter_view,
    ast.AlterDatabase: _alter_database,
    ast.AlterCatalog: _alter_catalog,
    ast.AlterFunction: _alter_function,
    ast.Drop: _drop,
    ast.Use: _use,
    ast.SetOption: _set,
    ast.Reset: _reset,
    ast.Show: show,
    ast.Describe: describe,
}
