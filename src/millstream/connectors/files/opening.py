"""Fragments of files, and the streams of bytes that they are read from."""

from __future__ import annotations

import bz2
import itertools
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.fs as pafs

from millstream.common.paths import local_path

COMPRESSED = (".gz", ".bz2", ".zst", ".zstd", ".lz4", ".snappy", ".deflate", ".xz")
"""How the names of compressed files end: they are read as a whole."""
GLOB = frozenset("{}[]*?\\")
"""What makes Spark take a path as a pattern."""
_BUFFER = 1 << 20


@dataclass(frozen=True)
class Fragment:
    """A part of a file that one task reads: what begins from ``start`` on, and before ``stop``.

    ``stop`` None: up to the end of the file, wherever that is when it is read.
    """

    path: str
    start: int = 0
    stop: int | None = None


class ByteStream(Protocol):
    """Something to read bytes from."""

    def read(self, size: int = ..., /) -> bytes:
        """At most so many bytes; none at the end."""


def file_system(path: str) -> tuple[pafs.FileSystem, str]:
    """The file system of a path in Hadoop's spelling, and the path within it."""
    local = local_path(path)
    if local is not None:
        return pafs.LocalFileSystem(), local
    found, inner = pafs.FileSystem.from_uri(path.replace("s3a://", "s3://", 1))
    return found, inner


def unreachable(path: str) -> str | None:
    """Why Arrow cannot look at a path; None if it can, as it always can on this machine."""
    if local_path(path) is not None:
        return None
    plain = "".join(itertools.takewhile(lambda character: character not in GLOB, path))
    try:
        fs, inner = file_system(plain.rpartition("/")[0])
        fs.get_file_info(inner)
    except (OSError, ValueError, pa.ArrowException, ImportError) as error:
        return str(error)
    return None


@contextmanager
def opened(path: str) -> Iterator[pa.NativeFile]:
    """A file that can be read at any place."""
    fs, inner = file_system(path)
    with fs.open_input_file(inner) as file:
        yield file


@contextmanager
def stream_of(fragment: Fragment) -> Iterator[ByteStream]:
    """The bytes of a file from where a fragment starts, decompressed as the name of the file says."""
    with opened(fragment.path) as file:
        if fragment.path.endswith(COMPRESSED):
            yield _decompressed(file, fragment.path.rpartition(".")[2])
        else:
            file.seek(fragment.start)
            yield file


def _decompressed(file: pa.NativeFile, ending: str) -> ByteStream:
    if ending == "bz2":
        return bz2.BZ2File(file)
    if ending in ("gz", "zst", "zstd"):
        codec = "gzip" if ending == "gz" else "zstd"
        return pa.CompressedInputStream(file, codec)  # type: ignore[no-any-return]
    if ending == "deflate":
        return _Joined(_inflated(file))
    if ending in ("snappy", "lz4"):
        return _Joined(_hadoop_blocks(file, "lz4_raw" if ending == "lz4" else ending))
    raise OSError(f"files that end in .{ending} cannot be decompressed here")


def _inflated(file: pa.NativeFile) -> Iterator[bytes]:
    inflate = zlib.decompressobj()
    while data := inflate.unused_data or bytes(file.read(_BUFFER)):
        if inflate.eof:  # compressed files may stand one behind the other
            inflate = zlib.decompressobj()
        yield inflate.decompress(data)
    if not inflate.eof:
        raise OSError("the compressed data ends too early")


def _hadoop_blocks(file: pa.NativeFile, codec: str) -> Iterator[bytes]:
    """Blocks as Hadoop writes them: the length of a block, then chunks, each with its own."""
    decompress = pa.Codec(codec).decompress
    while head := _exactly(file, 4, may_end=True):
        missing = int.from_bytes(head, "big")
        while missing > 0:
            data = _exactly(file, int.from_bytes(_exactly(file, 4), "big"))
            size = _snappy_size(data) if codec == "snappy" else _lz4_size(data)
            chunk = _chunk(decompress, data, size)
            missing -= len(chunk)
            yield chunk


def _chunk(decompress: Any, data: bytes, size: int) -> bytes:
    try:
        return decompress(data, size, asbytes=True)  # type: ignore[no-any-return]
    except pa.ArrowException as error:
        raise OSError(f"the compressed data is damaged: {error}") from None


def _exactly(file: pa.NativeFile, size: int, *, may_end: bool = False) -> bytes:
    data = bytes(file.read(size))
    if len(data) < size and not (may_end and not data):
        raise OSError("the compressed data ends too early")
    return data


def _snappy_size(data: bytes) -> int:
    """The length with which compressed data begins: seven bits in a byte, the lowest first."""
    size = shift = 0
    for byte in data[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return size


def _lz4_size(data: bytes) -> int:
    """The length of what compressed data stands for: sequences of literal bytes and of copies."""
    size = at = 0
    while at < len(data):
        token = data[at]
        literals, at = _lz4_length(data, at + 1, token >> 4)
        size += literals
        # Behind the literal bytes, two say where the copy begins. The last sequence has none.
        at += literals + 2
        if at < len(data):
            copied, at = _lz4_length(data, at, token & 15)
            size += copied + 4
    return size


def _lz4_length(data: bytes, at: int, length: int) -> tuple[int, int]:
    """A length that goes on in the next bytes if it has all bits set, and what comes behind it."""
    more = length == 15
    while more and at < len(data):
        length += data[at]
        more = data[at] == 255
        at += 1
    return length, at


class _Joined:
    """A stream of the parts that something gives."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._rest = b""

    def read(self, size: int = -1, /) -> bytes:
        while len(self._rest) < size or size < 0:
            part = next(self._parts, None)
            if part is None:
                break
            self._rest += part
        size = len(self._rest) if size < 0 else size
        found, self._rest = self._rest[:size], self._rest[size:]
        return found
