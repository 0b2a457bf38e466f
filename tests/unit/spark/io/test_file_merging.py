"""Several files as one, in every format."""

from __future__ import annotations

import bz2
import gzip
import io
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from millstream.common import Types
from millstream.datastream.connectors.file_system import FileSink
from millstream.plan.specs import FilesSinkSpec
from millstream.spark.io.file_formats import FileEncoder
from millstream.spark.io.file_merging import mergeable, write_merged

FS = pafs.LocalFileSystem()
ROW = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])
BATCHES: list[list[tuple[str, int | None]]] = [[("a", 1), ("b", None)], [("c", 3)], [("d", 4)]]
ROWS = [{"word": word, "n": n} for batch in BATCHES for word, n in batch]


def files(folder: Path, spec: FilesSinkSpec, type_info: Any, batches: list[Any]) -> list[str]:
    paths = []
    for number, batch in enumerate(batches):
        path = str(folder / f"{number}.file")
        encoder = FileEncoder(spec, type_info, FS.open_output_stream(path, compression=None))
        encoder.write(batch)
        encoder.close()
        paths.append(path)
    return paths


def merged(spec: FilesSinkSpec, paths: list[str], delimiter: bytes = b"") -> bytes:
    stream = pa.BufferOutputStream()
    write_merged(FS, spec, paths, stream, delimiter)
    data: bytes = stream.getvalue().to_pybytes()
    return data


@pytest.mark.parametrize(
    ("sink", "read"),
    [
        (FileSink.parquet("/o"), lambda data: pq.read_table(io.BytesIO(data)).to_pylist()),
        (FileSink.orc("/o"), lambda data: orc.read_table(io.BytesIO(data)).to_pylist()),
        (FileSink.avro("/o"), lambda data: list(fastavro.reader(io.BytesIO(data)))),
        (
            FileSink.avro("/o", compression="bzip2"),
            lambda data: list(fastavro.reader(io.BytesIO(data))),
        ),
    ],
)
def test_columns_and_avro(tmp_path: Path, sink: FileSink, read: Any) -> None:
    spec = sink.to_spec()
    paths = files(tmp_path, spec, ROW, BATCHES)
    assert list(mergeable(FS, spec, paths)) == [paths]
    assert read(merged(spec, paths)) == ROWS
    assert read(merged(spec, paths[:1])) == ROWS[:2]


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
def test_files_with_other_columns_are_not_merged(tmp_path: Path, kind: str) -> None:
    spec = getattr(FileSink, kind)("/o").to_spec()
    (tmp_path / "other").mkdir()
    same = files(tmp_path, spec, ROW, BATCHES)
    other = files(tmp_path / "other", spec, Types.ROW_NAMED(["x"], [Types.DOUBLE()]), [[(1.5,)]])
    assert list(mergeable(FS, spec, [*same[:2], *other, same[2]])) == [same[:2], other, same[2:]]


@pytest.mark.parametrize(
    ("compression", "unpack"), [("gzip", gzip), ("bzip2", bz2), ("none", None)]
)
@pytest.mark.parametrize("name", ["word", "with\nline"])
def test_csv_has_one_header(tmp_path: Path, compression: str, unpack: Any, name: str) -> None:
    spec = FileSink.csv("/o", compression=compression).to_spec()
    paths = files(tmp_path, spec, Types.ROW_NAMED([name, "n"], ROW.field_types), BATCHES)
    data = merged(spec, paths)
    text = (data if unpack is None else unpack.decompress(data)).decode()
    header = "word,n\n" if name == "word" else '"with\nline",n\n'
    assert text == header + "a,1\nb,\nc,3\nd,4\n"


def test_lines(tmp_path: Path) -> None:
    spec = FileSink.text("/o", compression="gzip").to_spec()
    paths = files(tmp_path, spec, None, [["a", "b"], ["c"]])
    assert gzip.decompress(merged(spec, paths, b"--\n")) == b"a\nb\n--\nc\n"
    spec = FileSink.json("/o").to_spec()
    assert merged(spec, files(tmp_path, spec, None, [[{"a": 1}], [2]])) == b'{"a": 1}\n2\n'
