"""Files that RDDs write and read."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.common.errors import PlanError, UserCodeError
from millstream.dstream.rdd import SparkContext

sc = SparkContext("local[2]")


def test_text_files(tmp_path: Path) -> None:
    sc.parallelize(["é", 2, b"raw", None], 2).saveAsTextFile(str(tmp_path / "out"))
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == ["_SUCCESS", "part-00000", "part-00001"]
    assert sc.textFile(str(tmp_path / "out")).collect() == ["é", "2", "raw", "None"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_compressed_text_files(tmp_path: Path) -> None:
    codec = "org.apache.hadoop.io.compress.GzipCodec"
    sc.parallelize(["a", "b"], 1).saveAsTextFile(str(tmp_path / "out"), codec)
    assert (tmp_path / "out/part-00000.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert sc.textFile(str(tmp_path / "out")).collect() == ["a", "b"]
    with pytest.raises(PlanError, match="RDD_CODEC"):
        sc.parallelize(["a"]).saveAsTextFile(str(tmp_path / "other"), "SnappyCodec")


def test_pickle_files(tmp_path: Path) -> None:
    values = [1, "two", (3, [4]), None, *range(30)]
    for size in (0, 1, 10):
        sc.parallelize(values, 3).saveAsPickleFile(str(tmp_path / str(size)), size)
        assert sc.pickleFile(str(tmp_path / str(size))).collect() == values


def test_a_folder_that_exists_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="OUTPUT_EXISTS"):
        sc.parallelize([1]).saveAsTextFile(str(tmp_path))


def test_an_error_leaves_no_folder(tmp_path: Path) -> None:
    rdd = sc.parallelize([1, 0], 2)
    with pytest.raises(UserCodeError):
        rdd.map(lambda n: 1 // n).saveAsTextFile(str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    rdd.saveAsTextFile(str(tmp_path / "out"))
    assert sc.textFile(str(tmp_path / "out")).collect() == ["1", "0"]


def test_other_file_systems_are_refused() -> None:
    with pytest.raises(PlanError, match="RDD_REMOTE_PATH"):
        sc.parallelize([1]).saveAsTextFile("s3://bucket/out")


def test_commands() -> None:
    rdd = sc.parallelize(["b", "a", "c\n"], 2)
    assert rdd.pipe("sort").collect() == ["b", "a", "c"]
    assert rdd.pipe("true").collect() == []
    with pytest.raises(UserCodeError, match="ended with 1"):
        rdd.pipe("false", checkCode=True).collect()
    with pytest.raises(UserCodeError, match="ZeroDivisionError"):
        rdd.map(lambda text: 1 // 0).pipe("cat").collect()
