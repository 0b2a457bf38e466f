"""Times in columns: from timestamps of any unit and zone to milliseconds, and back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.common.time import MIN_TIMESTAMP
from millstream.kernel.records.order import Ints

__all__ = ["LOCAL", "as_local", "as_utc", "milliseconds", "timestamps", "unique"]

LOCAL = pa.timestamp("ms")
"""The type of window_start and window_end."""
_PER_MS = {"us": 1_000, "ns": 1_000_000}


def milliseconds(column: pa.Array, missing: int = MIN_TIMESTAMP) -> Ints:
    """Timestamps as milliseconds, rounded down; ``missing`` stands where there is none.

    Examples
    --------
    >>> milliseconds(pa.array([1_999, None], pa.timestamp("us")), missing=-1).tolist()
    [1, -1]
    """
    numbers: Ints = column.cast(pa.int64()).fill_null(0).to_numpy()
    unit = column.type.unit if pa.types.is_timestamp(column.type) else "ms"
    if unit in _PER_MS:
        numbers = numbers // _PER_MS[unit]
    elif unit == "s":
        numbers = numbers * 1_000
    if not column.null_count:
        return numbers
    return np.where(column.is_null().to_numpy(zero_copy_only=False), missing, numbers)


def timestamps(times: Ints, kind: pa.DataType = LOCAL) -> pa.Array:
    """Milliseconds as a column of timestamps.

    Examples
    --------
    >>> str(timestamps(np.array([1]), pa.timestamp("us"))[0])
    '1970-01-01 00:00:00.001000'
    """
    zone = kind.tz if pa.types.is_timestamp(kind) else None
    return pa.array(times).cast(pa.timestamp("ms", zone)).cast(kind)


def as_local(times: Ints, zone: str | None) -> Ints:
    """The times on the clock on the wall; without a zone, the times themselves.

    Examples
    --------
    >>> as_local(np.array([0]), "Europe/Berlin").tolist()
    [3600000]
    """
    if _is_plain(zone):
        return times
    column = pa.array(times).cast(pa.timestamp("ms", zone))
    found: Ints = pc.local_timestamp(column).cast(pa.int64()).to_numpy()
    return found


def as_utc(walls: Ints, zone: str | None) -> Ints:
    """The times at which a clock on the wall shows some times.

    A time that is shown twice is the later one, so that a window is not closed before its last
    row. One that is never shown is that of the change.
    """
    if _is_plain(zone):
        return walls
    column = pa.array(walls).cast(pa.timestamp("ms"))
    found = pc.assume_timezone(column, zone, ambiguous="latest", nonexistent="latest")
    times: Ints = found.cast(pa.int64()).to_numpy()
    return times


@lru_cache(maxsize=64)
def _is_plain(zone: str | None) -> bool:
    return zone in (None, "UTC", "Z", "Etc/UTC", "GMT")


def unique(names: Sequence[str]) -> list[str]:
    """Names of columns; one that occurs again gets a number, as in Flink.

    Examples
    --------
    >>> unique(["a", "b", "a"])
    ['a', 'b', 'a0']
    """
    found: list[str] = []
    for name in names:
        number, free = 0, name
        while free in found:
            free, number = f"{name}{number}", number + 1
        found.append(free)
    return found
