"""Log of blocks on disk: what `append` has returned survives the end of the process.

A record is a head of 16 bytes (length, number of the block, check sum over both and the content), then
the content. Segments are files; the name of one is the number of its first block. Only the last record
of the last segment can be torn by a crash: opening the log cuts it off. A record elsewhere that does not
fit its check sum is damage, and an error.
"""

from __future__ import annotations

import os
import struct
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO

from millstream.common.errors import CheckpointError

__all__ = ["LogBlock", "WriteAheadLog", "durable_write"]

_HEAD = struct.Struct(">IQI")
_NAME = "blocks-{:020d}"
_SEGMENT_BYTES = 16 << 20


@dataclass(frozen=True)
class LogBlock:
    """Where a block is. It can be pickled, and read by another process that sees the folder."""

    path: str
    offset: int
    length: int
    number: int

    def read(self) -> bytes:
        """The content of the block."""
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            found = _record(file.read(_HEAD.size + self.length), 0, self.number)
        if found is None:
            raise _damaged(self.path, self.offset)
        return found


class WriteAheadLog:
    """A log of blocks in a folder, with consecutive numbers. Several threads may append.

    ``first_number`` is that of the first block if there are no files.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = WriteAheadLog(folder)
    ...     _ = log.append(b"one"), log.append(b"two")
    ...     log.close()
    ...     [block.read() for block in WriteAheadLog(folder).blocks()]
    [b'one', b'two']
    """

    def __init__(
        self, folder: str, *, first_number: int = 0, segment_bytes: int = _SEGMENT_BYTES
    ) -> None:
        self._folder = Path(folder)
        self._segment_bytes = segment_bytes
        self._lock = threading.Lock()
        self._file: IO[bytes] | None = None
        self._size = 0
        self._failed: OSError | None = None
        self._folder.mkdir(parents=True, exist_ok=True)
        self._blocks = self._recovered()
        self._next = self._blocks[-1].number + 1 if self._blocks else self._start(first_number)

    def append(self, content: bytes) -> LogBlock:
        """Write a block; it is on disk when the method returns."""
        with self._lock:
            if self._failed is not None:
                # Part of a record is there, which only opening the log again cuts off.
                raise self._failed
            file = self._segment()
            head = struct.pack(">IQ", len(content), self._next)
            block = LogBlock(file.name, self._size, len(content), self._next)
            try:
                file.write(head + struct.pack(">I", zlib.crc32(content, zlib.crc32(head))))
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            except BaseException:
                # Part of the record may be there: the next one must not stand behind it.
                self._cut(file)
                raise
            self._size += _HEAD.size + len(content)
            self._next += 1
            self._blocks.append(block)
            return block

    def blocks(self, since: int = 0) -> list[LogBlock]:
        """The blocks from a number on, in order."""
        with self._lock:
            return [block for block in self._blocks if block.number >= since]

    def forget(self, before: int) -> None:
        """Delete the segments that have only blocks before a number."""
        with self._lock:
            paths = [str(path) for path in self._segments()]
            for path, following in pairwise(paths):
                if _first_of(Path(following)) > before:
                    break
                os.unlink(path)
            self._blocks = [block for block in self._blocks if os.path.exists(block.path)]

    def close(self) -> None:
        """Close the file; appending opens it again."""
        with self._lock:
            if self._file is not None:
                self._file.close()
            self._file = None

    # Files.

    def _segments(self) -> list[Path]:
        return sorted(self._folder.glob("blocks-*"))

    def _start(self, first_number: int) -> int:
        """The number of the first block of a log that has none: its segment may say so."""
        segments = self._segments()
        return _first_of(segments[-1]) if segments else first_number

    def _segment(self) -> IO[bytes]:
        if self._file is not None and self._size >= self._segment_bytes:
            self._file.close()
            self._file = None
            path = self._folder / _NAME.format(self._next)
        else:
            segments = self._segments()
            path = segments[-1] if segments else self._folder / _NAME.format(self._next)
        if self._file is None:
            new = not path.exists()
            self._file = open(path, "ab", buffering=0)  # noqa: SIM115
            self._size = os.path.getsize(path)
            if new:
                _sync_folder(self._folder)
        return self._file

    def _cut(self, file: IO[bytes]) -> None:
        try:
            file.truncate(self._size)
        except OSError as error:
            self._failed = error

    def _recovered(self) -> list[LogBlock]:
        found: list[LogBlock] = []
        segments = self._segments()
        for place, path in enumerate(segments):
            last = place == len(segments) - 1
            found += _read_segment(path, last=last)
        for block, following in pairwise(found):
            if following.number != block.number + 1:
                raise _damaged(following.path, following.offset)
        return found


def _read_segment(path: Path, *, last: bool) -> list[LogBlock]:
    data = path.read_bytes()
    found: list[LogBlock] = []
    offset = 0
    for block in _scan(data, str(path)):
        found.append(block)
        offset = block.offset + _HEAD.size + block.length
    if offset < len(data):
        if not last or not _is_torn(data, offset):
            raise _damaged(str(path), offset)
        with open(path, "r+b") as file:
            file.truncate(offset)
            os.fsync(file.fileno())
    return found


def _scan(data: bytes, path: str) -> Iterator[LogBlock]:
    offset, number = 0, _first_of(Path(path))
    while (content := _record(data, offset, number)) is not None:
        yield LogBlock(path, offset, len(content), number)
        offset += _HEAD.size + len(content)
        number += 1


def _record(data: bytes, offset: int, number: int) -> bytes | None:
    """The content of the record at a place, or None if no whole one with this number is there."""
    if len(data) < offset + _HEAD.size:
        return None
    length, found, check = _HEAD.unpack_from(data, offset)
    start = offset + _HEAD.size
    if found != number or len(data) < start + length:
        return None
    content = data[start : start + length]
    head = data[offset : start - 4]
    return content if zlib.crc32(content, zlib.crc32(head)) == check else None


def _is_torn(data: bytes, offset: int) -> bool:
    """Whether what stands at a place can be the record that was being written at a crash."""
    if len(data) < offset + _HEAD.size or not any(data[offset:]):
        return True
    length = struct.unpack_from(">I", data, offset)[0]
    return bool(len(data) <= offset + _HEAD.size + length)


def _first_of(path: Path) -> int:
    return int(path.name.rpartition("-")[2])


def _damaged(path: str, offset: int) -> CheckpointError:
    return CheckpointError(
        "RECEIVER_LOG_DAMAGED",
        f"the write-ahead log of a receiver is damaged: {path} at byte {offset}",
        hint="restore the file from a backup; if you delete it, its records are lost",
    )


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def durable_write(path: Path, content: bytes) -> None:
    """Replace a small file: after a crash it has the old content or the new one."""
    temporary = path.with_name(f".{path.name}.new")
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    _sync_folder(path.parent)
