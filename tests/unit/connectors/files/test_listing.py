"""Which files a path means: as for Spark's readers, in Hadoop's pattern language."""

from __future__ import annotations

from pathlib import Path

import pyarrow.fs as pafs
import pytest

from millstream.common.errors import MillstreamError
from millstream.connectors.files import listing
from millstream.connectors.files.listing import files_of, look, regex_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.csv", "b.txt", "_hidden", ".hidden", "c.csv._COPYING_", "in/d.csv", "in/_e/f"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "empty").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("path", "options", "expected"),
    [
        ("", {}, ["a.csv", "b.txt"]),
        ("a.csv", {}, ["a.csv"]),
        ("*.csv", {}, ["a.csv"]),
        ("{a,b}.???", {}, ["a.csv", "b.txt"]),
        ("[!a].*", {}, ["b.txt"]),
        ("i[mn]", {}, ["in/d.csv"]),
        ("*", {}, ["a.csv", "b.txt", "in/d.csv"]),
        ("*/d*", {}, ["in/d.csv"]),
        ("", {"pathGlobFilter": "*.csv"}, ["a.csv"]),
        ("", {"recursiveFileLookup": "true"}, ["a.csv", "b.txt", "in/d.csv"]),
        ("empty", {}, []),
    ],
)
def test_paths(folder: Path, path: str, options: dict[str, str], expected: list[str]) -> None:
    found = files_of(str(folder / path), options)
    assert [file.path for file in found] == [str(folder / name) for name in expected]
    assert all(file == look(file.path) for file in found)


def test_names_that_look_like_patterns_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "a*{b}").write_text("x")
    (tmp_path / "aXb").write_text("x")
    (found,) = files_of(f"{tmp_path}/a\\*\\{{b\\}}", {})
    assert found.path.endswith("a*{b}")


def test_what_is_not_there_is_refused(folder: Path) -> None:
    for path in ("none", "none*", "a.csv/*"):
        with pytest.raises(MillstreamError, match=r"SOURCE_REFUSED.*no such file or folder"):
            files_of(str(folder / path), {})
    assert look(str(folder / "none")) is None and look(str(folder)) is None


def test_folders_that_stand_for_values_are_refused(folder: Path) -> None:
    (folder / "day=1").mkdir()
    with pytest.raises(MillstreamError, match="day=1 stands for a value of a column"):
        files_of(str(folder), {})


def test_an_open_bracket_is_refused() -> None:
    with pytest.raises(MillstreamError, match="is not closed"):
        regex_of("{a,b")


@pytest.mark.parametrize(
    ("path", "inner"), [("s3a://data/in", "data/in"), ("hdfs://data/data/in", "/data/in")]
)
def test_files_elsewhere_keep_their_scheme_and_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, inner: str
) -> None:
    (tmp_path / "data" / "in").mkdir(parents=True)
    (tmp_path / "data" / "in" / "a").write_text("x")
    elsewhere = pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem())
    monkeypatch.setattr(listing, "file_system", lambda _: (elsewhere, inner))
    (found,) = files_of(path, {})
    assert found.path == f"{path}/a"
