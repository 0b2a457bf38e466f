"""Parquet and ORC files: fragments, and columns of other types than the schema's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

from millstream.common.errors import MillstreamError
from millstream.connectors.files.columns import Column, columns_of
from millstream.connectors.files.opening import Fragment
from millstream.connectors.files.orc import OrcReader
from millstream.connectors.files.parquet import ParquetReader

COLUMNS = columns_of("s STRING, n BIGINT, missing DOUBLE") or ()
TABLE = pa.table({"N": pa.array(range(100), pa.int32()), "s": [f"w{n}" for n in range(100)]})


def rows(reader: Any, *fragments: Fragment) -> list[tuple[Any, ...]]:
    return [
        row
        for fragment in fragments
        for block in reader.read(fragment)
        for row in zip(*(column.to_pylist() for column in block), strict=True)
    ]


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_each_row_is_in_one_fragment(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    if kind == "parquet":
        pq.write_table(TABLE, path, row_group_size=7)
    else:
        pyarrow.orc.write_table(TABLE, path, stripe_size=512, row_index_stride=1000, batch_size=7)
    reader = ParquetReader(COLUMNS) if kind == "parquet" else OrcReader(COLUMNS)
    size = path.stat().st_size
    expected = [(f"w{n}", n, None) for n in range(100)]
    assert rows(reader, Fragment(str(path))) == expected
    cuts = [Fragment(str(path), start, min(start + 100, size)) for start in range(0, size, 100)]
    assert rows(reader, *cuts) == expected
    sensitive = type(reader)(COLUMNS, case_sensitive=True)
    assert rows(sensitive, Fragment(str(path)))[0] == ("w0", None, None)


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        (pa.array(["a"]), "int"),
        (pa.array([1], pa.int64()), "int"),
        (pa.array([1.5]), "bigint"),
        (pa.array([b"a"]), "string"),
        (pa.array([1], pa.timestamp("us")), "timestamp"),
        (pa.array([1], pa.timestamp("ns", "UTC")), "timestamp"),
    ],
)
def test_types_that_do_not_fit(tmp_path: Path, stored: pa.Array, wanted: str) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"c": stored}), path)
    with pytest.raises(MillstreamError) as caught:
        rows(ParquetReader((Column("c", wanted),)), Fragment(str(path)))
    assert caught.value.code == "SOURCE_FILE_UNREADABLE"
    assert "'c'" in caught.value.message


def test_names_that_differ_by_case_only(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"c": [1], "C": [2]}), path)
    with pytest.raises(MillstreamError, match="several columns"):
        rows(ParquetReader((Column("c", "bigint"),)), Fragment(str(path)))


def test_no_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"no parquet")
    with pytest.raises(MillstreamError, match="SOURCE_FILE_UNREADABLE"):
        rows(ParquetReader(COLUMNS), Fragment(str(path)))


def test_dates_of_another_calendar_are_left_to_spark(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"d": pa.array([0], pa.date32()), "n": [1]})
    pq.write_table(table.replace_schema_metadata({"org.apache.spark.legacyDateTime": ""}), path)
    assert rows(ParquetReader((Column("n", "bigint"),)), Fragment(str(path))) == [(1,)]
    with pytest.raises(MillstreamError, match="calendar"):
        rows(ParquetReader((Column("d", "date"),)), Fragment(str(path)))
