"""The file sink: exactly once, by files written aside and published after a manifest.

All of a job's own files of a sink lie in ``<folder>/_millstream/<job>-<sink>``; a plain reader skips
names that begin with an underscore. There, a task writes its part of an epoch below ``staging``, under a
name that no other attempt of the task has. When all tasks are done the driver creates the epoch's
manifest (this is the commit) and moves the files up, each under the name of its epoch and part. A crash
before the manifest leaves only staged files, which the replayed epoch writes again; a crash after it
leaves moves to be finished, which the next start does. An epoch with a manifest is never written again.
When its files have their names, an empty file ``<epoch>.published`` says so: readers may take them away.
Files may lie in subfolders, the buckets; the manifest also names the buckets that are complete with the
epoch, and each gets an empty file ``_SUCCESS`` when the epoch's files have their names. With compaction
the files wait in the sink's own folder, and are merged before they are seen: `file_compaction`.

A manifest is created once: of two drivers that write one epoch the second publishes what the first has
committed. Each attempt to run the job has a folder ``attempt-<number>`` from which it creates its
manifests. The next attempt removes it, so that an earlier one can commit nothing more, whenever it wakes
up.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pyarrow.fs as pafs

from millstream.checkpoint.durable import (
    create,
    exists,
    is_local,
    make_folder,
    move,
    sync_folder,
)
from millstream.checkpoint.folder import open_path
from millstream.checkpoint.small_files import (
    number_of,
)
from millstream.checkpoint.trust import give_rights_of
from millstream.common.errors import CheckpointError, Location, MillstreamError
from millstream.connectors.sink import Committer, SinkContext
from millstream.plan.specs import FilesSinkSpec
from millstream.spark.io.file_compaction import (
    CompactionRule,
    Compactor,
    release,
    undo_compactions,
)
from millstream.spark.io.sink_folder import ATTEMPT, RETRACTED, VERSION, SinkFolder

log = logging.getLogger("millstream")
KEPT_MANIFESTS = 100
INVALID = ".invalid"
REMOVALS = 10


@dataclass(frozen=True)
class StagedFile:
    """A file that a task has written aside, relative to the sink's own folder, and its final name.

    The name of a file in a bucket begins with the path of the bucket.
    """

    staged: str
    name: str
    records: int


@dataclass(frozen=True)
class StagedPart:
    """Files of a part of an epoch, and the buckets that are complete with this epoch."""

    files: tuple[StagedFile, ...]
    complete: tuple[str, ...] = ()


class FileCommitter(Committer):
    """One folder, written by one attempt to run a job."""

    def __init__(
        self, path: str, context: SinkContext, compaction: CompactionRule | None = None
    ) -> None:
        self.attempt = context.attempt
        self.location = context.location
        self.place = SinkFolder(*open_path(path), context.job_id, context.sink)
        self.compacts = compaction is not None
        single = CompactionRule(FilesSinkSpec(path=path, format="text"), merges=False)
        self._compactor = Compactor(self.place, self._right, self._staging, compaction or single)
        self._committed: list[int] = []

    @property
    def fs(self) -> pafs.FileSystem:
        return self.place.fs

    @property
    def _right(self) -> str:
        """The folder from which this attempt creates its manifests."""
        return f"{self.place.own}/{ATTEMPT}{self.attempt:08d}"

    @property
    def _staging(self) -> str:
        """The folder that the tasks of this attempt write to."""
        return f"{self.place.own}/staging/{self.attempt:08d}"

    def recover(self) -> int | None:
        """Shut out earlier attempts, finish what they have committed, and forget the rest.

        Raises
        ------
        CheckpointError
            ``LEASE_LOST`` if a later attempt writes here.
        """
        with readable_errors(self.place, self.location):
            place = self.place
            _make_common(self.fs, place.folder)
            make_folder(self.fs, self._right)
            for number, path in place.attempts().items():
                if number > self.attempt:
                    raise self._shut_out(path)
                if number < self.attempt:
                    _remove(self.fs, path)
            # Nobody else can commit from here on: what has no manifest by now will never have one.
            for retracted in place.retracted():
                finish_taking_back(place, retracted)
            self._compactor.recover()
            self._committed = place.manifests()
            while self._committed and not self.is_committed(self._committed[-1]):
                self._committed.pop()
            make_folder(self.fs, self._staging, shared=True)
            # Those before the last one were published before it was committed.
            if self._committed:
                self._publish(self._committed[-1])
            if not self.compacts:
                # The program has merged files before, and does not any more.
                self._compactor.run(everything=True)
            self._forget_staged()
            make_folder(self.fs, self._staging, shared=True)
        return self._committed[-1] if self._committed else None

    def is_committed(self, epoch: int) -> bool:
        """Whether an epoch has a manifest; one that cannot be ours is set aside.

        That loses nothing: Spark goes on to the next epoch only when this one is published. So the epoch
        comes again, or its files are where they belong.
        """
        path = self.place.manifest(epoch)
        if not exists(self.fs, path):
            return False
        if exists(self.fs, self.place.published_mark(epoch)):
            return True
        try:
            self.place.files(path)
        except CheckpointError as error:
            log.warning("%s; it is set aside as %s%s", error.message, path, INVALID)
            move(self.fs, path, path + INVALID)
            return False
        return True

    def commit(self, epoch: int, staged: list[StagedPart]) -> None:
        """Publish an epoch: the manifest first, then the files it names.

        If it is committed already, what was committed is published, and these files are forgotten.
        """
        with readable_errors(self.place, self.location):
            if not self.is_committed(epoch):
                self._require(_files(staged))
                # Without a manifest it says nothing, and with one it would keep the files back.
                with suppress(FileNotFoundError):
                    self.fs.delete_file(self.place.published_mark(epoch))
                if self._create_manifest(epoch, staged):
                    self._committed.append(epoch)
            self._publish(epoch)
            self._prune()
            self._forget_rest()

    def abort(self, epoch: int, staged: list[StagedPart]) -> None:
        for file in _files(staged):
            self.fs.delete_file(f"{self.place.own}/{file.staged}")

    def check_take_back(self) -> None:
        if not exists(self.fs, self.place.own):
            raise _moved_away(self.place)

    def take_back(self, epoch: int) -> None:
        place = self.place
        # A driver that only seems to be dead cannot commit such an epoch again.
        for path in place.attempts().values():
            _remove(place.fs, path)
        undo_compactions(place, epoch)
        for retracted in place.retracted():
            finish_taking_back(place, retracted)
        for later in place.manifests():
            if later > epoch:
                # Checked before anything is done.
                place.files(place.manifest(later))
                with suppress(FileNotFoundError):
                    place.fs.delete_file(place.published_mark(later))
                # From here on the epoch counts as not written.
                retracted = f"{place.own}/{later:08d}{RETRACTED}"
                move(place.fs, place.manifest(later), retracted)
                finish_taking_back(place, retracted)
        # The job is another one from here on, and nobody merges the files of this one.
        release(place)

    def close(self) -> None:
        if self.compacts:
            # What waits is committed: it may be seen, and no other epoch may come.
            self._compactor.run(everything=True)

    def _require(self, files: Iterable[StagedFile]) -> None:
        """Make sure of what the tasks say that they have written."""
        for file in files:
            path = f"{self.place.own}/{file.staged}"
            if not exists(self.fs, path):
                if not exists(self.fs, self._right):
                    raise self._no_right()
                raise CheckpointError(
                    "STAGED_FILE_GONE",
                    f"{path} was written by a task and is not there",
                    hint="write to a path that driver and workers share",
                )
        sync_folder(self.fs, self._staging)

    def _create_manifest(self, epoch: int, parts: Iterable[StagedPart]) -> bool:
        """Commit an epoch; False if somebody else has."""
        place = self.place
        listed = [[file.staged, file.name] for file in _files(parts)]
        content: dict[str, Any] = {"version": VERSION, "attempt": self.attempt, "files": listed}
        complete = sorted({bucket for part in parts for bucket in part.complete})
        # Late records make a bucket complete once more: the marker belongs to the first time.
        new = [bucket for bucket in complete if not exists(self.fs, place.marker(bucket))]
        if new:
            content["complete"] = new
        if self.compacts:
            content["pending"] = True
        try:
            return create(self.fs, place.manifest(epoch), json.dumps(content).encode(), self._right)
        except FileNotFoundError as error:
            raise self._no_right() from error

    def _publish(self, epoch: int) -> None:
        """Give the files of a committed epoch their names, as far as they have not got them yet."""
        place = self.place
        if exists(self.fs, place.published_mark(epoch)):
            return
        manifest = place.manifest(epoch)
        folders = {place.folder}
        for staged, final in place.files(manifest):
            folders |= place.made(final.rpartition("/")[0], folders)
            if exists(self.fs, staged):
                # Another driver may publish the same files now.
                with suppress(FileNotFoundError):
                    self.fs.move(staged, final)
            if not exists(self.fs, final) and not self._is_released(final):
                raise _lost(place, epoch, staged, final)
        for folder in sorted(folders):
            sync_folder(self.fs, folder)
        if self.compacts:
            try:
                self._compactor.run(place.buckets(manifest))
            except FileNotFoundError as error:
                if exists(self.fs, self._right):
                    raise
                raise self._no_right() from error
        # A reader that sees a marker sees all files of the bucket.
        for marker in place.markers(manifest):
            self.fs.create_dir(marker.rpartition("/")[0], recursive=True)
            with self.fs.open_output_stream(marker):
                pass
        with self.fs.open_output_stream(place.published_mark(epoch)):
            pass  # the name of the file is the mark
        for earlier in [other for other in self._committed if other < epoch][-1:]:
            with suppress(FileNotFoundError):
                self.fs.delete_file(place.published_mark(earlier))

    def _is_released(self, path: str) -> bool:
        """Whether a pending file was published as it is, when an epoch was taken back."""
        place = self.place
        name = path.removeprefix(f"{place.pending}/")
        return name != path and exists(self.fs, f"{place.folder}/{name}")

    def _forget_staged(self) -> None:
        """Delete what earlier attempts have staged and not committed."""
        staging = f"{self.place.own}/staging"
        for info in self.fs.get_file_info(pafs.FileSelector(staging, allow_not_found=True)):
            number = number_of(info.base_name)
            if info.type == pafs.FileType.Directory and number is not None:
                if number <= self.attempt:
                    _remove(self.fs, info.path)

    def _forget_rest(self) -> None:
        """Delete what is staged when an epoch is published: files of tasks that were run twice."""
        staging = pafs.FileSelector(self._staging, allow_not_found=True)
        for info in self.fs.get_file_info(staging):
            with suppress(FileNotFoundError):
                self.fs.delete_file(info.path)

    def _prune(self) -> None:
        while len(self._committed) > KEPT_MANIFESTS:
            with suppress(FileNotFoundError):
                self.fs.delete_file(self.place.manifest(self._committed.pop(0)))
        if self.compacts and self._committed:
            self._compactor.prune(self._committed[0])

    def _no_right(self) -> MillstreamError:
        """Why the right to commit is gone: somebody has taken it, or the whole folder away."""
        later = [path for number, path in self.place.attempts().items() if number > self.attempt]
        if later:
            return self._shut_out(later[-1])
        return MillstreamError(
            "OUTPUT_FOLDER_GONE",
            f"{self.place.own} was there when the job started, and is gone",
            location=self.location,
            hint="do not delete or replace the output folder under a running job; started again, "
            "the job writes the epochs that are not committed yet, and no earlier one",
        )

    def _shut_out(self, later: str) -> CheckpointError:
        return CheckpointError(
            "LEASE_LOST",
            f"a later attempt of the job writes to {self.place.folder} now: this is attempt "
            f"{self.attempt}, and there is {later}",
            hint="this driver has stopped, and commits nothing more; let one of them run. If no other "
            "one runs, the folder 'lease' of the checkpoint is new or an older copy: delete "
            f"{later}",
        )


def _files(parts: Iterable[StagedPart]) -> list[StagedFile]:
    return [file for part in parts for file in part.files]


@contextmanager
def readable_errors(place: SinkFolder, location: Location | None) -> Iterator[None]:
    """Say what a refusal of the file system is about; the restart strategy tries it again."""
    try:
        yield
    except OSError as error:
        raise MillstreamError(
            "OUTPUT_NOT_WRITABLE",
            f"sink {place.sink!r} cannot write to {place.folder}: {error}",
            location=location,
            hint="make the folder writable, or make room there, and start the job again: it writes "
            "the epochs that are not committed yet",
        ) from error


def finish_taking_back(place: SinkFolder, retracted: str) -> None:
    """Delete the files of an epoch that is taken back."""
    for marker in place.markers(retracted):
        with suppress(FileNotFoundError):
            place.fs.delete_file(marker)
    for paths in place.files(retracted):
        for path in paths:
            with suppress(FileNotFoundError):
                place.fs.delete_file(path)
    sync_folder(place.fs, place.folder)
    place.fs.delete_file(retracted)


def _make_common(fs: pafs.FileSystem, folder: str) -> None:
    """Make the output folder and, below it, the one for all jobs: who may write one may write both."""
    common = f"{folder}/_millstream"
    if exists(fs, common):
        return
    make_folder(fs, common, shared=True)
    if is_local(fs):
        give_rights_of(folder, common)


def _remove(fs: pafs.FileSystem, folder: str) -> None:
    """Delete a folder, although its owner may put another file there at the same time."""
    for _ in range(REMOVALS):
        with suppress(OSError):
            fs.delete_dir(folder)
        if not exists(fs, folder):
            return
    fs.delete_dir(folder)


def _moved_away(place: SinkFolder) -> CheckpointError:
    return CheckpointError(
        "OUTPUT_FOLDER_GONE",
        f"sink {place.sink!r} wrote to {place.folder}, and {place.own} is gone: what it has of epochs "
        "that were never committed cannot be taken back",
        hint="bring the output folder back to its place; if its files are deleted for good, make the "
        f"empty folder {place.own}",
    )


def _lost(place: SinkFolder, epoch: int, staged: str, final: str) -> CheckpointError:
    return CheckpointError(
        "STAGED_FILE_GONE",
        f"epoch {epoch} is committed, but its file {final} is neither published nor at {staged}",
        hint="bring the file back; if a reader has already taken it from the folder, create the empty "
        f"file {place.published_mark(epoch)}, and start the job again",
    )
