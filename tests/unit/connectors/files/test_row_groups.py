"""Row groups of Parquet files: where they begin, and the bounds of their values."""

from __future__ import annotations

import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.connectors.conditions import Bounds
from millstream.connectors.files.row_groups import groups_of

DAY = datetime.date(2026, 1, 1)


def test_groups_have_the_bounds_of_their_values(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.parquet")
    table = pa.table(
        {
            "n": pa.array([1, 2, None, None, 5], pa.int64()),
            "s": ["a", "c", "b", "d", "e"],
            "day": pa.array([DAY] * 5),
            "x": [1.0, float("nan"), 2.0, 3.0, 4.0],
            "at": pa.array([0] * 5, pa.timestamp("us", "UTC")),
            "nested": [{"n": 1}] * 5,
        }
    )
    pq.write_table(table, path, row_group_size=2)
    first, second, third = groups_of(path)
    assert [group.begin for group in (first, second, third)] == [0, 2, 4]
    assert [group.rows for group in (first, second, third)] == [2, 2, 1]
    found = first.bounds({"n", "s", "day", "x", "at", "nested"})
    assert found["n"] == Bounds(1, 2, has_nulls=False)
    assert found["s"] == Bounds("a", "c", has_nulls=False)
    assert found["day"] == Bounds(DAY, DAY, has_nulls=False)
    # NaN has no place among numbers, and times with a zone are not compared.
    assert found["x"].low is found["at"].low is None
    assert "nested" not in found
    assert second.bounds({"n"})["n"] == Bounds(None, None, has_nulls=True, has_values=False)


def test_a_file_without_statistics_may_have_anything(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.parquet")
    pq.write_table(pa.table({"n": [1, 2]}), path, write_statistics=False)
    (group,) = groups_of(path)
    assert group.bounds({"n"}) == {}
