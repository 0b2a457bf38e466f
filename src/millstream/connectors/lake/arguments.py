"""Arguments of sinks and sources of tables: checked where the program gives them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.paths import local_path

if TYPE_CHECKING:
    import pyarrow as pa

_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")

__all__ = [
    "checked_types",
    "column_names",
    "one_version",
    "options",
    "refuse_watching",
    "table_path",
    "whole_number",
]


def column_names(what: str, given: object, *, at_least: int = 0) -> tuple[str, ...]:
    """The names of columns, each once."""
    is_list = isinstance(given, Sequence) and not isinstance(given, str | bytes)
    names: tuple[Any, ...] = tuple(given) if is_list else ()  # type: ignore[arg-type]
    if not is_list or not all(isinstance(name, str) for name in names):
        raise PlanError(
            "BAD_FIELD",
            f"{what} is a list of names of columns, got {short_repr(given)}",
            location=user_location(),
            hint=f'for example {what}=["id"]',
        )
    if len(set(names)) != len(names) or len(names) < at_least:
        raise PlanError(
            "BAD_FIELD",
            f"{what} is {short_repr(given)}: "
            + ("a name is there twice" if names else "at least one column is needed"),
            location=user_location(),
            hint=f'for example {what}=["id"]',
        )
    return names


def options(what: str, given: object) -> dict[str, str]:
    """Options as texts. The error does not show them: they may be secret."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        if all(isinstance(k, str) and isinstance(v, str) for k, v in given.items()):
            return dict(given)
        wrong = next(k for k, v in given.items() if not (isinstance(k, str) and isinstance(v, str)))
        told = f"the value of {wrong!r} is none"
    else:
        told = f"it is a {type(given).__name__}"
    raise PlanError(
        "BAD_OPTION",
        f"{what} is a mapping of texts to texts, and {told}",
        location=user_location(),
        hint=f'for example {what}={{"name": "value"}}',
    )


def whole_number(what: str, given: object, *, at_least: int = 0) -> int:
    """A whole number."""
    if isinstance(given, int) and not isinstance(given, bool) and given >= at_least:
        return given
    raise PlanError(
        "BAD_NUMBER",
        f"{what} is a whole number of {at_least} or more, got {short_repr(given)}",
        location=user_location(),
        hint=f"for example {what}={max(at_least, 10)}",
    )


def table_path(path: object) -> str:
    """The path of a table, if it can be one."""
    if isinstance(path, str) and path:
        local = local_path(path)
        if local is not None and _ESCAPE.search(local):
            raise PlanError(
                "BAD_PATH",
                f"the path of the Delta table is {path!r}, and deltalake takes "
                f"{_ESCAPE.search(local)[0]} in it for another character in some calls",  # type: ignore[index]
                location=user_location(),
                hint="rename the folder: it would write to two of them",
            )
        return path
    raise PlanError(
        "BAD_PATH",
        f"the path of a Delta table is a text, got {short_repr(path)}",
        location=user_location(),
        hint='a folder or a URI: "/data/orders", "s3://bucket/orders"',
    )


def refuse_watching(watch: object) -> None:
    """Refuse to follow a table."""
    if watch:
        raise PlanError(
            "LAKE_STREAMING",
            "watch=True: a table is read as it is, and its changes are not followed",
            location=user_location(),
            hint="read each new version with a job of its own; or let the program that writes the table "
            "also write to Kafka, or to a folder that FileSource watches",
        )


def checked_types(given: Mapping[str, pa.DataType] | None) -> dict[str, pa.DataType]:
    """Arrow types by column."""
    if not given:
        return {}
    import pyarrow as pa

    for name, type_ in given.items():
        if not isinstance(type_, pa.DataType):
            raise PlanError(
                "BAD_SCHEMA",
                f"column_types has {short_repr(type_)} for column {name!r}, which is no Arrow type",
                location=user_location(),
                hint='for example {"amount": pyarrow.decimal128(12, 2)}',
            )
    return dict(given)


def one_version(what: str, number: object, timestamp: object) -> None:
    """Refuse a version that is no number, or a time without a zone, or both."""
    if number is not None and timestamp is not None:
        raise _bad_version(f"{what} and timestamp are both given", "choose by one of them")
    if number is not None and (not isinstance(number, int) or isinstance(number, bool)):
        raise _bad_version(
            f"{what} is a whole number, got {short_repr(number)}", "see the history of the table"
        )
    if timestamp is not None and not (isinstance(timestamp, datetime) and timestamp.tzinfo):
        raise _bad_version(
            f"timestamp is a datetime with a time zone, got {short_repr(timestamp)}",
            "for example datetime(2026, 1, 31, tzinfo=timezone.utc)",
        )


def _bad_version(message: str, hint: str) -> PlanError:
    return PlanError("BAD_VERSION", message, location=user_location(), hint=hint)
