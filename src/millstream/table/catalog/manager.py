"""Catalogs, databases and the objects in them, found by Flink's rules.

Names are case-sensitive, those of functions are not. Temporary objects come before permanent ones of
the same name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from millstream.table.catalog.errors import CatalogError, catalog_error
from millstream.table.logical.algebra import TablePath
from millstream.table.logical.entries import FunctionEntry, TableEntry, ViewEntry
from millstream.table.logical.problems import nearest

__all__ = ["Catalog", "CatalogManager", "Database"]

DEFAULT_CATALOG = "default_catalog"
DEFAULT_DATABASE = "default_database"
_BATCH_KEY = "execution.runtime-mode"


@dataclass
class Database:
    """Tables and functions under one name."""

    name: str
    tables: dict[str, TableEntry | ViewEntry] = field(default_factory=dict)
    functions: dict[str, FunctionEntry] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None


@dataclass
class Catalog:
    """Databases under one name. A catalog of another kind overrides its four methods."""

    name: str
    databases: dict[str, Database] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None
    default_database: str = DEFAULT_DATABASE

    def database_names(self) -> list[str]:
        """The names of all databases."""
        return sorted(self.databases)

    def table_names(self, database: str) -> list[str]:
        """The names of the tables and views of a database."""
        return sorted(self.databases[database].tables)

    def has_database(self, database: str) -> bool:
        """Whether there is a database of the name."""
        return database in self.databases

    def find_table(self, database: str, name: str) -> TableEntry | ViewEntry | None:
        """The table or view of a name."""
        found = self.databases.get(database)
        return None if found is None else found.tables.get(name)


class CatalogManager:
    """All catalogs of a session, the current catalog and database, and the temporary objects.

    Examples
    --------
    >>> manager = CatalogManager()
    >>> str(manager.path(("t",)))
    'default_catalog.default_database.t'
    """

    def __init__(
        self,
        options: dict[str, str] | None = None,
        catalog: str = DEFAULT_CATALOG,
        database: str = DEFAULT_DATABASE,
    ) -> None:
        first = Catalog(catalog, {database: Database(database)}, default_database=database)
        self.catalogs: dict[str, Catalog] = {catalog: first}
        self.catalog = catalog
        self.database: str | None = database
        self.temporary: dict[TablePath, TableEntry | ViewEntry] = {}
        self.temporary_functions: dict[TablePath, FunctionEntry] = {}
        self.system_functions: dict[str, FunctionEntry] = {}
        self.options = {} if options is None else options
        self.defaults: dict[str, str] = {}
        self.modules = ["core"]
        self.used_modules = ["core"]

    # Where we are.

    @property
    def current_catalog(self) -> str:
        return self.catalog

    @property
    def current_database(self) -> str:
        return self.database or ""

    def option(self, key: str) -> str | None:
        """The value of an option of the session, or else its default."""
        return self.options.get(key) or self.defaults.get(key)

    def use_catalog(self, name: str) -> None:
        """Make a catalog the current one, with its default database."""
        catalog = self.catalog_named(name)
        self.catalog = name
        known = catalog.has_database(catalog.default_database)
        self.database = catalog.default_database if known else None

    def use_database(self, names: tuple[str, ...]) -> None:
        """Make a database the current one."""
        catalog, database = self.database_path(names)
        self.database_named(catalog, database)
        self.catalog, self.database = catalog, database

    # Catalogs and databases.

    def add_catalog(self, catalog: Catalog, if_not_exists: bool = False) -> None:
        """Put a catalog under its name."""
        if catalog.name in self.catalogs:
            if if_not_exists:
                return
            hint = "write CREATE CATALOG IF NOT EXISTS, or drop it first"
            raise catalog_error(
                "CATALOG_EXISTS", f"there is a catalog {catalog.name} already", hint
            )
        self.catalogs[catalog.name] = catalog

    def catalog_named(self, name: str) -> Catalog:
        """The catalog of a name."""
        found = self.catalogs.get(name)
        if found is None:
            close = nearest(name, self.catalogs)
            hint = f"did you mean {close[0]}?" if close else "SHOW CATALOGS lists all"
            raise catalog_error("UNKNOWN_CATALOG", f"there is no catalog {name}", hint)
        return found

    def database_path(self, names: tuple[str, ...]) -> tuple[str, str]:
        """The catalog and the database that a name of one or two parts means."""
        if len(names) == 1:
            return self.catalog, names[0]
        return names[-2], names[-1]

    def database_named(self, catalog: str, name: str) -> Database:
        """The database of a name."""
        owner = self.catalog_named(catalog)
        if not owner.has_database(name):
            close = nearest(name, owner.database_names())
            hint = f"did you mean {close[0]}?" if close else "SHOW DATABASES lists all"
            message = f"there is no database {name} in catalog {catalog}"
            raise catalog_error("UNKNOWN_DATABASE", message, hint)
        return owner.databases.setdefault(name, Database(name))

    # Tables and views.

    def path(
        self, names: tuple[str, ...], catalog: str | None = None, database: str | None = None
    ) -> TablePath:
        """The full name of an object."""
        if len(names) > 3:
            message = f"{'.'.join(names)} has more than three parts"
            raise catalog_error("BAD_NAME", message, "write catalog.database.name")
        filled = (catalog or self.catalog, database or self.database or "")
        return TablePath(*filled[: 3 - len(names)], *names)

    def find_table(
        self, names: tuple[str, ...], catalog: str | None = None, database: str | None = None
    ) -> TableEntry | ViewEntry | None:
        """The table or view of a name of one to three parts; temporary ones come first."""
        if len(names) > 3:
            return None
        path = self.path(names, catalog, database)
        if path in self.temporary:
            return self.temporary[path]
        owner = self.catalogs.get(path.catalog)
        return None if owner is None else owner.find_table(path.database, path.name)

    def add_table(
        self, entry: TableEntry | ViewEntry, *, if_not_exists: bool = False, replacing: bool = False
    ) -> None:
        """Put a table or view under its path."""
        path = entry.path
        if entry.temporary:
            store: dict[Any, Any] = self.temporary
            key: object = path
        else:
            store, key = self.database_named(path.catalog, path.database).tables, path.name
        if key in store and not replacing:
            if if_not_exists:
                return
            kind = "view" if isinstance(store[key], ViewEntry) else "table"
            hint = "use CREATE ... IF NOT EXISTS, or drop it first"
            raise catalog_error("TABLE_EXISTS", f"there is a {kind} {path} already", hint)
        store[key] = entry

    def drop_table(self, path: TablePath, *, view: bool, temporary: bool) -> bool:
        """Take a table or view away; False if it is not there."""
        if temporary:
            if isinstance(self.temporary.get(path), ViewEntry) != view:
                return False
            return self.temporary.pop(path, None) is not None
        owner = self.catalogs.get(path.catalog)
        found = None if owner is None else owner.databases.get(path.database)
        if found is None or path.name not in found.tables:
            return False
        if isinstance(found.tables[path.name], ViewEntry) != view:
            return False
        if path in self.temporary:
            kind = "view" if view else "table"
            message = f"a temporary {kind} {path} is there too"
            raise catalog_error(
                "TEMPORARY_EXISTS", message, f"drop it first: DROP TEMPORARY {kind.upper()}"
            )
        del found.tables[path.name]
        return True

    def tables(self, catalog: str, database: str) -> Iterator[TableEntry | ViewEntry]:
        """All tables and views in a database, temporary ones too, by name."""
        owner = self.catalog_named(catalog)
        names = set(owner.table_names(database)) if owner.has_database(database) else set()
        for path in self.temporary:
            if (path.catalog, path.database) == (catalog, database):
                names.add(path.name)
        for name in sorted(names):
            found = self.find_table((catalog, database, name))
            if found is not None:
                yield found

    def similar_tables(self, name: str) -> list[str]:
        """Names of tables in the current database that resemble a name."""
        if not self.catalogs[self.catalog].has_database(self.current_database):
            return []
        known = [each.path.name for each in self.tables(self.catalog, self.current_database)]
        return nearest(name, known)

    def no_such_table(
        self, names: tuple[str, ...], kind: str, other: str, default: str = "SHOW TABLES lists all"
    ) -> CatalogError:
        """The error of a name that means no table, or no view; if it means the other one, ``other``
        is the statement for that."""
        found = self.find_table(names)
        name = ".".join(names)
        if found is not None:
            is_view = isinstance(found, ViewEntry)
            what = ("temporary " if found.temporary else "") + ("view" if is_view else "table")
            message = f"there is no {kind} {name}: it is a {what}"
            return catalog_error("UNKNOWN_TABLE", message, f"write {other}")
        close = [each for each in self.similar_tables(names[-1]) if each != names[-1]]
        hint = f"did you mean {close[0]}?" if close else default
        return catalog_error("UNKNOWN_TABLE", f"there is no {kind} {name}", hint)

    # Functions.

    def find_function(self, names: tuple[str, ...]) -> FunctionEntry | None:
        """The user function of a name; system functions come before those of the database."""
        if len(names) == 1 and (found := self.system_functions.get(names[0].lower())):
            return found
        if len(names) > 3:
            return None
        path = self.path(names)
        key = replace(path, name=path.name.lower())
        if key in self.temporary_functions:
            return self.temporary_functions[key]
        owner = self.catalogs.get(path.catalog)
        place = None if owner is None else owner.databases.get(path.database)
        return None if place is None else place.functions.get(path.name.lower())

    def add_function(
        self, path: TablePath, entry: FunctionEntry, *, if_not_exists: bool = False
    ) -> None:
        """Put a function under a name; a system function has no database."""
        store, key = self._function_store(path, entry.temporary, entry.system)
        if key in store:
            if if_not_exists:
                return
            message = f"there is a function {path.name} already"
            raise catalog_error("FUNCTION_EXISTS", message, "drop it first")
        store[key] = entry

    def drop_function(self, path: TablePath, *, temporary: bool, system: bool) -> bool:
        """Take a function away; False if it is not there."""
        store, key = self._function_store(path, temporary, system)
        return store.pop(key, None) is not None

    def _function_store(
        self, path: TablePath, temporary: bool, system: bool
    ) -> tuple[dict[Any, Any], object]:
        name = path.name.lower()
        if system:
            return self.system_functions, name
        if temporary:
            return self.temporary_functions, replace(path, name=name)
        return self.database_named(path.catalog, path.database).functions, name

    def function_names(self) -> list[str]:
        """Names of the user functions in sight, sorted."""
        here = (self.catalog, self.current_database)
        found = set(self.system_functions)
        found |= {p.name for p in self.temporary_functions if (p.catalog, p.database) == here}
        place = self.catalogs[self.catalog].databases.get(self.current_database)
        return sorted(found | (set(place.functions) if place else set()))
