"""Things in catalogs, as programs name and describe them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from millstream.common.configuration import Configuration
from millstream.common.errors import PlanError
from millstream.table.environment.absent import MODELS, absent
from millstream.table.schema import Schema
from millstream.table.table_schema import TableSchema

__all__ = [
    "CatalogBaseTable",
    "CatalogColumnStatistics",
    "CatalogDatabase",
    "CatalogDescriptor",
    "CatalogFunction",
    "CatalogModel",
    "CatalogPartition",
    "CatalogPartitionSpec",
    "CatalogTableStatistics",
    "ObjectIdentifier",
    "ObjectPath",
    "Procedure",
]

Procedure = absent(__name__, "Procedure", "there are no procedures; call a function of Python")
CatalogModel = absent(__name__, "CatalogModel", MODELS)


@dataclass(frozen=True, order=True)
class ObjectPath:
    """The name of a table or function in a catalog, with its database.

    Examples
    --------
    >>> print(ObjectPath.from_string("shop.orders"))
    shop.orders
    """

    database_name: str
    object_name: str

    @staticmethod
    def from_string(full_name: str) -> ObjectPath:
        """The path of ``database.name``."""
        database, dot, name = full_name.partition(".")
        if not dot or not database or not name or "." in name:
            message = f"{full_name!r} is no path"
            raise PlanError("BAD_NAME", message, hint="write database.name")
        return ObjectPath(database, name)

    def get_database_name(self) -> str:
        """The database."""
        return self.database_name

    def get_object_name(self) -> str:
        """The name in the database."""
        return self.object_name

    def get_full_name(self) -> str:
        """``database.name``."""
        return f"{self.database_name}.{self.object_name}"

    def compare_to(self, other: ObjectPath) -> int:
        """Below 0 if this path comes first, above 0 if the other one does, 0 if they are equal."""
        return (self > other) - (self < other)

    def __str__(self) -> str:
        return self.get_full_name()


@dataclass(frozen=True)
class ObjectIdentifier:
    """The full name of a table or function.

    Examples
    --------
    >>> print(ObjectIdentifier.of("c", "d", "t"))
    `c`.`d`.`t`
    """

    catalog_name: str
    database_name: str
    object_name: str

    @staticmethod
    def of(catalog_name: str, database_name: str, object_name: str) -> ObjectIdentifier:
        """The full name of three parts."""
        return ObjectIdentifier(catalog_name, database_name, object_name)

    def get_catalog_name(self) -> str:
        """The catalog."""
        return self.catalog_name

    def get_database_name(self) -> str:
        """The database."""
        return self.database_name

    def get_object_name(self) -> str:
        """The name in the database."""
        return self.object_name

    def to_object_path(self) -> ObjectPath:
        """The name without the catalog."""
        return ObjectPath(self.database_name, self.object_name)

    def to_list(self) -> list[str]:
        """The three parts."""
        return [self.catalog_name, self.database_name, self.object_name]

    def as_serializable_string(self) -> str:
        """The name as SQL takes it."""
        return ".".join(f"`{each.replace('`', '``')}`" for each in self.to_list())

    def as_summary_string(self) -> str:
        """The parts with dots between."""
        return ".".join(self.to_list())

    def __str__(self) -> str:
        return self.as_serializable_string()


@dataclass(frozen=True)
class CatalogDescriptor:
    """The options of a catalog that is to be made, see `TableEnvironment.create_catalog`.

    Examples
    --------
    >>> options = Configuration.from_dict({"type": "generic_in_memory"})
    >>> CatalogDescriptor.of("shop", options).options
    {'type': 'generic_in_memory'}
    """

    catalog_name: str
    options: Mapping[str, str]
    comment: str | None = None

    @staticmethod
    def of(
        catalog_name: str, configuration: Configuration, comment: str | None = None
    ) -> CatalogDescriptor:
        """The descriptor of a catalog."""
        return CatalogDescriptor(catalog_name, configuration.to_dict(), comment)


class _Described:
    """The methods that things in catalogs have in common."""

    comment: str | None = None

    def get_comment(self) -> str | None:
        """The comment."""
        return self.comment

    def get_description(self) -> str | None:
        """The comment."""
        return self.comment

    def get_detailed_description(self) -> str | None:
        """The comment."""
        return self.comment

    def copy(self) -> Self:
        """The same again."""
        return replace(self)  # type: ignore[type-var]


@dataclass(frozen=True)
class CatalogDatabase(_Described):
    """A database of a catalog."""

    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None

    @staticmethod
    def create_instance(
        properties: Mapping[str, str], comment: str | None = None
    ) -> CatalogDatabase:
        """A database with properties."""
        return CatalogDatabase(dict(properties), comment)

    def get_properties(self) -> dict[str, str]:
        """The properties."""
        return dict(self.properties)


@dataclass(frozen=True)
class CatalogBaseTable(_Described):
    """A table or view of a catalog. ``query``: the SQL of a view, None for a table."""

    schema: Schema
    options: Mapping[str, str]
    partition_keys: tuple[str, ...] = ()
    comment: str | None = None
    query: str | None = None

    @staticmethod
    def create_table(
        schema: TableSchema | Schema,
        partition_keys: list[str] | None = None,
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """A table: its columns, and the options of its connector."""
        keys = tuple(partition_keys or ())
        return CatalogBaseTable(_schema(schema), dict(properties or {}), keys, comment)

    @staticmethod
    def create_view(
        original_query: str,
        expanded_query: str,
        schema: TableSchema | Schema,
        properties: Mapping[str, str],
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """A view: its columns, and the query with full names."""
        return CatalogBaseTable(_schema(schema), dict(properties), (), comment, expanded_query)

    def get_options(self) -> dict[str, str]:
        """The options."""
        return dict(self.options)

    def get_unresolved_schema(self) -> Schema:
        """The columns."""
        return self.schema


def _schema(given: TableSchema | Schema) -> Schema:
    if isinstance(given, Schema):
        return given
    builder = Schema.new_builder()
    return builder.from_fields(given.get_field_names(), given.get_field_data_types()).build()


@dataclass(frozen=True)
class CatalogFunction(_Described):
    """A user function of a catalog: the place of its code."""

    class_name: str
    function_language: str = "Python"

    @staticmethod
    def create_instance(class_name: str, function_language: str = "Python") -> CatalogFunction:
        """A function: ``package.module.name``."""
        if function_language.lower() not in ("python", "java", "scala"):
            raise ValueError("function_language must be one of 'Python', 'Java' or 'Scala'")
        return CatalogFunction(class_name, function_language)

    def get_class_name(self) -> str:
        """The place of its code."""
        return self.class_name

    def get_function_language(self) -> str:
        """The language, in capitals."""
        return self.function_language.upper()

    def get_options(self) -> dict[str, str]:
        """An empty dict: functions have no options."""
        return {}


@dataclass(frozen=True)
class CatalogPartition(_Described):
    """Properties of a partition."""

    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None

    @staticmethod
    def create_instance(
        properties: Mapping[str, str], comment: str | None = None
    ) -> CatalogPartition:
        """A partition with properties."""
        return CatalogPartition(dict(properties), comment)

    def get_properties(self) -> dict[str, str]:
        """The properties."""
        return dict(self.properties)


@dataclass(frozen=True)
class CatalogPartitionSpec:
    """The values of a partition's columns."""

    partition_spec: Mapping[str, str]

    def get_partition_spec(self) -> dict[str, str]:
        """Values by column."""
        return dict(self.partition_spec)

    def __str__(self) -> str:
        pairs = ", ".join(f"{key}={value}" for key, value in self.partition_spec.items())
        return f"CatalogPartitionSpec{{{{{pairs}}}}}"

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.partition_spec.items())))


@dataclass(frozen=True)
class CatalogTableStatistics:
    """Numbers about a table; -1 is not known."""

    row_count: int = -1
    field_count: int = -1
    total_size: int = -1
    raw_data_size: int = -1
    properties: Mapping[str, str] = field(default_factory=dict)

    def get_row_count(self) -> int:
        """The number of rows."""
        return self.row_count

    def get_field_count(self) -> int:
        """The number of files."""
        return self.field_count

    def get_total_size(self) -> int:
        """The bytes on disk."""
        return self.total_size

    def get_raw_data_size(self) -> int:
        """The bytes in memory."""
        return self.raw_data_size

    def get_properties(self) -> dict[str, str]:
        """Properties."""
        return dict(self.properties)

    def copy(self) -> CatalogTableStatistics:
        """The same again."""
        return replace(self)


@dataclass(frozen=True)
class CatalogColumnStatistics:
    """Numbers about the columns of a table."""

    column_statistics_data: Mapping[str, object] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)

    def get_column_statistics_data(self) -> dict[str, object]:
        """Numbers by column."""
        return dict(self.column_statistics_data)

    def get_properties(self) -> dict[str, str]:
        """Properties."""
        return dict(self.properties)

    def copy(self) -> CatalogColumnStatistics:
        """The same again."""
        return replace(self)
