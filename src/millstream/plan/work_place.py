"""A folder with the files, archives and packages that a program brings along for its functions."""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from millstream.common.errors import EnvironmentSetupError, PlanError
from millstream.plan.options import Dependencies

__all__ = ["ANYWHERE", "WorkPlace", "laid_out", "local_place"]

_SHOWN_LINES = 5
_made: dict[tuple[object, ...], Path] = {}


@dataclass(frozen=True)
class WorkPlace:
    """Where tasks of a job work. ``folder`` None: where they are."""

    paths: tuple[str, ...] = ()
    folder: str | None = None

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Let the functions of a task find what the job has brought."""
        _use(self.paths)
        if self.folder is None:
            yield
            return
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            yield
        finally:
            os.chdir(before)


ANYWHERE = WorkPlace()
"""Where tasks work whose job brings nothing along."""

_used: list[str] = []


def _use(paths: tuple[str, ...]) -> None:
    """Put a job's folders on the path, and forget those of the job that was here before."""
    here = [os.path.abspath(path) for path in paths]
    if here == _used:
        return
    sys.path[:] = [*here, *(path for path in sys.path if path not in {*_used, *here})]
    gone = tuple(os.path.join(path, "") for path in _used if path not in here)
    for name, module in list(sys.modules.items()):
        if gone and (getattr(module, "__file__", None) or "").startswith(gone):
            del sys.modules[name]
    _used[:] = here


def local_place(wanted: Dependencies, python: str | None = None) -> WorkPlace:
    """Lay out what a job brings, for tasks on this machine.

    Examples
    --------
    >>> local_place(Dependencies())
    WorkPlace(paths=(), folder=None)
    """
    if not wanted:
        return ANYWHERE
    folder = laid_out(wanted, python or sys.executable)
    found = [str(path) for path in sorted((folder / "path").iterdir())]
    return WorkPlace(tuple(found), str(folder / "work"))


def laid_out(wanted: Dependencies, python: str) -> Path:
    """A folder with what a job brings: archives in ``work``, folders for the path in ``path``."""
    key = (wanted, python, *map(_version, wanted.all_paths))
    if key not in _made:
        folder = Path(tempfile.mkdtemp(prefix="millstream-files-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        (folder / "path").mkdir()
        (folder / "work").mkdir()
        for number, file in enumerate(wanted.files):
            _lay_file(Path(file), folder / "path" / f"{number:04d}")
        for archive, name in wanted.archives:
            _lay_archive(Path(archive), folder / "work" / (name or Path(archive).name))
        if wanted.requirements is not None:
            _install(python, *wanted.requirements, folder / "path" / "requirements")
        _made[key] = folder
    return _made[key]


def _version(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError as error:
        raise PlanError(
            "NO_SUCH_FILE",
            f"{path} was added to the program and cannot be read: {error.strerror}",
            hint="give the path of a file or folder on this machine",
        ) from None


def _lay_file(file: Path, folder: Path) -> None:
    """Make a folder for the path: a copy of a folder, what a zip holds, or a folder with one file."""
    if file.is_dir():
        shutil.copytree(file, folder)
    elif file.suffix in (".zip", ".egg", ".whl"):
        shutil.unpack_archive(file, folder, "zip")
    else:
        folder.mkdir()
        shutil.copy2(file, folder)


def _lay_archive(archive: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        if archive.is_dir():
            shutil.copytree(archive, target, symlinks=True)
        elif tarfile.is_tarfile(archive):
            with tarfile.open(archive) as tar:
                tar.extractall(target, filter="tar")
        else:
            shutil.unpack_archive(archive, target, "zip")
            _make_executable(archive, target)
    except shutil.ReadError as error:
        raise PlanError(
            "BAD_ARCHIVE",
            f"{archive} is no archive: {error}",
            hint="give a zip, a tar, or a folder",
        ) from None


def _make_executable(archive: Path, target: Path) -> None:
    """Give programs of a zip the right to be run, which Python does not unpack."""
    with zipfile.ZipFile(archive) as found:
        for info in found.infolist():
            file = target / info.filename
            # A name that leads elsewhere is not unpacked either.
            inside = not info.filename.startswith("/") and ".." not in info.filename
            if info.external_attr >> 16 & stat.S_IXUSR and inside and file.is_file():
                file.chmod(file.stat().st_mode | 0o111)


def _install(python: str, requirements: str, cache: str | None, folder: Path) -> None:
    offline = [] if cache is None else ["--no-index", "--find-links", cache]
    options = ["--quiet", "--disable-pip-version-check", "--target", str(folder), *offline]
    done = subprocess.run(
        [python, "-m", "pip", "install", *options, "-r", requirements],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    folder.mkdir(exist_ok=True)
    if done.returncode != 0:
        last = [line for line in done.stdout.splitlines() if line.strip()][-_SHOWN_LINES:]
        raise EnvironmentSetupError(
            "REQUIREMENTS",
            "\n  ".join([f"pip could not install what {requirements} asks for:", *last]),
            hint="see whether pip runs, and whether the packages are where it looks for them",
        )
