"""What programs bring along for their functions, on a session that was there before them."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millstream.datastream import StreamExecutionEnvironment
from tests.support.spark.spark_support import Collecting

pytestmark = pytest.mark.spark

MakeEnv = Callable[..., StreamExecutionEnvironment]


def use_modules(number: int) -> Any:
    import dep_in_file  # type: ignore[import-not-found]
    import dep_in_folder  # type: ignore[import-not-found]
    import dep_in_wheel  # type: ignore[import-not-found]

    return number + dep_in_file.VALUE + dep_in_folder.VALUE + dep_in_wheel.VALUE


def use_archives(number: int) -> int:
    return number + int(Path("data/n.txt").read_text()) + int(Path("plain/n.txt").read_text())


def results(env: StreamExecutionEnvironment, function: Callable[[int], Any]) -> list[Any]:
    sink = Collecting()
    keyed = env.from_collection([1, 2]).map(function).key_by(lambda value: value % 2)
    # The second function is in a keyed stage, which may be in other processes.
    keyed.map(lambda value: function(0) * 1_000 + value).sink_to(sink)
    env.execute()
    return sorted(sink.values)


def make_wheel(folder: Path) -> None:
    folder.mkdir()
    info = "dep_in_wheel-1.0.dist-info"
    with zipfile.ZipFile(folder / "dep_in_wheel-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("dep_in_wheel.py", "VALUE = 400")
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: dep_in_wheel\nVersion: 1.0\n"
        )
        tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(f"{info}/WHEEL", tags)
        wheel.writestr(f"{info}/RECORD", "")


def test_jobs_on_one_session_bring_what_they_need(make_env: MakeEnv, tmp_path: Path) -> None:
    (tmp_path / "dep_in_file.py").write_text("VALUE = 100")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/dep_in_folder.py").write_text("VALUE = 200")
    make_wheel(tmp_path / "wheels")
    (tmp_path / "requirements.txt").write_text("dep_in_wheel\n")
    for mode in ("batch", "streaming"):
        env = make_env(mode)
        env.add_python_file(str(tmp_path / "dep_in_file.py"))
        env.add_python_file(str(tmp_path / "folder"))
        env.set_python_requirements(str(tmp_path / "requirements.txt"), str(tmp_path / "wheels"))
        assert results(env, use_modules) == [700_701, 700_702]

    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/n.txt").write_text("20")
    (tmp_path / "zipped").mkdir()
    (tmp_path / "zipped/n.txt").write_text("3")
    archive = shutil.make_archive(str(tmp_path / "a"), "zip", tmp_path / "zipped")
    env = make_env("batch")
    env.add_python_archive(archive, "data")
    env.add_python_archive(str(tmp_path / "plain"))
    assert results(env, use_archives) == [23_024, 23_025]

    # What was brought before is still there, as with Spark's addPyFile.
    assert results(make_env("batch"), use_modules) == [700_701, 700_702]
