"""Which job is meant: a directory, a run, an id or the beginning of one, or a name."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from millstream.cli.errors import CommandError, ExitCode
from millstream.cli.text import table
from millstream.common.paths import absolute_path, local_path

if TYPE_CHECKING:
    from millstream.checkpoint.registry import JobRecord

__all__ = [
    "DEFAULT_ROOT",
    "ENDED",
    "find_job",
    "latest_runs",
    "require_path",
    "state_of",
]

DEFAULT_ROOT = ".millstream"
ENDED = ("FINISHED", "FAILED", "CANCELED", "SUSPENDED")
BAD = "BAD"
"""The status of a run whose files cannot be used."""


def find_job(job: str, root: str = DEFAULT_ROOT) -> JobRecord:
    """The job that a person means.

    Raises
    ------
    CommandError
        ``NO_SUCH_JOB``, or ``AMBIGUOUS_JOB`` with a list of those that fit.
    """
    from millstream.checkpoint.registry import find_jobs

    local = local_path(job)
    if local is None or os.path.isdir(local):
        found = _in_directory(job)
        where = f"in {job}"
    else:
        found = _by_name(job, find_jobs(root))
        where = f"{job!r} under {root}"
    if not found:
        raise CommandError(
            "NO_SUCH_JOB",
            f"there is no job {where}",
            exit_code=ExitCode.NOT_FOUND,
            hint="`millstream list ROOT` shows the jobs there are; --root says where to look; "
            "a job without a checkpoint directory is not to be found",
        )
    if len(found) > 1:
        rows = [[record.job_id, record.name, state_of(record), record.path] for record in found]
        listed = table(["JOB", "NAME", "STATUS", "PATH"], rows).replace("\n", "\n  ")
        raise CommandError(
            "AMBIGUOUS_JOB",
            f"{job!r} fits {len(found)} jobs:\n  {listed}",
            exit_code=ExitCode.USAGE,
            hint="give more of the id, or the directory",
        )
    if found[0].problem is not None:
        raise CommandError(
            "BAD_STATUS",
            f"the run {found[0].path} cannot be used: {found[0].problem}",
            exit_code=ExitCode.WRONG_STATE,
            hint="start the job's program again: it goes on from its checkpoint, and writes a "
            "new status",
        )
    return found[0]


def _in_directory(path: str) -> list[JobRecord]:
    from millstream.checkpoint.registry import find_jobs
    from millstream.checkpoint.small_files import number_of

    parent, _, name = path.rstrip("/").rpartition("/")
    if number_of(name) is not None:
        # One run of a job: its directory says more than the run does.
        runs = [
            run for run in find_jobs(parent or ".") if run.path.rstrip("/").endswith(f"/{name}")
        ]
        if runs:
            return runs
    return latest_runs(find_jobs(path))


def _by_name(job: str, records: list[JobRecord]) -> list[JobRecord]:
    exact = [record for record in records if record.job_id == job]
    if exact:
        return exact[-1:]
    latest = [record for record in latest_runs(records) if record.problem is None]
    named = [record for record in latest if record.name == job]
    begun = [record for record in records if job and record.job_id.startswith(job)]
    return named + [record for record in begun if record not in named]


def latest_runs(records: Iterable[JobRecord]) -> list[JobRecord]:
    """Of each directory its last run."""
    latest: dict[str, JobRecord] = {}
    for record in sorted(records, key=lambda record: record.path):
        latest[record.directory] = record
    return list(latest.values())


def state_of(record: JobRecord) -> str:
    """The status for a person: a job that says RUNNING but has no process is DEAD."""
    if record.alive or record.status in (*ENDED, BAD):
        return str(record.status)
    return "DEAD"


def require_path(path: str, what: str = "savepoint") -> str:
    """The path, if there is something; else the command ends with exit code 3."""
    import pyarrow.fs as pafs

    from millstream.checkpoint.folder import open_path

    fs, inner = open_path(path)
    if fs.get_file_info(inner).type == pafs.FileType.NotFound:
        raise CommandError(
            "NO_SUCH_SAVEPOINT",
            f"there is no {what} {path}",
            exit_code=ExitCode.NOT_FOUND,
            hint="give the path that `millstream savepoint` has printed",
        )
    return absolute_path(path)
