"""A catalog of a session by methods, without SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from millstream.common.errors import PlanError
from millstream.table.catalog import manager as session
from millstream.table.catalog.ddl import execute_ddl
from millstream.table.catalog.python_functions import entry_at
from millstream.table.environment.absent import MODELS, absent, not_here
from millstream.table.environment.catalog_objects import (
    CatalogBaseTable,
    CatalogColumnStatistics,
    CatalogDatabase,
    CatalogFunction,
    CatalogTableStatistics,
    ObjectPath,
)
from millstream.table.environment.inserting import entry_of_descriptor
from millstream.table.environment.resolved_schema import ResolvedSchema
from millstream.table.fluent.expression_base import literal_text, quoted
from millstream.table.logical.algebra import TablePath
from millstream.table.logical.entries import TableEntry, ViewEntry
from millstream.table.schema import Schema
from millstream.table.sql.parser import parse
from millstream.table.table_descriptor import TableDescriptor

__all__ = ["Catalog", "HiveCatalog", "JdbcCatalog"]

_PARTITIONS = "partitions are folders of files; read and write them with SQL"
_STATISTICS = "there is no cost model; statistics would change nothing"
HiveCatalog: Any = absent(
    __name__,
    "HiveCatalog",
    "use the tables of Spark: CREATE CATALOG hive WITH ('type' = 'spark'), in a session with "
    "enableHiveSupport()",
)
JdbcCatalog: Any = absent(
    __name__,
    "JdbcCatalog",
    "declare its tables: CREATE TABLE t (...) WITH ('connector' = 'jdbc', 'url' = '...', "
    "'table-name' = '...')",
)


def _refused(what: str, instead: str) -> Callable[..., Any]:
    def method(self: Catalog, *args: Any, **kwargs: Any) -> Any:
        raise not_here(f"Catalog.{what}", instead)

    method.__name__ = what
    method.__doc__ = f"Refuse: {instead}."
    return method


class Catalog:
    """Databases, tables, views and functions of one catalog; see `TableEnvironment.get_catalog`.

    Temporary tables are not in a catalog, and not in its lists.

    Examples
    --------
    >>> from millstream.table import TableEnvironment
    >>> t_env = TableEnvironment.create()
    >>> _ = t_env.execute_sql("CREATE TABLE orders (id INT) WITH ('connector' = 'print')")
    >>> catalog = t_env.get_catalog("default_catalog")
    >>> catalog.list_tables("default_database")
    ['orders']
    """

    def __init__(self, names: session.CatalogManager, name: str) -> None:
        self._names = names
        self._catalog = names.catalog_named(name)

    # -- databases -------------------------------------------------------------------------------

    def get_default_database(self) -> str:
        """The name of the database that ``USE CATALOG`` makes the current one."""
        return self._catalog.default_database

    def list_databases(self) -> list[str]:
        """The names of all databases."""
        return self._catalog.database_names()

    def database_exists(self, database_name: str) -> bool:
        """Whether there is a database."""
        return self._catalog.has_database(database_name)

    def get_database(self, database_name: str) -> CatalogDatabase:
        """A database."""
        found = self._database(database_name)
        return CatalogDatabase(dict(found.options), found.comment)

    def create_database(
        self, name: str, database: CatalogDatabase, ignore_if_exists: bool = False
    ) -> None:
        """Make a database."""
        if self.database_exists(name):
            if ignore_if_exists:
                return
            message = f"there is a database {name} already"
            raise PlanError("DATABASE_EXISTS", message, hint="use another name")
        options = database.get_properties()
        made = session.Database(name, options=options, comment=database.comment)
        self._catalog.databases[name] = made

    def drop_database(self, name: str, ignore_if_exists: bool = False) -> None:
        """Drop a database that has no tables. ``ignore_if_exists``: it need not be there."""
        guard = "IF EXISTS " if ignore_if_exists else ""
        self._execute(f"DROP DATABASE {guard}{self._quoted(name)} RESTRICT")

    def alter_database(
        self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool = False
    ) -> None:
        """Give a database other properties."""
        if ignore_if_not_exists and not self.database_exists(name):
            return
        found = self._database(name)
        found.options, found.comment = new_database.get_properties(), new_database.comment

    # -- tables and views ------------------------------------------------------------------------

    def list_tables(self, database_name: str) -> list[str]:
        """The names of the tables and views of a database."""
        self._database(database_name)
        return self._catalog.table_names(database_name)

    def list_views(self, database_name: str) -> list[str]:
        """The names of the views of a database."""
        names = self.list_tables(database_name)
        find = self._catalog.find_table
        return [each for each in names if isinstance(find(database_name, each), ViewEntry)]

    def list_materialized_tables(self, database_name: str) -> list[str]:
        """An empty list: there are no materialized tables."""
        self._database(database_name)
        return []

    def table_exists(self, table_path: ObjectPath) -> bool:
        """Whether there is a table or view."""
        return self._find(table_path) is not None

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        """A table or view."""
        found = self._find(table_path)
        if found is None:
            raise _unknown("table", table_path)
        if isinstance(found, ViewEntry):
            columns = ResolvedSchema.of_row_type(found.row_type)
            schema = Schema.new_builder().from_resolved_schema(columns).build()
            return CatalogBaseTable(schema, {}, (), found.comment, found.sql)
        resolved = ResolvedSchema.of_table(found)
        schema = Schema.new_builder().from_resolved_schema(resolved).build()
        options = dict(found.options)
        return CatalogBaseTable(schema, options, found.partition_keys, found.comment)

    def create_table(
        self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool = False
    ) -> None:
        """Make a table or a view."""
        self._database(table_path.database_name)
        if table.query is None:
            self._names.add_table(self._entry(table_path, table), if_not_exists=ignore_if_exists)
            return
        guard = "IF NOT EXISTS " if ignore_if_exists else ""
        names = ", ".join(quoted(each.name) for each in table.schema.columns)
        comment = f" COMMENT {literal_text(table.comment)}" if table.comment else ""
        columns = f" ({names})" if names else ""
        where = self._quoted(*_parts(table_path))
        self._execute(f"CREATE VIEW {guard}{where}{columns}{comment} AS {table.query}")

    def alter_table(
        self,
        table_path: ObjectPath,
        new_table: CatalogBaseTable,
        ignore_if_not_exists: bool = False,
    ) -> None:
        """Put another table in the place of one."""
        if not self.table_exists(table_path):
            if ignore_if_not_exists:
                return
            raise _unknown("table", table_path)
        self.drop_table(table_path)
        self.create_table(table_path, new_table)

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool = False) -> None:
        """Drop a table or view."""
        view = isinstance(self._find(table_path), ViewEntry)
        gone = self._names.drop_table(self._path(table_path), view=view, temporary=False)
        if not gone and not ignore_if_not_exists:
            raise _unknown("table", table_path)

    def rename_table(
        self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool = False
    ) -> None:
        """Give a table or view another name in its database."""
        found = self._find(table_path)
        if found is None:
            if ignore_if_not_exists:
                return
            raise _unknown("table", table_path)
        path = self._path(ObjectPath(table_path.database_name, new_table_name))
        self._names.add_table(replace(found, path=path))
        self.drop_table(table_path)

    # -- functions -------------------------------------------------------------------------------

    def list_functions(self, database_name: str) -> list[str]:
        """The names of the user functions of a database."""
        return sorted(self._database(database_name).functions)

    def function_exists(self, function_path: ObjectPath) -> bool:
        """Whether there is a user function."""
        known = self.database_exists(function_path.database_name)
        return known and function_path.object_name.lower() in self._functions(function_path)

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        """A user function."""
        if not self.function_exists(function_path):
            raise _unknown("function", function_path)
        found = self._functions(function_path)[function_path.object_name.lower()]
        return CatalogFunction(found.class_name or found.name, found.language or "Python")

    def create_function(
        self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool = False
    ) -> None:
        """Register a function of Python by the place of its code."""
        if function.get_function_language() != "PYTHON":
            message = (
                f"{function.class_name} is a class of Java, and functions are written in Python"
            )
            raise PlanError("FUNCTION_LANGUAGE", message, hint="write it with udf(...)")
        entry = entry_at(function.class_name, function_path.object_name)
        path = self._path(function_path)
        self._names.add_function(path, entry, if_not_exists=ignore_if_exists)

    def alter_function(
        self,
        function_path: ObjectPath,
        new_function: CatalogFunction,
        ignore_if_not_exists: bool = False,
    ) -> None:
        """Put another function in the place of one."""
        if not self.function_exists(function_path):
            if ignore_if_not_exists:
                return
            raise _unknown("function", function_path)
        self.drop_function(function_path)
        self.create_function(function_path, new_function)

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool = False) -> None:
        """Drop a user function."""
        path = self._path(function_path)
        gone = self._names.drop_function(path, temporary=False, system=False)
        if not gone and not ignore_if_not_exists:
            raise _unknown("function", function_path)

    # -- what catalogs have in Flink, and not here -----------------------------------------------

    def list_procedures(self, database_name: str) -> list[str]:
        """An empty list: there are no procedures."""
        return []

    def list_models(self, database_name: str) -> list[str]:
        """An empty list: there are no models."""
        return []

    def model_exists(self, model_path: ObjectPath) -> bool:
        """False: there are no models."""
        return False

    def get_table_statistics(self, table_path: ObjectPath) -> CatalogTableStatistics:
        """Numbers that are not known: all are -1."""
        self.get_table(table_path)
        return CatalogTableStatistics()

    def get_table_column_statistics(self, table_path: ObjectPath) -> CatalogColumnStatistics:
        """Nothing is known about columns."""
        self.get_table(table_path)
        return CatalogColumnStatistics()

    get_procedure = _refused("get_procedure", "call a function of Python")
    get_model = _refused("get_model", MODELS)
    drop_model = _refused("drop_model", MODELS)
    rename_model = _refused("rename_model", MODELS)
    create_model = _refused("create_model", MODELS)
    alter_model = _refused("alter_model", MODELS)
    list_partitions = _refused("list_partitions", _PARTITIONS)
    get_partition = _refused("get_partition", _PARTITIONS)
    partition_exists = _refused("partition_exists", _PARTITIONS)
    create_partition = _refused("create_partition", _PARTITIONS)
    drop_partition = _refused("drop_partition", _PARTITIONS)
    alter_partition = _refused("alter_partition", _PARTITIONS)
    get_partition_statistics = _refused("get_partition_statistics", _STATISTICS)
    bulk_get_partition_statistics = _refused("bulk_get_partition_statistics", _STATISTICS)
    get_partition_column_statistics = _refused("get_partition_column_statistics", _STATISTICS)
    bulk_get_partition_column_statistics = _refused(
        "bulk_get_partition_column_statistics", _STATISTICS
    )
    alter_table_statistics = _refused("alter_table_statistics", _STATISTICS)
    alter_table_column_statistics = _refused("alter_table_column_statistics", _STATISTICS)
    alter_partition_statistics = _refused("alter_partition_statistics", _STATISTICS)
    alter_partition_column_statistics = _refused("alter_partition_column_statistics", _STATISTICS)

    # -- how ---------------------------------------------------------------------------------------

    def _database(self, name: str) -> session.Database:
        return self._names.database_named(self._catalog.name, name)

    def _functions(self, path: ObjectPath) -> dict[str, Any]:
        return self._database(path.database_name).functions

    def _find(self, path: ObjectPath) -> TableEntry | ViewEntry | None:
        return self._catalog.find_table(path.database_name, path.object_name)

    def _path(self, path: ObjectPath) -> TablePath:
        return TablePath(self._catalog.name, path.database_name, path.object_name)

    def _entry(self, path: ObjectPath, table: CatalogBaseTable) -> TableEntry:
        descriptor = TableDescriptor(
            table.schema, table.options, table.partition_keys, table.comment
        )
        made = entry_of_descriptor(descriptor, self._names, self._path(path))
        return replace(made, temporary=False)

    def _quoted(self, *parts: str) -> str:
        return ".".join(map(quoted, (self._catalog.name, *parts)))

    def _execute(self, text: str) -> None:
        execute_ddl(parse(text), self._names, text)


def _parts(path: ObjectPath) -> tuple[str, str]:
    return path.database_name, path.object_name


def _unknown(kind: str, path: ObjectPath) -> PlanError:
    hint = f"list_{kind}s({path.database_name!r}) lists all"
    code = "UNKNOWN_FUNCTION" if kind == "function" else "UNKNOWN_TABLE"
    return PlanError(code, f"there is no {kind} {path}", hint=hint)
