"""Errors of catalogs."""

from __future__ import annotations

from typing import Any

from millstream.common.errors import PlanError

__all__ = ["CatalogError", "catalog_error"]


class CatalogError(PlanError):
    """A statement does not fit the catalog. ``node``: the part of the statement that is wrong."""

    node: Any = None


def catalog_error(
    code: str, message: str, hint: str | None = None, node: Any = None
) -> CatalogError:
    """An error about an object of a catalog; DDL adds the place in the text."""
    error = CatalogError(code, message, hint=hint)
    error.node = node
    return error
