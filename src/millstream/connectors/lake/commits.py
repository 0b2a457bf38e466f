"""The driver's side of a sink of a table: one protocol, whatever the format of the table."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from millstream.common.errors import CheckpointError, MillstreamError
from millstream.connectors.lake.errors import told
from millstream.connectors.lake.ours import (
    Ours,
    forget_after,
    forget_rest,
    require_right,
    right_after,
    right_of,
)
from millstream.connectors.lake.parts import Folder, StagedFile
from millstream.connectors.sink import Committer, SinkContext

__all__ = ["Conflict", "LakeCommitter", "Marks", "cannot_take_back", "named_failures"]

FIRST_PAUSE_SECONDS = 0.02
LONGEST_PAUSE_SECONDS = 2.0


class Conflict(Exception):
    """Another commit came first: the table is not as it was when it was looked at."""


@dataclass(frozen=True)
class Marks:
    """Marks of the sink in a version of a table: the last epoch, and the right to commit."""

    epoch: int | None
    right: int | None


class LakeCommitter(Committer):
    """Commits epochs to a table, on a version of it in which the marks were looked at.

    Parameters
    ----------
    context
        The sink of the job.
    ours
        Its names in the table.
    name
        The table, for errors.
    retries
        How often a commit is tried again when another writer came first.
    """

    def __init__(self, context: SinkContext, ours: Ours, name: str, retries: int) -> None:
        self.context = context
        self.ours = ours
        self.name = name
        self.retries = retries

    # -- what a format says ----------------------------------------------------------------------

    @abstractmethod
    def prepare(self) -> None:
        """Make the table if there is none, and refuse a stream that does not fit it."""

    @abstractmethod
    def refresh(self) -> Marks | None:
        """Look at the newest version of the table; None if there is no table."""

    @abstractmethod
    def mark(self, marks: Marks) -> None:
        """Commit other marks, and nothing else; raise `Conflict` if another commit came first."""

    @abstractmethod
    def write(self, epoch: int, staged: list[StagedFile], marks: Marks) -> None:
        """Commit the files of an epoch, and the marks with them; or raise `Conflict`."""

    @abstractmethod
    def remove(self, epoch: int, marks: Marks) -> None:
        """Commit that later epochs are not in the table, and the marks with it; or raise `Conflict`."""

    @abstractmethod
    def refuse_rewritten(self, epoch: int) -> None:
        """Refuse to take back later epochs if somebody has rewritten their files."""

    @abstractmethod
    def files_of_table(self) -> Collection[str]:
        """The paths of all files of the version that was looked at."""

    @abstractmethod
    def folder(self) -> Folder | None:
        """The folder of the table; None if files cannot be listed there."""

    # -- the protocol ----------------------------------------------------------------------------

    def recover(self) -> int | None:
        self.prepare()
        last: int | None = self._on_newest(self._take_right)
        folder = self.folder()
        if folder is not None:
            # Earlier attempts can commit nothing from here on: what they have staged is garbage.
            forget_after(folder.fs, folder.inner(self.ours.folder), -1 if last is None else last)
        return last

    def _take_right(self, found: Marks) -> int | None:
        mine = right_of(self.context.attempt)
        require_right(found.right, self.context, self.name)
        if found.right != mine:
            self.mark(Marks(found.epoch, mine))
        return None if found.epoch is None or found.epoch < 0 else found.epoch

    def commit(self, epoch: int, staged: list[Any]) -> None:
        files = [file for part in staged for file in part]
        found = self.refresh()
        if found is not None and found.epoch is not None and found.epoch >= epoch:
            self._forget(files)
        elif self._on_newest(lambda found: self._commit(epoch, files, found)):
            self.tidy(epoch, files)

    def _commit(self, epoch: int, files: list[StagedFile], found: Marks) -> bool:
        """Commit an epoch; False if it is there, as after a commit whose answer was lost."""
        require_right(found.right, self.context, self.name)
        if found.epoch is not None and found.epoch >= epoch:
            return False
        self.write(epoch, files, Marks(epoch, right_of(self.context.attempt)))
        return True

    def tidy(self, epoch: int, files: list[StagedFile]) -> None:
        """Delete what is not needed any more when an epoch is committed."""
        folder = self.folder()
        if folder is not None:
            kept = [file.path for file in files]
            forget_rest(folder.fs, folder.inner(self.ours.epoch_folder(epoch)), kept)

    def abort(self, epoch: int, staged: list[Any]) -> None:
        if self.refresh() is not None:
            self._forget([file for part in staged for file in part])

    def _forget(self, files: list[StagedFile]) -> None:
        """Delete staged files, unless they have become a part of the table."""
        folder, kept = self.folder(), self.files_of_table()
        for file in files:
            if folder is not None and file.path not in kept:
                with suppress(FileNotFoundError):
                    folder.fs.delete_file(folder.inner(file.path))

    def check_take_back(self) -> None:
        if self.refresh() is None:
            raise CheckpointError(
                "LAKE_TABLE_GONE",
                f"sink {self.context.sink!r} wrote to {self.name}, and the table is gone: what it has "
                "of epochs that were never committed cannot be taken back",
                hint="bring the table back to its place; if it is deleted for good, make an empty "
                "table there",
            )

    def take_back(self, epoch: int) -> None:
        self._on_newest(lambda found: self._take_back(epoch, found))

    def _take_back(self, epoch: int, found: Marks) -> None:
        # A driver that only seems to be dead can commit no such epoch again.
        right = right_after(found.right)
        if found.epoch is not None and found.epoch > epoch:
            self.refuse_rewritten(epoch)
            self.remove(epoch, Marks(epoch, right))
        elif found.right != right:
            self.mark(Marks(found.epoch, right))

    def _on_newest(self, action: Callable[[Marks], Any]) -> Any:
        """Do something on the newest version of the table; again on a newer one after a conflict."""
        pause = FIRST_PAUSE_SECONDS
        for _ in range(self.retries + 1):
            found = self.refresh()
            assert found is not None, "`prepare` or `check_take_back` has looked"
            try:
                return action(found)
            except Conflict as error:
                last = error
            threading.Event().wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        raise MillstreamError(
            "LAKE_CONFLICT",
            f"sink {self.context.sink!r} could not commit to {self.name}: {self.retries + 1} times "
            f"another writer came first ({last})",
            location=self.context.location,
            hint="let fewer programs change the same rows of the table at the same time, make epochs "
            "longer, or give the sink more commit_retries",
        )


@contextmanager
def named_failures(
    context: SinkContext,
    name: str,
    errors: tuple[type[Exception], ...],
    masked: Callable[[str], str],
) -> Iterator[None]:
    """Say which table an error of a client or of a file system is about, without secrets."""
    try:
        yield
    except (MillstreamError, Conflict):
        raise
    except errors as error:
        raise MillstreamError(
            "LAKE_UNAVAILABLE",
            f"sink {context.sink!r} cannot use {name}: {masked(told(error))}",
            location=context.location,
            hint="check the path, the rights and the credentials; a job with a restart strategy "
            "tries again, and writes the epochs that are not committed yet",
        ) from None


def cannot_take_back(context: SinkContext, name: str, why: str) -> CheckpointError:
    """The error for epochs that are mixed with what others have written."""
    return CheckpointError(
        "LAKE_NOT_TAKEN_BACK",
        f"sink {context.sink!r} has epochs in {name} that the savepoint does not have, and they cannot "
        f"be taken back: {why}",
        location=context.location,
        hint="delete or restore their rows by hand: the job that goes on writes them again",
    )
