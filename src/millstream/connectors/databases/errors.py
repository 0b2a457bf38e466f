"""Refusals of databases, as errors with a code and a hint."""

from __future__ import annotations

from typing import Literal, NamedTuple

from millstream.common.errors import Location, MillstreamError, PlanError, user_location

__all__ = ["Category", "DatabaseError", "bad_argument", "database_error"]

Category = Literal["unreachable", "denied", "lost", "name", "key", "value", "conflict", "failed"]
"""Why a database refuses something."""


class _ErrorKind(NamedTuple):
    """The code of a category, and what usually helps."""

    code: str
    hint: str


_KINDS: dict[Category, _ErrorKind] = {
    "unreachable": _ErrorKind(
        "DATABASE_UNREACHABLE",
        "check host, port and path, and that workers reach the database, too",
    ),
    "denied": _ErrorKind(
        "DATABASE_DENIED", "check user and password, and what the user is granted"
    ),
    "lost": _ErrorKind(
        "DATABASE_LOST",
        "nothing of the transaction was written; a job with a restart strategy starts again, and "
        "writes or reads the epoch again",
    ),
    "name": _ErrorKind("DATABASE_NAME", "check the names of the table and of its columns"),
    "key": _ErrorKind(
        "DATABASE_KEY",
        "give the table a primary key or a unique index of exactly the key columns of the sink",
    ),
    "value": _ErrorKind(
        "DATABASE_VALUE",
        "filter such records out, or change the type or the constraint of the column",
    ),
    "conflict": _ErrorKind(
        "DATABASE_CONFLICT",
        "other transactions hold the rows: let one task write a key (key_by before the sink), or "
        "make other transactions shorter",
    ),
    "failed": _ErrorKind("DATABASE_FAILED", "the database has the reason in its log"),
}


class DatabaseError(MillstreamError):
    """A database refuses something, or cannot be reached.

    Examples
    --------
    >>> print(database_error("name", "table 'words' does not exist"))
    [DATABASE_NAME] table 'words' does not exist
      what to do: check the names of the table and of its columns
    """


def database_error(
    category: Category, message: str, hint: str | None = None, location: Location | None = None
) -> DatabaseError:
    """Make the error of a category."""
    kind = _KINDS[category]
    return DatabaseError(kind.code, message, hint=hint or kind.hint, location=location)


def bad_argument(message: str, hint: str) -> PlanError:
    """Make the error for an argument that makes no sense."""
    return PlanError("BAD_DATABASE", message, location=user_location(), hint=hint)
