"""A home of Spark's whose Python processes import PySpark from where it is installed.

Spark puts a zip with PySpark's sources before all else on the path of each Python process it starts.
Modules from a zip are compiled each time: a process that is to plan a query takes a second or
more for it, and on a busy machine so long that Spark gives up waiting. In a home without the zip they
import the installed package, which is compiled already.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from millstream.checkpoint.trust import distrust
from millstream.spark.session.class_archive import cache_folder

PARTS = ("bin", "conf", "data", "jars", "licenses", "sbin")
"""All of an installed PySpark that is not Python."""


@contextmanager
def quick_home(settings: Mapping[str, str]) -> Iterator[None]:
    """Let a JVM that starts now have such a home, unless the user has chosen home or Python."""
    home = None if _is_chosen(settings) else _home()
    if home is None:
        yield
        return
    os.environ["SPARK_HOME"] = str(home)
    try:
        yield
    finally:
        del os.environ["SPARK_HOME"]


def _is_chosen(settings: Mapping[str, str]) -> bool:
    """Whether workers may be of a Python in which PySpark is not installed."""
    pythons = {
        os.environ.get(name, sys.executable) for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    }
    other = pythons != {sys.executable} or any(key.startswith("spark.pyspark.") for key in settings)
    return other or "SPARK_HOME" in os.environ


def _home() -> Path | None:
    """The home, made if it is not there; None if it cannot be."""
    import pyspark

    package = Path(pyspark.__file__).parent
    if not (package / "jars").is_dir():
        return None
    try:
        home = cache_folder() / f"home-{sha256(str(package).encode()).hexdigest()[:12]}"
        if not home.is_dir():
            _make(home, package)
        if distrust(str(home)) is not None:
            return None
    except (OSError, RuntimeError):
        # No place to write, or no links: a session starts without it.
        return None
    return home


def _make(home: Path, package: Path) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix="home-", dir=home.parent))
    try:
        for part in PARTS:
            if (package / part).exists():
                (new / part).symlink_to(package / part)
        # Another process may have been quicker; its home is as good.
        if not home.is_dir():
            new.rename(home)
    finally:
        shutil.rmtree(new, ignore_errors=True)
