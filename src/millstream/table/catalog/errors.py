"""Errors of catalogs."""

from __future__ import annotations

from millstream.common.errors import PlanError

__all__ = ["catalog_error"]


def catalog_error(code: str, message: str, hint: str | None = None) -> PlanError:
    """An error about an object of a catalog; DDL adds the place in the text."""
    return PlanError(code, message, hint=hint)
