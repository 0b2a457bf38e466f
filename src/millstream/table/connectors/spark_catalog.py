"""The Spark session's own tables as a catalog: ``CREATE CATALOG spark WITH ('type' = 'spark')``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.table.catalog.errors import catalog_error
from millstream.table.catalog.manager import Catalog
from millstream.table.logical.algebra import TablePath
from millstream.table.logical.entries import TableColumn, TableEntry, ViewEntry
from millstream.table.types.logical import LogicalType
from millstream.table.types.parsing import parse_logical_type

__all__ = ["SparkCatalog", "logical_type_of", "make_catalog"]

_PLAIN = {
    "string": "STRING",
    "boolean": "BOOLEAN",
    "byte": "TINYINT",
    "short": "SMALLINT",
    "integer": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "binary": "BYTES",
    "date": "DATE",
    "timestamp": "TIMESTAMP_LTZ(6)",
    "timestamp_ntz": "TIMESTAMP(6)",
    "void": "STRING",
}


def make_catalog(name: str, options: dict[str, str], comment: str | None) -> Catalog:
    """The catalog of the session."""
    default = options.get("default-database", "default")
    return SparkCatalog(name, {}, options, comment, default)


@dataclass
class SparkCatalog(Catalog):
    """Databases and tables of the Spark session; they can be read."""

    @property
    def _session(self) -> Any:
        return StreamExecutionEnvironment.get_execution_environment()._session()

    def database_names(self) -> list[str]:
        return sorted(each.name for each in self._session.catalog.listDatabases())

    def table_names(self, database: str) -> list[str]:
        return sorted(each.name for each in self._session.catalog.listTables(database))

    def has_database(self, database: str) -> bool:
        return bool(self._session.catalog.databaseExists(database))

    def find_table(self, database: str, name: str) -> TableEntry | ViewEntry | None:
        full = f"`{database}`.`{name}`"
        if not self._session.catalog.tableExists(full):
            return None
        fields = self._session.table(full).schema.jsonValue()["fields"]
        columns = tuple(
            TableColumn(
                each["name"], logical_type_of(each["type"]).with_nullability(each["nullable"])
            )
            for each in fields
        )
        options = (("connector", "spark"), ("format", "table"), ("path", full))
        return TableEntry(TablePath(self.name, database, name), columns, options)


def logical_type_of(kind: Any) -> LogicalType:
    """The type of a column, as Spark describes it in JSON.

    Examples
    --------
    >>> inner = {"type": "array", "elementType": "decimal(5,2)", "containsNull": True}
    >>> str(logical_type_of(inner))
    'ARRAY<DECIMAL(5, 2)>'
    """
    return parse_logical_type(_text(kind))


def _text(kind: Any) -> str:
    if isinstance(kind, str):
        if kind.startswith("decimal"):
            return kind.upper()
        name = _PLAIN.get(kind.split("(")[0].split(" ")[0])
        if name is None:
            message = f"a column of the Spark type {kind} cannot be read"
            raise catalog_error("SPARK_TYPE", message, "cast it in a view of Spark")
        return name
    assert isinstance(kind, Mapping)
    if kind["type"] == "array":
        return f"ARRAY<{_text(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"MAP<{_text(kind['keyType'])}, {_text(kind['valueType'])}>"
    inner = ", ".join(f"`{each['name']}` {_text(each['type'])}" for each in kind["fields"])
    return f"ROW<{inner}>"
