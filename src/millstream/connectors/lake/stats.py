"""Statistics of a file, as a Delta log has them: readers skip files by them."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

__all__ = ["delta_stats"]

LONGEST_TEXT = 64
MOST_COLUMNS = 32


def delta_stats(metadata: Any) -> str:
    """The statistics of a Parquet file: rows, and of its first columns bounds and nulls."""
    least: dict[str, Any] = {}
    most: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for index in range(min(metadata.num_columns, MOST_COLUMNS)):
        column = metadata.schema.column(index)
        if column.max_repetition_level or column.max_definition_level > 1:
            continue  # a part of a list, a map or a row
        found = [
            metadata.row_group(group).column(index).statistics
            for group in range(metadata.num_row_groups)
        ]
        if not found or any(one is None or not one.has_null_count for one in found):
            continue
        nulls[column.name] = sum(one.null_count for one in found)
        bounds = _bounds(found)
        if bounds is not None:
            least[column.name], most[column.name] = bounds
    rows = metadata.num_rows
    return json.dumps(
        {"numRecords": rows, "minValues": least, "maxValues": most, "nullCount": nulls}
    )


def _bounds(found: list[Any]) -> tuple[Any, Any] | None:
    """The least and the greatest value of a column; None if they are not known for all rows."""
    filled = [one for one in found if one.num_values]
    if not filled or not all(one.has_min_max for one in filled):
        return None
    try:
        low, high = min(one.min for one in filled), max(one.max for one in filled)
    except (ValueError, OverflowError):  # times that Python does not have
        return None
    texts = _json(low), _json(high)
    return None if None in texts else texts


def _json(value: Any) -> Any:
    """A bound as the log writes it; None if the log is better off without it."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value if len(value) <= LONGEST_TEXT else None
    if isinstance(value, datetime):
        utc = value.astimezone(UTC) if value.tzinfo else value
        zone = "Z" if value.tzinfo else ""
        return utc.replace(tzinfo=None).isoformat(timespec="microseconds") + zone
    # Floating-point numbers have none: a bound says nothing about NaN.
    return value.isoformat() if isinstance(value, date) else None
