"""Folders as inputs see them: which files there are, since when, and what is in them."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millstream.common.errors import PlanError, user_location
from millstream.common.paths import local_path

__all__ = ["Folder", "FoundFile", "content_of"]


@dataclass(frozen=True)
class FoundFile:
    """A file as it was when a batch took it.

    Parameters
    ----------
    path : str
        Where it is.
    size : int
        How many bytes it had: what is appended later does not belong to the batch.
    modified_ms : int
        When it was changed last.
    """

    path: str
    size: int
    modified_ms: int

    @property
    def name(self) -> str:
        """The name without the folder."""
        return os.path.basename(self.path)


class Folder:
    """The files of a folder of this machine, or of all folders that fit a pattern such as ``logs/*``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "a.txt").write_text("one")
    ...     [file.name for file in Folder(folder).files()]
    ['a.txt']
    """

    def __init__(self, path: str) -> None:
        local = local_path(path)
        if local is None:
            raise PlanError(
                "FILE_STREAM_REMOTE",
                f"a stream of files cannot watch {path}",
                location=user_location(),
                hint="mount the folder on the machine of the driver, or read it with "
                "millstream.datastream's FileSource",
            )
        self.path = local

    def files(self) -> Iterator[FoundFile]:
        """The files, folder by folder, by name. Folders in the folder are not looked into."""
        for folder in self._folders():
            with os.scandir(folder) as entries:
                for entry in sorted(entries, key=lambda each: each.name):
                    if entry.is_file():
                        known = entry.stat()
                        modified_ms = known.st_mtime_ns // 1_000_000
                        yield FoundFile(entry.path, known.st_size, modified_ms)

    def _folders(self) -> list[str]:
        if os.path.isdir(self.path):
            return [self.path]
        anchor = Path(self.path).anchor
        found = Path(anchor).glob(str(Path(self.path).relative_to(anchor)))
        return sorted(str(path) for path in found if path.is_dir())


def content_of(file: FoundFile) -> bytes:
    """The bytes that a file had when it was taken; those of a ``.gz`` file unpacked."""
    try:
        with open(file.path, "rb") as opened:
            content = opened.read(file.size)
    except FileNotFoundError:
        raise _gone(file) from None
    return gzip.decompress(content) if file.path.endswith(".gz") else content


def _gone(file: FoundFile) -> Any:
    return PlanError(
        "FILE_STREAM_GONE",
        f"{file.path} belongs to a batch that is not done, and is not there any more",
        hint="put the file back; delete files only when the batch with them is done",
    )
