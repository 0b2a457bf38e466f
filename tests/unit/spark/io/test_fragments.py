"""Tasks that open files themselves: blocks, and files that are gone or damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from millstream.common.errors import MillstreamError
from millstream.common.typeinfo import Types
from millstream.connectors.files.text import TextReader
from millstream.kernel.stages.programs import Block
from millstream.spark.io.fragments import FragmentTask
from millstream.spark.tasks.worker import ProgramRef


def blocks(path: Path, *cuts: int, ignores_missing: bool = False) -> list[Block]:
    ref = ProgramRef("run-0", b"")
    task = FragmentTask(
        ref, (0,), Types.STRING(), TextReader(), ignores_missing=ignores_missing, location=None
    )
    starts: list[Any] = [0, *cuts]
    rows = [
        {"path": f"file:{path}", "ms_channel": 7, "ms_frag": start, "ms_stop": stop}
        for start, stop in zip(starts, [*cuts, None], strict=True)
    ]
    schema = pa.schema(
        [("path", pa.string()), *((n, pa.int64()) for n in ("ms_channel", "ms_frag", "ms_stop"))]
    )
    return list(task.blocks(iter([pa.RecordBatch.from_pylist(rows, schema)]), 0))


def test_a_fragment_is_known_by_where_it_starts(tmp_path: Path) -> None:
    path = tmp_path / "a b.txt"
    path.write_text("one\ntwo\nthree\n")
    found = blocks(path, 5)
    assert [(b.channel, b.frag, b.first_pos, list(b.values)) for b in found] == [
        (7, 0, 0, ["one", "two"]),
        (7, 5, 0, ["three"]),
    ]
    assert all(block.finished for block in found)


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(MillstreamError) as caught:
        blocks(tmp_path / "a.txt")
    assert caught.value.code == "SOURCE_FILE_GONE"
    assert blocks(tmp_path / "a.txt", ignores_missing=True) == []


def test_a_file_that_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(b"no gzip at all")
    with pytest.raises(MillstreamError) as caught:
        blocks(path)
    assert caught.value.code == "SOURCE_FILE_UNREADABLE"
    assert "a.txt.gz" in caught.value.message
