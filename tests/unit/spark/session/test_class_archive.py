"""Where the archive of classes lies, what it is called, and when a session uses it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream import warm_up
from millstream.common.errors import EnvironmentSetupError
from millstream.spark.session import class_archive, session
from millstream.spark.session.class_archive import (
    cache_folder,
    existing_archive,
    make_archive,
    options,
    remove_archives,
)
from millstream.spark.session.session import Java

BANNER = 'openjdk version "17.0.15" 2025-04-15\nServer VM (build 17.0.15+6, mixed mode, sharing)\n'
JOBS = """
import os, pathlib, re, sys
told = pathlib.Path(sys.argv[-1])
options = os.environ["SPARK_SUBMIT_OPTS"]
archive = re.search('"-XX:ArchiveClassesAtExit=(.*?)"', options)[1]
pathlib.Path(archive).write_text("classes")
(told / "class-path").write_text("a.jar")
"""


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache and jars of its own for every test."""
    jars = tmp_path / "spark" / "jars"
    jars.mkdir(parents=True)
    (jars / "spark-core.jar").write_text("core")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    monkeypatch.setenv("MILLSTREAM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def java(tmp_path: Path) -> Java:
    """A Java that takes every archive."""
    return fake_java(tmp_path / "java", "exit 0")


def fake_java(program: Path, script: str, banner: str = BANNER) -> Java:
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return Java(str(program), banner)


def jobs(*more: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", "\n".join([JOBS, *more])]


def put(java: Java) -> Path:
    """An archive that fits, without the jobs that make it."""
    archive = cache_folder() / f"{class_archive._prefix(java)}-7.jsa"
    archive.parent.mkdir(exist_ok=True)
    archive.write_text("classes")
    return archive


def made(java: Java) -> Path:
    return make_archive(java, jobs(), tell=lambda _: None)


# -- the folder -----------------------------------------------------------------------------------


def test_the_cache_is_the_folder_the_user_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLSTREAM_CACHE", "here")
    assert cache_folder() == Path.cwd() / "here"


@pytest.mark.parametrize(
    ("xdg", "folder"),
    [
        ("/caches", "/caches/millstream"),
        ("not/absolute", "/home/user/.cache/millstream"),
        ("", "/home/user/.cache/millstream"),
    ],
)
def test_else_it_is_in_the_users_cache(
    monkeypatch: pytest.MonkeyPatch, xdg: str, folder: str
) -> None:
    monkeypatch.delenv("MILLSTREAM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", xdg)
    monkeypatch.setenv("HOME", "/home/user")
    assert cache_folder() == Path(folder)


# -- which archive fits ---------------------------------------------------------------------------


def test_without_an_archive_there_are_no_options(java: Java) -> None:
    assert existing_archive(java) is None
    assert options(java) == ""


def test_an_archive_is_found_again(java: Java, cache: Path) -> None:
    archive = made(java)
    assert archive.parent == cache
    assert archive.read_text() == "classes"
    assert existing_archive(java) == archive
    assert f'"-XX:SharedArchiveFile={archive}"' in options(java)


def test_an_archive_that_others_can_write_is_not_used(java: Java, cache: Path) -> None:
    made(java)
    cache.chmod(0o777)
    assert existing_archive(java) is None


def test_another_java_needs_another_archive(java: Java, tmp_path: Path) -> None:
    put(java)
    assert existing_archive(Java(java.program, BANNER.replace("17.0.15+6", "17.0.16+8"))) is None
    assert existing_archive(Java(str(tmp_path / "java21"), BANNER)) is None


def change_size(jar: Path) -> None:
    jar.write_text("core, patched")


def change_time(jar: Path) -> None:
    os.utime(jar, ns=(1, 1))


def add_a_jar(jar: Path) -> None:
    jar.with_name("plugin.jar").write_text("core")


def rename(jar: Path) -> None:
    jar.rename(jar.with_name("spark-core-2.jar"))


@pytest.mark.parametrize("change", [change_size, change_time, add_a_jar, rename])
def test_other_jars_need_another_archive(
    java: Java, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    put(java)
    change(tmp_path / "spark" / "jars" / "spark-core.jar")
    assert existing_archive(java) is None


def test_another_pyspark_needs_another_archive(java: Java, monkeypatch: pytest.MonkeyPatch) -> None:
    put(java)
    monkeypatch.setattr("pyspark.__version__", "4.3.99")
    assert existing_archive(java) is None


def test_an_archive_cut_short_is_not_used(java: Java) -> None:
    archive = put(java)
    archive.write_text("class")
    assert existing_archive(java) is None


@pytest.mark.parametrize("name", [f"a{os.pathsep}b", 'a"b'])
def test_a_name_that_java_would_misread_is_not_used(
    java: Java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    archive = put(java)
    folder = archive.parent.rename(tmp_path / name)
    monkeypatch.setenv("MILLSTREAM_CACHE", str(folder))
    assert existing_archive(java) is None
    with pytest.raises(EnvironmentSetupError, match="folder of this name"):
        made(java)


def test_a_missing_home_or_jars_folder_is_no_archive(
    java: Java, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    put(java)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "nowhere"))
    assert existing_archive(java) is None
    monkeypatch.setattr(class_archive, "cache_folder", no_home)
    assert existing_archive(java) is None


# -- which sessions use it ------------------------------------------------------------------------


def test_a_session_uses_the_archive_if_it_is_to(java: Java) -> None:
    before = session._java_options(java, with_archive=True)
    assert "SharedArchiveFile" not in before
    archive = put(java)
    after = session._java_options(java, with_archive=True)
    assert after == f"{before} {options(java)}"
    assert str(archive) in after
    assert session._java_options(java, with_archive=False) == before


def test_local_sessions_are_those_that_we_start_here(monkeypatch: pytest.MonkeyPatch) -> None:
    assert session._is_local({})
    assert session._is_local({"spark.master": "local[4]"})
    assert not session._is_local({"spark.master": "yarn"})
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1234")
    assert not session._is_local({})


# -- making and removing --------------------------------------------------------------------------


def test_a_new_archive_replaces_those_of_other_versions(java: Java, cache: Path) -> None:
    cache.mkdir()
    (cache / "classes-4.2.0-0123456789abcdef-7.jsa").write_text("classes")
    (cache / "notes.txt").write_text("of the user")
    told: list[str] = []
    archive = make_archive(java, jobs(), told.append)
    assert sorted(cache.iterdir()) == sorted([archive, cache / "notes.txt"])
    assert str(archive) in "\n".join(told)


def test_the_jobs_do_not_use_an_older_archive(java: Java, cache: Path) -> None:
    before = put(java)
    none_there = "assert not list(pathlib.Path(os.environ['MILLSTREAM_CACHE']).glob('classes-*'))"
    assert make_archive(java, jobs(none_there), tell=lambda _: None) == before


def test_removing(java: Java, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = put(java)
    (cache / "making-killed").mkdir()
    (cache / "making-killed" / "classes.jsa").write_text("cla")
    assert remove_archives() == [archive]
    assert list(cache.iterdir()) == []
    assert remove_archives() == []
    assert put(java) == archive
    assert warm_up.main(["--remove"]) == 0
    assert warm_up.main(["--remove"]) == 0
    assert capsys.readouterr().out == f"Removed {archive}\nThere is no archive.\n"


# -- what may go wrong ----------------------------------------------------------------------------


def test_a_jvm_that_shares_no_classes(tmp_path: Path, cache: Path) -> None:
    openj9 = 'openjdk version "17.0.15"\nEclipse OpenJ9 VM (JIT enabled, AOT enabled)\n'
    with pytest.raises(EnvironmentSetupError, match="does not share class data") as caught:
        made(fake_java(tmp_path / "java", "exit 0", openj9))
    assert caught.value.code == "NO_CLASS_SHARING"
    assert not cache.exists()


def test_a_cache_that_cannot_be_written(java: Java, cache: Path) -> None:
    cache.write_text("a file, not a folder")
    with pytest.raises(EnvironmentSetupError, match="cannot be written") as caught:
        made(java)
    assert "MILLSTREAM_CACHE" in str(caught.value)
    assert cache.read_text() == "a file, not a folder"


@pytest.mark.parametrize(
    "end", ["sys.exit('no room on disk')", "os.remove(archive); print('no room')"]
)
def test_jobs_that_leave_no_archive(java: Java, cache: Path, end: str) -> None:
    before = put(java)
    with pytest.raises(EnvironmentSetupError, match="no room"):
        make_archive(java, jobs(end), tell=lambda _: None)
    assert list(cache.iterdir()) == [before]


def test_an_archive_that_java_refuses(java: Java, tmp_path: Path, cache: Path) -> None:
    before = put(java)
    strict = fake_java(tmp_path / "strict", 'echo "Unable to use shared archive: $*" >&2; exit 1')
    with pytest.raises(EnvironmentSetupError, match=r"Unable to use shared archive: .*a\.jar"):
        made(strict)
    assert list(cache.iterdir()) == [before]


def test_the_command_tells_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert warm_up.main([]) == 1
    assert "no java was found" in capsys.readouterr().err
