"""Files, marks and rights of a sink of a job in a table.

Tasks write files below a folder that only this sink of this job has. A file is part of the table when
the log names it; until then no reader sees it. The path of a file tells the epoch, so that the files of
an epoch are found without the log::

    millstream-<sink>/000012/000012345/<attempt>-<part>-<task attempt>-<number>.parquet

Folders of a thousand epochs keep lists short.

The log of the table keeps two numbers for each sink of each job. The *epoch* is the last epoch that is
committed. The *right* is twice the number of the attempt that may commit; it is odd after epochs were
taken back, so that no attempt up to then may commit any more. Each commit of an epoch is made on a
version of the table in which both were looked at, and it conflicts with every commit since then that
has changed them. So two drivers cannot both commit, whenever each of them wakes up.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b

import pyarrow.fs as pafs

from millstream.common.errors import CheckpointError
from millstream.connectors.sink import PartContext, SinkContext

__all__ = ["Ours", "forget_after", "forget_rest", "make_sure", "require_right", "right_after"]

EPOCHS_PER_FOLDER = 1_000


@dataclass(frozen=True)
class Ours:
    """The names of a sink of a job.

    Examples
    --------
    >>> ours = Ours("a1b2", "orders")
    >>> ours.folder
    'millstream-9b848d5b1a4bc424'
    >>> ours.epoch_of(f"{ours.folder}/000000/000000007/1-0-3-0.parquet")
    7
    """

    job: str
    sink: str
    hidden: bool = False
    """Whether the files never become a part of the table: other programs leave such folders alone."""

    @property
    def id(self) -> str:
        """A short name that no other sink and no other job has."""
        return blake2b(f"{self.job}\0{self.sink}".encode(), digest_size=8).hexdigest()

    @property
    def folder(self) -> str:
        """The folder of the sink's files, below that of the table."""
        return f"{'_' if self.hidden else ''}millstream-{self.id}"

    @property
    def epoch_mark(self) -> str:
        """The name under which the log keeps the last committed epoch."""
        return f"millstream.{self.id}.epoch"

    @property
    def right_mark(self) -> str:
        """The name under which the log keeps who may commit."""
        return f"millstream.{self.id}.right"

    def epoch_folder(self, epoch: int) -> str:
        """The folder of the files of an epoch."""
        return f"{self.folder}/{epoch // EPOCHS_PER_FOLDER:06d}/{epoch:09d}"

    def file(self, part: PartContext, number: int) -> str:
        """The name of a file that no other attempt of the part has."""
        attempts = f"{part.attempt}-{part.part}-{part.task_attempt}-{number}"
        return f"{self.epoch_folder(part.epoch)}/{attempts}.parquet"

    def epoch_of(self, path: str) -> int | None:
        """The epoch of a file; None if it is not the sink's."""
        found = re.search(rf"(?:^|/){re.escape(self.folder)}/\d+/(\d+)/[^/]+$", path)
        return int(found[1]) if found else None

    def note(self, context: SinkContext, **more: object) -> dict[str, object]:
        """Note in the log about a commit of the sink, for people and for `take_back`."""
        return {"job": self.job, "sink": self.sink, "attempt": context.attempt, **more}


# -- who may commit --------------------------------------------------------------------------------


def right_of(attempt: int) -> int:
    """The right of an attempt to run the job."""
    return 2 * attempt


def right_after(found: int | None) -> int:
    """A right that no attempt has which has written so far."""
    return (found or 0) | 1


def require_right(found: int | None, context: SinkContext, table: str) -> None:
    """Refuse to commit if another attempt has taken the right to it."""
    if found is not None and found > right_of(context.attempt):
        raise CheckpointError(
            "LEASE_LOST",
            f"a later attempt of the job writes to {table} now, or epochs were taken back: this is "
            f"attempt {context.attempt} of sink {context.sink!r}, and attempt {(found + 1) // 2} "
            "holds the right to commit",
            location=context.location,
            hint="this driver has stopped, and commits nothing more; let one of them run. If no other "
            "one runs, the folder 'lease' of the checkpoint is new or an older copy: bring the newest "
            "back, or start from a savepoint",
        )


# -- files -----------------------------------------------------------------------------------------


def forget_after(fs: pafs.FileSystem, folder: str, epoch: int) -> None:
    """Delete the files of all epochs after one: attempts that died have staged them.

    None of them is in the table. The files of earlier epochs may be, or may be in an older version
    of it, so they stay.
    """
    for group in _folders(fs, folder):
        if int(group.base_name) >= epoch // EPOCHS_PER_FOLDER:
            for found in _folders(fs, group.path):
                if int(found.base_name) > epoch:
                    with suppress(FileNotFoundError):
                        fs.delete_dir(found.path)


def forget_rest(fs: pafs.FileSystem, folder: str, kept: Iterable[str]) -> None:
    """Delete the files of a folder that are not kept: tasks that were run twice have written them."""
    names = {path.rpartition("/")[2] for path in kept}
    for info in fs.get_file_info(pafs.FileSelector(folder, allow_not_found=True)):
        if info.base_name not in names:
            with suppress(FileNotFoundError):
                fs.delete_file(info.path)


def _folders(fs: pafs.FileSystem, path: str) -> Iterator[pafs.FileInfo]:
    for info in fs.get_file_info(pafs.FileSelector(path, allow_not_found=True)):
        if info.type == pafs.FileType.Directory and info.base_name.isdecimal():
            yield info


def make_sure(path: str) -> None:
    """Make sure that a local file, and its name, are on the disk; object stores do so themselves."""
    for name, flags in ((path, os.O_RDONLY), (os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)):
        number = os.open(name, flags)
        try:
            os.fsync(number)
        finally:
            os.close(number)
