"""Files, archives and packages that a program brings along for its functions.

On one machine the driver lays them out in a folder for the job: a task begins by going there, and
finds archives under their names and Python files on its path. On a cluster Spark brings them into
the working directory of the executors. Either way the session may exist already, and the next job
on it may bring more.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.plan.options import Dependencies
from millstream.plan.work_place import ANYWHERE, WorkPlace, laid_out, local_place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ANYWHERE", "WorkPlace", "work_place"]

_brought = Dependencies()


def work_place(wanted: Dependencies, spark: SparkSession, python: str | None) -> WorkPlace | None:
    """Bring a job's dependencies to where its tasks will be; None if there are none.

    What an earlier job of this process has brought stays, as with Spark's own ``addPyFile``.
    """
    global _brought
    together = wanted.before(_brought)
    if not together:
        return None
    folder = laid_out(together, python or sys.executable)
    _brought = together
    if (spark.conf.get("spark.master", None) or "local").startswith("local"):
        return local_place(together, python)
    return WorkPlace(_sent(folder, spark))


def _sent(folder: Path, spark: SparkSession) -> tuple[str, ...]:
    """Let Spark bring the folders to the executors; returns those for the path."""
    paths = []
    for place in ("path", "work"):
        for part in sorted((folder / place).iterdir()):
            # Executors have one working directory for all jobs, so folders for the path get names of
            # this job. Functions find archives by their names, which therefore stay.
            name = part.name if place == "work" else f"{folder.name}-{part.name}"
            file = shutil.make_archive(str(folder / name), "zip", part)
            spark.addArtifacts(f"{file}#{name}", archive=True)
            if place == "path":
                paths.append(name)
    return tuple(paths)
