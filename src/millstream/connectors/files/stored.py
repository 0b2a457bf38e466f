"""Files that have columns of their own, with types: how they become the columns of a schema."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from millstream.common.errors import Location, MillstreamError
from millstream.connectors.files.columns import Column


def places_of(
    columns: Sequence[Column], names: Sequence[str], path: str, *, case_sensitive: bool
) -> list[int | None]:
    """Where a file has each column; None if it has not, so that all its values are null."""
    found: list[int | None] = []
    for column in columns:
        same = [
            place
            for place, name in enumerate(names)
            if name == column.name or (not case_sensitive and name.lower() == column.name.lower())
        ]
        if len(same) > 1:
            raise unreadable(path, f"several columns are called {column.name!r}")
        found.append(same[0] if same else None)
    return found


def fitting(array: pa.Array, column: Column, path: str) -> pa.Array:
    """A column as its schema has it: types that hold all values of the file's type are right."""
    wanted = column.arrow
    assert wanted is not None
    if array.type == wanted:
        return array
    if not column.takes(array.type):
        raise unreadable(
            path, f"column {column.name!r} is {array.type} there, and the schema says {column.type}"
        )
    try:
        # Of a column that takes finer timestamps, what is too fine goes.
        return array.cast(wanted, safe=not pa.types.is_timestamp(wanted))
    except pa.ArrowInvalid as error:
        raise unreadable(path, f"column {column.name!r}: {error}") from None


def unreadable(path: str, why: str) -> MillstreamError:
    """A file is not what the source takes it for."""
    return MillstreamError(
        "SOURCE_FILE_UNREADABLE",
        f"{path} cannot be read: {why}",
        parameters={"path": path},
        hint="repair or remove the file, or give the schema that it has; with "
        "millstream.files.reader set to spark, Spark's own reader reads it",
    )


def changed(path: str, location: Location | None = None) -> MillstreamError:
    """A file is not the one any more that was listed when the job began."""
    return MillstreamError(
        "SOURCE_FILE_CHANGED",
        f"a file has changed since the job listed it: {path}",
        parameters={"path": path},
        location=location,
        hint="files of a list that is made once must stay as they are until they are read: put the old "
        "one back, or start the job with another checkpoint directory",
    )


def gone(path: str, location: Location | None = None) -> MillstreamError:
    """A file was there when the job listed it, and is not when it is to be read."""
    return MillstreamError(
        "SOURCE_FILE_GONE",
        f"a file that the job was about to read is gone: {path}",
        parameters={"path": path},
        location=location,
        hint="put it back and start the job again; files must stay as they are until they are read",
    )
