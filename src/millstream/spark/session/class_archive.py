"""An archive of the classes that the JVM loads, with which local sessions start faster.

A JVM that starts Spark reads and verifies some ten thousand classes from jars. An archive of class
data (CDS) has them ready to be mapped into memory. It fits one Java and one set of jars, so its
name says which, and `millstream.warm_up` makes it when the user asks for it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.checkpoint.trust import distrust
from millstream.common.errors import EnvironmentSetupError
from millstream.spark.session import jvm

if TYPE_CHECKING:
    from millstream.spark.session.session import Java

_WORK = "making-"
_ARCHIVE = "classes.jsa"
_CLASS_PATH = "class-path"
_SHOWN_LINES = 5


def cache_folder() -> Path:
    """The folder the archive lies in: MILLSTREAM_CACHE, or ``millstream`` in the user's cache."""
    own = os.environ.get("MILLSTREAM_CACHE")
    if own:
        return Path(own).absolute()
    caches = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG standard says that a relative path there counts as none.
    return (caches if caches.is_absolute() else Path.home() / ".cache") / "millstream"


def existing_archive(java: Java) -> Path | None:
    """The archive that fits this Java and this PySpark, if it has been made and is whole."""
    try:
        # A JVM runs what is in it.
        if distrust(str(cache_folder())) is not None:
            return None
        found = cache_folder().glob(f"{_prefix(java)}-*.jsa")
        return next((path for path in found if _is_whole(path) and _can_be_an_option(path)), None)
    except (OSError, RuntimeError):
        # No home, or a cache that cannot be read: a session starts without it.
        return None


def options(java: Java) -> str:
    """Options with which a JVM uses the archive; one that does not fit is ignored without a word."""
    archive = existing_archive(java)
    if archive is None:
        return ""
    return f"{_option('SharedArchiveFile', archive)} -Xshare:auto -Xlog:cds*=off"


def make_archive(java: Java, jobs: Sequence[str], tell: Callable[[str], None] = print) -> Path:
    """Make the archive that fits this Java and this PySpark, in place of all others.

    Parameters
    ----------
    java
        The Java that sessions run on.
    jobs
        A command that runs jobs in a new session and ends with `end_java`. It gets one more
        argument: an empty folder.
    tell
        Is told what happens.
    """
    began = time.monotonic()
    if "sharing" not in java.banner:
        raise EnvironmentSetupError(
            "NO_CLASS_SHARING",
            f"{java.program} does not share class data, so it cannot use an archive of classes",
            hint="use a HotSpot JVM such as OpenJDK, with its default archive "
            "(`java -Xshare:dump` makes that) and without -Xshare:off",
        )
    with _new_folder_in(cache_folder()) as folder:
        work = Path(folder)
        tell("Running a few small jobs, after which Java writes the archive: about a minute.")
        _run(jobs, work)
        _check(java, work)
        new = work / _ARCHIVE
        size = new.stat().st_size
        archive = cache_folder() / f"{_prefix(java)}-{size}.jsa"
        os.replace(new, archive)
    _remove(path for path in _archives() if path != archive)
    tell(f"Local sessions use {archive} from now on: {size / 1e6:.0f} MB.")
    tell(f"It took {time.monotonic() - began:.0f} s.")
    return archive


def remove_archives() -> list[Path]:
    """Remove all archives, and what a run that was killed has left; returns the archives."""
    for folder in cache_folder().glob(f"{_WORK}*"):
        shutil.rmtree(folder, ignore_errors=True)
    return _remove(_archives())


def end_java(folder: Path) -> None:
    """Stop Spark and wait for the end of its JVM, which writes the archive then."""
    (folder / _CLASS_PATH).write_text(jvm.class_path())
    jvm.end()


def _prefix(java: Java) -> str:
    """The prefix of the name of a fitting archive: everything that the JVM will compare, and more."""
    import pyspark

    home = os.environ.get("SPARK_HOME") or os.path.dirname(pyspark.__file__)
    jars = os.path.join(os.path.abspath(home), "jars")
    parts = [os.path.realpath(java.program), java.banner, jars]
    with os.scandir(jars) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            stat = entry.stat()
            parts.append(f"{entry.name} {stat.st_size} {stat.st_mtime_ns}")
    digest = sha256("\n".join(parts).encode()).hexdigest()[:16]
    return f"classes-{pyspark.__version__}-{digest}"


def _is_whole(archive: Path) -> bool:
    """Whether a file is as long as its name says: a JVM does not survive an archive cut short."""
    return archive.stem.rpartition("-")[2] == str(archive.stat().st_size)


def _can_be_an_option(path: Path) -> bool:
    """Whether neither the JVM nor Spark would take a part of the name for something else."""
    return not set(path.as_posix()) & {os.pathsep, '"', "\\"}


def _option(name: str, path: Path) -> str:
    return f'"-XX:{name}={path.as_posix()}"'


def _new_folder_in(cache: Path) -> tempfile.TemporaryDirectory[str]:
    hint = "set MILLSTREAM_CACHE to a folder that can be written"
    if not _can_be_an_option(cache):
        raise EnvironmentSetupError(
            "CACHE_FOLDER",
            f"Java cannot use an archive in a folder of this name: {cache}",
            hint=hint,
        )
    try:
        cache.mkdir(parents=True, exist_ok=True)
        # In the cache itself, so that moving the archive to its place is one step.
        return tempfile.TemporaryDirectory(prefix=_WORK, dir=cache)
    except OSError as error:
        raise EnvironmentSetupError(
            "CACHE_FOLDER", f"the cache folder cannot be written: {error}", hint=hint
        ) from error


def _run(jobs: Sequence[str], work: Path) -> None:
    """Run the jobs in a process of their own, on a JVM that writes the archive at its end."""
    archive = _option("ArchiveClassesAtExit", work / _ARCHIVE)
    env = {
        **os.environ,
        # An archive cannot be made on top of another one.
        "MILLSTREAM_CACHE": str(work),
        # Spark's launcher adds this to the JVM of a session, and only to that one.
        "SPARK_SUBMIT_OPTS": f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} {archive} -Xlog:cds*=error",
    }
    (work / "jobs").mkdir()
    done = subprocess.run(
        [*jobs, str(work / "jobs")],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0 or not (work / _ARCHIVE).exists():
        raise _failed("the jobs have left no archive of classes", done.stdout)


def _check(java: Java, work: Path) -> None:
    """Let a JVM map the archive, with the class path it was made with, and check its sums."""
    class_path = (work / "jobs" / _CLASS_PATH).read_text()
    use = ["-Xshare:on", "-XX:+VerifySharedSpaces", f"-XX:SharedArchiveFile={work / _ARCHIVE}"]
    done = subprocess.run(
        [java.program, *use, "-cp", class_path, "-version"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise _failed(
            "Java refuses the archive of classes it has written", done.stdout + done.stderr
        )


def _failed(message: str, output: str) -> EnvironmentSetupError:
    end = [line for line in output.splitlines() if line.strip()][-_SHOWN_LINES:]
    return EnvironmentSetupError(
        "NO_CLASS_ARCHIVE",
        "\n  ".join([f"{message}; the last lines of output:" if end else message, *end]),
        hint="see whether a job runs, the disk has room, and no folder with files is on the class "
        "path (SPARK_CONF_DIR, HADOOP_CONF_DIR); sessions start without an archive, too",
    )


def _archives() -> Iterator[Path]:
    return cache_folder().glob("classes-*.jsa")


def _remove(paths: Iterator[Path]) -> list[Path]:
    removed = list(paths)
    for path in removed:
        path.unlink(missing_ok=True)
    return removed
