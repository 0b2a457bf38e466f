"""Catalogs in memory, and the statements that change and show them.

The names of `pyflink.table.catalog`, such as ``ObjectPath``, are here too; they are loaded when they are
asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Type checkers and the reference see the names here; a program loads them when it asks for them.
if TYPE_CHECKING:
    from millstream.table.environment.catalog_objects import *  # noqa: F403
    from millstream.table.environment.catalogs import *  # noqa: F403
    from millstream.table.environment.resolved_schema import *  # noqa: F403

_HOMES = ("catalog_objects", "resolved_schema", "catalogs")
_FLINK = [
    "Catalog",
    "CatalogDatabase",
    "CatalogBaseTable",
    "CatalogPartition",
    "CatalogFunction",
    "Procedure",
    "ObjectPath",
    "CatalogPartitionSpec",
    "CatalogTableStatistics",
    "CatalogColumnStatistics",
    "HiveCatalog",
    "CatalogDescriptor",
    "ObjectIdentifier",
    "Column",
    "PhysicalColumn",
    "ComputedColumn",
    "MetadataColumn",
    "WatermarkSpec",
    "Constraint",
    "UniqueConstraint",
    "ResolvedSchema",
]


def __getattr__(name: str) -> Any:
    """A name of `pyflink.table.catalog`; ``import *`` takes these only."""
    if name == "__all__":
        return _FLINK
    if name in _FLINK or name in ("CatalogModel", "JdbcCatalog"):
        modules = (import_module(f"millstream.table.environment.{each}") for each in _HOMES)
        return next(getattr(each, name) for each in modules if name in each.__all__)
    raise AttributeError(f"module 'millstream.table.catalog' has no attribute {name!r}")
