"""What Spark writes down of a streaming query in its checkpoint: epochs, offsets, files it has read."""

from __future__ import annotations

import json
from typing import Any

import pyarrow.fs as pafs

from millstream.checkpoint.folder import folder_bytes, open_path
from millstream.common.errors import CheckpointError

COMPACT = ".compact"


class QueryFiles:
    """The checkpoint of one query."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.fs, self.folder = open_path(path)

    def committed(self) -> list[int]:
        """The epochs that are committed and still there, oldest first."""
        planned = set(self._numbers("offsets"))
        return sorted(epoch for epoch in self._numbers("commits") if epoch in planned)

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

    def bytes(self) -> int:
        """The size of the state, with all its kept epochs."""
        return folder_bytes(f"{self.path}/state")

    def _log_entries(self, source: str) -> list[int]:
        names = self._names(f"sources/{source}")
        return [int(n.removesuffix(COMPACT)) for n in names if n.removesuffix(COMPACT).isdigit()]

    def _log_name(self, source: str, entry: int) -> str:
        names = self._names(f"sources/{source}")
        compact = f"{entry}{COMPACT}"
        return compact if compact in names else str(entry)

    def _numbers(self, folder: str) -> list[int]:
        return [int(name) for name in self._names(folder) if name.isdigit()]

    def _names(self, folder: str) -> list[str]:
        path = f"{self.folder}/{folder}"
        if self.fs.get_file_info(path).type == pafs.FileType.NotFound:
            return []
        return [info.base_name for info in self.fs.get_file_info(pafs.FileSelector(path))]

    def _read(self, name: str) -> str:
        with self.fs.open_input_stream(f"{self.folder}/{name}") as stream:
            text = bytes(stream.read()).decode()
        if not text.startswith("v") or "\n" not in text:
            raise CheckpointError(
                "CHECKPOINT_DAMAGED",
                f"{self.path}/{name} is cut short or no file of Spark's",
                hint="go on from a savepoint, or from an earlier epoch of this checkpoint",
            )
        return text


def parsed_offset(offset: str) -> Any:
    """An offset as a source knows it."""
    return None if offset == "-" else json.loads(offset)
