"""The file sink: exactly once, by files written aside and published after a manifest.

All of a job's own files of a sink lie in ``<folder>/_millstream/<job>-<sink>``; a plain reader skips
names that begin with an underscore. There, a task writes its part of an epoch below ``staging``, under a
name that no other attempt of the task has. When all tasks are done the driver creates the epoch's
manifest (this is the commit) and moves the files up, each under the name of its epoch and part. A crash
before the manifest leaves only staged files, which the replayed epoch writes again; a crash after it
leaves moves to be finished, which the next start does. An epoch with a manifest is never written again.
When its files have their names, an empty file ``<epoch>.published`` says so: readers may take them away.

A manifest is created once: of two drivers that write one epoch the second publishes what the first has
committed. Each attempt to run the job has a folder ``attempt-<number>`` from which it creates its
manifests. The next attempt removes it, so that an earlier one can commit nothing more, whenever it wakes
up.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs

from millstream.checkpoint.durable import (
    create,
    exists,
    is_local,
    make_folder,
    move,
    sync_file,
    sync_folder,
)
from millstream.checkpoint.folder import open_path, sink_folder
from millstream.checkpoint.small_files import (
    MOST_MANIFEST_BYTES,
    BadFile,
    Shape,
    Unreadable,
    is_inside,
    is_pairs,
    number_of,
    numbers_of,
    read_small,
)
from millstream.checkpoint.trust import give_rights_of
from millstream.common.errors import CheckpointError, Location, MillstreamError
from millstream.connectors.sink import Committer, PartContext, PartWriter, SinkContext
from millstream.kernel.keys.hashing import stable_hash
from millstream.plan.specs import FilesSinkSpec
from millstream.spark.io.file_formats import FileEncoder, extension

log = logging.getLogger("millstream")
VERSION = 2
KEPT_MANIFESTS = 100
ATTEMPT = "attempt-"
PUBLISHED = ".published"
RETRACTED = ".retracted"
INVALID = ".invalid"
REMOVALS = 10


# Version 1 belongs to jobs whose checkpoints have a format before 3, and those are refused.
_MANIFEST: Shape = {"version": lambda value: value == VERSION, "files": is_pairs}


@dataclass(frozen=True)
class StagedFile:
    """A file that a task has written aside, relative to the sink's own folder, and its final name."""

    staged: str
    name: str
    records: int


@dataclass(frozen=True)
class SinkFolder:
    """The part of an output folder that belongs to one sink of one job."""

    fs: pafs.FileSystem
    folder: str
    job: str
    sink: str

    @property
    def own(self) -> str:
        return f"{self.folder}/_millstream/{sink_folder(self.job, self.sink)}"

    def name(self, prefix: str, epoch: int, part: int, ending: str) -> str:
        """The name of a published file. Jobs and sinks may share a folder: each has its own names."""
        return f"{prefix}-{self._mark(epoch)}{part:04d}.{ending}"

    def _mark(self, epoch: int) -> str:
        return f"{self.job[:8]}-{stable_hash(self.sink):08x}-{epoch:08d}-"

    def manifest(self, epoch: int) -> str:
        return f"{self.own}/{epoch:08d}.json"

    def published_mark(self, epoch: int) -> str:
        return f"{self.own}/{epoch:08d}{PUBLISHED}"

    def manifests(self) -> list[int]:
        """The epochs that have a manifest."""
        names = self._names()
        return numbers_of(name.removesuffix(".json") for name in names if name.endswith(".json"))

    def attempts(self) -> dict[int, str]:
        """The folders that attempts create their manifests from, by their numbers."""
        names = (name for name in self._names() if name.startswith(ATTEMPT))
        found = {name: number_of(name.removeprefix(ATTEMPT)) for name in names}
        return {n: f"{self.own}/{name}" for name, n in found.items() if n is not None}

    def retracted(self) -> list[str]:
        """The manifests whose epochs are being taken back."""
        return [f"{self.own}/{name}" for name in self._names() if name.endswith(RETRACTED)]

    def _names(self) -> list[str]:
        found = self.fs.get_file_info(pafs.FileSelector(self.own, allow_not_found=True))
        return sorted(info.base_name for info in found)

    def files(self, manifest: str) -> list[tuple[str, str]]:
        """The files that a manifest names: where each was staged, and where it is when published.

        A manifest can only name files of this sink, job and epoch: no other file is touched.
        """
        epoch = int(manifest.rpartition("/")[2].partition(".")[0])
        try:
            found = read_small(self.fs, manifest, _MANIFEST, most_bytes=MOST_MANIFEST_BYTES)
            if found is None:
                raise FileNotFoundError(f"{manifest} is gone")
            listed: list[tuple[str, str]] = [tuple(pair) for pair in found.content["files"]]
            for staged, name in listed:
                self._check(staged, name, epoch)
        except Unreadable:
            raise
        except BadFile as error:
            raise CheckpointError(
                "CHECKPOINT_DAMAGED",
                f"{manifest} is no manifest of this sink's: {error}",
                hint="nothing was moved; move it away and start the job again: an epoch that is not "
                "finished comes again, and gets files of the same names",
            ) from error
        return [(f"{self.own}/{staged}", f"{self.folder}/{name}") for staged, name in listed]

    def _check(self, staged: str, name: str, epoch: int) -> None:
        if not is_inside(staged) or not staged.startswith("staging/"):
            raise BadFile(f"{staged} is not a staged file of this sink's")
        mark = re.escape(self._mark(epoch))
        if "/" in name or not re.fullmatch(rf".*-{mark}\d+\.[\w.]+", name, re.DOTALL):
            raise BadFile(f"{name} is not the name of a file of this sink's epoch {epoch}")


class FileWriter(PartWriter):
    """Writes a part of an epoch aside, under a name that no other attempt of a task has."""

    def __init__(self, spec: FilesSinkSpec, context: PartContext) -> None:
        self.spec = spec
        self.context = context
        self.place = SinkFolder(*open_path(spec.path), context.job_id, context.sink)
        name = self.place.name(spec.prefix, context.epoch, context.part, extension(spec))
        staged = f"staging/{context.attempt:08d}/{name}.{context.task_attempt}"
        self.file = StagedFile(staged, name, 0)
        self.encoder: FileEncoder | None = None

    @property
    def path(self) -> str:
        return f"{self.place.own}/{self.file.staged}"

    def write(self, batch: list[Any] | pa.RecordBatch) -> None:
        with readable_errors(self.place, self.context.location):
            if self.encoder is None:
                fs = self.place.fs
                fs.create_dir(self.path.rpartition("/")[0], recursive=True)
                stream = fs.open_output_stream(self.path, compression=None)
                self.encoder = FileEncoder(self.spec, self.context.type_info, stream)
            self.encoder.write(batch)
        self.file = replace(self.file, records=self.file.records + len(batch))

    def finish(self) -> StagedFile:
        assert self.encoder is not None, "a part without records is not opened"
        with readable_errors(self.place, self.context.location):
            self.encoder.close()
            sync_file(self.place.fs, self.path)
        return self.file


class FileCommitter(Committer):
    """One folder, written by one attempt to run a job."""

    def __init__(self, path: str, context: SinkContext) -> None:
        self.attempt = context.attempt
        self.location = context.location
        self.place = SinkFolder(*open_path(path), context.job_id, context.sink)
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
            self._committed = place.manifests()
            while self._committed and not self.is_committed(self._committed[-1]):
                self._committed.pop()
            # Those before the last one were published before it was committed.
            if self._committed:
                self._publish(self._committed[-1])
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

    def commit(self, epoch: int, staged: list[StagedFile]) -> None:
        """Publish an epoch: the manifest first, then the files it names.

        If it is committed already, what was committed is published, and these files are forgotten.
        """
        with readable_errors(self.place, self.location):
            if not self.is_committed(epoch):
                self._require(staged)
                # Without a manifest it says nothing, and with one it would keep the files back.
                with suppress(FileNotFoundError):
                    self.fs.delete_file(self.place.published_mark(epoch))
                if self._create_manifest(epoch, staged):
                    self._committed.append(epoch)
            self._publish(epoch)
            self._prune()
            self._forget_rest()

    def abort(self, epoch: int, staged: list[StagedFile]) -> None:
        for file in staged:
            self.fs.delete_file(f"{self.place.own}/{file.staged}")

    def check_take_back(self) -> None:
        if not exists(self.fs, self.place.own):
            raise _moved_away(self.place)

    def take_back(self, epoch: int) -> None:
        place = self.place
        # A driver that only seems to be dead cannot commit such an epoch again.
        for path in place.attempts().values():
            _remove(place.fs, path)
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

    def _create_manifest(self, epoch: int, files: Iterable[StagedFile]) -> bool:
        """Commit an epoch; False if somebody else has."""
        place = self.place
        listed = [[file.staged, file.name] for file in files]
        content = {"version": VERSION, "attempt": self.attempt, "files": listed}
        try:
            return create(self.fs, place.manifest(epoch), json.dumps(content).encode(), self._right)
        except FileNotFoundError as error:
            raise self._no_right() from error

    def _publish(self, epoch: int) -> None:
        """Give the files of a committed epoch their names, as far as they have not got them yet."""
        place = self.place
        if exists(self.fs, place.published_mark(epoch)):
            return
        for staged, final in place.files(place.manifest(epoch)):
            if exists(self.fs, staged):
                # Another driver may publish the same files now.
                with suppress(FileNotFoundError):
                    self.fs.move(staged, final)
            if not exists(self.fs, final):
                raise _lost(place, epoch, staged, final)
        sync_folder(self.fs, place.folder)
        with self.fs.open_output_stream(place.published_mark(epoch)):
            pass  # the name of the file is the mark
        for earlier in [other for other in self._committed if other < epoch][-1:]:
            with suppress(FileNotFoundError):
                self.fs.delete_file(place.published_mark(earlier))

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
