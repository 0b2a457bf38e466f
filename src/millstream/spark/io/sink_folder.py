"""The folder of a file sink: the names of its files, and what its manifests may say."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow.fs as pafs

from millstream.checkpoint.folder import sink_folder
from millstream.checkpoint.small_files import (
    MOST_MANIFEST_BYTES,
    BadFile,
    Shape,
    Unreadable,
    is_inside,
    is_pairs,
    is_texts,
    is_truth,
    number_of,
    numbers_of,
    optional,
    read_small,
)
from millstream.common.errors import CheckpointError
from millstream.connectors.files.hidden import is_hidden
from millstream.kernel.keys.hashing import stable_hash

__all__ = ["ATTEMPT", "PUBLISHED", "RETRACTED", "VERSION", "SinkFolder"]

VERSION = 2
ATTEMPT = "attempt-"
PUBLISHED = ".published"
RETRACTED = ".retracted"
SUCCESS = "_SUCCESS"

# Version 1 belongs to jobs whose checkpoints have a format before 3, and those are refused.
_MANIFEST: Shape = {
    "version": lambda value: value == VERSION,
    "files": is_pairs,
    "complete": optional(is_texts),
    "pending": optional(is_truth),
}


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

    @property
    def pending(self) -> str:
        """Where files of committed epochs wait for a compaction."""
        return f"{self.own}/pending"

    def name(self, prefix: str, epoch: int, part: int, ending: str, number: int = 0) -> str:
        """The name of a published file. Jobs and sinks may share a folder: each has its own names.

        ``number``: that of the file among those of its part and bucket.
        """
        more = f"-{number}" if number else ""
        return f"{prefix}-{self._mark(epoch)}{part:04d}{more}.{ending}"

    def _mark(self, epoch: int) -> str:
        return f"{self.job[:8]}-{stable_hash(self.sink):08x}-{epoch:08d}-"

    def epoch_of(self, name: str) -> int | None:
        """The epoch of a published or pending file, None if it is not of this job and sink."""
        sink = f"{self.job[:8]}-{stable_hash(self.sink):08x}-"
        found = re.fullmatch(rf".*-{re.escape(sink)}(\d{{8,}})-\d+(-\d+)?\.[\w.]+", name, re.DOTALL)
        return None if found is None else int(found[1])

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

    def marker(self, bucket: str) -> str:
        """The file that says that a bucket is complete."""
        return f"{self.folder}/{bucket}/{SUCCESS}"

    def files(self, manifest: str) -> list[tuple[str, str]]:
        """The files that a manifest names: where each was staged, and where it is when published.

        A manifest can only name files of this sink, job and epoch: no other file is touched.
        """
        return self._content(manifest)[0]

    def markers(self, manifest: str) -> list[str]:
        """The files that say that a bucket is complete, as far as a manifest brings them."""
        return self._content(manifest)[1]

    def buckets(self, manifest: str) -> list[str]:
        """The buckets that are complete, as far as a manifest says so first."""
        start, end = len(self.folder) + 1, -len(SUCCESS) - 1
        return [marker[start:end] for marker in self.markers(manifest)]

    def _content(self, manifest: str) -> tuple[list[tuple[str, str]], list[str]]:
        epoch = int(manifest.rpartition("/")[2].partition(".")[0])
        try:
            found = read_small(self.fs, manifest, _MANIFEST, most_bytes=MOST_MANIFEST_BYTES)
            if found is None:
                raise FileNotFoundError(f"{manifest} is gone")
            listed: list[tuple[str, str]] = [tuple(pair) for pair in found.content["files"]]
            for staged, name in listed:
                self.check(staged, name, epoch)
            complete: list[str] = found.content.get("complete") or []
            for bucket in complete:
                _check_bucket(bucket)
        except Unreadable:
            raise
        except BadFile as error:
            raise CheckpointError(
                "CHECKPOINT_DAMAGED",
                f"{manifest} is no manifest of this sink's: {error}",
                hint="nothing was moved; move it away and start the job again: an epoch that is not "
                "finished comes again, and gets files of the same names",
            ) from error
        target = self.pending if found.content.get("pending") else self.folder
        files = [(f"{self.own}/{staged}", f"{target}/{name}") for staged, name in listed]
        return files, [self.marker(bucket) for bucket in complete]

    def check(self, staged: str, name: str, epoch: int) -> None:
        """Refuse names that are not those of files of this sink."""
        if not is_inside(staged) or not staged.startswith("staging/"):
            raise BadFile(f"{staged} is not a staged file of this sink's")
        mark = re.escape(self._mark(epoch))
        bucket, _, file = name.rpartition("/")
        if bucket:
            _check_bucket(bucket)
        if not re.fullmatch(rf".*-{mark}\d+(-\d+)?\.[\w.]+", file, re.DOTALL):
            raise BadFile(f"{name} is not the name of a file of this sink's epoch {epoch}")

    def made(self, folder: str, known: set[str]) -> set[str]:
        """Make the folder of a bucket; returns it and those that it is in, up to known ones."""
        found: set[str] = set()
        while folder not in known:
            if not found:
                self.fs.create_dir(folder, recursive=True)
            found.add(folder)
            folder = folder.rpartition("/")[0]
        return found


def _check_bucket(bucket: str) -> None:
    if not is_inside(bucket) or any(map(is_hidden, bucket.split("/"))):
        raise BadFile(f"{bucket} is no folder of records")
