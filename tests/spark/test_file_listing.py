"""What the driver lists by itself is what Spark lists."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from millstream.plan.specs import FilesSpec
from millstream.spark.io import file_listing
from millstream.spark.io.file_listing import channels_with_records
from millstream.spark.io.xxhash64 import xxhash64

pytestmark = pytest.mark.spark


def test_the_hash_is_sparks(spark: SparkSession) -> None:
    words = ["äbc/" * 30, *("0123456789abcdef" * 5)[:80]]
    words += [("file:///tmp/part-" * 9)[:length] for length in range(100)]
    frame = spark.createDataFrame([(word,) for word in words], "word string")
    for word, hashed in frame.select("word", F.xxhash64("word")).collect():
        assert xxhash64(word.encode()) == hashed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("part-0.txt", "_hidden", ".hidden", "part-1.txt", "x._COPYING_"):
        (tmp_path / name).write_text("a line\n")
    (tmp_path / "empty.txt").write_text("")
    return tmp_path


def by_spark(spark: SparkSession, spec: FilesSpec) -> list[int]:
    return sorted(file.channel for file in file_listing._listed_by_spark(spark, spec))


def test_a_plain_folder_is_listed_without_spark(spark: SparkSession, folder: Path) -> None:
    spec = FilesSpec(path=str(folder), format="text")
    found = file_listing._listed_here(spec)
    assert found is not None
    assert sorted(Path(file.path).name for file in found) == ["part-0.txt", "part-1.txt"]
    assert sorted(file.channel for file in found) == by_spark(spark, spec)


@pytest.mark.parametrize(
    "name", ["with space.txt", "ünïcode.txt", "100%.txt", "sub/part.txt", "a=b"]
)
def test_other_folders_are_listed_by_spark(spark: SparkSession, folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("another line\n")
    spec = FilesSpec(path=str(folder), format="text")
    assert file_listing._listed_here(spec) is None
    assert channels_with_records(spark, spec) == by_spark(spark, spec)


def test_files_that_an_option_leaves_out_are_not_announced(
    spark: SparkSession, folder: Path
) -> None:
    spec = FilesSpec(path=str(folder), format="text", options={"pathGlobFilter": "*0.txt"})
    assert channels_with_records(spark, spec) == [xxhash64(f"file://{folder}/part-0.txt".encode())]


def test_a_small_file_with_a_header_only_is_not_announced(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "b.csv").write_text("x\n")
    spec = FilesSpec(path=str(tmp_path), format="csv", options={"header": "true"}, schema="x INT")
    assert channels_with_records(spark, spec) == [xxhash64(f"file://{tmp_path}/a.csv".encode())]
