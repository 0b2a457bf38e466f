"""The file sink: exactly once, by files written aside and published after a manifest.

A task writes its part of an epoch under ``<folder>/_millstream/<job>/staging``; a plain reader skips
names that begin with an underscore. When all tasks are done the driver writes the epoch's manifest
(atomically: this is the commit) and moves the files up. A crash before the manifest leaves only
staged files, which the replayed epoch writes again; a crash after it leaves moves to be finished,
which the next start does. An epoch with a manifest is never written a second time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow.fs as pafs

from millstream.checkpoint.folder import open_path, write_at
from millstream.common.errors import CheckpointError
from millstream.common.typeinfo import TypeInformation
from millstream.kernel.hashing import stable_hash
from millstream.plan.specs import FilesSinkSpec
from millstream.spark.file_formats import encoded, extension

KEPT_MANIFESTS = 100
RETRACTED = ".retracted"


@dataclass(frozen=True)
class StagedFile:
    """A file that a task has written aside, and the name it will have."""

    staged: str
    name: str
    records: int


class FileSink:
    """One folder, written by one job."""

    def __init__(
        self, spec: FilesSinkSpec, type_info: TypeInformation | None, job: str, sink: str
    ) -> None:
        self.spec = spec
        self.type_info = type_info
        self.job = job
        self.sink = sink
        self.fs, self.folder = open_path(spec.path)
        self.own = f"{self.folder}/_millstream/{job}-{sink}"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "fs"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self.fs, _ = open_path(self.spec.path)

    # -- in the tasks ----------------------------------------------------------------------------

    def stage(self, values: list[Any], epoch: int, task: int) -> StagedFile:
        """Write a task's records of an epoch aside."""
        # Jobs and sinks may share a folder: each has names of its own.
        own = f"{self.job[:8]}-{stable_hash(self.sink):08x}"
        name = f"{self.spec.prefix}-{own}-{epoch:08d}-{task:04d}.{extension(self.spec)}"
        staged = f"{self.own}/staging/{name}"
        self.fs.create_dir(f"{self.own}/staging", recursive=True)
        data = encoded(self.spec, self.type_info, values)
        with self.fs.open_output_stream(staged, compression=None) as stream:
            stream.write(data)
        return StagedFile(staged, name, len(values))

    # -- on the driver ---------------------------------------------------------------------------

    def is_committed(self, epoch: int) -> bool:
        return self._exists(self._manifest(epoch))

    def commit(self, epoch: int, files: list[StagedFile]) -> None:
        """Publish an epoch: the manifest first, then the files it names."""
        self.fs.create_dir(self.own, recursive=True)
        listed = [[file.staged, file.name] for file in files]
        missing = [file.staged for file in files if not self._exists(file.staged)]
        if missing:
            raise CheckpointError(
                "STAGED_FILE_GONE",
                f"{missing[0]} was written by a task and is not there",
                hint="write to a path that driver and workers share",
            )
        manifest = self._manifest(epoch)
        write_at(self.fs, manifest, json.dumps({"version": 1, "files": listed}).encode())
        self._publish(manifest)
        self._prune(epoch)

    def discard(self, files: list[StagedFile]) -> None:
        """Remove what a replayed epoch has staged although it was committed before."""
        for file in files:
            self.fs.delete_file(file.staged)

    def recover(self) -> None:
        """Finish the moves of committed epochs, and forget what no commit names."""
        if not self._exists(self.own):
            return
        for info in self.fs.get_file_info(pafs.FileSelector(self.own)):
            if info.base_name.endswith(".json"):
                self._publish(info.path)
            elif info.base_name.endswith(RETRACTED):
                finish_taking_back(self.fs, self.folder, info.path)
        if self._exists(f"{self.own}/staging"):
            self.fs.delete_dir_contents(f"{self.own}/staging")

    def _publish(self, manifest: str) -> None:
        for staged, name in files_of(self.fs, manifest):
            if self._exists(staged):
                self.fs.move(staged, f"{self.folder}/{name}")

    def _prune(self, epoch: int) -> None:
        old = self._manifest(epoch - KEPT_MANIFESTS)
        if epoch >= KEPT_MANIFESTS and self._exists(old):
            self.fs.delete_file(old)

    def _manifest(self, epoch: int) -> str:
        return f"{self.own}/{epoch:08d}.json"

    def _exists(self, path: str) -> bool:
        return bool(self.fs.get_file_info(path).type != pafs.FileType.NotFound)


def files_of(fs: pafs.FileSystem, manifest: str) -> list[tuple[str, str]]:
    """The files that a manifest names: where each was staged, and the name it has when published."""
    with fs.open_input_stream(manifest) as stream:
        data = bytes(stream.read())
    try:
        return [(staged, name) for staged, name in json.loads(data)["files"]]
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            "CHECKPOINT_DAMAGED",
            f"{manifest} is cut short or no manifest of the file sink's",
            hint="delete it and start the job again: an epoch that comes again is written to files "
            "of the same names",
        ) from error


def take_back(
    manifest: Mapping[str, Any], job: str, first_epoch: int, epochs: Mapping[int, int]
) -> None:
    """Take back what file sinks have published of epochs after the given ones.

    A driver that dies may have published an epoch that was never committed. Whoever goes on from the
    last committed one writes its records again, in files of other names.
    """
    for uid, detail in manifest["details"].items():
        if "files" not in detail:
            continue
        fs, folder = open_path(detail["files"])
        own = f"{folder}/_millstream/{job}-{uid}"
        if fs.get_file_info(own).type == pafs.FileType.NotFound:
            continue
        last = first_epoch + epochs[detail["query"]]
        for info in fs.get_file_info(pafs.FileSelector(own)):
            name, _, kind = info.base_name.partition(".")
            if kind == "json" and name.isdigit() and int(name) > last:
                # From here on the epoch counts as not written.
                retracted = f"{own}/{name}{RETRACTED}"
                fs.move(info.path, retracted)
                finish_taking_back(fs, folder, retracted)


def finish_taking_back(fs: pafs.FileSystem, folder: str, retracted: str) -> None:
    """Delete the files of an epoch that is taken back."""
    for staged, name in files_of(fs, retracted):
        for path in (staged, f"{folder}/{name}"):
            if fs.get_file_info(path).type != pafs.FileType.NotFound:
                fs.delete_file(path)
    fs.delete_file(retracted)
