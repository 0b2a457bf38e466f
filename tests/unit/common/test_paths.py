"""What is a path of this machine, and that all who ask get the same answer."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from millstream.checkpoint.folder import open_path
from millstream.checkpoint.trust import distrust
from millstream.cli.launch import _log_file
from millstream.common.paths import absolute_path, local_path

SOURCE = Path(__file__).resolve().parents[3] / "src" / "millstream"
HERE = os.getcwd()

PATHS = [
    ("/data/words", "/data/words"),
    ("/data/words/", "/data/words"),
    ("/data/../words", "/words"),
    ("//data//words", "/data/words"),
    ("words", f"{HERE}/words"),
    ("./words", f"{HERE}/words"),
    ("~/words", f"{HERE}/~/words"),
    ("/data/a:b", "/data/a:b"),
    ("a:b", f"{HERE}/a:b"),
    ("c:/words", f"{HERE}/c:/words"),
    ("/data/50%25", "/data/50%25"),
    ("file:/data/words", "/data/words"),
    ("file:words", f"{HERE}/words"),
    ("file:/data/50%25", "/data/50%25"),
    ("file:///data/words", "/data/words"),
    ("FILE:///data/words", "/data/words"),
    ("file:///data/../words/", "/words"),
    ("file:////data/words", "/data/words"),
    ("file:///my%20words", "/my words"),
    ("file:///my words", "/my words"),
    ("file:///data/50%", "/data/50%"),
    ("file:///words?a#b", "/words?a#b"),
    ("file://localhost/words", "/words"),
    ("file:///", "/"),
    ("file://host/words", None),
    ("file://words", None),
    ("s3://bucket/words", None),
    ("s3a://bucket/my%20words", None),
    ("hdfs:///words", None),
    ("hdfs:/words", None),
    ("dbfs:/mnt/words", None),
    ("mock+x-1.0://words", None),
]


@pytest.mark.parametrize(("path", "local"), PATHS)
def test_a_path_is_of_this_machine_or_not(path: str, local: str | None) -> None:
    assert local_path(path) == local
    assert absolute_path(path) == (local or path)
    assert absolute_path(absolute_path(path)) == absolute_path(path)


@pytest.mark.parametrize(("path", "local"), [pair for pair in PATHS if pair[1] is not None])
def test_checkpoints_are_opened_there(path: str, local: str) -> None:
    fs, inner = open_path(path)
    assert isinstance(fs, pafs.LocalFileSystem)
    assert inner == local


def test_a_uri_is_opened_where_its_owner_was_looked_for(tmp_path: Path) -> None:
    """Arrow leaves out what follows a question mark, and goes through links before it goes up."""
    (tmp_path / "job").mkdir()
    (tmp_path / "job").chmod(0o777)
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "deep/er")
    (tmp_path / "deep/job").mkdir()
    (tmp_path / "deep/job").chmod(0o777)
    for uri in (f"file://{tmp_path}/job?x", f"file://{tmp_path}/link/../job"):
        _, inner = open_path(uri)
        assert (distrust(uri) is None) == (distrust(inner) is None), uri


@pytest.mark.parametrize("spelling", ["{}", "file:{}", "file://{}"])
def test_logs_are_in_the_checkpoint_directory_however_it_is_written(
    tmp_path: Path, spelling: str
) -> None:
    found = _log_file(spelling.format(tmp_path), "words")
    assert found.parent == tmp_path / "logs"


def test_nobody_else_decides_what_a_local_path_is() -> None:
    own = re.compile(r"""["']://["'] (not )?in |removeprefix\(["']file:|startswith\(["']file:""")
    # Spark's own files spell paths in Spark's way.
    allowed = {"checkpoint/spark_files.py"}
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if own.search(path.read_text())
    }
    assert found - allowed == set()
