"""Blocks that a receiver has stored, and which of them batches have taken."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millstream.common.errors import PlanError
from millstream.common.paths import local_path
from millstream.common.pickling import dumps_apart, loads_apart
from millstream.dstream.receivers.write_ahead_log import LogBlock, WriteAheadLog, durable_write

__all__ = ["DurableBlocks", "MemoryBlocks", "opened_blocks", "records_of"]

_TAKEN = "taken.json"


@dataclass(frozen=True)
class Taken:
    """The blocks of a batch, the number of the first block after them, and the number of records."""

    blocks: list[Any]
    next_number: int
    records: int = 0


class MemoryBlocks:
    """Blocks in memory: a crash loses them, as in Spark without a write-ahead log."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[list[Any]] = []
        self._number = 0

    def keep(self, records: list[Any]) -> None:
        """Keep the records of a block."""
        with self._lock:
            self._waiting.append(list(records))

    def take(self) -> Taken:
        """The blocks that no batch has yet."""
        with self._lock:
            found, self._waiting = self._waiting, []
            self._number += len(found)
            return Taken(found, self._number, sum(map(len, found)))

    def is_empty(self) -> bool:
        """Whether batches have all blocks."""
        with self._lock:
            return not self._waiting

    def skip(self, number: int) -> None:
        """Nothing: there are no blocks of an earlier process."""

    def confirm(self, number: int) -> None:
        """Nothing: there is no file."""

    def forget(self, number: int) -> None:
        """Nothing: blocks that are taken are not kept."""

    def close(self) -> None:
        """Nothing."""


class DurableBlocks:
    """Blocks in a write-ahead log, and a file with the number of the first one that no batch has."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._lock = threading.Lock()
        self._next = self._confirmed = self._read_mark()
        self._log = WriteAheadLog(str(self._folder / "log"), first_number=self._next)
        self._records: dict[int, int] = {}

    def keep(self, records: list[Any]) -> None:
        """Keep the records of a block: they are on disk when the method returns."""
        block = self._log.append(dumps_apart(records))
        self._records[block.number] = len(records)

    def take(self) -> Taken:
        """The blocks that no batch has yet."""
        with self._lock:
            found = self._log.blocks(self._next)
            if found:
                self._next = found[-1].number + 1
            return Taken(list(found), self._next, sum(map(self._count, found)))

    def is_empty(self) -> bool:
        """Whether batches have all blocks."""
        return not self._log.blocks(self._next)

    def _count(self, block: LogBlock) -> int:
        known = self._records.pop(block.number, None)
        return len(records_of(block)) if known is None else known

    def skip(self, number: int) -> None:
        """Leave out blocks before a number: a batch that is in the batch log has them."""
        with self._lock:
            self._next = max(self._next, number)

    def confirm(self, number: int) -> None:
        """Write down that batches have the blocks before a number."""
        with self._lock:
            if number > self._confirmed:
                durable_write(self._folder / _TAKEN, json.dumps({"next": number}).encode())
                self._confirmed = number

    def forget(self, number: int) -> None:
        """Delete files that have only blocks before a number."""
        self._log.forget(min(number, self._confirmed))

    def close(self) -> None:
        """Close the log's file."""
        self._log.close()

    def _read_mark(self) -> int:
        path = self._folder / _TAKEN
        return int(json.loads(path.read_bytes())["next"]) if path.exists() else 0


def records_of(block: LogBlock | list[Any]) -> list[Any]:
    """The records of a block, from memory or from the log."""
    return block if isinstance(block, list) else loads_apart(block.read())


def opened_blocks(folder: str | None) -> MemoryBlocks | DurableBlocks:
    """The blocks of a receiver: in a folder, or in memory if the context has no checkpoint."""
    if folder is None:
        return MemoryBlocks()
    local = local_path(folder)
    if local is None:
        raise PlanError(
            "RECEIVER_LOG_REMOTE",
            f"a receiver's write-ahead log cannot be at {folder}",
            hint="use a checkpoint folder of this machine, or one that is mounted here",
        )
    return DurableBlocks(local)
