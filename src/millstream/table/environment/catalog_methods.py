"""Catalogs, databases, tables, views and modules of a session, by methods."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millstream.common.errors import PlanError
from millstream.table.catalog.manager import CatalogManager
from millstream.table.environment.catalog_objects import CatalogDescriptor
from millstream.table.environment.catalogs import Catalog
from millstream.table.fluent.expression_base import literal_text, quoted
from millstream.table.logical.algebra import TablePath
from millstream.table.logical.entries import ViewEntry
from millstream.table.module import ModuleEntry
from millstream.table.sql.parser import parse_identifier
from millstream.table.table_descriptor import TableDescriptor

if TYPE_CHECKING:
    from millstream.table.table import Table

__all__ = ["CatalogMethods", "view_of_table"]


def view_of_table(path: TablePath, table: Table) -> ViewEntry:
    """The view of a table of the Table API; it shows what the table declares."""
    relation = table.relation
    return ViewEntry(path, relation.row_type, relation=relation, declared=table.declared)


class CatalogMethods:
    """The methods of a table environment that ask and change its catalogs. None starts a job."""

    names: CatalogManager

    def execute_sql(self, stmt: str) -> Any:
        """Run one statement."""
        raise NotImplementedError

    def _path(self, path: str) -> TablePath:
        return self.names.path(parse_identifier(path).names)

    # -- catalogs and databases ------------------------------------------------------------------

    def create_catalog(self, catalog_name: str, catalog_descriptor: CatalogDescriptor) -> None:
        """Make a catalog of options, as ``CREATE CATALOG ... WITH (...)`` does.

        Examples
        --------
        >>> from millstream.common import Configuration
        >>> from millstream.table import TableEnvironment
        >>> t_env = TableEnvironment.create()
        >>> options = Configuration.from_dict({"type": "generic_in_memory"})
        >>> t_env.create_catalog("shop", CatalogDescriptor.of("shop", options))
        >>> t_env.list_catalogs()
        ['default_catalog', 'shop']
        """
        comment = catalog_descriptor.comment
        shown = f" COMMENT {literal_text(comment)}" if comment else ""
        pairs = ", ".join(
            f"{literal_text(key)} = {literal_text(value)}"
            for key, value in catalog_descriptor.options.items()
        )
        self.execute_sql(f"CREATE CATALOG {quoted(catalog_name)}{shown} WITH ({pairs})")

    def register_catalog(self, catalog_name: str, catalog: Catalog) -> None:
        """Give a catalog, perhaps one of another session, a name in this one."""
        self.names.add_catalog(replace(catalog._catalog, name=catalog_name))

    def get_catalog(self, catalog_name: str) -> Catalog | None:
        """The catalog of a name, None if there is none."""
        known = catalog_name in self.names.catalogs
        return Catalog(self.names, catalog_name) if known else None

    def get_current_catalog(self) -> str:
        """The name of the current catalog."""
        return self.names.current_catalog

    def use_catalog(self, catalog_name: str) -> None:
        """Make a catalog the current one, with its default database."""
        self.names.use_catalog(catalog_name)

    def get_current_database(self) -> str:
        """The name of the current database."""
        return self.names.current_database

    def use_database(self, database_name: str) -> None:
        """Make a database of the current catalog the current one."""
        self.names.use_database((database_name,))

    def list_catalogs(self) -> list[str]:
        """The names of all catalogs."""
        return sorted(self.names.catalogs)

    def list_databases(self) -> list[str]:
        """The names of the databases in the current catalog."""
        return self.names.catalog_named(self.names.current_catalog).database_names()

    # -- tables and views ------------------------------------------------------------------------

    def create_temporary_table(
        self, path: str, descriptor: TableDescriptor, ignoreIfExists: bool = False
    ) -> None:
        """Make a table of a descriptor, for this session. PyFlink spells the last name so."""
        self.execute_sql(descriptor.ddl(path, True, ignoreIfExists))

    def create_table(
        self, path: str, descriptor: TableDescriptor, ignoreIfExists: bool = False
    ) -> bool:
        """Make a table of a descriptor in its catalog; False if there was one."""
        known = self._path(path) in {each.path for each in self._here(permanent=True)}
        self.execute_sql(descriptor.ddl(path, False, ignoreIfExists))
        return not known

    def create_view(self, view_path: str, table: Table, ignore_if_exists: bool = False) -> bool:
        """Give a table a name in a catalog; False if there was one."""
        path = self._path(view_path)
        known = path in {each.path for each in self._here(permanent=True)}
        entry = view_of_table(path, table)
        self.names.add_table(entry, if_not_exists=ignore_if_exists)
        return not known

    def _here(self, *, permanent: bool = False) -> list[Any]:
        names = self.names
        found = names.tables(names.current_catalog, names.current_database)
        return [each for each in found if not (permanent and each.temporary)]

    def list_tables(self) -> list[str]:
        """The names of the tables and views in the current database, temporary ones too."""
        return [each.path.name for each in self._here()]

    def list_views(self) -> list[str]:
        """The names of the views in the current database, temporary ones too."""
        return [each.path.name for each in self._here() if isinstance(each, ViewEntry)]

    def list_materialized_tables(self) -> list[str]:
        """An empty list: there are no materialized tables."""
        return []

    def list_temporary_tables(self) -> list[str]:
        """The names of the temporary tables and views in the current database."""
        return [each.path.name for each in self._here() if each.temporary]

    def list_temporary_views(self) -> list[str]:
        """The names of the temporary views in the current database."""
        views = [each for each in self._here() if isinstance(each, ViewEntry)]
        return [each.path.name for each in views if each.temporary]

    def drop_temporary_table(self, table_path: str) -> bool:
        """Drop a temporary table; False if there is none."""
        return self.names.drop_table(self._path(table_path), view=False, temporary=True)

    def drop_table(self, table_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Drop a table of a catalog; False if there is none."""
        return self._dropped(table_path, "table", ignore_if_not_exists)

    def drop_temporary_view(self, view_path: str) -> bool:
        """Drop a temporary view; False if there is none."""
        return self.names.drop_table(self._path(view_path), view=True, temporary=True)

    def drop_view(self, view_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Drop a view of a catalog; False if there is none."""
        return self._dropped(view_path, "view", ignore_if_not_exists)

    def _dropped(self, path: str, kind: str, ignore: bool) -> bool:
        found = self.names.drop_table(self._path(path), view=kind == "view", temporary=False)
        if not found and not ignore:
            message = f"there is no {kind} {path}"
            raise PlanError("UNKNOWN_TABLE", message, hint=f"list_{kind}s() lists all")
        return found

    # -- functions and modules -------------------------------------------------------------------

    def list_functions(self) -> list[str]:
        """The names of all functions, built-in ones too."""
        return [row[0] for row in self.execute_sql("SHOW FUNCTIONS").collect()]

    def list_modules(self) -> list[str]:
        """The names of the modules whose functions are found."""
        return list(self.names.used_modules)

    def list_full_modules(self) -> list[ModuleEntry]:
        """All modules, and whether their functions are found."""
        used = self.names.used_modules
        others = [name for name in self.names.modules if name not in used]
        return [ModuleEntry(name, name in used) for name in (*used, *others)]

    def load_module(self, module_name: str, module: Any = None) -> None:
        """Load a module; only ``core`` is there to be loaded."""
        if module_name in self.names.modules:
            message = f"a module {module_name} is loaded already"
            raise PlanError("MODULE", message, hint="list_modules() lists all")
        if module_name != "core":
            message = f"there is no module {module_name}"
            hint = "there is the module core only; register functions of your own instead"
            raise PlanError("MODULE", message, hint=hint)
        self.names.modules.append(module_name)
        self.names.used_modules.append(module_name)

    def unload_module(self, module_name: str) -> None:
        """Unload a module."""
        self._known_modules((module_name,))
        self.names.modules.remove(module_name)
        if module_name in self.names.used_modules:
            self.names.used_modules.remove(module_name)

    def use_modules(self, *module_names: str) -> None:
        """Set the modules whose functions are found, and their order."""
        self._known_modules(module_names)
        if len(set(module_names)) < len(module_names):
            raise PlanError("MODULE", "a module is named twice", hint="name each once")
        self.names.used_modules[:] = module_names

    def _known_modules(self, names: tuple[str, ...]) -> None:
        for name in names:
            if name not in self.names.modules:
                message = f"there is no module {name}"
                raise PlanError("MODULE", message, hint="list_full_modules() lists all")
