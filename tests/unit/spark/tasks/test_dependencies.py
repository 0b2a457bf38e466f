"""What a program brings along for its functions: laid out on this machine, or sent to a cluster."""

from __future__ import annotations

import importlib
import os
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.common.errors import EnvironmentSetupError, PlanError
from millstream.plan.options import Dependencies
from millstream.plan.work_place import _lay_archive
from millstream.spark.tasks import dependencies
from millstream.spark.tasks.dependencies import WorkPlace, work_place


class FakeSession:
    """As much of a session as is asked for."""

    def __init__(self, master: str = "local[2]") -> None:
        self.conf = {"spark.master": master}
        self.sent: list[str] = []

    def addArtifacts(self, path: str, *, archive: bool) -> None:
        assert archive and Path(path.partition("#")[0]).is_file()
        self.sent.append(path.partition("#")[2])


def placed(wanted: Dependencies, session: FakeSession | None = None) -> Any:
    return work_place(wanted, session or FakeSession(), None)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def clean_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(dependencies, "_brought", Dependencies())
    yield
    with WorkPlace().entered():
        pass


def module(folder: Path, name: str, value: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(f"VALUE = {value}\n")
    return folder / f"{name}.py"


def value_of(name: str) -> int:
    importlib.invalidate_caches()
    return importlib.import_module(name).VALUE


def test_nothing_is_wanted() -> None:
    assert placed(Dependencies()) is None


def test_files_folders_and_zips_can_be_imported(tmp_path: Path) -> None:
    one = module(tmp_path, "dep_file", 1)
    module(tmp_path, "dep_beside", 9)
    folder = module(tmp_path / "folder", "dep_in_folder", 2).parent
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as packed:
        packed.writestr("dep_in_zip/__init__.py", "VALUE = 3")
    files = tuple(map(str, (one, folder, tmp_path / "z.zip")))
    with placed(Dependencies(files=files)).entered():
        assert [value_of(n) for n in ("dep_file", "dep_in_folder", "dep_in_zip")] == [1, 2, 3]
        with pytest.raises(ModuleNotFoundError):
            value_of("dep_beside")


def test_the_next_job_has_other_files_and_not_these(tmp_path: Path) -> None:
    first = placed(Dependencies(files=(str(module(tmp_path / "1", "dep_same", 1)),)))
    second = placed(Dependencies(files=(str(module(tmp_path / "2", "dep_same", 2)),)))
    before = list(sys.path)
    for _ in range(2):
        with first.entered():
            assert value_of("dep_same") == 1
        with second.entered():
            assert value_of("dep_same") == 2
    with WorkPlace().entered(), pytest.raises(ModuleNotFoundError):
        value_of("dep_same")
    assert sys.path == before


def test_what_earlier_jobs_have_brought_stays_behind_what_this_one_brings(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "n.txt").write_text(name)
    archives = ((str(tmp_path / "one"), "data"), (str(tmp_path / "one"), "other"))
    first = module(tmp_path / "1", "dep_kept", 1)
    placed(Dependencies(files=(str(first),), archives=archives))
    with placed(Dependencies()).entered():
        assert value_of("dep_kept") == 1 and Path("data/n.txt").read_text() == "one"
    second = module(tmp_path / "2", "dep_kept", 2)
    later = Dependencies(files=(str(second),), archives=((str(tmp_path / "two"), "data"),))
    with placed(later).entered():
        assert value_of("dep_kept") == 2
        assert [Path(f"{n}/n.txt").read_text() for n in ("data", "other")] == ["two", "one"]
    first.unlink()
    with placed(Dependencies()).entered():
        assert value_of("dep_kept") == 2


def test_a_file_that_was_changed_is_taken_anew(tmp_path: Path) -> None:
    file = module(tmp_path, "dep_changed", 1)
    wanted = Dependencies(files=(str(file),))
    first = placed(wanted)
    assert placed(wanted) == first
    file.write_text("VALUE = 22\n")
    os.utime(file, ns=(1, 1))
    with placed(wanted).entered():
        assert value_of("dep_changed") == 22


def test_archives_are_found_under_their_names(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "x.txt").write_text("x")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.write(data / "x.txt", "x.txt")
    with tarfile.open(tmp_path / "b.tgz", "w:gz") as tar:
        tar.add(data, "inner")
    names = [("a.zip", None), ("a.zip", "deep/named"), ("b.tgz", "tar"), ("data", None)]
    wanted = Dependencies(archives=tuple((str(tmp_path / path), name) for path, name in names))
    here = os.getcwd()
    with placed(wanted).entered():
        for path in ("a.zip/x.txt", "deep/named/x.txt", "tar/inner/x.txt", "data/x.txt"):
            assert Path(path).read_text() == "x"
    assert os.getcwd() == here


def test_a_cluster_gets_them_as_archives(tmp_path: Path) -> None:
    file = module(tmp_path, "dep_sent", 1)
    (tmp_path / "data").mkdir()
    session = FakeSession("spark://host:7077")
    place = placed(
        Dependencies(files=(str(file),), archives=((str(tmp_path / "data"), "d"),)), session
    )
    assert place.folder is None and session.sent == [*place.paths, "d"]


def test_requirements_are_installed_once(tmp_path: Path) -> None:
    make_wheel(tmp_path / "wheels", "tinydep", "VALUE = 5\n")
    (tmp_path / "requirements.txt").write_text("tinydep\n")
    asked = (str(tmp_path / "requirements.txt"), str(tmp_path / "wheels"))
    place = placed(Dependencies(requirements=asked))
    with place.entered():
        assert value_of("tinydep") == 5
    assert placed(Dependencies(requirements=asked)) == place


def make_wheel(folder: Path, name: str, code: str) -> None:
    folder.mkdir()
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", code)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


@pytest.mark.slow
def test_what_cannot_be_had(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="NO_SUCH_FILE"):
        placed(Dependencies(files=(str(tmp_path / "nothing.py"),)))
    (tmp_path / "text.zip").write_text("no zip")
    with pytest.raises(PlanError, match="BAD_ARCHIVE"):
        placed(Dependencies(archives=((str(tmp_path / "text.zip"), None),)))
    (tmp_path / "requirements.txt").write_text("no-such-package-anywhere\n")
    (tmp_path / "empty").mkdir()
    asked = (str(tmp_path / "requirements.txt"), str(tmp_path / "empty"))
    with pytest.raises(EnvironmentSetupError, match="no-such-package-anywhere"):
        placed(Dependencies(requirements=asked))


def test_programs_of_a_zip_can_be_run(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.touch(mode=0o600)
    archive, target = tmp_path / "tools.zip", tmp_path / "laid" / "tools"
    with zipfile.ZipFile(archive, "w") as made:
        for name, mode in (("bin/run", 0o755), ("data", 0o644), ("../../outside", 0o755)):
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            made.writestr(info, "x")
    _lay_archive(archive, target)
    assert os.access(target / "bin/run", os.X_OK)
    modes = [path.stat().st_mode & 0o111 for path in (target / "bin/run", target / "data", outside)]
    assert modes == [0o111, 0, 0]
