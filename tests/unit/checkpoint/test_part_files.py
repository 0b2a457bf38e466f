"""The files of rows that a restore has divided."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from millstream.checkpoint import part_files
from millstream.checkpoint.part_files import PartFile, PartFiles

SCHEMA = pa.schema([("n", pa.int64()), ("text", pa.string())])


def rows(*numbers: int) -> pa.Table:
    return pa.table({"n": list(numbers), "text": [f"<{n}>" for n in numbers]}, SCHEMA)


def test_parts_come_back_by_number_also_those_that_are_slices_or_in_pieces(tmp_path: Path) -> None:
    path = str(tmp_path / "new" / "parts.arrow")
    slice_of_some = rows(1, 2, 3, 4).slice(1, 2)
    in_pieces = pa.concat_tables([rows(5), rows(6, 7)])
    with PartFile(path, SCHEMA) as file:
        numbers = [file.add(part) for part in (rows(0), slice_of_some, in_pieces)]
    assert numbers == [0, 1, 2]
    files = PartFiles()
    assert files.read(path, 2) == rows(5, 6, 7)
    assert files.read(path, 1) == rows(2, 3)
    assert files.read(path, 0) == rows(0)


def test_more_files_than_may_be_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_files, "MOST_OPEN", 2)
    paths = [str(tmp_path / f"{n}.arrow") for n in range(5)]
    for n, path in enumerate(paths):
        with PartFile(path, SCHEMA) as file:
            file.add(rows(n))
    files = PartFiles()
    for _ in range(2):
        assert [files.read(path, 0)["n"].to_pylist() for path in paths] == [[n] for n in range(5)]
        assert files._open.cache_info().currsize == 2
