"""Spark's checkpoint of a streaming query: epochs, offsets, files that were read."""

from __future__ import annotations

import json
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pyarrow.fs as pafs

from millstream.checkpoint.folder import folder_bytes, open_path
from millstream.checkpoint.small_files import numbers_of
from millstream.common.errors import CheckpointError

COMPACT = ".compact"
CHECKSUM_HEADER = struct.Struct(">4si")


class QueryFiles:
    """The checkpoint of one query."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.fs, self.folder = open_path(path)

    def committed(self) -> list[int]:
        """The epochs that are committed and still there, oldest first."""
        planned = set(self._numbers("offsets"))
        return sorted(epoch for epoch in self._numbers("commits") if epoch in planned)

    def last_planned(self) -> int:
        """The last epoch that was begun, -1 if none was."""
        return max(self._numbers("offsets"), default=-1)

    def committed_ms(self, epoch: int) -> int:
        """When an epoch was committed."""
        info = self.fs.get_file_info(f"{self.folder}/commits/{epoch}")
        return int(info.mtime_ns // 1_000_000) if info.mtime_ns else 0

    def offsets(self, epoch: int) -> dict[str, str]:
        """Where each source stands after an epoch: by name, or by place if sources have no names."""
        version, _, *lines = self._read(f"offsets/{epoch}").split("\n")
        if version == "v2":
            return dict(line.split(":", 1) for line in lines if line)
        return {str(place): line for place, line in enumerate(lines)}

    def files_read(self, source: str, last: int) -> list[str]:
        """The files that a file source has read, up to one of its own log's entries."""
        names = {entry: self._log_name(source, entry) for entry in self._log_entries(source)}
        compacts = [entry for entry, name in names.items() if name.endswith(COMPACT)]
        first = max((entry for entry in compacts if entry <= last), default=0)
        paths: list[str] = []
        for entry in sorted(names):
            if first <= entry <= last:
                lines = self._read(f"sources/{source}/{names[entry]}").split("\n")[1:]
                paths += [json.loads(line)["path"] for line in lines if line]
        return paths

    def missing_files(self, source: str, epoch: int) -> list[str]:
        """The files that a file source has planned for an epoch and that are gone."""
        first, last = (self._log_offset(source, number) for number in (epoch - 1, epoch))
        planned: list[str] = []
        for entry in range(first + 1, last + 1):
            name = f"sources/{source}/{self._log_name(source, entry)}"
            try:
                planned += _planned_in(self._text(name), entry)
            except ValueError as error:
                raise damaged(f"{self.path}/{name}") from error
        return [path for path in planned if not _is_there(path)]

    def _log_offset(self, source: str, epoch: int) -> int:
        """The last entry of a file source's log that is part of an epoch; -1 if there is none."""
        if epoch < 0:
            return -1
        offset = parsed_offset(self.offsets(epoch).get(source, "-"))
        return -1 if offset is None else int(offset["logOffset"])

    def bytes(self) -> int:
        """The size of the state, with all its kept epochs."""
        return folder_bytes(f"{self.path}/state")

    def last_whole(self) -> int | None:
        """The last committed epoch whose files are all as Spark wrote them."""
        whole = (epoch for epoch in reversed(self.committed()) if not self.damaged(epoch))
        return next(whole, None)

    def damaged(self, epoch: int | None = None) -> list[str]:
        """Files that are not as Spark wrote them, of an epoch or else of what the query begins with.

        Spark writes checksums beside its files on a file system that has none itself. Without one, a
        file counts as whole if it has the form that Spark gives it.
        """
        names = self._of_the_end() if epoch is None else self._of_epoch(epoch)
        return [f"{self.path}/{name}" for name in names if not self._is_whole(name)]

    def _of_the_end(self) -> Iterator[str]:
        yield "metadata"
        for operator in self._numbers("state"):
            folder = f"state/{operator}/_metadata/v2"
            yield from (f"{folder}/{number}" for number in self._numbers(folder))
        planned, committed = self._numbers("offsets"), self._numbers("commits")
        if planned and max(planned) not in committed:
            yield f"offsets/{max(planned)}"
        if committed:
            yield from self._of_epoch(max(committed))
        for source in self._names("sources"):
            names = (name for name in self._names(f"sources/{source}") if name[0] != ".")
            yield from (f"sources/{source}/{name}" for name in names)

    def _of_epoch(self, epoch: int) -> Iterator[str]:
        yield from (f"offsets/{epoch}", f"commits/{epoch}")
        for operator in self._numbers("state"):
            for partition in self._numbers(f"state/{operator}"):
                yield from self._of_state(f"state/{operator}/{partition}", epoch + 1)

    def _of_state(self, folder: str, version: int) -> Iterator[str]:
        """A version of a state: the last snapshot before it, and all changes since."""
        names = set(self._names(folder))
        last = (v for v in range(version, 0, -1) if f"{v}.zip" in names)
        snapshot = next(last, 0)
        if snapshot:
            yield f"{folder}/{snapshot}.zip"
        changes = (f"{v}.changelog" for v in range(snapshot + 1, version + 1))
        yield from (f"{folder}/{name}" for name in changes if name in names)

    def _is_whole(self, name: str) -> bool:
        folder, _, base = name.rpartition("/")
        sums = f"{self.folder}/{folder}/.{base}.crc"
        found = self.fs.get_file_info([sums, f"{self.folder}/{name}"])
        if found[1].type == pafs.FileType.NotFound:
            return True
        data = b""
        if found[0].type != pafs.FileType.NotFound:
            with self.fs.open_input_stream(sums) as stream:
                data = bytes(stream.read())
        with self.fs.open_input_file(f"{self.folder}/{name}") as file:
            if len(data) < CHECKSUM_HEADER.size:
                return _is_well_formed(name, file)
            _, step = CHECKSUM_HEADER.unpack_from(data)
            parts = iter(lambda: bytes(file.read(step)), b"")
            wanted = b"".join(struct.pack(">I", zlib.crc32(part)) for part in parts)
        return data[CHECKSUM_HEADER.size :] == wanted

    def _log_entries(self, source: str) -> list[int]:
        names = self._names(f"sources/{source}")
        return numbers_of(name.removesuffix(COMPACT) for name in names)

    def _log_name(self, source: str, entry: int) -> str:
        names = self._names(f"sources/{source}")
        compact = f"{entry}{COMPACT}"
        return compact if compact in names else str(entry)

    def _numbers(self, folder: str) -> list[int]:
        return numbers_of(self._names(folder))

    def _names(self, folder: str) -> list[str]:
        path = f"{self.folder}/{folder}"
        if self.fs.get_file_info(path).type == pafs.FileType.NotFound:
            return []
        return [info.base_name for info in self.fs.get_file_info(pafs.FileSelector(path))]

    def _read(self, name: str) -> str:
        text = self._text(name)
        if not self._is_whole(name):
            raise damaged(f"{self.path}/{name}")
        return text

    def _text(self, name: str) -> str:
        """The text of a log, without a look at its checksum."""
        with self.fs.open_input_stream(f"{self.folder}/{name}") as stream:
            text = bytes(stream.read()).decode()
        if not text.startswith("v") or "\n" not in text:
            raise damaged(f"{self.path}/{name}")
        return text


def _is_well_formed(name: str, file: Any) -> bool:
    """Whether a file of which there is no checksum looks like what Spark writes."""
    if name.endswith(".zip"):
        try:
            return zipfile.ZipFile(file).testzip() is None
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError):
            return False
    if name.endswith(".changelog"):
        return bool(file.size())
    text = bytes(file.read()).decode(errors="replace")
    if name == "metadata":
        return text != "" and _is_entry(text)
    version, *lines = text.split("\n")
    return version.startswith("v") and version[1:].isdigit() and all(map(_is_entry, lines))


def _is_entry(line: str) -> bool:
    """Whether it is a line of a log of Spark's: JSON, maybe after the name of a source, or nothing."""
    text = line if line.startswith("{") else line.partition(":")[2] or line
    try:
        return text in ("", "-") or json.loads(text) is not None
    except ValueError:
        return False


def _planned_in(log: str, entry: int) -> Iterator[str]:
    """The files of one entry of a file source's log.

    A compacted log has those of all earlier entries too, so only the lines that are wanted are parsed.
    """
    for match in re.finditer(rf'"batchId":\s*{entry}\b', log):
        start, end = log.rfind("\n", 0, match.start()) + 1, log.find("\n", match.end())
        file = json.loads(log[start : len(log) if end < 0 else end])
        if file["batchId"] == entry:
            yield file["path"]


def _is_there(path: str) -> bool:
    """Whether a local file exists, in Spark's spelling of its path; of others Spark alone can tell."""
    local = path.removeprefix("file:")
    return local == path or os.path.exists("/" + unquote(local).lstrip("/"))


def damaged(path: str) -> CheckpointError:
    """A file of a query's checkpoint cannot be used."""
    hint = (
        "make a savepoint of the last epoch that is whole with `millstream savepoint`, and start "
        "from that"
    )
    if path.split("/")[-2] == "commits":
        hint = (
            "delete it with the .crc file beside it, and start the job again: the epoch runs again"
        )
    return CheckpointError(
        "CHECKPOINT_DAMAGED", f"{path} is cut short, or is not what Spark has written", hint=hint
    )


def parsed_offset(offset: str) -> Any:
    """An offset as a source knows it."""
    return None if offset == "-" else json.loads(offset)
