"""Streams of bytes of compressed files, also as Hadoop cuts them."""

from __future__ import annotations

import bz2
import gzip
import zlib
from pathlib import Path

import pyarrow as pa
import pytest

from millstream.connectors.files import opening
from millstream.connectors.files.opening import Fragment, stream_of, unreachable

DATA = bytes(range(256)) * 3000


def hadoop(codec: str, data: bytes) -> bytes:
    """Blocks of two chunks, as Hadoop's codecs write them."""
    out = b""
    for start in range(0, len(data), 100_000):
        block = data[start : start + 100_000]
        out += len(block).to_bytes(4, "big")
        for chunk in (block[:60_000], block[60_000:]):
            packed = pa.Codec(codec).compress(chunk, asbytes=True) if chunk else b""
            out += len(packed).to_bytes(4, "big") + packed if chunk else b""
    return out


PACKED = {
    "gz": gzip.compress(DATA[:5]) + gzip.compress(DATA[5:]),
    "bz2": bz2.compress(DATA[:5]) + bz2.compress(DATA[5:]),
    "zst": b"".join(pa.Codec("zstd").compress(part, asbytes=True) for part in (DATA[:5], DATA[5:])),
    "deflate": zlib.compress(DATA[:5]) + zlib.compress(DATA[5:]),
    "snappy": hadoop("snappy", DATA),
    "lz4": hadoop("lz4_raw", DATA),
}


def read(path: Path, size: int = 70_000) -> bytes:
    with stream_of(Fragment(str(path))) as stream:
        return b"".join(iter(lambda: bytes(stream.read(size)), b""))


@pytest.mark.parametrize("ending", sorted(PACKED))
def test_compressed_files(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.txt.{ending}"
    path.write_bytes(PACKED[ending])
    assert read(path) == DATA


@pytest.mark.parametrize("ending", sorted(PACKED))
def test_compressed_files_that_are_cut_short(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.txt.{ending}"
    path.write_bytes(PACKED[ending][:-7])
    with pytest.raises((OSError, EOFError)):
        read(path)


@pytest.mark.parametrize("ending", ["snappy", "lz4", "deflate", "gz"])
def test_compressed_files_that_are_damaged(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.txt.{ending}"
    path.write_bytes(PACKED[ending][:8] + bytes(200) + PACKED[ending][208:])
    with pytest.raises((OSError, zlib.error)):
        assert read(path) == DATA


def test_an_unknown_compression(tmp_path: Path) -> None:
    path = tmp_path / "a.xz"
    path.write_bytes(b"x")
    with pytest.raises(OSError, match=r"\.xz"):
        read(path)


def test_what_arrow_can_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unreachable("/in") is None
    assert unreachable("nowhere://host/in") is not None

    def no_library(path: str) -> None:
        assert path == "hdfs://host/in"
        raise OSError("no libhdfs")

    monkeypatch.setattr(opening, "file_system", no_library)
    assert unreachable("hdfs://host/in/part-*") == "no libhdfs"
