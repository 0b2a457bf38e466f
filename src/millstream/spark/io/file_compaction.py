"""Compaction: small files of several epochs become one before a reader sees them.

A sink with compaction publishes the files of an epoch into its own folder ``pending``, which no plain
reader looks into. When enough of them wait in a bucket, they are merged into one file that is written
aside; a manifest ``compacted/<number>.json`` names it and the files it replaces (this is the commit),
and it is moved to its place. So a record is seen once its file is moved there, and never twice: there is
nothing to delete that a reader could see.

Pending files that are merged stay until their epochs can no longer be taken back. To take back an epoch
whose file is merged with others, the merged file is deleted, and the others are published as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import pyarrow.fs as pafs

from millstream.checkpoint.durable import create, exists, make_folder, move, sync_file, sync_folder
from millstream.checkpoint.small_files import (
    MOST_MANIFEST_BYTES,
    BadFile,
    Shape,
    is_inside,
    is_texts,
    numbers_of,
    read_small,
)
from millstream.common.errors import CheckpointError
from millstream.plan.specs import FilesSinkSpec
from millstream.spark.io.file_formats import extension
from millstream.spark.io.file_merging import mergeable, write_merged
from millstream.spark.io.sink_folder import PUBLISHED, RETRACTED, SinkFolder

__all__ = ["CompactionRule", "Compactor", "release", "undo_compactions"]

VERSION = 1
_MANIFEST: Shape = {
    "version": lambda value: value == VERSION,
    "files": lambda value: isinstance(value, list) and all(_is_entry(one) for one in value),
}


def _is_entry(value: object) -> bool:
    """Where a merged file was staged, its name, and the pending files that it replaces."""
    return (
        isinstance(value, list) and len(value) == 3 and is_texts(value[:2]) and is_texts(value[2])
    )


@dataclass(frozen=True)
class CompactionRule:
    """When files are merged, and how.

    ``epochs``: how many epochs have a file in a bucket; ``size``: how many bytes they have; either is
    enough. ``merges`` False: files are published one by one.
    """

    files: FilesSinkSpec
    epochs: int | None = None
    size: int | None = None
    threads: int = 1
    merges: bool = True
    delimiter: bytes = b""


@dataclass(frozen=True)
class _Merged:
    """A file of a compaction."""

    staged: str
    name: str
    sources: tuple[str, ...]


class Compactor:
    """The compactions of one sink, in one attempt to run the job."""

    def __init__(self, place: SinkFolder, right: str, staging: str, rule: CompactionRule) -> None:
        self.place = place
        self.fs = place.fs
        self.right = right
        self.staging = staging
        self.rule = rule
        self._known: dict[int, list[_Merged]] = {}

    def recover(self) -> None:
        """Finish what earlier attempts have committed or begun to take back."""
        finish_undoing(self.place)
        self._compactions()

    def _compactions(self) -> dict[int, list[_Merged]]:
        """All compactions, by number; the last one is published now if it was not."""
        numbers = _numbers(self.place)
        for number in numbers[-1:]:
            self._publish(number)
        self._known = {
            number: self._known.get(number) or _read(self.place, _manifest(self.place, number))
            for number in numbers
        }
        return self._known

    def run(self, forced: Iterable[str] = (), *, everything: bool = False) -> None:
        """Merge what is due; ``forced``: buckets that are.

        Raises
        ------
        FileNotFoundError
            A later attempt has taken away the right to commit.
        """
        known = self._compactions()
        waiting = _waiting(self.place, known)
        due = [
            (bucket, infos)
            for bucket, infos in sorted(waiting.items())
            if everything or bucket in set(forced) or self._is_due(infos)
        ]
        if not due:
            return
        number = max(known, default=-1) + 1
        make_folder(self.fs, _folder(self.place))
        groups = [
            (bucket, group)
            for bucket, infos in due
            for group in self._groups([info.path for info in infos])
        ]
        with ThreadPoolExecutor(self.rule.threads) as pool:
            tasks = [
                pool.submit(self._merge, number, nth, bucket, group)
                for nth, (bucket, group) in enumerate(groups)
            ]
            merged = [task.result() for task in tasks]
        sync_folder(self.fs, self.staging)
        listed = [[one.staged, one.name, list(one.sources)] for one in merged]
        content = json.dumps({"version": VERSION, "files": listed}).encode()
        if create(self.fs, _manifest(self.place, number), content, self.right):
            self._publish(number)

    def _is_due(self, infos: list[pafs.FileInfo]) -> bool:
        rule = self.rule
        epochs = {self.place.epoch_of(info.base_name) for info in infos}
        if rule.epochs is not None and len(epochs) >= rule.epochs:
            return True
        return rule.size is not None and sum(info.size for info in infos) >= rule.size

    def _groups(self, paths: list[str]) -> Iterable[list[str]]:
        if not self.rule.merges:
            return [[path] for path in paths]
        return mergeable(self.fs, self.rule.files, paths)

    def _merge(self, number: int, nth: int, bucket: str, paths: list[str]) -> _Merged:
        rule, place = self.rule, self.place
        ending = extension(rule.files)
        file = place.name(f"compacted-{rule.files.prefix}", number, nth, ending)
        staged = f"{self.staging}/{file}"
        with self.fs.open_output_stream(staged, compression=None) as stream:
            write_merged(self.fs, rule.files, paths, stream, rule.delimiter)
        sync_file(self.fs, staged)
        start = len(place.pending) + 1
        return _Merged(
            staged.removeprefix(f"{place.own}/"),
            f"{bucket}/{file}" if bucket else file,
            tuple(path[start:] for path in paths),
        )

    def _publish(self, number: int) -> None:
        mark = _manifest(self.place, number).removesuffix(".json") + PUBLISHED
        if exists(self.fs, mark):
            return
        folders = {self.place.folder}
        for one in _read(self.place, _manifest(self.place, number)):
            staged, final = f"{self.place.own}/{one.staged}", f"{self.place.folder}/{one.name}"
            folders |= self.place.made(final.rpartition("/")[0], folders)
            if exists(self.fs, staged):
                with suppress(FileNotFoundError):
                    self.fs.move(staged, final)
            if not exists(self.fs, final):
                raise CheckpointError(
                    "STAGED_FILE_GONE",
                    f"{final} replaces files of the sink, and is neither there nor at {staged}",
                    hint=f"bring it back, or delete {_manifest(self.place, number)}: the files that it "
                    "replaces are merged again",
                )
        for folder in sorted(folders):
            sync_folder(self.fs, folder)
        with self.fs.open_output_stream(mark):
            pass  # the name of the file is the mark

    def prune(self, oldest: int) -> None:
        """Delete pending files that are merged, and whose epochs cannot be taken back any more."""
        for number, merged in list(self._known.items())[:-1]:
            sources = [source for one in merged for source in one.sources]
            if any(_epoch(self.place, source) >= oldest for source in sources):
                continue
            for source in sources:
                with suppress(FileNotFoundError):
                    self.fs.delete_file(f"{self.place.pending}/{source}")
            # Without the manifest they would be pending again.
            sync_folder(self.fs, self.place.pending)
            manifest = _manifest(self.place, number)
            for path in (manifest, manifest.removesuffix(".json") + PUBLISHED):
                with suppress(FileNotFoundError):
                    self.fs.delete_file(path)
            del self._known[number]


# -- the folder ------------------------------------------------------------------------------------


def _folder(place: SinkFolder) -> str:
    return f"{place.own}/compacted"


def _manifest(place: SinkFolder, number: int) -> str:
    return f"{_folder(place)}/{number:08d}.json"


def _names(place: SinkFolder) -> list[str]:
    found = place.fs.get_file_info(pafs.FileSelector(_folder(place), allow_not_found=True))
    return sorted(info.base_name for info in found)


def _numbers(place: SinkFolder) -> list[int]:
    names = (name for name in _names(place) if name.endswith(".json"))
    return sorted(numbers_of(name.removesuffix(".json") for name in names))


def _read(place: SinkFolder, manifest: str) -> list[_Merged]:
    """The files that a manifest names; it can only name those of this sink."""
    number = int(manifest.rpartition("/")[2].partition(".")[0])
    try:
        found = read_small(place.fs, manifest, _MANIFEST, most_bytes=MOST_MANIFEST_BYTES)
        if found is None:
            raise FileNotFoundError(f"{manifest} is gone")
        merged = [_Merged(one[0], one[1], tuple(one[2])) for one in found.content["files"]]
        for one in merged:
            place.check(one.staged, one.name, number)
            for source in one.sources:
                if not is_inside(source) or place.epoch_of(source.rpartition("/")[2]) is None:
                    raise BadFile(f"{source} is no pending file of this sink's")
    except BadFile as error:
        raise CheckpointError(
            "CHECKPOINT_DAMAGED",
            f"{manifest} is no manifest of this sink's: {error}",
            hint="nothing was moved; bring the file back",
        ) from error
    return merged


def _epoch(place: SinkFolder, source: str) -> int:
    epoch = place.epoch_of(source.rpartition("/")[2])
    assert epoch is not None, "the manifest was checked"
    return epoch


def _waiting(
    place: SinkFolder, compactions: Mapping[int, list[_Merged]]
) -> dict[str, list[pafs.FileInfo]]:
    """The pending files that are not merged yet, by bucket, in order."""
    taken = {source for merged in compactions.values() for one in merged for source in one.sources}
    start = len(place.pending) + 1
    found: dict[str, list[pafs.FileInfo]] = {}
    everything = pafs.FileSelector(place.pending, allow_not_found=True, recursive=True)
    for info in sorted(place.fs.get_file_info(everything), key=lambda info: str(info.path)):
        name = info.path[start:]
        if info.type == pafs.FileType.File and name not in taken:
            if place.epoch_of(info.base_name) is not None:
                found.setdefault(name.rpartition("/")[0], []).append(info)
    return {bucket: sorted(infos, key=_order) for bucket, infos in found.items()}


def _order(info: pafs.FileInfo) -> list[int]:
    """Files in the order of their epochs and parts: by the numbers at the end of their names."""
    return [int(number) for number in re.findall(r"-(\d+)", info.base_name.partition(".")[0])[-3:]]


# -- taking back -----------------------------------------------------------------------------------


def undo_compactions(place: SinkFolder, epoch: int) -> None:
    """Undo the compactions that have a file of a later epoch; the files they replaced wait again."""
    finish_undoing(place)
    for number in _numbers(place):
        manifest = _manifest(place, number)
        sources = [source for one in _read(place, manifest) for source in one.sources]
        if any(_epoch(place, source) > epoch for source in sources):
            with suppress(FileNotFoundError):
                place.fs.delete_file(manifest.removesuffix(".json") + PUBLISHED)
            move(place.fs, manifest, f"{_folder(place)}/{number:08d}{RETRACTED}")
    finish_undoing(place)


def finish_undoing(place: SinkFolder) -> None:
    """Delete the files of compactions that are undone."""
    for name in _names(place):
        if name.endswith(RETRACTED):
            retracted = f"{_folder(place)}/{name}"
            for one in _read(place, retracted):
                for path in (f"{place.own}/{one.staged}", f"{place.folder}/{one.name}"):
                    with suppress(FileNotFoundError):
                        place.fs.delete_file(path)
            sync_folder(place.fs, place.folder)
            place.fs.delete_file(retracted)


def release(place: SinkFolder) -> None:
    """Publish all that waits, as it is: nobody will merge it."""
    folders = {place.folder}
    start = len(place.pending) + 1
    compactions = {number: _read(place, _manifest(place, number)) for number in _numbers(place)}
    for infos in _waiting(place, compactions).values():
        for info in infos:
            final = f"{place.folder}/{info.path[start:]}"
            folders |= place.made(final.rpartition("/")[0], folders)
            place.fs.move(info.path, final)
    for folder in sorted(folders):
        sync_folder(place.fs, folder)
