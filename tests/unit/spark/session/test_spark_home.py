"""The home that a JVM of ours gets: everything of PySpark but the zip of its sources."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from millstream.spark.session.spark_home import quick_home


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MILLSTREAM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.delenv("PYSPARK_DRIVER_PYTHON", raising=False)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    return tmp_path / "cache"


def test_the_home_has_the_jars_and_no_zip_of_sources(cache: Path) -> None:
    with quick_home({}):
        home = Path(os.environ["SPARK_HOME"])
        assert home.parent == cache
        assert list(home.glob("jars/spark-core*.jar"))
        assert (home / "bin" / "spark-submit").is_file()
        assert not (home / "python").exists()
    assert "SPARK_HOME" not in os.environ


def test_it_is_made_once(cache: Path) -> None:
    for _ in range(2):
        with quick_home({}):
            pass
    assert len(list(cache.iterdir())) == 1


def test_a_home_that_others_can_write_to_is_not_used(cache: Path) -> None:
    with quick_home({}):
        Path(os.environ["SPARK_HOME"]).chmod(0o777)
    with quick_home({}):
        assert "SPARK_HOME" not in os.environ


def test_it_is_gone_after_an_error_too() -> None:
    with pytest.raises(ValueError, match="no session"), quick_home({}):
        raise ValueError("no session")
    assert "SPARK_HOME" not in os.environ


@pytest.mark.parametrize("name", ["PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"])
def test_another_python_keeps_sparks_own_home(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "/elsewhere/python3")
    with quick_home({}):
        assert "SPARK_HOME" not in os.environ


def test_a_python_of_the_settings_does_too() -> None:
    with quick_home({"spark.pyspark.python": "/elsewhere/python3"}):
        assert "SPARK_HOME" not in os.environ


def test_a_home_of_the_users_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    with quick_home({}):
        assert os.environ["SPARK_HOME"] == "/opt/spark"
    assert os.environ["SPARK_HOME"] == "/opt/spark"


def test_where_nothing_can_be_written_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MILLSTREAM_CACHE", str(tmp_path / "file"))
    with quick_home({}):
        assert "SPARK_HOME" not in os.environ
